//! What a method was given: parameters first, defaults from the game's constants next. A constant is asked for only when a
//! default needs it.

use super::{Choice, METHODS, Params};
use crate::{Constants, Error, Game, Settings};

/// The parameters and constants of one method.
pub(super) struct Given<'c> {
    method: &'static str,
    params: Params<'c>,
    constants: Option<&'c Constants>,
    /// The accuracy asked for.
    pub(super) eps: f64,
}

impl<'c> Given<'c> {
    /// Refuses parameters that the method's line in the table does not list.
    pub(super) fn new(method: &'static str, choice: &'c Choice, settings: &Settings) -> Result<Self, Error> {
        let listed = METHODS.iter().find(|m| m.name == method).map_or(&[][..], |m| m.params);
        let known: Vec<&str> = listed.iter().map(|p| p.0).collect();
        let params = Params::new(method, choice, &known)?;
        Ok(Self { method, params, constants: choice.constants.as_ref(), eps: settings.eps })
    }

    /// A positive number: as given, or the default.
    pub(super) fn positive(
        &self,
        name: &'static str,
        default: impl FnOnce() -> Result<f64, Error>,
    ) -> Result<f64, Error> {
        self.between(name, f64::MAX, "a positive number", default)
    }

    /// A number in `(0, 1]`: as given, or the default.
    pub(super) fn share(&self, name: &'static str, default: f64) -> Result<f64, Error> {
        self.between(name, 1.0, "more than 0 and at most 1", || Ok(default))
    }

    /// A switch, 0 or 1; off by default.
    pub(super) fn switch(&self, name: &'static str) -> Result<bool, Error> {
        match self.params.get(name, 0.0) {
            0.0 => Ok(false),
            1.0 => Ok(true),
            value => Err(Error::Setting { name, value, want: "0 or 1" }),
        }
    }

    /// A number strictly between -1 and 1: as given, or the default.
    pub(super) fn momentum(&self, name: &'static str, default: f64) -> Result<f64, Error> {
        let value = self.params.get(name, default);
        let fine = value > -1.0 && value < 1.0;
        if fine { Ok(value) } else { Err(Error::Setting { name, value, want: "between -1 and 1" }) }
    }

    fn between(
        &self,
        name: &'static str,
        most: f64,
        want: &'static str,
        default: impl FnOnce() -> Result<f64, Error>,
    ) -> Result<f64, Error> {
        let value = self.params.given(name).map_or_else(default, Ok)?;
        if value > 0.0 && value <= most { Ok(value) } else { Err(Error::Setting { name, value, want }) }
    }

    /// Whether a parameter was given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.params.given(name).is_some()
    }

    /// All constants.
    pub(super) fn constants(&self) -> Result<&'c Constants, Error> {
        self.constants.ok_or_else(|| self.missing("the constants L11, L12 and L22"))
    }

    /// `L = max(L11, L22) + L12`, a Lipschitz constant of `(grad_x f, -grad_y f)`.
    pub(super) fn smoothness(&self) -> Result<f64, Error> {
        let c = self.constants()?;
        let l = c.l11.max(c.l22) + c.l12;
        if l > 0.0 && l.is_finite() { Ok(l) } else { Err(self.missing("one of L11, L12 and L22 to be positive")) }
    }

    /// `mu`, where y's side is strongly concave or PL; `None` where it is merely concave.
    pub(super) fn mu(&self) -> Option<f64> {
        self.constants.map(|c| c.mu).filter(|mu| *mu > 0.0)
    }

    /// A bound on the slope of the value function.
    pub(super) fn g_max(&self) -> Result<f64, Error> {
        self.constants()?.g_max.ok_or_else(|| self.missing("g_max (a bound on the gradient in x)"))
    }

    /// The radius of Y around its centre, as given or as the set knows it.
    pub(super) fn radius_y<G: Game>(&self, game: &G, centre: &[G::Real]) -> Result<f64, Error> {
        let given = self.constants.and_then(|c| c.radius_y);
        let radius = given.unwrap_or_else(|| game.y_set().radius_around(centre));
        // A Y of a single point has radius 0: any regulariser will do.
        if radius.is_finite() {
            return Ok(radius.max(f64::MIN_POSITIVE));
        }
        let why = "its Y is unbounded, and the regulariser needs a radius; give radius_y, or use `multistep` or `auto`";
        Err(Error::Unsuitable { method: self.method, why: why.into() })
    }

    /// The error for a constant that nobody gave.
    pub(super) fn missing(&self, constant: &'static str) -> Error {
        Error::MissingConstant { method: self.method, constant }
    }
}
