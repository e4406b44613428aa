//! The trait [`Method`] of all methods, and the [`Goal`] of a run.

use crate::{Game, Oracle, Point, Real, StopReason};

/// Goal of a run: X and Y at most `eps` for steps of length at most `radius`.
///
/// ```
/// use standoff::Goal;
///
/// assert_eq!(Goal::from(1e-3), Goal { eps: 1e-3, radius: 1.0 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The accuracy.
    pub eps: f64,
    /// Length of the longest step that the certificate considers.
    pub radius: f64,
}

impl Goal {
    /// The longest step that the certificate considers in a set of this diameter: `min(radius, diameter)`, where a
    /// diameter below 1 counts as 1, so that radius 1 is the paper's case for every set.
    ///
    /// A gradient error of `d` changes X by at most `d` times this, and a residual `r` in y changes Y by at most `r`
    /// times this.
    pub(crate) fn reach(self, diameter: f64) -> f64 {
        let diameter = if diameter > 1.0 { diameter } else { 1.0 };
        if self.radius < diameter { self.radius } else { diameter }
    }
}

impl From<f64> for Goal {
    /// An accuracy for steps of length at most 1, as in the paper.
    fn from(eps: f64) -> Self {
        Self { eps, radius: 1.0 }
    }
}

/// A method moves the pair; the loop in `solve.rs` measures it. Nested methods have two phases: `answer` moves y to its
/// response to x, `advance` moves x. One-loop methods only advance.
///
/// `Err` ends the run with that reason: a limit was reached inside, or the method cannot continue.
pub trait Method<G: Game> {
    /// Moves y to its response to x.
    fn answer(&mut self, _f: &mut Oracle<'_, G>, _z: &mut Point<G::Real>) -> Result<(), StopReason> {
        Ok(())
    }

    /// Moves x, or both players.
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason>;

    /// Visits every piece of state, by name, that a continued run needs. Both saving and loading use it. A method
    /// without state visits nothing.
    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
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
