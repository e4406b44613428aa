//! Alternating gradient descent ascent: the gradient in y is taken after x has moved.
//!
//! J. Yang, N. Kiyavash, N. He, "Global convergence and variance-reduced optimization for a class of nonconvex-nonconcave
//! minimax problems", NeurIPS 2020.

use super::given::Given;
use super::step::{ascend, descend, slope_x, slope_y, zeros};
use super::{Method, NamedParameters};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason};

/// Alternating gradient descent ascent: `x+ = P_X(x - h_x grad_x f(x, y));  y+ = P_Y(y + h_y grad_y f(x+, y))`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::Agda;
///
/// let method = Agda { step_x: Some(0.01), step_y: Some(0.1), ..Agda::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Agda {
    /// The step `h_x`; by default `mu^2/(18 L^3)`, or `1/L` without mu, where `L = max(L11, L22) + L12`.
    pub step_x: Option<f64>,
    /// The step `h_y`; by default `1/L`.
    pub step_y: Option<f64>,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl Agda {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { step_x: given.get("step_x"), step_y: given.get("step_y"), constants: given.constants })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("agda", &self.constants, goal)?;
        let step_x = given.positive("step_x", self.step_x, || {
            let l = given.smoothness()?;
            // PL in both players. The factor 1/18 is quoted from memory of the paper.
            Ok(given.mu().map_or(1.0 / l, |mu| mu * mu / (18.0 * l * l * l)))
        })?;
        let step_y = given.positive("step_y", self.step_y, || Ok(1.0 / given.smoothness()?))?;
        Ok(Box::new(AgdaRun { step_x, step_y, g: zeros(game) }))
    }
}

/// A running method with its state.
struct AgdaRun<G: Game> {
    step_x: f64,
    step_y: f64,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for AgdaRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        slope_x(f, z, &mut self.g.x);
        descend(f, &mut z.x, self.step_x, &self.g.x);
        slope_y(f, z, &mut self.g.y);
        ascend(f, &mut z.y, self.step_y, &self.g.y);
        Ok(())
    }
}
