//! Gradients with rigorous bounds of their errors, as a game hands them to the certificate.

use super::{Enclosure, Number};

/// How much work goes into an enclosure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// `f64` with a running bound of its error: the cost of a few gradients.
    Fast,
    /// About 106 bits: tens of gradients, and bounds that are tight to 20 digits or more.
    Double,
}

/// The slopes that may stand for the derivative of a kink that is met exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hull {
    /// One number between two (`abs`, `relu`, and the weight of the first of two operands of `max` and `min`).
    Interval(f64, f64),
    /// Weights that are not negative and add up to 1, one per tied entry of `max(v)` or `min(v)`.
    Weights,
    /// A vector of length at most 1 (`norm`).
    UnitBall,
}

/// The slope used at one kink: which kink of the formula, which entry of its result, and the numbers of the slope.
#[derive(Debug, Clone, PartialEq)]
pub struct KinkSlope {
    /// The number of the kink, in the order in which a formula is read.
    pub kink: usize,
    /// The entry of its result.
    pub entry: usize,
    /// The slope; its length depends on the operation.
    pub slope: Vec<f64>,
}

/// A kink that is met exactly and is harmless for the player: every slope of its hull gives a valid bound.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeKink {
    /// The slope used.
    pub used: KinkSlope,
    /// Where the slope may be chosen from.
    pub hull: Hull,
    /// Per number of the slope that may be chosen (by position in the slope): what it adds to the player's gradient, about.
    pub directions: Vec<(usize, Vec<f64>)>,
}

/// A player's gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct EnclosedGradient {
    /// The partial derivatives.
    pub entries: Vec<Enclosure>,
    /// Kinks whose slope may be chosen.
    pub free: Vec<FreeKink>,
    /// Whether the entries cover several slopes of a kink, because it is harmful or its argument is not known exactly.
    pub covers_a_kink: bool,
}

impl EnclosedGradient {
    /// The nearest `f64` of every entry; NaN where nothing is known.
    pub fn middle(&self) -> Vec<f64> {
        self.entries.iter().map(|e| e.middle()).collect()
    }
}

/// `f` and both gradients at a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct EnclosedGradients {
    /// The value.
    pub value: Enclosure,
    /// The gradient of the minimising player.
    pub x: EnclosedGradient,
    /// The gradient of the maximising player.
    pub y: EnclosedGradient,
}

/// Slopes to be used at kinks, for each player; where none is given, a default is used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slopes {
    /// For the gradient of the minimising player.
    pub x: Vec<KinkSlope>,
    /// For the gradient of the maximising player.
    pub y: Vec<KinkSlope>,
}
