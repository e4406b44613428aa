//! Simultaneous gradient descent ascent: both players step at once, with one step size.
//!
//! K. J. Arrow, L. Hurwicz, H. Uzawa, "Studies in linear and non-linear programming", Stanford University Press, 1958.

use super::given::Given;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, Visitor};
use crate::{Choice, Error, Game, Oracle, Point, Settings, StopReason};

/// `x+ = P_X(x - h grad_x f(x, y));  y+ = P_Y(y + h grad_y f(x, y))`.
pub struct Gda<G: Game> {
    step: f64,
    g: Point<G::Real>,
}

impl<G: Game> Gda<G> {
    /// Parameter `step`; without it, constants.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let given = Given::new("gda", choice, settings)?;
        // Linear convergence on strongly monotone games needs h <= mu/L^2.
        let step = given.positive("step", || {
            let l = given.smoothness()?;
            Ok(given.mu().map_or(0.5 / l, |mu| mu / (l * l)))
        })?;
        Ok(Self { step, g: zeros(game) })
    }
}

impl<G: Game> Method<G> for Gda<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        descend(f, &mut z.x, self.step, &self.g.x);
        ascend(f, &mut z.y, self.step, &self.g.y);
        Ok(())
    }

    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}
