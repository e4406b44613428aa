//! The methods of `standoff fair`, by name: how the weights of the groups answer.

use serde::{Deserialize, Serialize};
use standoff::inner::Stop;
use standoff::methods::Reply;

use super::config::{Config, Inner};

/// Who decides what a group counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The mean loss over all samples
    Normal,
    /// The worst group alone: lambda = 0
    Minmax,
    /// The worst groups, held to the mean by lambda: smoother
    MinmaxReg,
    /// Exponentiated-gradient weights (group DRO, agnostic federated learning)
    GroupDro,
    /// Every group the same, however large (inverse frequency)
    Reweight,
    /// The worst share of the samples, whatever their group
    Cvar,
    /// Exponentially tilted group losses (TERM)
    Tilted,
}

impl Method {
    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Minmax => "minmax",
            Self::MinmaxReg => "minmax-reg",
            Self::GroupDro => "group-dro",
            Self::Reweight => "reweight",
            Self::Cvar => "cvar",
            Self::Tilted => "tilted",
        }
    }

    /// All names.
    pub fn list() -> String {
        let all =
            [Self::Normal, Self::Minmax, Self::MinmaxReg, Self::GroupDro, Self::Reweight, Self::Cvar, Self::Tilted];
        all.map(Self::name).join(", ")
    }

    /// How y answers.
    pub fn reply(self, config: &Config, lambda: f64) -> Reply {
        match self {
            Self::Normal | Self::Reweight | Self::Cvar => Reply::Held,
            Self::Minmax => Reply::Exact { lambda: 0.0 },
            Self::MinmaxReg => match config.inner {
                Inner::Exact => Reply::Exact { lambda },
                Inner::Apga => Reply::Accelerated { lambda, l22: 0.0, stop: Stop::Residual(1e-7) },
            },
            Self::GroupDro => Reply::Exponentiated { rate: config.dro_rate },
            Self::Tilted => Reply::Tilted { tilt: config.tilt },
        }
    }

    /// Where y starts, from the sizes of the groups: their shares of the data, or the same for all.
    pub fn start(self, sizes: &[usize]) -> Vec<f32> {
        let n: usize = sizes.iter().sum();
        match self {
            Self::Cvar => vec![1.0],
            Self::Normal => sizes.iter().map(|&s| s as f32 / n as f32).collect(),
            _ => vec![1.0 / sizes.len() as f32; sizes.len()],
        }
    }
}
