//! The methods of robust training, by name.

use serde::{Deserialize, Serialize};
use standoff::error::nearest;

use crate::Error;

/// The inner problem of robust training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobustMethod {
    /// The largest loss of targeted attacks: the paper's finite maximum.
    Paper,
    /// One attack without a target, from a random start.
    Madry,
    /// The plain loss, and beta times the divergence under attack.
    Trades,
    /// A bound that no attack can exceed: interval bound propagation.
    Ibp,
    /// The same with margins by backward relaxation mixed in: tighter and slower.
    CrownIbp,
    /// No attack.
    Natural,
}

impl RobustMethod {
    /// All methods, in the order of lists.
    pub const ALL: [Self; 6] = [Self::Paper, Self::Madry, Self::Trades, Self::Ibp, Self::CrownIbp, Self::Natural];

    /// Its name on the command line, in Python and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Madry => "madry",
            Self::Trades => "trades",
            Self::Ibp => "ibp",
            Self::CrownIbp => "crown-ibp",
            Self::Natural => "natural",
        }
    }

    /// A description in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Paper => "The largest loss of targeted attacks: the paper's finite maximum",
            Self::Madry => "One attack without a target, from a random start",
            Self::Trades => "The plain loss, and beta times the divergence under attack",
            Self::Ibp => "A bound that no attack can exceed: interval bound propagation",
            Self::CrownIbp => "A tighter bound: intervals mixed with one backward linear relaxation (CROWN)",
            Self::Natural => "No attack",
        }
    }

    /// True for the methods with an attack in training.
    pub fn attacks(self) -> bool {
        matches!(self, Self::Paper | Self::Madry | Self::Trades)
    }

    /// The method of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
            let hint = nearest(name, names).map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default();
            Error::Mismatch(format!("unknown method `{name}`{hint}; there are {}", names.join(", ")))
        })
    }
}
