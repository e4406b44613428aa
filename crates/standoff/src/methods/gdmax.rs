//! Gradient descent with a max-oracle: y climbs until its residual is small, then x makes one step.
//!
//! C. Jin, P. Netrapalli, M. I. Jordan, "What is local optimality in nonconvex-nonconcave minimax optimization?", ICML 2020.

use super::given::Given;
use super::nested::Nested;
use super::{Method, NamedParameters};
use crate::inner::{Ascent, Regulariser, Response, Stop};
use crate::outer::Projected;
use crate::plan::tightened_tolerance;
use crate::{Constants, Error, Game, Goal};

/// Gradient descent with a max-oracle: `y+ = argmax_Y f(x, .)` to a given accuracy, then `x+ = P_X(x - h_x grad_x f(x, y+))`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::GdMax;
///
/// let method = GdMax { step_x: Some(0.01), step_y: Some(0.1), ..GdMax::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GdMax {
    /// The step `h_x`; by default `mu/(8 L^2)`, or `eps^2/(L g_max^2)` without mu, where `L = max(L11, L22) + L12`.
    pub step_x: Option<f64>,
    /// The step of y's ascent; by default `1/L22`, or `1/L` if L22 = 0.
    pub step_y: Option<f64>,
    /// The residual at which y's ascent stops; by default `min(eps/4, mu eps/(12 L12))`, or `eps/4` without mu.
    pub accuracy: Option<f64>,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl GdMax {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        let (step_x, step_y, accuracy) = (given.get("step_x"), given.get("step_y"), given.get("accuracy"));
        Ok(Self { step_x, step_y, accuracy, constants: given.constants })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("gdmax", &self.constants, goal)?;
        let step_x = given.positive("step_x", self.step_x, || {
            let l = given.smoothness()?;
            match given.mu() {
                Some(mu) => Ok(mu / (8.0 * l * l)),
                None => Ok(goal.eps * goal.eps / (l * given.g_max()?.powi(2))),
            }
        })?;
        let step_y = given.positive("step_y", self.step_y, || {
            let c = given.constants()?;
            Ok(1.0 / if c.l22 > 0.0 { c.l22 } else { given.smoothness()? })
        })?;
        let reach = given.reach(game);
        let accuracy = given.positive("accuracy", self.accuracy, || {
            Ok(given.mu().map_or(0.25 * goal.eps / reach.y, |mu| {
                given.constants().map_or(0.25 * goal.eps / reach.y, |c| tightened_tolerance(c, mu, goal.eps, reach))
            }))
        })?;
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        Ok(Box::new(Nested {
            response: Response {
                inner: Ascent::new(step_y, m),
                regulariser: Regulariser::none(m),
                request: Stop::Residual(accuracy).into(),
            },
            outer: Projected::new(step_x, n),
        }))
    }
}
