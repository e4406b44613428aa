//! The outer family: each member moves x once y has answered it. A projected gradient step, the certificate's own direction
//! (Frank-Wolfe), or an optimiser of machine learning with its schedule.

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

/// One way for x to move. Implement it for a step of your own; [`Nested`](crate::methods::Nested) composes it with any [`Inner`].
pub trait Outer<G: Game> {
    /// Moves `z.x`; `z.y` has just answered it. A line search asks `response` for answers to its trial points, and may move `z.y` too.
    fn advance<I: Inner<G>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &mut Point<G::Real>,
        response: &mut Response<I, G::Real>,
    ) -> Result<(), StopReason>;

    /// Shows the state that a continued run needs, by name.
    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}
