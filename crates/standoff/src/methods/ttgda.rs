//! Two-time-scale gradient descent ascent: simultaneous steps, those of x much shorter than those of y.
//!
//! T. Lin, C. Jin, M. I. Jordan, "On gradient descent ascent for nonconvex-concave minimax problems", ICML 2020.

use super::given::Given;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, NamedParameters};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason};

/// Two-time-scale descent ascent: `x+ = P_X(x - h_x grad_x f(x, y));  y+ = P_Y(y + h_y grad_y f(x, y))`, with `h_x`
/// much smaller than `h_y`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::TwoTimeScale;
///
/// let method = TwoTimeScale { step_x: Some(0.001), step_y: Some(0.1), ..TwoTimeScale::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TwoTimeScale {
    /// The step `h_x`; by default `1/(16 (L/mu + 1)^2 L)`, or `eps^2/(L g_max^2)` without mu, where `L = max(L11, L22) + L12`.
    pub step_x: Option<f64>,
    /// The step `h_y`; by default `1/L`.
    pub step_y: Option<f64>,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl TwoTimeScale {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { step_x: given.get("step_x"), step_y: given.get("step_y"), constants: given.constants })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("ttgda", &self.constants, goal)?;
        let step_y = given.positive("step_y", self.step_y, || Ok(1.0 / given.smoothness()?))?;
        let step_x = given.positive("step_x", self.step_x, || {
            let l = given.smoothness()?;
            match given.mu() {
                Some(mu) => Ok(1.0 / (16.0 * (l / mu + 1.0).powi(2) * l)),
                // Only concave in y: the published step is the smaller of eps^2/(16 L G^2) and eps^4/(4096 L^3 G^2
                // D^2), where G bounds the gradient and D is the diameter of Y. It is too short to make progress; the
                // first of the two without its factor is not.
                None => Ok((goal.eps / given.g_max()?).powi(2).min(1.0) / l),
            }
        })?;
        Ok(Box::new(TwoTimeScaleRun { step_x, step_y, g: zeros(game) }))
    }
}

/// A running method with its state.
struct TwoTimeScaleRun<G: Game> {
    step_x: f64,
    step_y: f64,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for TwoTimeScaleRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        descend(f, &mut z.x, self.step_x, &self.g.x);
        ascend(f, &mut z.y, self.step_y, &self.g.y);
        Ok(())
    }
}
