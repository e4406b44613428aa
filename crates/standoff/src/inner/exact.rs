//! The exact maximiser of a game that is linear in y.

use super::{Answer, Inner, Regulariser, Request};
use crate::{Game, Oracle, Real, StopReason, ops};

/// `y = P_Y(centre + grad_y f / lambda)`. For f linear in y the gradient does not depend on y, so one gradient and one
/// projection give the maximiser of `f_lambda`. With lambda = 0 it is a maximiser of a linear function over Y.
#[derive(Debug)]
pub struct Exact<R> {
    gradient: Vec<R>,
}

impl<R: Real> Exact<R> {
    /// An inner step with scratch space for `dim` coordinates.
    pub fn new(dim: usize) -> Self {
        Self { gradient: vec![R::default(); dim] }
    }
}

impl<G: Game> Inner<G> for Exact<G::Real> {
    /// Fails if there is no maximiser: lambda = 0 and Y is unbounded.
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        regulariser: &Regulariser<G::Real>,
        _request: Request,
    ) -> Result<Answer, StopReason> {
        let at_y = f.grad_y(y, &mut self.gradient);
        let at_zero = at_y - ops::dot(&self.gradient, y);
        if regulariser.lambda > 0.0 {
            ops::add_scaled(y, &regulariser.centre, 1.0 / regulariser.lambda, &self.gradient);
            f.y_set().project(y);
            let value = regulariser.value(at_zero + ops::dot(&self.gradient, y), y);
            return Ok(Answer::Settled { value, residual: 0.0 });
        }
        for g in &mut self.gradient {
            *g = Real::from_f64(-g.to_f64());
        }
        if !ops::all_finite(&self.gradient) {
            return Ok(Answer::Rejected);
        }
        if !f.y_set().minimise_linear(&self.gradient, y) {
            return Ok(Answer::Failed);
        }
        Ok(Answer::Settled { value: at_zero - ops::dot(&self.gradient, y), residual: 0.0 })
    }
}
