//! The projected gradient step `x := P_X(x - step * grad_x f(x, y))`.

use super::Outer;
use crate::inner::{Inner, Response};
use crate::{Game, Need, Oracle, Point, Real, StopReason, ops};

/// A projected gradient step of fixed size.
#[derive(Debug)]
pub struct Projected<R> {
    /// The step size, `1/L` for a function with smoothness L.
    pub step: f64,
    gradient: Vec<R>,
}

impl<R: Real> Projected<R> {
    /// A step with scratch space for `dim` coordinates.
    pub fn new(step: f64, dim: usize) -> Self {
        Self { step, gradient: vec![R::default(); dim] }
    }
}

impl<G: Game> Outer<G> for Projected<G::Real> {
    fn advance<I: Inner<G>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &mut Point<G::Real>,
        _response: &mut Response<I, G::Real>,
    ) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        f.grad_x(&z.y, &mut self.gradient);
        ops::axpy(-self.step, &self.gradient, &mut z.x);
        f.x_set().project(&mut z.x);
        Ok(())
    }
}
