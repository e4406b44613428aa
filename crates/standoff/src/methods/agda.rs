//! Alternating gradient descent ascent: y sees where x has gone.
//!
//! J. Yang, N. Kiyavash, N. He, "Global convergence and variance-reduced optimization for a class of nonconvex-nonconcave
//! minimax problems", NeurIPS 2020.

use super::given::Given;
use super::step::{ascend, descend, slope_x, slope_y, zeros};
use super::{Method, Visitor};
use crate::{Choice, Error, Game, Oracle, Point, Settings, StopReason};

/// `x+ = P_X(x - h_x grad_x f(x, y));  y+ = P_Y(y + h_y grad_y f(x+, y))`.
pub struct Agda<G: Game> {
    step_x: f64,
    step_y: f64,
    g: Point<G::Real>,
}

impl<G: Game> Agda<G> {
    /// Parameters `step_x`, `step_y`; without them, constants.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let given = Given::new("agda", choice, settings)?;
        let step_x = given.positive("step_x", || {
            let l = given.smoothness()?;
            // PL in both players: the factor 1/18 is recalled from the paper.
            Ok(given.mu().map_or(1.0 / l, |mu| mu * mu / (18.0 * l * l * l)))
        })?;
        let step_y = given.positive("step_y", || Ok(1.0 / given.smoothness()?))?;
        Ok(Self { step_x, step_y, g: zeros(game) })
    }
}

impl<G: Game> Method<G> for Agda<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        slope_x(f, z, &mut self.g.x);
        descend(f, &mut z.x, self.step_x, &self.g.x);
        slope_y(f, z, &mut self.g.y);
        ascend(f, &mut z.y, self.step_y, &self.g.y);
        Ok(())
    }

    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}
