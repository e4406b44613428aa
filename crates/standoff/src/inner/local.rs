//! Ascent for Algorithm 1 without constants: the step follows the local curvature, and points outside the domain of f
//! are rejected.
//!
//! A step of size `t` from `y` to `y+` is accepted if the gradient changes by at most `||y+ - y|| / t`, so `1/t` bounds
//! L22 along the step. The test compares gradients because near the maximum differences of values are smaller than
//! their rounding errors. In the imitation game of linear-quadratic control, f is smooth and PL only on sublevel sets
//! of stabilising gains; an infinite value shortens the step.

use super::{Answer, Inner, Regulariser, Request, Stop, residual};
use crate::method::Visitor;
use crate::plan::{StepReach, tightened_tolerance};
use crate::{Constants, Game, Oracle, Real, StopReason, ops};

/// Growth of an accepted step, so that it can follow a decreasing curvature.
pub(crate) const GROWTH: f64 = 1.2;

/// `eps` is for steps of length at most 1; a method with longer steps divides it by their length.
const UNIT: StepReach = StepReach { x: 1.0, y: 1.0 };

/// The ascent, its scratch space, and local estimates of the constants.
#[derive(Debug)]
pub struct LocalAscent<R> {
    step: f64,
    eps: f64,
    /// A requested residual, which may be smaller than the one that `eps` needs.
    asked: f64,
    /// The smallest curvature found along a step: a local PL constant.
    mu: f64,
    /// The largest change of `grad_y` per change of x found.
    l12: f64,
    value: f64,
    gradient: Vec<R>,
    next: Vec<R>,
    next_gradient: Vec<R>,
}

impl<R: Real> LocalAscent<R> {
    /// Assumed relative rounding error of a value.
    pub(crate) const NOISE: f64 = 900.0 * R::UNIT_ROUNDOFF;

    /// An ascent for a certificate of `eps` and `dim` coordinates.
    pub fn new(eps: f64, dim: usize) -> Self {
        let zero = || vec![R::default(); dim];
        Self {
            step: 0.0,
            eps,
            asked: f64::INFINITY,
            mu: f64::INFINITY,
            l12: 0.0,
            value: f64::NAN,
            gradient: zero(),
            next: zero(),
            next_gradient: zero(),
        }
    }

    /// `f` at the end point.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// `grad_y f` at the end point.
    pub(crate) fn gradient(&self) -> &[R] {
        &self.gradient
    }

    /// The residual to reach: `min(eps/4, mu (eps/12)/L12)`, as with constants, but from the local ones.
    fn tolerance(&self) -> f64 {
        let for_eps =
            tightened_tolerance(&Constants { l12: self.l12, ..Constants::default() }, self.mu, self.eps, UNIT);
        if self.asked < for_eps { self.asked } else { for_eps }
    }

    /// Upper bound of the distance of the value from the maximum.
    pub(crate) fn shortfall(&self) -> f64 {
        0.5 * self.tolerance() * (self.tolerance() / self.mu)
    }

    /// Evaluates f at `y` and the fixed x. Returns `false` if that pair is outside the domain of f.
    pub(crate) fn begin<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, y: &[R]) -> bool {
        self.value = f.grad_y(y, &mut self.gradient);
        self.value.is_finite() && ops::all_finite(&self.gradient)
    }

    /// Updates L12 from the gradient found by [`begin`](Self::begin); `before` is the gradient before x moved by
    /// `moved`.
    pub(crate) fn learn_l12(&mut self, before: &[R], moved: f64) {
        let ratio = ops::distance(&self.gradient, before) / moved;
        if ratio.is_finite() && ratio > self.l12 {
            self.l12 = ratio;
        }
    }

    /// Climbs from the `y` of [`begin`](Self::begin) until the residual is small, and returns the residual.
    pub(crate) fn climb<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, y: &mut [R]) -> Result<f64, StopReason> {
        let size = ops::norm(&self.gradient);
        // The gradient itself is a residual, with multiplier 0.
        if size <= self.tolerance() {
            return Ok(size);
        }
        if self.step == 0.0 {
            // The first trial step has length 1.
            self.step = 1.0 / size;
        }
        loop {
            f.budget()?;
            ops::add_scaled(&mut self.next, y, self.step, &self.gradient);
            f.y_set().project(&mut self.next);
            let value = f.grad_y(&self.next, &mut self.next_gradient);
            let moved = ops::distance(&self.next, y);
            let still = !(moved > 4.0 * R::UNIT_ROUNDOFF * ops::norm(y));
            if !self.accepts(value, moved) {
                if still {
                    // No step is short enough: rounding dominates here. The certificate decides about y; the next
                    // ascent searches for a new step.
                    self.step = 0.0;
                    return Ok(f64::INFINITY);
                }
                self.step *= 0.5;
                continue;
            }
            self.learn_mu(y, moved);
            let r = residual(y, &self.gradient, &self.next, &self.next_gradient, self.step);
            y.copy_from_slice(&self.next);
            std::mem::swap(&mut self.gradient, &mut self.next_gradient);
            self.value = value;
            if r <= self.tolerance() || still {
                return Ok(r);
            }
            self.step *= GROWTH;
        }
    }

    /// True if the trial step stays in the domain, does not lose value, and changes the gradient by at most `moved / step`.
    fn accepts(&self, value: f64, moved: f64) -> bool {
        let noise = Self::NOISE * (self.value.abs() + value.abs());
        let turned = ops::distance(&self.next_gradient, &self.gradient);
        let rounding = Self::NOISE * ops::norm(&self.gradient);
        // Every comparison is false for NaN.
        value.is_finite() && value >= self.value - noise && turned <= moved / self.step + rounding
    }

    /// Updates mu from the curvature along the accepted step; ignores a change of the gradient that may be rounding.
    fn learn_mu(&mut self, y: &[R], moved: f64) {
        let turned = ops::distance(&self.next_gradient, &self.gradient);
        let fall = ops::sum_of(y.len(), |i| {
            (self.gradient[i].to_f64() - self.next_gradient[i].to_f64()) * (self.next[i].to_f64() - y[i].to_f64())
        });
        let curvature = fall / (moved * moved);
        if turned > 1e-6 * ops::norm(&self.gradient) && curvature > 0.0 && curvature < self.mu {
            self.mu = curvature;
        }
    }

    pub(crate) fn show(&mut self, visitor: &mut dyn Visitor<R>) {
        visitor.scalar("inner_step", &mut self.step);
        visitor.scalar("inner_mu", &mut self.mu);
        visitor.scalar("inner_l12", &mut self.l12);
        visitor.scalar("inner_value", &mut self.value);
        visitor.vector("inner_gradient", &mut self.gradient);
    }
}

impl<G: Game> Inner<G> for LocalAscent<G::Real> {
    /// Climbs f itself, without a regulariser, because the step follows the curvature of f.
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        _regulariser: &Regulariser<G::Real>,
        request: Request,
    ) -> Result<Answer, StopReason> {
        if let Stop::Residual(tolerance) = request.stop {
            self.asked = tolerance;
        }
        if !self.begin(f, y) {
            return Ok(Answer::Rejected);
        }
        let residual = self.climb(f, y)?;
        Ok(Answer::Settled { value: self.value, residual })
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        self.show(visitor);
    }
}
