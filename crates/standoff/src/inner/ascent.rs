//! The inner loop of Algorithm 1: projected gradient ascent with a fixed step.

use super::{Answer, Inner, Regulariser, Request, Stop, residual};
use crate::{Game, Oracle, Real, StopReason, ops};

/// `repeat y := P_Y(y + step * grad_y f_lambda(x, y))`.
#[derive(Debug)]
pub struct Ascent<R> {
    /// The step size, `1/(L22 + lambda)`.
    pub step: f64,
    gradient: Vec<R>,
    next: Vec<R>,
    next_gradient: Vec<R>,
}

impl<R: Real> Ascent<R> {
    /// An ascent with scratch space for `dim` coordinates.
    pub fn new(step: f64, dim: usize) -> Self {
        let zero = || vec![R::default(); dim];
        Self { step, gradient: zero(), next: zero(), next_gradient: zero() }
    }

    /// Exactly `k` steps.
    fn count<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [R],
        regulariser: &Regulariser<R>,
        k: u64,
    ) -> Result<Answer, StopReason> {
        for _ in 0..k {
            f.budget()?;
            f.grad_y(y, &mut self.gradient);
            regulariser.bend(y, &mut self.gradient);
            ops::axpy(self.step, &self.gradient, y);
            f.y_set().project(y);
        }
        Ok(Answer::UNPROVEN)
    }

    /// Steps until the residual is small. The gradient at the last point serves for both the residual and the next
    /// step.
    fn settle<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [R],
        regulariser: &Regulariser<R>,
        tolerance: f64,
    ) -> Result<Answer, StopReason> {
        f.grad_y(y, &mut self.gradient);
        regulariser.bend(y, &mut self.gradient);
        loop {
            f.budget()?;
            ops::add_scaled(&mut self.next, y, self.step, &self.gradient);
            f.y_set().project(&mut self.next);
            let value = f.grad_y(&self.next, &mut self.next_gradient);
            regulariser.bend(&self.next, &mut self.next_gradient);
            let r = residual(y, &self.gradient, &self.next, &self.next_gradient, self.step);
            let moved = *y != *self.next;
            y.copy_from_slice(&self.next);
            std::mem::swap(&mut self.gradient, &mut self.next_gradient);
            if r <= tolerance || !moved {
                return Ok(Answer::Settled { value: regulariser.value(value, y), residual: r });
            }
            if !r.is_finite() {
                return Err(StopReason::NonFinite);
            }
        }
    }
}

impl<G: Game> Inner<G> for Ascent<G::Real> {
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        regulariser: &Regulariser<G::Real>,
        request: Request,
    ) -> Result<Answer, StopReason> {
        match request.stop {
            Stop::Steps(k) => self.count(f, y, regulariser, k),
            Stop::Residual(tolerance) => self.settle(f, y, regulariser, tolerance),
        }
    }
}
