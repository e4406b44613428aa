//! The x-loop: accelerated descent on `f(., y) + m ||. - x_t||^2`, whose condition number is 3 for m = L11.

use super::super::step::pull;
use crate::{Game, Need, Oracle, Real, StopReason, ops};

/// Result of a subproblem, or of its x-loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The residual is small enough.
    Settled,
    /// `f + m ||. - x_t||^2` is not m-strongly convex: m is too small.
    Convexity,
}

/// The descent, its result `x`, and scratch space. Each run starts at the result of the last one.
pub(super) struct Descent<R> {
    pub(super) x: Vec<R>,
    anchor: Vec<R>,
    l11: f64,
    m: f64,
    last: Vec<R>,
    from: Vec<R>,
    gradient: Vec<R>,
    old_from: Vec<R>,
    old_gradient: Vec<R>,
}

impl<R: Real> Descent<R> {
    pub(super) fn new(dim: usize) -> Self {
        let zero = || vec![R::default(); dim];
        Self {
            x: zero(),
            anchor: zero(),
            l11: 0.0,
            m: 0.0,
            last: zero(),
            from: zero(),
            gradient: zero(),
            old_from: zero(),
            old_gradient: zero(),
        }
    }

    /// Starts a new subproblem around `x`.
    pub(super) fn begin(&mut self, x: &[R], l11: f64, m: f64) {
        self.x.copy_from_slice(x);
        self.anchor.copy_from_slice(x);
        (self.l11, self.m) = (l11, m);
    }

    /// Moves `x` until its normal-cone residual is proven to be at most `tolerance`.
    pub(super) fn run<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &[R],
        tolerance: f64,
        adaptive: bool,
    ) -> Result<End, StopReason> {
        let step = 1.0 / (self.l11 + 2.0 * self.m);
        let q = (self.m * step).sqrt();
        let momentum = (1.0 - q) / (1.0 + q);
        self.last.copy_from_slice(&self.x);
        self.from.copy_from_slice(&self.x);
        let mut first = true;
        loop {
            f.budget()?;
            f.at(&self.from, Need::Gradients);
            f.grad_x(y, &mut self.gradient);
            pull(&mut self.gradient, 2.0 * self.m, &self.from, &self.anchor);
            if adaptive && !first && self.bends_down() {
                return Ok(End::Convexity);
            }
            first = false;
            ops::add_scaled(&mut self.x, &self.from, -step, &self.gradient);
            f.x_set().project(&mut self.x);
            let moved = ops::distance(&self.x, &self.from);
            if !moved.is_finite() {
                return Err(StopReason::NonFinite);
            }
            // r = grad f(x) - grad f(from) - L11 (x - from), so ||r|| <= 2 L11 ||x - from|| without another gradient.
            if 2.0 * self.l11 * moved <= tolerance || moved <= 4.0 * R::UNIT_ROUNDOFF * ops::norm(&self.x) {
                return Ok(End::Settled);
            }
            self.old_from.copy_from_slice(&self.from);
            self.old_gradient.copy_from_slice(&self.gradient);
            let overshoots = ops::sum_of(self.x.len(), |i| {
                (self.from[i].to_f64() - self.x[i].to_f64()) * (self.x[i].to_f64() - self.last[i].to_f64())
            }) > 0.0;
            self.extrapolate(f, if overshoots { 0.0 } else { momentum });
        }
    }

    fn extrapolate<G: Game<Real = R>>(&mut self, f: &Oracle<'_, G>, momentum: f64) {
        for i in 0..self.x.len() {
            let (new, old) = (self.x[i].to_f64(), self.last[i].to_f64());
            self.from[i] = R::from_f64(new + momentum * (new - old));
        }
        f.x_set().project(&mut self.from);
        self.last.copy_from_slice(&self.x);
    }

    /// True if `<grad F(u') - grad F(u), u' - u> < m ||u' - u||^2` for the last two points, by more than rounding.
    fn bends_down(&self) -> bool {
        let (mut turn, mut square) = (0.0, 0.0);
        for i in 0..self.from.len() {
            let u = self.from[i].to_f64() - self.old_from[i].to_f64();
            turn += u * (self.gradient[i].to_f64() - self.old_gradient[i].to_f64());
            square += u * u;
        }
        let size = ops::norm(&self.gradient) + ops::norm(&self.old_gradient);
        turn + 8.0 * R::UNIT_ROUNDOFF * size * square.sqrt() < 0.999 * self.m * square
    }
}
