//! The inner family: each member computes y's answer to x, an approximate maximiser of the regularised objective
//! `f_lambda(x, .)`. The certificate is always of the original objective.
//!
//! | member | answer |
//! |---|---|
//! | [`Ascent`] | projected gradient ascent (Algorithm 1) |
//! | [`Accelerated`] | accelerated ascent with restarts (Algorithm 3) |
//! | [`Adaptive`] | accelerated ascent that finds its step sizes and proves the error of its answer |
//! | [`LocalAscent`] | ascent that finds its step sizes, for f that is PL in y |
//! | [`Exact`] | the maximiser, for f linear in y |
//! | [`Exponentiated`], [`Tilted`] | exponential weights, on a simplex |
//! | [`Held`] | y does not move |

mod accelerated;
mod adaptive;
mod ascent;
mod exact;
mod exponential;
mod held;
mod local;

pub use accelerated::Accelerated;
pub use adaptive::Adaptive;
pub(crate) use adaptive::Task;
pub use ascent::Ascent;
pub use exact::Exact;
pub use exponential::{Exponentiated, Tilted};
pub use held::Held;
pub(crate) use local::GROWTH;
pub use local::LocalAscent;

use crate::method::Visitor;
use crate::{Game, Need, Oracle, Real, StopReason, ops};

/// A rule that computes y's answer to x. Implement it for an inner loop of your own; [`Nested`](crate::methods::Nested)
/// composes it with any [`Outer`](crate::outer::Outer).
pub trait Inner<G: Game> {
    /// Replaces `y` by its answer to the x that `f` is fixed at: an approximate maximiser of `f_lambda(x, .)`. The
    /// ascent starts at the given `y`. An inner loop must call [`Oracle::budget`] in every step.
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        regulariser: &Regulariser<G::Real>,
        request: Request,
    ) -> Result<Answer, StopReason>;

    /// Called once before x moves. A y with a memory (exponentiated gradient) moves here and not in `answer`, so that
    /// measuring never moves it.
    fn follow(&mut self, _f: &mut Oracle<'_, G>, _y: &mut [G::Real]) -> Result<(), StopReason> {
        Ok(())
    }

    /// Visits the state, by name, that a continued run needs.
    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}

/// Forwards every call, so that a member can be chosen at run time.
impl<G: Game, I: Inner<G> + ?Sized> Inner<G> for Box<I> {
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        regulariser: &Regulariser<G::Real>,
        request: Request,
    ) -> Result<Answer, StopReason> {
        (**self).answer(f, y, regulariser, request)
    }

    fn follow(&mut self, f: &mut Oracle<'_, G>, y: &mut [G::Real]) -> Result<(), StopReason> {
        (**self).follow(f, y)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        (**self).visit(visitor);
    }
}

/// Stopping rule of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// The rule that ends the ascent.
    pub stop: Stop,
    /// Stop as soon as `f_lambda` exceeds this, because its maximum then does too. Only [`Adaptive`] uses it.
    pub reject: f64,
}

impl From<Stop> for Request {
    /// A request without a rejection threshold.
    fn from(stop: Stop) -> Self {
        Self { stop, reject: f64::INFINITY }
    }
}

/// Result of an inner loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// y is an answer. If f is concave in y, `f_lambda` is within `residual^2 / (2 lambda)` of its maximum.
    Settled {
        /// `f_lambda` at the answer; NaN if not computed.
        value: f64,
        /// The norm of the normal-cone residual there; infinite if unknown.
        residual: f64,
    },
    /// The maximum exceeds the threshold, or the point is outside the domain of f.
    Rejected,
    /// The step size became too small or the steps ran out; y is the last point reached.
    Failed,
}

impl Answer {
    /// An answer with unknown value and residual.
    pub const UNPROVEN: Self = Self::Settled { value: f64::NAN, residual: f64::INFINITY };
}

/// y's response to any x: an inner loop, the regulariser of its objective, and its stopping rule. An outer step with a
/// line search calls it at its trial points.
#[derive(Debug)]
pub struct Response<I, R> {
    /// The inner loop.
    pub inner: I,
    /// The regulariser; the objective is `f - (lambda/2) ||y - centre||^2`.
    pub regulariser: Regulariser<R>,
    /// The stopping rule.
    pub request: Request,
}

impl<I, R: Real> Response<I, R> {
    /// Moves `y` to its answer to `x`.
    pub fn to<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, x: &[R], y: &mut [R]) -> Result<Answer, StopReason>
    where
        I: Inner<G>,
    {
        f.at(x, Need::Gradients);
        self.inner.answer(f, y, &self.regulariser, self.request)
    }
}

/// The regularised objective `f(x, y) - (lambda/2) ||y - centre||^2`, the paper's f_lambda. With lambda = 0 it is f.
#[derive(Debug, Clone)]
pub struct Regulariser<R> {
    /// The weight.
    pub lambda: f64,
    /// The point at which the regulariser is 0.
    pub centre: Vec<R>,
}

impl<R: Real> Regulariser<R> {
    /// No regulariser: lambda = 0.
    pub fn none(dim: usize) -> Self {
        Self { lambda: 0.0, centre: vec![R::default(); dim] }
    }

    /// Computes `f_lambda` from `f`.
    pub fn value(&self, f: f64, y: &[R]) -> f64 {
        if self.lambda == 0.0 {
            return f;
        }
        let d = ops::distance(y, &self.centre);
        f - 0.5 * self.lambda * d * d
    }

    /// Converts `grad_y f` to `grad_y f_lambda`, in place.
    pub fn bend(&self, y: &[R], gradient: &mut [R]) {
        self.pull(y, gradient, -self.lambda);
    }

    /// Converts `grad_y f_lambda` back to `grad_y f`, in place.
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

/// Rule that ends an inner loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// After this many steps, as in the theorems.
    Steps(u64),
    /// When the norm of the normal-cone residual is at most this.
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
