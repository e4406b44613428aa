//! Two-time-scale gradient descent ascent: simultaneous, x much slower than y.
//!
//! T. Lin, C. Jin, M. I. Jordan, "On gradient descent ascent for nonconvex-concave minimax problems", ICML 2020.

use super::given::Given;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, Visitor};
use crate::{Choice, Error, Game, Oracle, Point, Settings, StopReason};

/// `x+ = P_X(x - h_x grad_x f(x, y));  y+ = P_Y(y + h_y grad_y f(x, y))`, with `h_x` far below `h_y`.
pub struct TwoTimeScale<G: Game> {
    step_x: f64,
    step_y: f64,
    g: Point<G::Real>,
}

impl<G: Game> TwoTimeScale<G> {
    /// Parameters `step_x`, `step_y`; without them, constants.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let given = Given::new("ttgda", choice, settings)?;
        let step_y = given.positive("step_y", || Ok(1.0 / given.smoothness()?))?;
        let step_x = given.positive("step_x", || {
            let l = given.smoothness()?;
            match given.mu() {
                Some(mu) => Ok(1.0 / (16.0 * (l / mu + 1.0).powi(2) * l)),
                // Merely concave in y: the published step is the smaller of eps^2/(16 L G^2) and eps^4/(4096 L^3 G^2 D^2), G the
                // slope and D the diameter of Y. It hardly moves; the first of the two without its factor does.
                None => Ok((given.eps / given.g_max()?).powi(2).min(1.0) / l),
            }
        })?;
        Ok(Self { step_x, step_y, g: zeros(game) })
    }
}

impl<G: Game> Method<G> for TwoTimeScale<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        descend(f, &mut z.x, self.step_x, &self.g.x);
        ascend(f, &mut z.y, self.step_y, &self.g.y);
        Ok(())
    }

    fn visit(&mut self, _visitor: &mut dyn Visitor<G::Real>) {}
}
