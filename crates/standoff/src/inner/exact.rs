//! The exact answer of a game that is linear in y.

use super::Regulariser;
use crate::{Game, Oracle, Real, ops};

/// `y = P_Y(centre + grad_y f / lambda)`: for f linear in y the gradient does not depend on y, so one gradient and one
/// projection give the maximiser of `f_lambda`; with lambda = 0 it is a point of Y that is best for a linear function.
#[derive(Debug)]
pub struct Exact<R> {
    gradient: Vec<R>,
}

impl<R: Real> Exact<R> {
    /// Scratch for `dim` coordinates.
    pub fn new(dim: usize) -> Self {
        Self { gradient: vec![R::default(); dim] }
    }

    /// Replaces `y` by the maximiser, at the x that `f` is fixed at. `false` when there is none (lambda = 0, Y unbounded).
    pub fn run<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, y: &mut [R], regulariser: &Regulariser<R>) -> bool {
        f.grad_y(y, &mut self.gradient);
        if regulariser.lambda > 0.0 {
            ops::add_scaled(y, &regulariser.centre, 1.0 / regulariser.lambda, &self.gradient);
            f.y_set().project(y);
            return true;
        }
        for g in &mut self.gradient {
            *g = R::from_f64(-g.to_f64());
        }
        f.y_set().minimise_linear(&self.gradient, y)
    }
}
