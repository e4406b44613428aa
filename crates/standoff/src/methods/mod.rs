//! Whole methods. Each moves the pair; the loop in `solve.rs` judges it.

mod auto;
mod choice;
mod multistep;
mod regularised;

pub use auto::Auto;
pub use choice::{Choice, METHODS, MethodInfo, Mode};
pub use multistep::Multistep;
pub use regularised::Regularised;

pub(crate) use choice::Params;

use crate::{Game, Oracle, Point, Real, StopReason};

/// A method moves the point; multi-step methods answer (y replies to x) and advance (x moves), one-loop methods advance only.
///
/// `Err` ends the run with that reason: a budget used up inside, or a method that cannot go on.
pub trait Method<G: Game> {
    /// y replies to x.
    fn answer(&mut self, _f: &mut Oracle<'_, G>, _z: &mut Point<G::Real>) -> Result<(), StopReason> {
        Ok(())
    }

    /// x, or both, move.
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason>;

    /// Shows every piece of state that a continued run needs, by name. Saving and loading are both such a visit.
    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>);
}

/// Reads or overwrites a method's state.
pub trait Visitor<R: Real> {
    /// A named vector.
    fn vector(&mut self, name: &str, v: &mut Vec<R>);
    /// A named scalar.
    fn scalar(&mut self, name: &str, v: &mut f64);
    /// A named counter or switch.
    fn count(&mut self, name: &str, v: &mut u64);
}
