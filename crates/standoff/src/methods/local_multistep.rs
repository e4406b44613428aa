//! Algorithm 1 without constants: `multistep` for games that state none. Backtracking finds the steps from local
//! constants.
//!
//! `x+ = P_X(x - t grad_x f(x, y))`, then y responds to x+. The step is accepted if `grad_x f` changes by at most
//! `||x+ - x|| / t` plus the errors of the two responses. Then `1/t` bounds the smoothness of g along the step, and
//! `X(x+) <= 2 ||x+ - x|| / t + eps/6` as with the constant L. If the step is rejected or leaves the domain of f, it is
//! repeated from x with half the length.

use super::step::zeros;
use super::{Method, Visitor};
use crate::inner::{GROWTH, LocalAscent};
use crate::{Diagnosis, Game, Need, Oracle, Point, StopReason, ops};

/// `y := ascent from y to a residual;  x := P_X(x - step * grad_x f(x, y))`, both with backtracking.
pub(super) struct LocalMultistep<G: Game> {
    inner: LocalAscent<G::Real>,
    eps: f64,
    step: f64,
    /// `grad_x f` at the last accepted pair.
    slope: Vec<G::Real>,
    /// The pair from which x moved, its value and its gradients.
    from: Point<G::Real>,
    from_value: f64,
    from_slopes: Point<G::Real>,
    left: bool,
}

impl<G: Game> LocalMultistep<G> {
    /// Needs no constants; f must be PL (or strongly concave) in y around the iterates, with exact gradients.
    pub(super) fn new(game: &G, eps: f64) -> Self {
        Self {
            inner: LocalAscent::new(eps, game.y_set().dim()),
            eps,
            step: 0.0,
            slope: zeros(game).x,
            from: zeros(game),
            from_value: f64::NAN,
            from_slopes: zeros(game),
            left: false,
        }
    }

    /// Moves x from `from` by the current step; y stays.
    fn depart(&self, f: &Oracle<'_, G>, z: &mut Point<G::Real>) {
        z.copy_from(&self.from);
        ops::axpy(-self.step, &self.from_slopes.x, &mut z.x);
        f.x_set().project(&mut z.x);
    }

    /// Computes y's response to x. Returns true if the step that led to this x is accepted.
    fn arrive(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<bool, StopReason> {
        f.at(&z.x, Need::Gradients);
        if !self.inner.begin(f, &z.y) {
            return Ok(false);
        }
        let moved = ops::distance(&z.x, &self.from.x);
        if self.left && moved > 0.0 {
            self.inner.learn_l12(&self.from_slopes.y, moved);
        }
        self.inner.climb(f, &mut z.y)?;
        let value = f.grad_x(&z.y, &mut self.slope);
        if !(value.is_finite() && ops::all_finite(&self.slope)) {
            return Ok(false);
        }
        Ok(!self.left || self.accepts(value, moved))
    }

    /// Acceptance test. Both responses give the gradient of g within `eps/12`, and values within the shortfall of g.
    fn accepts(&self, value: f64, moved: f64) -> bool {
        let error = self.eps / 12.0;
        let noise = LocalAscent::<G::Real>::NOISE * (value.abs() + self.from_value.abs());
        let turned = ops::distance(&self.slope, &self.from_slopes.x);
        turned <= moved / self.step + 2.0 * error
            && value <= self.from_value + error * moved + self.inner.shortfall() + noise
    }
}

impl<G: Game> Method<G> for LocalMultistep<G> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        loop {
            if self.arrive(f, z)? {
                return Ok(());
            }
            if !self.left {
                return Err(StopReason::NonFinite);
            }
            self.step *= 0.5;
            self.depart(f, z);
            if z.x == self.from.x {
                return Err(StopReason::Stalled(Diagnosis::NoProgress));
            }
        }
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        let size = ops::norm(&self.slope);
        if self.step > 0.0 {
            self.step *= GROWTH;
        } else if size > 0.0 {
            // The first trial step has length 1.
            self.step = 1.0 / size;
        }
        self.from.copy_from(z);
        self.from_value = self.inner.value();
        self.from_slopes.x.copy_from_slice(&self.slope);
        self.from_slopes.y.copy_from_slice(self.inner.gradient());
        self.left = true;
        self.depart(f, z);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        self.inner.show(visitor);
        visitor.scalar("step", &mut self.step);
        visitor.vector("slope", &mut self.slope);
        visitor.vector("from_x", &mut self.from.x);
        visitor.vector("from_y", &mut self.from.y);
        visitor.scalar("from_value", &mut self.from_value);
        visitor.vector("from_slope_x", &mut self.from_slopes.x);
        visitor.vector("from_slope_y", &mut self.from_slopes.y);
        let mut left = u64::from(self.left);
        visitor.count("left", &mut left);
        self.left = left != 0;
    }
}
