//! Optimistic gradient descent ascent in Popov's projected form: each gradient is used in two steps.
//!
//! L. D. Popov, "A modification of the Arrow-Hurwicz method for search of saddle points", Mathematical Notes 28, 1980.

use super::given::Given;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason};

/// Optimistic gradient descent ascent: `v+ = P(v - h F(z));  z+ = P(v+ - h F(z))`, where `F = (grad_x f, -grad_y f)`.
///
/// Without constraints this is `z+ = z - 2h F(z) + h F(z_previous)`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::Optimistic;
///
/// let method = Optimistic { step: Some(0.1), ..Optimistic::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Optimistic {
    /// The step h; by default `1/(4L)`, where `L = max(L11, L22) + L12`.
    pub step: Option<f64>,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl Optimistic {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { step: given.get("step"), constants: given.constants })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("ogda", &self.constants, goal)?;
        let step = given.positive("step", self.step, || Ok(0.25 / given.smoothness()?))?;
        Ok(Box::new(OptimisticRun { step, started: 0, v: zeros(game), g: zeros(game) }))
    }
}

/// A running method with its state.
struct OptimisticRun<G: Game> {
    step: f64,
    started: u64,
    v: Point<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for OptimisticRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        if self.started == 0 {
            self.started = 1;
            self.v.copy_from(z);
        }
        gradients(f, z, &mut self.g);
        descend(f, &mut self.v.x, self.step, &self.g.x);
        ascend(f, &mut self.v.y, self.step, &self.g.y);
        z.copy_from(&self.v);
        descend(f, &mut z.x, self.step, &self.g.x);
        ascend(f, &mut z.y, self.step, &self.g.y);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("started", &mut self.started);
        visitor.vector("v_x", &mut self.v.x);
        visitor.vector("v_y", &mut self.v.y);
    }
}
