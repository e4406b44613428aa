//! The certificate: X and Y, the most either player could gain to first order by a feasible step of length `radius`.
//!
//! `X = max { -<g, s> : x + s in C, ||s|| <= radius }` with `g = grad_x f`; Y is the same with `g = -grad_y f`.
//!
//! Both bounds are proofs. From below: a step is exhibited. From above: any vector `n` gives
//! `X <= radius ||g + n|| + sup { <n, z - x> : z in C }`, because `-<g, s> = -<g + n, s> + <n, s>`.

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

/// A number known from below and from above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Some feasible step gains this much.
    pub lower: f64,
    /// No feasible step gains more than this.
    pub upper: f64,
}

impl Gap {
    /// Nothing to gain.
    pub const ZERO: Self = Self { lower: 0.0, upper: 0.0 };
    /// Nothing is known: a number that entered the measurement was NaN or infinite.
    pub const UNKNOWN: Self = Self { lower: f64::NAN, upper: f64::NAN };
}

/// X and Y of a pair, with the radius they were measured at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// What the minimising player could still gain.
    pub x: Gap,
    /// What the maximising player could still gain.
    pub y: Gap,
    /// The longest step considered; 1 in the paper.
    pub radius: f64,
    /// Whether the bounds hold for the exact gradients or for the gradients as computed.
    pub proof: Proof,
    /// Rigorous upper bounds of the distances from x and y to their sets: 0 inside, NaN where that was not measured.
    pub outside: [f64; 2],
}

/// What the upper bounds of a certificate rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Every rounding error is accounted for, of the gradients and of the sets: the bounds are proven.
    Rigorous,
    /// The gradients (or a set's projection) are taken as they were computed; their errors are in the bounds only as far as stated.
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
    /// Bounds that hold for gradients as computed, at a pair whose distance from the sets was not measured.
    pub fn as_computed(x: Gap, y: Gap, radius: f64) -> Self {
        Self { x, y, radius, proof: Proof::AsComputed, outside: [f64::NAN; 2] }
    }

    /// The smallest epsilon for which this pair is proven an epsilon-first-order Nash equilibrium; NaN if anything was NaN.
    pub fn epsilon(&self) -> f64 {
        // f64::max drops NaN.
        let (x, y) = (self.x.upper, self.y.upper);
        if x.is_nan() || x >= y { x } else { y }
    }

    /// Whether both bounds prove `eps`. NaN proves nothing.
    pub fn proves(&self, eps: f64) -> bool {
        self.x.upper <= eps && self.y.upper <= eps
    }
}

/// How much of an answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ask {
    /// Bounds as tight as the arithmetic allows.
    Exact,
    /// Only whether the gap is at most this: stop as soon as one bound decides.
    AtMost(f64),
}

impl Ask {
    /// Whether these bounds answer the question.
    fn settled(self, lower: f64, upper: f64) -> bool {
        match self {
            Self::Exact => false,
            Self::AtMost(eps) => upper <= eps || lower > eps,
        }
    }

    /// The same question about a gap that is `factor` times as large.
    fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::AtMost(eps) => Self::AtMost(eps * factor),
        }
    }
}

/// Whose gain is measured: the sign of the gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The minimising player moves against its gradient.
    Min,
    /// The maximising player moves along it.
    Max,
}

/// Measures gaps, with the scratch space that takes. Nothing is allocated after the first use on a set, unless a
/// polyhedron is part of it.
///
/// ```
/// use standoff::Set;
/// use standoff::gap::{Ask, Gauge, Side};
///
/// // At the upper end of an interval the maximising player gains nothing by a gradient that points outwards.
/// let set = Set::<f64>::interval(0.0, 1.0)?;
/// let mut gauge = Gauge::default();
/// assert_eq!(gauge.measure(&set, &[1.0], &[2.0], Side::Max, Ask::Exact).upper, 0.0);
/// // The minimising player goes down by the whole length and gains 2, rounding aside.
/// let gap = gauge.measure(&set, &[1.0], &[2.0], Side::Min, Ask::Exact);
/// assert!(1.999_999_999 <= gap.lower && gap.lower <= 2.0 && 2.0 <= gap.upper);
/// assert!((gauge.step()[0] + 1.0).abs() <= 1e-9);
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug)]
pub struct Gauge<R> {
    radius: f64,
    step: Vec<R>,
    /// The gradient is measured in units of this power of two.
    unit: f64,
    /// Where on the path either side's last bound was found, in units of the gradient as given; looked at if the gauge
    /// [follows](Self::following) one pair.
    recent: [f64; 2],
    follows: bool,
    /// Boxed because `Gauge` is embedded in small structs.
    path: Box<Path<R>>,
}

impl<R: Real> Default for Gauge<R> {
    /// The paper's radius, 1.
    fn default() -> Self {
        Self::new(1.0)
    }
}

impl<R: Real> Gauge<R> {
    /// A gauge for steps of length at most `radius`.
    pub fn new(radius: f64) -> Self {
        Self { radius, step: Vec::new(), unit: 1.0, recent: [f64::NAN; 2], follows: false, path: Box::default() }
    }

    /// A gauge for one pair of players as they move: the search on a polyhedron begins where the same side's last one ended. The bounds
    /// differ from those of another gauge by rounding.
    pub(crate) fn following(radius: f64) -> Self {
        Self { follows: true, ..Self::new(radius) }
    }

    /// The most that moving from `point` within `set` can gain to first order. The best step found is in [`step`](Self::step).
    ///
    /// The point belongs to the set up to rounding: the set is taken to reach just as far as the point. One that is
    /// clearly outside has no gap, and neither has anything that is not finite: both bounds are NaN then. Where the gradient is
    /// exactly zero nothing can be gained from anywhere and the point is not looked at: whoever takes points from strangers
    /// asks for [`Set::distance`] first.
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

    /// The gap, and whether the step was written.
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
        // In units of a power of two near the largest entry squares neither overflow nor vanish, and no bit changes.
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

    /// How the last upper bound was found: the path parameter (0 for `radius ||g||`, infinite for the limit of the path), and the
    /// multipliers of all rows of polyhedra. Both are in units where the gradient was divided by the third number.
    pub(crate) fn proof(&self) -> (f64, &[f64], f64) {
        let (tau, multipliers) = self.path.proof();
        (tau, multipliers, self.unit)
    }

    /// The feasible step that attains the lower bound of the last measurement; 0 when that measured nothing.
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
