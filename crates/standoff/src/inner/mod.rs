//! How y answers: plain ascent, accelerated ascent with restarts, the exact answer of a linear game, and an ascent that
//! needs no constants. All of them climb the regularised objective; the certificate is always of the original one.

mod accelerated;
mod adaptive;
mod ascent;
mod exact;
mod local;

pub use accelerated::Accelerated;
pub(crate) use adaptive::{Adaptive, Answer, Task};
pub use ascent::Ascent;
pub use exact::Exact;
pub(crate) use local::{GROWTH, LocalAscent};

use crate::{Real, ops};

/// `f(x, y) - (lambda/2) ||y - centre||^2`, the paper's f_lambda. With lambda = 0 it is f itself.
#[derive(Debug, Clone)]
pub struct Regulariser<R> {
    /// The weight.
    pub lambda: f64,
    /// Where the penalty vanishes.
    pub centre: Vec<R>,
}

impl<R: Real> Regulariser<R> {
    /// No regulariser.
    pub fn none(dim: usize) -> Self {
        Self { lambda: 0.0, centre: vec![R::default(); dim] }
    }

    /// `f_lambda` from `f`.
    pub fn value(&self, f: f64, y: &[R]) -> f64 {
        if self.lambda == 0.0 {
            return f;
        }
        let d = ops::distance(y, &self.centre);
        f - 0.5 * self.lambda * d * d
    }

    /// Turns `grad_y f` into `grad_y f_lambda`.
    pub fn bend(&self, y: &[R], gradient: &mut [R]) {
        self.pull(y, gradient, -self.lambda);
    }

    /// Turns `grad_y f_lambda` back into `grad_y f`.
    pub fn unbend(&self, y: &[R], gradient: &mut [R]) {
        self.pull(y, gradient, self.lambda);
    }

    fn pull(&self, y: &[R], gradient: &mut [R], weight: f64) {
        if self.lambda == 0.0 {
            return;
        }
        for i in 0..gradient.len() {
            let off = y[i].to_f64() - self.centre[i].to_f64();
            gradient[i] = R::from_f64(gradient[i].to_f64() + weight * off);
        }
    }
}

/// When an inner loop is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// After so many steps, as the theorems have it.
    Steps(u64),
    /// When the residual proves the answer good enough.
    Residual(f64),
}

/// `||r||` for a projected step from `from` to `to` of size `step`: `r = grad(to) - grad(from) + (to - from)/step`.
///
/// `n = grad(from) - (to - from)/step` is in the normal cone at `to`, so `Y(to) <= ||r||` if f is concave in y
/// (and `||to - y*|| <= ||r||/lambda`).
pub(crate) fn residual<R: Real>(from: &[R], g_from: &[R], to: &[R], g_to: &[R], step: f64) -> f64 {
    ops::sum_of(from.len(), |i| {
        let r = g_to[i].to_f64() - g_from[i].to_f64() + (to[i].to_f64() - from[i].to_f64()) / step;
        r * r
    })
    .sqrt()
}
