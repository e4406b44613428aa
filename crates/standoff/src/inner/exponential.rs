//! Exponential weights on a simplex: with a memory (group DRO) and without (tilted losses).

use super::{Answer, Inner, Regulariser, Request};
use crate::{Game, Oracle, Real, StopReason, ops};

/// Exponentiated gradient: `y_i := y_i exp(rate * grad_i)`, normalised, once per step of x.
#[derive(Debug)]
pub struct Exponentiated<R> {
    /// The step size.
    pub rate: f64,
    gradient: Vec<R>,
}

impl<R: Real> Exponentiated<R> {
    /// An inner step with scratch space for `dim` coordinates.
    pub fn new(rate: f64, dim: usize) -> Self {
        Self { rate, gradient: vec![R::default(); dim] }
    }
}

impl<G: Game> Inner<G> for Exponentiated<G::Real> {
    /// Does nothing: y has a memory and moves only in `follow`, once per step of x.
    fn answer(
        &mut self,
        _f: &mut Oracle<'_, G>,
        _y: &mut [G::Real],
        _regulariser: &Regulariser<G::Real>,
        _request: Request,
    ) -> Result<Answer, StopReason> {
        Ok(Answer::UNPROVEN)
    }

    fn follow(&mut self, f: &mut Oracle<'_, G>, y: &mut [G::Real]) -> Result<(), StopReason> {
        f.grad_y(y, &mut self.gradient);
        reweight(y, &self.gradient, self.rate, true)
    }
}

/// `y = softmax(tilt * grad_y)`: the maximiser with an entropy regulariser (tilted losses, TERM).
#[derive(Debug)]
pub struct Tilted<R> {
    /// The tilt: 0 gives the mean, infinity the maximum.
    pub tilt: f64,
    gradient: Vec<R>,
}

impl<R: Real> Tilted<R> {
    /// An inner step with scratch space for `dim` coordinates.
    pub fn new(tilt: f64, dim: usize) -> Self {
        Self { tilt, gradient: vec![R::default(); dim] }
    }
}

impl<G: Game> Inner<G> for Tilted<G::Real> {
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        _regulariser: &Regulariser<G::Real>,
        _request: Request,
    ) -> Result<Answer, StopReason> {
        f.grad_y(y, &mut self.gradient);
        reweight(y, &self.gradient, self.tilt, false)?;
        Ok(Answer::UNPROVEN)
    }
}

/// `y_i := y_i exp(rate * g_i)` or, without a memory, `exp(rate * g_i)`, normalised to the sum of y.
fn reweight<R: Real>(y: &mut [R], g: &[R], rate: f64, memory: bool) -> Result<(), StopReason> {
    if !ops::all_finite(g) {
        return Err(StopReason::NonFinite);
    }
    // Subtract the largest exponent, so that nothing overflows.
    let top = g.iter().map(|v| v.to_f64()).fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a });
    let whole: f64 = y.iter().map(|v| v.to_f64()).sum();
    let mut sum = 0.0;
    for (y, g) in y.iter_mut().zip(g) {
        // A weight of exactly zero could never grow again, so weights stay above a tiny number.
        let old = if memory { y.to_f64().max(1e-30) } else { 1.0 };
        let new = old * (rate * (g.to_f64() - top)).exp();
        sum += new;
        *y = R::from_f64(new);
    }
    if !(sum > 0.0 && sum.is_finite()) {
        return Err(StopReason::NonFinite);
    }
    y.iter_mut().for_each(|y| *y = R::from_f64(y.to_f64() * whole / sum));
    Ok(())
}
