//! Games with known answers: what methods are tried, tested and raced on.
//!
//! Each game states its class, its constants, a start, its equilibria and where it comes from. [`all`] lists them under their
//! names with default parameters; the functions make any member of a family.

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

use crate::ops::sum_of as sum;
use crate::{Constants, Error, Game, Point, Set};

/// What kind of function `y` maximises, for every `x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Concave, not strongly. Linear counts: ask [`Game::linear_in_y`].
    Concave,
    /// Strongly concave, with modulus `mu`.
    StronglyConcave,
    /// Polyak-Lojasiewicz with constant `mu`: not concave, or many maximisers, on all of `R^n`.
    Pl,
    /// None of these: no method here promises to finish.
    NonConcave,
}

impl Class {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Concave => "concave",
            Self::StronglyConcave => "strongly concave",
            Self::Pl => "PL",
            Self::NonConcave => "not concave",
        }
    }
}

/// A first-order Nash equilibrium that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The pair.
    pub point: Point<f64>,
    /// `f` there.
    pub value: f64,
}

/// A game ready to play.
pub struct Instance {
    /// The game.
    pub game: Box<dyn Game<Real = f64> + Send>,
    /// Where to begin; feasible.
    pub start: Point<f64>,
    /// Valid constants, where they are known: exact ones or upper bounds (lower for `mu`).
    pub constants: Option<Constants>,
    /// Known equilibria, the one to be expected from `start` first. Empty: only the certificate judges.
    pub answers: Vec<Answer>,
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
        self.answers.push(Answer { point: Point::new(x, y), value });
        self
    }
}

/// One line of the zoo's list.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// In kebab-case.
    pub name: &'static str,
    /// In one line.
    pub summary: &'static str,
    /// What it is in `y`.
    pub class: Class,
    /// Builds it, with default parameters where it has any.
    pub make: fn() -> Instance,
}

/// Every game, in the order of the list.
pub fn all() -> &'static [Entry] {
    use Class::{Concave, NonConcave, Pl, StronglyConcave};
    use lqr::Order::{CostMinimises, PolicyMinimises};
    const fn entry(name: &'static str, class: Class, make: fn() -> Instance, summary: &'static str) -> Entry {
        Entry { name, summary, class, make }
    }
    const ALL: &[Entry] = &[
        entry("abs", Concave, abs, "(2y - 1) x: the value function is |x|"),
        entry(
            "ramp",
            Concave,
            || sure(ramp(0.1)),
            "a gentle slope beside a kink: worst case of the regularised method",
        ),
        entry("kink", Concave, kink, "cos(3x)/4 + y (x - 1/2): a nonconvex value function with a kink"),
        entry("saddle2d", Concave, saddle2d, "the larger of two saddles: a kink along a line of negative curvature"),
        entry("trap", StronglyConcave, trap, "equal steps for both players cycle for ever"),
        entry("second-order", NonConcave, second_order, "three first-order equilibria, none of second order"),
        entry("printed-step", StronglyConcave, || sure(printed_step(0.5)), "the printed step size oscillates for ever"),
        entry("pl-line", Pl, pl_line, "the inner maximisers fill a line"),
        entry(
            "pl-ramp",
            StronglyConcave,
            || sure(pl_ramp(0.1)),
            "a gentle slope beside a bowl: worst case of the multi-step method",
        ),
        entry("pl-sine", Pl, || sure(pl_sine(10, 1)), "PL and not concave in y, 10 + 10 dimensions"),
        entry(
            "pl-least-squares",
            Pl,
            || sure(pl_least_squares(5, 12, 1)),
            "the inner maximisers fill a 6-dimensional subspace",
        ),
        entry("two-sided-pl", Pl, two_sided_pl, "PL for both players, convex or concave for neither"),
        entry("robust-regression", StronglyConcave, robust_regression, "a tanh unit fitted to adversarial labels"),
        entry("quadmax", Concave, || sure(quadmax(10, 6, 1)), "the largest of 6 indefinite quadratics in 10 variables"),
        entry(
            "quadmax-50",
            Concave,
            || sure(quadmax(50, 20, 1)),
            "the largest of 20 indefinite quadratics in 50 variables",
        ),
        entry("rps", Concave, rps, "rock, paper, scissors with unequal stakes"),
        entry("matrix-2x2", Concave, matrix_2x2, "a 2 by 2 matrix game of value 1/5"),
        entry("matrix", Concave, || sure(random_matrix_game(5, 7, 1)), "a random 5 by 7 matrix game"),
        entry("matrix-50", Concave, || sure(random_matrix_game(50, 50, 1)), "a random 50 by 50 matrix game"),
        entry("bilinear", Concave, bilinear, "xy on a square"),
        entry(
            "rank-deficient",
            Concave,
            || sure(rank_deficient(6, 8, 1)),
            "a quadratic game, flat in half of y's directions",
        ),
        entry("dro", Concave, || sure(dro(30, 5, 0.0, 1)), "robust classification: 30 samples, the worst one counts"),
        entry("dro-200", Concave, || sure(dro(200, 20, 0.0, 1)), "robust classification: 200 samples in 20 dimensions"),
        entry(
            "dro-regularised",
            StronglyConcave,
            || sure(dro(30, 5, 1.0 / 900.0, 1)),
            "as dro, with y held near uniform",
        ),
        entry("dirac-gan", Concave, dirac_gan, "the smallest generative adversarial network"),
        entry(
            "zero-chain",
            Concave,
            || sure(zero_chain(3, 4)),
            "a published lower bound: one link of a chain per call",
        ),
        entry("coupled-quartics", NonConcave, coupled_quartics, "two double wells: gradient play cycles"),
        entry("sixth-order", StronglyConcave, sixth_order, "a local minimax point among equilibria on the edge"),
        entry("forsaken", NonConcave, forsaken, "an equilibrium hidden inside limit cycles"),
        entry(
            "lqr-scalar",
            StronglyConcave,
            || sure(lqr::scalar(1.0, 0.5, PolicyMinimises)),
            "imitate a scalar regulator",
        ),
        entry(
            "lqr-scalar-off",
            StronglyConcave,
            || sure(lqr::scalar(1.5, 0.5, PolicyMinimises)),
            "as lqr-scalar, around another cost",
        ),
        entry("lqr-scalar-pl", Pl, || sure(lqr::scalar(1.0, 0.5, CostMinimises)), "as lqr-scalar, the gain maximises"),
        entry(
            "lqr-random",
            StronglyConcave,
            || sure(lqr::random(4, 2, 1, PolicyMinimises)),
            "imitate a regulator of 4 states",
        ),
        entry("lqr-random-pl", Pl, || sure(lqr::random(4, 2, 1, CostMinimises)), "as lqr-random, the gain maximises"),
        entry(
            "lqr-cart-pole",
            StronglyConcave,
            || lqr::cart_pole_imitation(PolicyMinimises),
            "imitate one who balances a pole on a cart",
        ),
    ];
    ALL
}

/// The entry of a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().iter().find(|e| e.name == name)
}

/// For parameters that stand in this folder and are known to be good.
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
