//! The inner family: each member lets y answer x. All of them climb the regularised objective `f_lambda(x, .)`; the certificate is
//! always of the original one.
//!
//! | member | y's answer |
//! |---|---|
//! | [`Ascent`] | projected gradient ascent (Algorithm 1) |
//! | [`Accelerated`] | accelerated ascent with restarts (Algorithm 3) |
//! | [`Adaptive`] | accelerated ascent that finds its step sizes and proves its answer |
//! | [`LocalAscent`] | ascent that finds its step sizes, for f that is PL in y |
//! | [`Exact`] | the maximiser, where f is linear in y |
//! | [`Exponentiated`], [`Tilted`] | exponential weights, on a simplex |
//! | [`Held`] | y stays where it is |

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

/// One way for y to answer x. Implement it for an inner loop of your own; [`Nested`](crate::methods::Nested) composes it with any
/// [`Outer`](crate::outer::Outer).
pub trait Inner<G: Game> {
    /// Replaces `y` by its answer to the x that `f` is fixed at: a point where `f_lambda(x, .)` is nearly maximal. `y` is also the
    /// point to begin from. An inner loop asks [`Oracle::budget`] at every step.
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        regulariser: &Regulariser<G::Real>,
        request: Request,
    ) -> Result<Answer, StopReason>;

    /// Called once before x moves. A y with a memory (exponentiated gradient) moves here and answers nothing, so that measuring
    /// never moves it.
    fn follow(&mut self, _f: &mut Oracle<'_, G>, _y: &mut [G::Real]) -> Result<(), StopReason> {
        Ok(())
    }

    /// Shows the state that a continued run needs, by name.
    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}

/// A boxed member of the family is a member, so that it can be chosen at run time.
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

/// When y has answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Where the ascent stops.
    pub stop: Stop,
    /// Give up once `f_lambda` exceeds this: then its maximum does too. Only [`Adaptive`] looks at it.
    pub reject: f64,
}

impl From<Stop> for Request {
    /// An answer, whatever its value.
    fn from(stop: Stop) -> Self {
        Self { stop, reject: f64::INFINITY }
    }
}

/// y's answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// `f_lambda` lies within `residual^2 / (2 lambda)` below its maximum (f concave in y).
    Settled {
        /// `f_lambda` at the answer; NaN where it was not computed.
        value: f64,
        /// The norm of the normal-cone residual there; infinite where nothing is known about it.
        residual: f64,
    },
    /// The maximum exceeds the threshold, or the point is outside the domain of f.
    Rejected,
    /// The step size or the number of steps ran out; y is as far as it got.
    Failed,
}

impl Answer {
    /// An answer of which nothing is known.
    pub const UNPROVEN: Self = Self::Settled { value: f64::NAN, residual: f64::INFINITY };
}

/// y's response to any x: an inner loop, the regulariser of its objective, and its stopping rule. An outer step with a line search asks
/// it for trial answers.
#[derive(Debug)]
pub struct Response<I, R> {
    /// How y climbs.
    pub inner: I,
    /// What it climbs: `f - (lambda/2) ||y - centre||^2`.
    pub regulariser: Regulariser<R>,
    /// When it has answered.
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
