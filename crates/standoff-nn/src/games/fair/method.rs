//! The methods of fair training, by name: how the weights of the groups answer, and where they start.

use serde::{Deserialize, Serialize};
use standoff::error::nearest;
use standoff::inner::Stop;
use standoff::methods::Reply;

use super::GroupGame;
use crate::Error;

/// Who decides what a group counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FairMethod {
    /// The mean loss over all samples.
    Normal,
    /// The worst group alone: lambda = 0.
    Minmax,
    /// The worst groups, held to the mean by lambda: smoother.
    MinmaxReg,
    /// Exponentiated-gradient weights (group DRO, agnostic federated learning).
    GroupDro,
    /// Every group the same, however large (inverse frequency).
    Reweight,
    /// The worst share of the samples, whatever their group.
    Cvar,
    /// Exponentially tilted group losses (TERM).
    Tilted,
}

/// The numbers that methods go by; each looks at its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MethodParameters {
    /// The regulariser of [`FairMethod::MinmaxReg`].
    pub lambda: f64,
    /// Whether it answers by accelerated ascent (Algorithm 3) instead of exactly.
    pub accelerated: bool,
    /// The step of [`FairMethod::GroupDro`].
    pub dro_rate: f64,
    /// The tilt of [`FairMethod::Tilted`].
    pub tilt: f64,
    /// The share of samples that [`FairMethod::Cvar`] counts.
    pub share: f64,
}

impl FairMethod {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 7] =
        [Self::Normal, Self::Minmax, Self::MinmaxReg, Self::GroupDro, Self::Reweight, Self::Cvar, Self::Tilted];

    /// Its name on the command line, in Python and in results.
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

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Normal => "The mean loss over all samples",
            Self::Minmax => "The worst group alone: lambda = 0",
            Self::MinmaxReg => "The worst groups, held to the mean by lambda: smoother",
            Self::GroupDro => "Exponentiated-gradient weights (group DRO, agnostic federated learning)",
            Self::Reweight => "Every group the same, however large (inverse frequency)",
            Self::Cvar => "The worst share of the samples, whatever their group",
            Self::Tilted => "Exponentially tilted group losses (TERM)",
        }
    }

    /// All names.
    pub fn list() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The method of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
            let hint = nearest(name, Self::ALL.map(Self::name)).map(|n| format!(" (did you mean `{n}`?)"));
            Error::Mismatch(format!("unknown method `{name}`{}; there are {}", hint.unwrap_or_default(), Self::list()))
        })
    }

    /// How y answers.
    pub fn reply(self, terms: &MethodParameters) -> Reply {
        let &MethodParameters { lambda, dro_rate, tilt, .. } = terms;
        match self {
            Self::Normal | Self::Reweight | Self::Cvar => Reply::Held,
            Self::Minmax => Reply::Exact { lambda: 0.0 },
            Self::MinmaxReg if terms.accelerated => Reply::Accelerated { lambda, l22: 0.0, stop: Stop::Residual(1e-7) },
            Self::MinmaxReg => Reply::Exact { lambda },
            Self::GroupDro => Reply::Exponentiated { rate: dro_rate },
            Self::Tilted => Reply::Tilted { tilt },
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

    /// The game as this method plays it.
    pub fn game(self, game: GroupGame, terms: &MethodParameters) -> Result<GroupGame, Error> {
        match self {
            Self::Cvar => game.tail(terms.share),
            Self::Minmax => Ok(game.at_corners()),
            _ => Ok(game),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        for method in FairMethod::ALL {
            assert_eq!(FairMethod::named(method.name()), Ok(method));
        }
        let error = FairMethod::named("minmax-rge").unwrap_err().to_string();
        assert!(error.contains("did you mean `minmax-reg`?") && error.contains("tilted"), "{error}");
    }
}
