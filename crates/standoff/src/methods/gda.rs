//! Simultaneous gradient descent ascent: both players move at the same time, with the same step size.
//!
//! K. J. Arrow, L. Hurwicz, H. Uzawa, "Studies in linear and non-linear programming", Stanford University Press, 1958.

use super::given::Given;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, NamedParameters};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason};

/// Simultaneous gradient descent ascent: `x+ = P_X(x - h grad_x f(x, y));  y+ = P_Y(y + h grad_y f(x, y))`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::Gda;
///
/// let method = Gda { step: Some(0.1), ..Gda::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Gda {
    /// The step h; by default `mu/L^2`, or `1/(2L)` without mu, where `L = max(L11, L22) + L12`.
    pub step: Option<f64>,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl Gda {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { step: given.get("step"), constants: given.constants })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("gda", &self.constants, goal)?;
        // Linear convergence on strongly monotone games needs h <= mu/L^2.
        let step = given.positive("step", self.step, || {
            let l = given.smoothness()?;
            Ok(given.mu().map_or(0.5 / l, |mu| mu / (l * l)))
        })?;
        Ok(Box::new(GdaRun { step, g: zeros(game) }))
    }
}

/// A running method with its state.
struct GdaRun<G: Game> {
    step: f64,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for GdaRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        descend(f, &mut z.x, self.step, &self.g.x);
        ascend(f, &mut z.y, self.step, &self.g.y);
        Ok(())
    }
}
