//! Training: y responds to x, exactly if f is linear in y, and x makes a step of an optimiser until its schedule is
//! complete.
//!
//! This is Algorithm 2 as used for networks: no constants and no accuracy, but a schedule.

use super::nested::Nested;
use super::{Method, Visitor};
use crate::inner::{Accelerated, Exact, Exponentiated, Held, Inner, Regulariser, Response, Stop, Tilted};
use crate::outer::{Optimiser, Recipe};
use crate::{Error, Game, Oracle, Point, Set, StopReason};

/// Rule by which y responds to x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reply {
    /// The maximiser of `f - (lambda/2) ||y - centre||^2`, for games linear in y: a projection, or with `lambda = 0` a
    /// vertex, which on a simplex is the vertex of the largest entry, the first of equal ones.
    Exact {
        /// The weight of the regulariser.
        lambda: f64,
    },
    /// Algorithm 3 on the same objective, for games concave in y.
    Accelerated {
        /// The weight of the regulariser; must be positive.
        lambda: f64,
        /// The Lipschitz constant of `grad_y` in y; 0 for games linear in y.
        l22: f64,
        /// The stopping rule of the ascent.
        stop: Stop,
    },
    /// Exponentiated gradient with a memory, on a simplex: `y_i := y_i exp(rate * grad_i)`, normalised, once per step
    /// (group DRO, agnostic federated learning).
    Exponentiated {
        /// The step size.
        rate: f64,
    },
    /// `y = softmax(tilt * grad_y)`, on a simplex: the maximiser with an entropy regulariser (tilted losses, TERM).
    Tilted {
        /// The tilt: 0 gives the mean, infinity the maximum.
        tilt: f64,
    },
    /// y stays at its start: minimisation of a fixed mixture.
    Held,
}

/// Any response of y and a step of an optimiser.
type ByOptimiser<G, R> = Nested<Box<dyn Inner<G>>, Optimiser<R>, R>;

/// A response of y and a step of an optimiser, alternating.
///
/// ```
/// use standoff::methods::{Reply, Train};
/// use standoff::outer::{AdamOptions, Recipe, Schedule};
/// use standoff::{Error, Settings, StopReason, formula::FormulaGame, solve_with};
///
/// # fn main() -> Result<(), Error> {
/// let text = "objective = 'p[0]*(x - 1)^2 + p[1]*(x + 2)^2'\n[min.x]\n[max.p]\ndim = 2\nset = 'simplex'";
/// let mut game = FormulaGame::from_toml(text, &mut |_| Err("no files".into()))?;
/// let recipe = Recipe::adam(AdamOptions::default(), Schedule::new(&[(200, 0.05), (200, 0.005)])?);
/// let mut train = Train::new(&game, Reply::Exact { lambda: 0.1 }, &recipe)?;
/// let start = game.start();
/// let end = solve_with(&mut game, &start, &mut train, &Settings::eps(1e-9), &mut ())?;
/// assert_eq!(end.reason, StopReason::Completed);
/// assert!((end.point.x[0] + 0.5).abs() < 0.05);
/// # Ok(())
/// # }
/// ```
pub struct Train<G: Game> {
    nested: ByOptimiser<G, G::Real>,
}

impl<G: Game> Train<G>
where
    G::Real: 'static,
{
    /// The regulariser's centre is that of Y. On a simplex, any other centre with equal coordinates, such as zero,
    /// gives the same result.
    pub fn new(game: &G, reply: Reply, recipe: &Recipe) -> Result<Self, Error> {
        let outer = Optimiser::new(recipe, game.x_set().dim())?;
        let (centre, m) = (game.y_set().centre(), game.y_set().dim());
        let weight = |lambda: f64, fine: bool, want| {
            let fine = fine && lambda.is_finite();
            if fine { Ok(lambda) } else { Err(Error::Setting { name: "lambda", value: lambda, want }) }
        };
        // Only Algorithm 3 uses it.
        let mut request = Stop::Steps(1).into();
        let (inner, lambda): (Box<dyn Inner<G>>, f64) = match reply {
            Reply::Exact { lambda } => {
                let lambda = weight(lambda, lambda >= 0.0, "zero or a positive number")?;
                refuse_inexact(game, lambda, &centre)?;
                (Box::new(Exact::new(m)), lambda)
            }
            Reply::Accelerated { lambda, l22, stop } => {
                let lambda = weight(lambda, lambda > 0.0, "a positive number")?;
                if !(l22 >= 0.0 && l22.is_finite()) {
                    return Err(Error::Setting { name: "l22", value: l22, want: "zero or a positive number" });
                }
                let smooth = l22 + lambda;
                let restart = (8.0 * smooth / lambda).sqrt().ceil() as u64;
                request = stop.into();
                (Box::new(Accelerated::new(1.0 / smooth, restart, m)), lambda)
            }
            Reply::Exponentiated { rate } => (Box::new(Exponentiated::new(on_simplex(game, "rate", rate)?, m)), 0.0),
            Reply::Tilted { tilt } => (Box::new(Tilted::new(on_simplex(game, "tilt", tilt)?, m)), 0.0),
            Reply::Held => (Box::new(Held), 0.0),
        };
        let response = Response { inner, regulariser: Regulariser { lambda, centre }, request };
        Ok(Self { nested: Nested { response, outer } })
    }

    /// The optimiser with its schedule and its current step.
    pub fn optimiser(&self) -> &Optimiser<G::Real> {
        &self.nested.outer
    }
}

/// Checks that Y is a simplex and the number positive.
fn on_simplex<G: Game>(game: &G, name: &'static str, value: f64) -> Result<f64, Error> {
    if !matches!(game.y_set(), Set::Simplex(_)) {
        let why = "its exponential weights need Y to be a simplex".into();
        return Err(Error::Unsuitable { method: "train", why });
    }
    let fine = value > 0.0 && value.is_finite();
    if fine { Ok(value) } else { Err(Error::Setting { name, value, want: "a positive number" }) }
}

/// Refuses games without an exact maximiser.
fn refuse_inexact<G: Game>(game: &G, lambda: f64, centre: &[G::Real]) -> Result<(), Error> {
    let why = if !game.linear_in_y() {
        "an exact maximiser needs f to be linear in y; use Algorithm 3 for y"
    } else if lambda == 0.0 && !game.y_set().radius_around(centre).is_finite() {
        "its Y is unbounded, so a linear f has no maximum without a regulariser; give lambda"
    } else {
        return Ok(());
    };
    Err(Error::Unsuitable { method: "train", why: why.into() })
}

impl<G: Game> Method<G> for Train<G> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.nested.answer(f, z)
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.nested.advance(f, z)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        self.nested.visit(visitor);
    }
}
