//! Alternating gradient steps with momentum that points backwards: it damps the rotation of bilinear games.
//!
//! G. Gidel, R. Askari Hemmat, M. Pezeshki, R. Le Priol, G. Huang, S. Lacoste-Julien, I. Mitliagkas, "Negative momentum for
//! improved game dynamics", AISTATS 2019.

use super::given::Given;
use super::step::{ascend, descend, pull, slope_x, slope_y, zeros};
use super::{Method, Visitor};
use crate::{Choice, Error, Game, Oracle, Point, Settings, StopReason};

/// `x+ = P_X(x - h grad_x f(x, y) + b (x - x_old));  y+ = P_Y(y + h grad_y f(x+, y) + b (y - y_old))`, with `b < 0`.
pub struct NegativeMomentum<G: Game> {
    step: f64,
    beta: f64,
    started: u64,
    old: Point<G::Real>,
    now: Point<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> NegativeMomentum<G> {
    /// Parameters `step`, `beta`; without `step`, constants.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let given = Given::new("negative-momentum", choice, settings)?;
        let step = given.positive("step", || Ok(0.5 / given.smoothness()?))?;
        let beta = given.momentum("beta", -0.5)?;
        Ok(Self { step, beta, started: 0, old: zeros(game), now: zeros(game), g: zeros(game) })
    }
}

impl<G: Game> Method<G> for NegativeMomentum<G> {
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
