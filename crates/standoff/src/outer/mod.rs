//! The outer family: each member moves x after y has responded. Members: a projected gradient step, a Frank-Wolfe step
//! along the direction of the certificate, and optimisers of machine learning with a schedule.

mod adam;
mod frank_wolfe;
mod optimiser;
mod projected;
mod rounded;
mod schedule;
mod sgd;

pub use adam::AdamOptions;
pub use frank_wolfe::FrankWolfeStep;
pub use optimiser::{Optimiser, Recipe, Rule};
pub use projected::Projected;
pub use schedule::{Schedule, Stage};
pub use sgd::SgdOptions;

use crate::inner::{Inner, Response};
use crate::method::Visitor;
use crate::{Game, Oracle, Point, StopReason};

/// A rule that moves x. Implement it for a step of your own; [`Nested`](crate::methods::Nested) composes it with any
/// [`Inner`].
pub trait Outer<G: Game> {
    /// Moves `z.x`; `z.y` has just responded to it. A line search calls `response` at its trial points, and may move
    /// `z.y` too.
    fn advance<I: Inner<G>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &mut Point<G::Real>,
        response: &mut Response<I, G::Real>,
    ) -> Result<(), StopReason>;

    /// Visits the state, by name, that a continued run needs.
    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}
