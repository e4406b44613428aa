//! Algorithm 1: multi-step gradient descent ascent, for games whose max side is unconstrained and satisfies the
//! Polyak-Lojasiewicz condition.
//!
//! M. Nouiehed, M. Sanjabi, T. Huang, J. D. Lee, M. Razaviyayn, "Solving a class of non-convex min-max games using
//! iterative first order methods", NeurIPS 2019.

use super::{Method, Mode, Visitor};
use crate::inner::{Ascent, Stop};
use crate::outer::Projected;
use crate::plan::{self, Statement};
use crate::{Choice, Constants, Diagnosis, Error, Game, Need, Oracle, Point, Settings, StopReason};

/// `y := K ascent steps from y;  x := P_X(x - grad_x f(x, y) / L)`, with `L = L11 + L12^2/mu`.
pub struct Multistep<G: Game> {
    inner: Ascent<G::Real>,
    outer: Projected<G::Real>,
    left: u64,
}

impl<G: Game> Multistep<G> {
    /// Needs L11, L12, L22 and mu; in theory mode also delta_g, delta, g_max and radius_x.
    pub fn new(game: &G, settings: &Settings, choice: &Choice, c: &Constants) -> Result<Self, Error> {
        let printed = choice.as_printed;
        if !(c.mu > 0.0) {
            return Err(Error::MissingConstant {
                method: "multistep",
                constant: "mu (the PL constant in y, positive)",
            });
        }
        let smooth = c.l11 + c.l12 * c.l12 / if printed { 2.0 * c.mu } else { c.mu };
        let (stop, left) = if choice.mode == Mode::Theory {
            let statement = if printed { Statement::Printed } else { Statement::Corrected };
            let plan = plan::algorithm1(c, settings.eps, statement)?;
            (Stop::Steps(plan.inner as u64), plan.outer as u64)
        } else {
            (Stop::Residual(plan::tightened_tolerance(c, c.mu, settings.eps)), u64::MAX)
        };
        Ok(Self {
            inner: Ascent::new(1.0 / c.l22, stop, game.y_set().dim()),
            outer: Projected::new(1.0 / smooth, game.x_set().dim()),
            left,
        })
    }
}

impl<G: Game> Method<G> for Multistep<G> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        self.inner.run(f, &mut z.y)
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.left = self.left.checked_sub(1).ok_or(StopReason::Stalled(Diagnosis::ScheduleEnded))?;
        self.outer.run(f, z);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("left", &mut self.left);
    }
}
