//! Alternating gradient steps with negative momentum, which damps the rotation of bilinear games.
//!
//! G. Gidel, R. Askari Hemmat, M. Pezeshki, R. Le Priol, G. Huang, S. Lacoste-Julien, I. Mitliagkas, "Negative momentum for
//! improved game dynamics", AISTATS 2019.

use super::given::Given;
use super::step::{ascend, descend, pull, slope_x, slope_y, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason};

/// Negative momentum: `x+ = P_X(x - h grad_x f(x, y) + b (x - x_old));  y+ = P_Y(y + h grad_y f(x+, y) + b (y - y_old))`, with `b < 0`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::NegativeMomentum;
///
/// let method = NegativeMomentum { step: Some(0.1), ..NegativeMomentum::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NegativeMomentum {
    /// The step h; by default `1/(2L)`, where `L = max(L11, L22) + L12`.
    pub step: Option<f64>,
    /// The momentum b, between -1 and 1; by default `-1/2`.
    pub beta: f64,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl Default for NegativeMomentum {
    fn default() -> Self {
        Self { step: None, beta: -0.5, constants: None }
    }
}

impl NegativeMomentum {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { step: given.get("step"), beta: given.or("beta", Self::default().beta), constants: given.constants })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("negative-momentum", &self.constants, goal)?;
        let step = given.positive("step", self.step, || Ok(0.5 / given.smoothness()?))?;
        let beta = self.beta;
        if !(beta > -1.0 && beta < 1.0) {
            return Err(Error::Setting { name: "beta", value: beta, want: "between -1 and 1" });
        }
        Ok(Box::new(NegativeMomentumRun { step, beta, started: 0, old: zeros(game), now: zeros(game), g: zeros(game) }))
    }
}

/// A running method with its state.
struct NegativeMomentumRun<G: Game> {
    step: f64,
    beta: f64,
    started: u64,
    old: Point<G::Real>,
    now: Point<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for NegativeMomentumRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        if self.started == 0 {
            self.started = 1;
            self.old.copy_from(z);
        }
        self.now.copy_from(z);
        slope_x(f, z, &mut self.g.x);
        pull(&mut self.g.x, -self.beta / self.step, &self.now.x, &self.old.x);
        descend(f, &mut z.x, self.step, &self.g.x);
        slope_y(f, z, &mut self.g.y);
        pull(&mut self.g.y, self.beta / self.step, &self.now.y, &self.old.y);
        ascend(f, &mut z.y, self.step, &self.g.y);
        std::mem::swap(&mut self.old, &mut self.now);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("started", &mut self.started);
        visitor.vector("old_x", &mut self.old.x);
        visitor.vector("old_y", &mut self.old.y);
    }
}
