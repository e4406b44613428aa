//! Games with known equilibria, for testing and comparing methods.
//!
//! Each game states its class, its constants, a start, its equilibria and its source. [`all`] lists them by name with
//! default parameters; the functions make any member of a family.

pub mod lqr;

mod abs;
mod clipped_ball;
mod cosines;
mod dirac_gan;
mod dro;
mod held_out;
mod kink;
mod limit_cycles;
mod linear;
mod list;
mod matrix;
mod pl_least_squares;
mod pl_line;
mod pl_ramp;
mod pl_sine;
mod plain;
mod printed_step;
mod quadmax;
mod ramp;
pub(crate) mod random;
mod rank_deficient;
mod robust_regression;
mod second_order;
mod trap;
mod two_sided_pl;
mod zero_chain;

pub use abs::abs;
pub use dirac_gan::dirac_gan;
pub use dro::dro;
pub use held_out::{Family, families};
pub use kink::kink;
pub use limit_cycles::{coupled_quartics, forsaken, sixth_order};
pub use matrix::{bilinear, matrix_2x2, matrix_game, random_matrix_game, rps};
pub use pl_least_squares::pl_least_squares;
pub use pl_line::pl_line;
pub use pl_ramp::pl_ramp;
pub use pl_sine::pl_sine;
pub use printed_step::printed_step;
pub use quadmax::{quadmax, saddle2d};
pub use ramp::ramp;
pub use rank_deficient::rank_deficient;
pub use robust_regression::robust_regression;
pub use second_order::second_order;
pub use trap::trap;
pub use two_sided_pl::two_sided_pl;
pub use zero_chain::zero_chain;

use crate::{Constants, Error, Game, Point, Set};

/// Class of f as a function of `y`, for every `x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Concave, not strongly. Includes linear functions; see [`Game::linear_in_y`].
    Concave,
    /// Strongly concave, with modulus `mu`.
    StronglyConcave,
    /// Polyak-Lojasiewicz with constant `mu`: not concave, or with many maximisers, on all of `R^n`.
    Pl,
    /// None of these: no method is guaranteed to converge.
    NonConcave,
}

impl Class {
    /// The class in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Concave => "concave",
            Self::StronglyConcave => "strongly concave",
            Self::Pl => "PL",
            Self::NonConcave => "not concave",
        }
    }
}

/// A known first-order Nash equilibrium.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownEquilibrium {
    /// The pair.
    pub point: Point<f64>,
    /// `f` at the pair.
    pub value: f64,
}

/// A game with its start, constants and known equilibria.
pub struct Instance {
    /// The game.
    pub game: Box<dyn Game<Real = f64> + Send>,
    /// A feasible start.
    pub start: Point<f64>,
    /// Valid constants, if known: exact ones or upper bounds (lower bounds for `mu`).
    pub constants: Option<Constants>,
    /// Known equilibria; the first is the one expected from `start`. If empty, only the certificate decides.
    pub answers: Vec<KnownEquilibrium>,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance")
            .field("start", &self.start)
            .field("constants", &self.constants)
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}

impl Instance {
    fn new(game: impl Game<Real = f64> + Send + 'static, x: &[f64], y: &[f64]) -> Self {
        Self { game: Box::new(game), start: Point::new(x, y), constants: None, answers: Vec::new() }
    }

    fn constants(self, constants: Constants) -> Self {
        Self { constants: Some(constants), ..self }
    }

    fn answer(mut self, x: &[f64], y: &[f64], value: f64) -> Self {
        self.answers.push(KnownEquilibrium { point: Point::new(x, y), value });
        self
    }
}

/// One entry of the list of games.
#[derive(Debug, Clone, Copy)]
pub struct ZooEntry {
    /// The name, in kebab-case.
    pub name: &'static str,
    /// The description, in one line.
    pub summary: &'static str,
    /// The class of the game in `y`.
    pub class: Class,
    /// Makes the game with default parameters.
    pub make: fn() -> Instance,
}

/// All games, in the order of the list.
pub fn all() -> &'static [ZooEntry] {
    list::ALL
}

/// Finds the entry of a name.
pub fn find(name: &str) -> Option<&'static ZooEntry> {
    all().iter().find(|e| e.name == name)
}

/// Unwraps the result of valid parameters in this folder.
fn sure<T>(made: Result<T, Error>) -> T {
    made.expect("the zoo's own parameters are valid")
}

fn interval(lower: f64, upper: f64) -> Set<f64> {
    sure(Set::interval(lower, upper))
}

/// Refuses a parameter that is not a positive number.
fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    within(name, value, f64::MAX, "positive and finite")
}

/// Refuses a parameter outside `0 < value <= most`.
fn within(name: &'static str, value: f64, most: f64, want: &'static str) -> Result<(), Error> {
    if value > 0.0 && value <= most { Ok(()) } else { Err(Error::Setting { name, value, want }) }
}

/// Refuses a size that is too small.
fn at_least(name: &'static str, value: usize, least: usize) -> Result<(), Error> {
    let want = if least == 1 { "at least 1" } else { "at least 2" };
    if value >= least { Ok(()) } else { Err(Error::Setting { name, value: value as f64, want }) }
}
