//! A method, as the loop sees it; and what a run asks of it.

use crate::{Game, Oracle, Point, Real, StopReason};

/// What a run asks for: X and Y at most `eps`, for steps of length at most `radius`.
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
    /// The longest step that the certificate considers.
    pub radius: f64,
}

impl Goal {
    /// The longest step in a set of that diameter that the certificate considers: `min(radius, diameter)`, where a diameter below 1 counts
    /// as 1, so that radius 1 is the paper's case for every set.
    ///
    /// A gradient that is off by `d` moves X by at most `d` times this, and a residual `r` in y costs Y at most `r` times this.
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

/// A method moves the pair; the loop in `solve.rs` judges it. Multi-step methods answer (y replies to x) and advance (x moves),
/// one-loop methods advance only.
///
/// `Err` ends the run with that reason: a budget used up inside, or a method that cannot go on.
pub trait Method<G: Game> {
    /// y replies to x.
    fn answer(&mut self, _f: &mut Oracle<'_, G>, _z: &mut Point<G::Real>) -> Result<(), StopReason> {
        Ok(())
    }

    /// x, or both, move.
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason>;

    /// Shows every piece of state that a continued run needs, by name. Saving and loading are both such a visit. A method without
    /// state has nothing to show.
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
