//! Measurement of X and Y: the largest first-order gain of a player by a feasible step of length at most `radius`.
//!
//! `X = max { -<g, s> : x + s in C, ||s|| <= radius }` with `g = grad_x f`; Y is the same with `g = -grad_y f`.
//!
//! The upper bound is the proof, and every claim rests on it alone. It follows from any vector `n`:
//! `X <= radius ||g + n|| + sup { <n, z - x> : z in C }`, because `-<g, s> = -<g + n, s> + <n, s>`. The lower bound is the gain of
//! a step that was found, as computed: rounding can put it a few units of the last place above the true gain.

mod bracket;
#[cfg(feature = "polyhedron")]
mod cone;
mod newton;
mod part;
mod path;
mod projected;
mod round;
mod rule;
mod sums;
mod threshold;
mod threshold_passes;
mod vectors;

use crate::{Real, Set};
use path::Path;
use vectors::Gradient;

/// Lower and upper bound of X or of Y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// A feasible step with this gain was found.
    pub lower: f64,
    /// No feasible step has a larger gain.
    pub upper: f64,
}

impl Gap {
    /// A gap of exactly 0.
    pub const ZERO: Self = Self { lower: 0.0, upper: 0.0 };
    /// Both bounds are NaN: a number in the measurement was NaN or infinite.
    pub const UNKNOWN: Self = Self { lower: f64::NAN, upper: f64::NAN };
}

/// Certificate of a pair: bounds of X and Y and the radius they were measured at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Largest first-order gain of the minimising player.
    pub x: Gap,
    /// Largest first-order gain of the maximising player.
    pub y: Gap,
    /// Length of the longest step considered; 1 in the paper.
    pub radius: f64,
    /// States which gradients the bounds hold for: exact or as computed.
    pub proof: Proof,
    /// Rigorous upper bounds of the distances from x and y to their sets: 0 inside, NaN if not measured.
    pub outside: [f64; 2],
}

/// Strength of the upper bounds of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The bounds include every rounding error of the gradients and of the sets: they are proven.
    Rigorous,
    /// The bounds hold for the gradients (and projections) as computed. They include errors of these only as far as the
    /// game states them.
    AsComputed,
}

impl Proof {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigorous => "rigorous",
            Self::AsComputed => "as-computed",
        }
    }
}

impl Certificate {
    /// A certificate for gradients as computed, at a pair whose distance from the sets was not measured.
    pub fn as_computed(x: Gap, y: Gap, radius: f64) -> Self {
        Self { x, y, radius, proof: Proof::AsComputed, outside: [f64::NAN; 2] }
    }

    /// The smallest epsilon for which this pair is proven to be an epsilon-first-order Nash equilibrium; NaN if a bound
    /// is NaN.
    pub fn epsilon(&self) -> f64 {
        // f64::max ignores NaN.
        let (x, y) = (self.x.upper, self.y.upper);
        if x.is_nan() || x >= y { x } else { y }
    }

    /// True if both upper bounds are at most `eps`; false for NaN.
    pub fn proves(&self, eps: f64) -> bool {
        self.x.upper <= eps && self.y.upper <= eps
    }
}

/// Required precision of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ask {
    /// Compute bounds as tight as the arithmetic allows.
    Exact,
    /// Decide if the gap is at most this, and stop as soon as one bound decides it.
    AtMost(f64),
}

impl Ask {
    /// True if these bounds are enough.
    fn settled(self, lower: f64, upper: f64) -> bool {
        match self {
            Self::Exact => false,
            Self::AtMost(eps) => upper <= eps || lower > eps,
        }
    }

    /// The same request for a gap that is `factor` times as large.
    fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::AtMost(eps) => Self::AtMost(eps * factor),
        }
    }
}

/// The player whose gain is measured; it decides the sign of the gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The minimising player moves against its gradient.
    Min,
    /// The maximising player moves along it.
    Max,
}

/// Measures gaps and keeps the scratch space. Allocates nothing after the first use on a set, except for polyhedra.
///
/// ```
/// use standoff::Set;
/// use standoff::gap::{Ask, Gauge, Side};
///
/// // At the upper end of an interval, a gradient that points outwards gives the maximising player no gain.
/// let set = Set::<f64>::interval(0.0, 1.0)?;
/// let mut gauge = Gauge::default();
/// assert_eq!(gauge.measure(&set, &[1.0], &[2.0], Side::Max, Ask::Exact).upper, 0.0);
/// // The minimising player moves down by the whole radius and gains 2, up to rounding.
/// let gap = gauge.measure(&set, &[1.0], &[2.0], Side::Min, Ask::Exact);
/// assert!(1.999_999_999 <= gap.lower && gap.lower <= 2.0 && 2.0 <= gap.upper);
/// assert!((gauge.step()[0] + 1.0).abs() <= 1e-9);
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug)]
pub struct Gauge<R> {
    radius: f64,
    step: Vec<R>,
    /// Power of two that divides the gradient before it is used.
    unit: f64,
    /// Path parameters of the last bound of either player, in units of the gradient as given. Used by gauges made by
    /// [`following`](Self::following).
    recent: [f64; 2],
    follows: bool,
    /// Boxed because `Gauge` is embedded in small structs.
    path: Box<Path<R>>,
}

impl<R: Real> Default for Gauge<R> {
    /// A gauge with the paper's radius, 1.
    fn default() -> Self {
        Self::new(1.0)
    }
}

impl<R: Real> Gauge<R> {
    /// A gauge for steps of length at most `radius`.
    pub fn new(radius: f64) -> Self {
        Self { radius, step: Vec::new(), unit: 1.0, recent: [f64::NAN; 2], follows: false, path: Box::default() }
    }

    /// A gauge that measures one pair of players as they move. On a polyhedron, the search starts where the last search
    /// for the same player ended, so bounds may differ by rounding from those of a new gauge.
    pub(crate) fn following(radius: f64) -> Self {
        Self { follows: true, ..Self::new(radius) }
    }

    /// Measures the largest first-order gain of a feasible step from `point`. [`step`](Self::step) returns the best
    /// step found.
    ///
    /// The point must belong to the set up to rounding; a point slightly outside is treated as if it were on the
    /// border. Both bounds are NaN if the point is clearly outside or a number is not finite. If the gradient is
    /// exactly zero, the gap is 0 and the point is not checked. Check untrusted points with [`Set::distance`] first.
    pub fn measure(&mut self, set: &Set<R>, point: &[R], grad: &[R], side: Side, ask: Ask) -> Gap {
        assert_eq!(point.len(), set.dim());
        assert_eq!(grad.len(), set.dim());
        self.step.resize(point.len(), R::default());
        let (gap, stepped) = self.bounds(set, point, grad, (side, ask));
        if !stepped {
            self.step.fill(R::default());
            self.path.make_room(set);
        }
        gap
    }

    /// Returns the gap, and true if the step was written.
    fn bounds(&mut self, set: &Set<R>, point: &[R], grad: &[R], (side, ask): (Side, Ask)) -> (Gap, bool) {
        let usable = self.radius.is_finite() && self.radius >= 0.0;
        let survey = sums::survey(grad);
        let largest = survey.largest();
        if !(usable && largest.is_finite() && sums::is_finite(point)) {
            return (Gap::UNKNOWN, false);
        }
        if largest == 0.0 || self.radius == 0.0 {
            return (Gap::ZERO, false);
        }
        // Divide by a power of two near the largest entry: squares then neither overflow nor underflow, and no bit
        // changes.
        let unit = power_of_two_near(largest);
        self.unit = unit;
        let factor = if side == Side::Min { 1.0 } else { -1.0 } / unit;
        if !self.path.prepare(set, point, &Gradient { entries: grad, survey, factor }, self.radius) {
            return (Gap::UNKNOWN, false);
        }
        let recent = &mut self.recent[usize::from(side == Side::Max)];
        self.path.start_near(if self.follows { *recent * unit } else { f64::NAN });
        let upper = self.path.search(set, ask.scaled(1.0 / unit));
        let tau = self.path.proof().0;
        *recent = if tau > 0.0 { tau / unit } else { f64::NAN };
        let lower = self.path.write_step(&mut self.step);
        // Rounding may leave the gain of the step a few units above the bound.
        (Gap { lower: if lower < upper { lower } else { upper } * unit, upper: upper * unit }, true)
    }

    /// The proof of the last upper bound: the path parameter (0 for the bound `radius ||g||`, infinite for the limit of
    /// the path), the multipliers of all rows of polyhedra, and the number by which the gradient was divided in both.
    pub(crate) fn proof(&self) -> (f64, &[f64], f64) {
        let (tau, multipliers) = self.path.proof();
        (tau, multipliers, self.unit)
    }

    /// The feasible step that attains the lower bound of the last measurement; 0 if that found no gain.
    pub fn step(&self) -> &[R] {
        &self.step
    }
}

/// The power of two `p` with `p <= v < 2 p`, for a normal number `v`.
fn power_of_two_near(v: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    let p = f64::from_bits(v.to_bits() & EXPONENT);
    if p > 0.0 { p } else { f64::MIN_POSITIVE }
}
