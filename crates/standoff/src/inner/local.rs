//! Ascent for Algorithm 1 without constants: the step follows the local curvature, and points outside the domain of f are rejected.
//!
//! A step `t` from `y` to `y+` is accepted when the gradient turned by at most `||y+ - y|| / t`, so `1/t` bounds L22 along the step.
//! The test compares gradients because differences of values drown in rounding near the maximum. In the imitation of a
//! linear-quadratic regulator f is smooth and PL only on sublevel sets of stabilising gains: an infinite value shortens the step.

use super::{Answer, Inner, Regulariser, Request, Stop, residual};
use crate::method::Visitor;
use crate::plan::{StepReach, tightened_tolerance};
use crate::{Constants, Game, Oracle, Real, StopReason, ops};

/// Factor by which an accepted step grows, so that it can follow a curvature that falls.
pub(crate) const GROWTH: f64 = 1.2;

/// `eps` is for steps of length at most 1; a method that asks for longer ones divides it by their length.
const UNIT: StepReach = StepReach { x: 1.0, y: 1.0 };

/// The ascent, its scratch, and the constants it has seen so far.
#[derive(Debug)]
pub struct LocalAscent<R> {
    step: f64,
    eps: f64,
    /// A residual asked for that may be smaller than the one that `eps` needs.
    asked: f64,
    /// The smallest curvature met along a step: a local PL constant.
    mu: f64,
    /// The largest change of `grad_y` per change of x.
    l12: f64,
    value: f64,
    gradient: Vec<R>,
    next: Vec<R>,
    next_gradient: Vec<R>,
}

impl<R: Real> LocalAscent<R> {
    /// Rounding in a value of size v is taken to be at most this times v.
    pub(crate) const NOISE: f64 = 900.0 * R::UNIT_ROUNDOFF;

    /// For a certificate of `eps` and `dim` coordinates.
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

    /// `f` at the answer.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// `grad_y f` at the answer.
    pub(crate) fn gradient(&self) -> &[R] {
        &self.gradient
    }

    /// The residual to reach: `min(eps/4, mu (eps/12)/L12)`, as with constants, from the local ones.
    fn tolerance(&self) -> f64 {
        let for_eps =
            tightened_tolerance(&Constants { l12: self.l12, ..Constants::default() }, self.mu, self.eps, UNIT);
        if self.asked < for_eps { self.asked } else { for_eps }
    }

    /// A bound on how far the value at the answer lies below the maximum.
    pub(crate) fn shortfall(&self) -> f64 {
        0.5 * self.tolerance() * (self.tolerance() / self.mu)
    }

    /// Looks at `y` at the x that `f` is fixed at; `false` when that pair is outside the domain of f.
    pub(crate) fn begin<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, y: &[R]) -> bool {
        self.value = f.grad_y(y, &mut self.gradient);
        self.value.is_finite() && ops::all_finite(&self.gradient)
    }

    /// Learns L12 from the gradient that [`begin`](Self::begin) found, `before` the same before x moved by `moved`.
    pub(crate) fn learn_l12(&mut self, before: &[R], moved: f64) {
        let ratio = ops::distance(&self.gradient, before) / moved;
        if ratio.is_finite() && ratio > self.l12 {
            self.l12 = ratio;
        }
    }

    /// Climbs from the `y` that [`begin`](Self::begin) looked at until the residual is small, and returns the residual.
    pub(crate) fn climb<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, y: &mut [R]) -> Result<f64, StopReason> {
        let size = ops::norm(&self.gradient);
        // The gradient itself is a residual: its multiplier is 0.
        if size <= self.tolerance() {
            return Ok(size);
        }
        if self.step == 0.0 {
            // The first trial has length 1.
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
                    // No step is short enough: rounding decides here. The certificate judges y; the next ascent looks for a new step.
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

    /// Whether the trial step stays in the domain, does not lose value, and turns the gradient by at most `moved / step`.
    fn accepts(&self, value: f64, moved: f64) -> bool {
        let noise = Self::NOISE * (self.value.abs() + value.abs());
        let turned = ops::distance(&self.next_gradient, &self.gradient);
        let rounding = Self::NOISE * ops::norm(&self.gradient);
        // Every comparison is false for NaN.
        value.is_finite() && value >= self.value - noise && turned <= moved / self.step + rounding
    }

    /// The curvature along the accepted step; a step that hardly turns the gradient shows nothing but rounding.
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
    /// Climbs f itself; it has no regulariser, because the step follows the curvature of f.
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
