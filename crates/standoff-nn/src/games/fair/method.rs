//! The methods of fair training, by name: the rule for the group weights, and their start.

use serde::{Deserialize, Serialize};
use standoff::error::nearest;
use standoff::inner::Stop;
use standoff::methods::Reply;

use super::GroupGame;
use crate::Error;
use crate::data::Groups;
use crate::games::linear::Mixing;

/// The rule for the weight of each group in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FairMethod {
    /// The mean loss over all samples.
    Normal,
    /// The group with the largest loss: lambda = 0.
    Minmax,
    /// The groups with the largest losses, regularised towards equal weights by lambda.
    MinmaxReg,
    /// Exponentiated-gradient weights (group DRO, agnostic federated learning).
    GroupDro,
    /// The same weight for every group, whatever its size (inverse frequency).
    Reweight,
    /// The share of the samples with the largest losses, whatever their group.
    Cvar,
    /// Exponentially tilted group losses (TERM).
    Tilted,
}

/// The parameters of all methods; each method uses its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MethodParameters {
    /// The regulariser of [`FairMethod::MinmaxReg`].
    pub lambda: f64,
    /// If true, y is computed by accelerated ascent (Algorithm 3) instead of exactly.
    pub accelerated: bool,
    /// The step of [`FairMethod::GroupDro`].
    pub dro_rate: f64,
    /// The tilt of [`FairMethod::Tilted`].
    pub tilt: f64,
    /// The share of samples that [`FairMethod::Cvar`] uses.
    pub share: f64,
}

impl FairMethod {
    /// All methods, in the order of lists.
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

    /// A description in one line.
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

    /// The rule for y.
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

    /// The losses that y weighs in a linear model of this method; none for methods that are only trained by steps.
    pub fn mixing(self, lambda: f64) -> Option<Mixing> {
        match self {
            Self::Normal => Some(Mixing::Mean),
            Self::Reweight => Some(Mixing::Equal),
            Self::Minmax => Some(Mixing::Worst { lambda: 0.0 }),
            Self::MinmaxReg => Some(Mixing::Worst { lambda }),
            Self::GroupDro | Self::Cvar | Self::Tilted => None,
        }
    }

    /// True if training has one loss for all samples, so that y is the number 1: `cvar`, and `normal` where groups overlap, for the mean
    /// over samples is no mixture of the groups then.
    pub fn ignores_groups(self, groups: &Groups) -> bool {
        self == Self::Cvar || (self == Self::Normal && !groups.is_partition())
    }

    /// True if y follows the losses, so that what is made equal matters.
    pub fn chooses_weights(self) -> bool {
        matches!(self, Self::Minmax | Self::MinmaxReg | Self::GroupDro | Self::Tilted)
    }

    /// The start of y, from the groups: their shares of the data, or equal weights.
    pub fn start(self, groups: &Groups) -> Vec<f32> {
        let (sizes, n) = (groups.sizes(), groups.samples());
        match self {
            _ if self.ignores_groups(groups) => vec![1.0],
            Self::Normal => sizes.iter().map(|&s| s as f32 / n as f32).collect(),
            _ => vec![1.0 / sizes.len() as f32; sizes.len()],
        }
    }

    /// The game with the changes that this method needs.
    pub fn game(self, game: GroupGame, terms: &MethodParameters) -> Result<GroupGame, Error> {
        match self {
            Self::Cvar => game.tail(terms.share),
            Self::Minmax => Ok(game.at_corners()),
            // Every sample counts once, however many groups it is in.
            Self::Normal if !game.groups().is_partition() => {
                let n = game.groups().samples();
                game.weighted(vec![1.0 / n as f32; n])
            }
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
