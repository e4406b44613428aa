//! Gradients with rigorous error bounds; games pass them to the certificate.

use super::{Enclosure, Number};

/// Arithmetic of an enclosure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// `f64` with a running error bound: the cost of a few gradients.
    Fast,
    /// About 106 bits: the cost of tens of gradients, with bounds tight to 20 digits or more.
    Double,
}

/// The set of slopes that may replace the derivative at a kink that is met exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hull {
    /// One number in an interval (`abs`, `relu`, and the weight of the first operand of `max` and `min`).
    Interval(f64, f64),
    /// Non-negative weights with sum 1, one per tied entry of `max(v)` or `min(v)`.
    Weights,
    /// A vector of length at most 1 (`norm`).
    UnitBall,
}

/// The slope used at one kink, identified by the kink of the formula and the entry of its result.
#[derive(Debug, Clone, PartialEq)]
pub struct KinkSlope {
    /// The index of the kink, in the order in which a formula is parsed.
    pub kink: usize,
    /// The entry of its result.
    pub entry: usize,
    /// The slope; its length depends on the operation.
    pub slope: Vec<f64>,
}

/// A kink that is met exactly and is harmless for the player: every slope of its hull gives a valid bound.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeKink {
    /// The slope in use.
    pub used: KinkSlope,
    /// The set from which the slope may be chosen.
    pub hull: Hull,
    /// For each free number of the slope (by position in the slope): its approximate contribution to the player's
    /// gradient.
    pub directions: Vec<(usize, Vec<f64>)>,
}

/// A player's enclosed gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct EnclosedGradient {
    /// The partial derivatives.
    pub entries: Vec<Enclosure>,
    /// Kinks whose slope may be chosen.
    pub free: Vec<FreeKink>,
    /// True if the entries cover several slopes of a kink, because it is harmful or its argument is not known exactly.
    pub covers_a_kink: bool,
}

impl EnclosedGradient {
    /// The nearest `f64` of every entry; NaN for unknown entries.
    pub fn middle(&self) -> Vec<f64> {
        self.entries.iter().map(|e| e.middle()).collect()
    }
}

/// `f` and both gradients at a pair, enclosed.
#[derive(Debug, Clone, PartialEq)]
pub struct EnclosedGradients {
    /// The value.
    pub value: Enclosure,
    /// The gradient of the minimising player.
    pub x: EnclosedGradient,
    /// The gradient of the maximising player.
    pub y: EnclosedGradient,
}

/// Slopes to use at kinks, for each player; kinks without an entry use a default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slopes {
    /// For the gradient of the minimising player.
    pub x: Vec<KinkSlope>,
    /// For the gradient of the maximising player.
    pub y: Vec<KinkSlope>,
}
