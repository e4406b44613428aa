//! Checks parameters and computes defaults, for all methods. A given value comes first, then the game's constants. A
//! missing constant is an error only if a default needs it.

use crate::plan::StepReach;
use crate::{Constants, Error, Game, Goal};

/// The constants and the goal that one method is built with.
pub(super) struct Given<'c> {
    method: &'static str,
    constants: Option<&'c Constants>,
    goal: Goal,
}

impl<'c> Given<'c> {
    /// Refuses constants that are negative or NaN.
    pub(super) fn new(method: &'static str, constants: &'c Option<Constants>, goal: Goal) -> Result<Self, Error> {
        constants.as_ref().map_or(Ok(()), Constants::check)?;
        Ok(Self { method, constants: constants.as_ref(), goal })
    }

    /// The given number, or the default; it must be positive.
    pub(super) fn positive(
        &self,
        name: &'static str,
        given: Option<f64>,
        default: impl FnOnce() -> Result<f64, Error>,
    ) -> Result<f64, Error> {
        positive(name, given.map_or_else(default, Ok)?)
    }

    /// All constants.
    pub(super) fn constants(&self) -> Result<&'c Constants, Error> {
        self.constants.ok_or_else(|| self.missing("the constants L11, L12, L22 (and mu, where it assumes one)"))
    }

    /// `L = max(L11, L22) + L12`, a Lipschitz constant of `(grad_x f, -grad_y f)`.
    pub(super) fn smoothness(&self) -> Result<f64, Error> {
        let c = self.constants()?;
        let l = c.l11.max(c.l22) + c.l12;
        if l > 0.0 && l.is_finite() { Ok(l) } else { Err(self.missing("one of L11, L12 and L22 to be positive")) }
    }

    /// `mu` if y's side is strongly concave or PL; `None` if it is only concave.
    pub(super) fn mu(&self) -> Option<f64> {
        self.constants.map(|c| c.mu).filter(|mu| *mu > 0.0)
    }

    /// Upper bound of the gradient of `g(x) = max over y`.
    pub(super) fn g_max(&self) -> Result<f64, Error> {
        self.constants()?.g_max.ok_or_else(|| self.missing("g_max (a bound on the gradient in x)"))
    }

    /// The radius of Y around its centre, from the constants or from the set.
    pub(super) fn radius_y<G: Game>(&self, game: &G, centre: &[G::Real]) -> Result<f64, Error> {
        let given = self.constants.and_then(|c| c.radius_y);
        let radius = given.unwrap_or_else(|| game.y_set().radius_around(centre));
        // A Y that is a single point has radius 0 and works with any regulariser.
        if radius.is_finite() {
            return Ok(radius.max(f64::MIN_POSITIVE));
        }
        let why = "its Y is unbounded, and the regulariser needs a radius; give radius_y, or use `multistep` or `auto`";
        Err(Error::Unsuitable { method: self.method, why: why.into() })
    }

    /// The longest steps that the certificate considers in X and Y.
    pub(super) fn reach<G: Game>(&self, game: &G) -> StepReach {
        let diameter = |of_set: f64, radius: Option<f64>| match radius {
            Some(radius) if 2.0 * radius < of_set => 2.0 * radius,
            _ => of_set,
        };
        let (x, y) = (game.x_set().diameter_bound(), game.y_set().diameter_bound());
        let known = |of: fn(&Constants) -> Option<f64>| self.constants.and_then(of);
        StepReach {
            x: self.goal.reach(diameter(x, known(|c| c.radius_x))),
            y: self.goal.reach(diameter(y, known(|c| c.radius_y))),
        }
    }

    /// Weight of a regulariser that adds at most `eps/2` to Y: `lambda ||y - centre||` times the length of a step.
    pub(super) fn lambda<G: Game>(&self, game: &G, centre: &[G::Real]) -> Result<f64, Error> {
        Ok(self.goal.eps / (2.0 * self.radius_y(game, centre)? * self.reach(game).y))
    }

    /// The error for a constant that was not given.
    pub(super) fn missing(&self, constant: &'static str) -> Error {
        Error::MissingConstant { method: self.method, constant }
    }
}

/// Checks that a number is positive and finite.
pub(super) fn positive(name: &'static str, value: f64) -> Result<f64, Error> {
    let fine = value > 0.0 && value.is_finite();
    if fine { Ok(value) } else { Err(Error::Setting { name, value, want: "a positive number" }) }
}

/// Checks that a number is in `(0, 1]`.
pub(super) fn share(name: &'static str, value: f64) -> Result<f64, Error> {
    let fine = value > 0.0 && value <= 1.0;
    if fine { Ok(value) } else { Err(Error::Setting { name, value, want: "more than 0 and at most 1" }) }
}
