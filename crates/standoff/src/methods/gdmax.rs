//! Gradient descent with a max-oracle: y climbs until it has answered, then x takes one step.
//!
//! C. Jin, P. Netrapalli, M. I. Jordan, "What is local optimality in nonconvex-nonconcave minimax optimization?", ICML 2020.

use super::given::Given;
use super::{Method, Visitor};
use crate::inner::{Ascent, Stop};
use crate::outer::Projected;
use crate::plan::tightened_tolerance;
use crate::{Choice, Error, Game, Need, Oracle, Point, Settings, StopReason};

/// `y+ = argmax_Y f(x, .) to the accuracy given;  x+ = P_X(x - h_x grad_x f(x, y+))`.
pub struct GdMax<G: Game> {
    inner: Ascent<G::Real>,
    outer: Projected<G::Real>,
}

impl<G: Game> GdMax<G> {
    /// Parameters `step_x`, `step_y`, `accuracy`; without them, constants.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let given = Given::new("gdmax", choice, settings)?;
        let step_x = given.positive("step_x", || {
            let l = given.smoothness()?;
            match given.mu() {
                Some(mu) => Ok(mu / (8.0 * l * l)),
                None => Ok(given.eps * given.eps / (l * given.g_max()?.powi(2))),
            }
        })?;
        let step_y = given.positive("step_y", || {
            let c = given.constants()?;
            Ok(1.0 / if c.l22 > 0.0 { c.l22 } else { given.smoothness()? })
        })?;
        let accuracy = given.positive("accuracy", || {
            Ok(given.mu().map_or(0.25 * given.eps, |mu| {
                given.constants().map_or(0.25 * given.eps, |c| tightened_tolerance(c, mu, given.eps))
            }))
        })?;
        Ok(Self {
            inner: Ascent::new(step_y, Stop::Residual(accuracy), game.y_set().dim()),
            outer: Projected::new(step_x, game.x_set().dim()),
        })
    }
}

impl<G: Game> Method<G> for GdMax<G> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        self.inner.run(f, &mut z.y)
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.outer.run(f, z);
        Ok(())
    }

    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}
