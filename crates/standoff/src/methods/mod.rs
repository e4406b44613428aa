//! Whole methods. Each moves the pair; the loop in `solve.rs` judges it.

use crate::{Constants, Error, Game, Oracle, Point, Real, Settings, StopReason};

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

/// Where a method's inner loops stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// On their computable residual.
    #[default]
    Certificate,
    /// After the numbers of steps that the theorems give for the constants.
    Theory,
}

/// Which method, with everything it was given.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The name; empty means `auto`.
    pub name: String,
    /// Constants of the game, for the methods that need them.
    pub constants: Option<Constants>,
    /// Where inner loops stop.
    pub mode: Mode,
    /// Follow the paper to the letter, errors included.
    pub as_printed: bool,
    /// The method's own parameters.
    pub params: Vec<(String, f64)>,
}

impl Choice {
    /// A method by name, with its defaults.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The method, ready for a game.
    pub fn build<G: Game>(&self, _game: &G, _settings: &Settings) -> Result<Box<dyn Method<G>>, Error> {
        Err(Error::UnknownMethod { name: self.name.clone(), nearest: None })
    }
}
