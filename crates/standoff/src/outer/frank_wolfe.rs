//! The paper's Frank-Wolfe step. Its direction is that of the certificate, the best feasible step of length at most the
//! radius, so it exists for every set, bounded or not.

use super::Outer;
use crate::gap::{Ask, Gauge, Side};
use crate::inner::{Inner, Response};
use crate::{Game, Need, Oracle, Point, Real, StopReason, ops};

/// `x := x + min(1, X/(L ||s||^2)) s`, where s attains X. The step length minimises the upper bound `g - t X + L t^2 ||s||^2/2`
/// over t in [0, 1].
#[derive(Debug)]
pub struct FrankWolfeStep<R> {
    /// The smoothness constant L.
    pub smoothness: f64,
    /// True to clip the step length to 1. As printed, the step is `X/(L radius^2)` without clipping, and x may leave X.
    pub clip: bool,
    radius: f64,
    gauge: Gauge<R>,
    gradient: Vec<R>,
}

impl<R: Real> FrankWolfeStep<R> {
    /// A step with scratch space for `dim` coordinates.
    pub fn new(smoothness: f64, radius: f64, dim: usize) -> Self {
        Self { smoothness, clip: true, radius, gauge: Gauge::new(radius), gradient: vec![R::default(); dim] }
    }
}

impl<G: Game> Outer<G> for FrankWolfeStep<G::Real> {
    fn advance<I: Inner<G>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &mut Point<G::Real>,
        _response: &mut Response<I, G::Real>,
    ) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        f.grad_x(&z.y, &mut self.gradient);
        let gap = self.gauge.measure(f.x_set(), &z.x, &self.gradient, Side::Min, Ask::Exact);
        if self.clip {
            let size = ops::norm(self.gauge.step());
            // A zero step has no length to divide by.
            let length = if size > 0.0 { gap.lower / (self.smoothness * size * size) } else { 0.0 };
            ops::axpy(if length > 1.0 { 1.0 } else { length }, self.gauge.step(), &mut z.x);
            // A convex combination stays in X; the projection only removes rounding errors.
            f.x_set().project(&mut z.x);
        } else {
            let length = gap.lower / (self.smoothness * self.radius * self.radius);
            ops::axpy(length, self.gauge.step(), &mut z.x);
        }
        Ok(())
    }
}
