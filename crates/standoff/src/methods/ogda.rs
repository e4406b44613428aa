//! Optimistic gradient descent ascent, in the projected form that predates the name: one gradient serves two steps.
//!
//! L. D. Popov, "A modification of the Arrow-Hurwicz method for search of saddle points", Mathematical Notes 28, 1980.

use super::given::Given;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, Visitor};
use crate::{Choice, Error, Game, Oracle, Point, Settings, StopReason};

/// `v+ = P(v - h F(z));  z+ = P(v+ - h F(z))`, where `F = (grad_x f, -grad_y f)`.
///
/// Without constraints that is `z+ = z - 2h F(z) + h F(z_previous)`.
pub struct Optimistic<G: Game> {
    step: f64,
    started: u64,
    v: Point<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> Optimistic<G> {
    /// Parameter `step`; without it, constants.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let given = Given::new("ogda", choice, settings)?;
        let step = given.positive("step", || Ok(0.25 / given.smoothness()?))?;
        Ok(Self { step, started: 0, v: zeros(game), g: zeros(game) })
    }
}

impl<G: Game> Method<G> for Optimistic<G> {
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
