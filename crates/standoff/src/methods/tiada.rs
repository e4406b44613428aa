//! Time-scale adaptive gradient descent ascent: steps shrink with the gradients met so far, x's at least as fast as y's, so
//! that y ends up on the faster time scale. No constants.
//!
//! X. Li, J. Yang, N. He, "TiAda: a time-scale adaptive algorithm for nonconvex minimax optimization", ICLR 2023.

use super::given::Given;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, Visitor};
use crate::{Choice, Error, Game, Oracle, Point, Settings, StopReason, ops};

/// `v_x += ||grad_x f||^2;  v_y += ||grad_y f||^2;`
/// `x+ = P_X(x - h_x grad_x f / max(v_x, v_y)^a);  y+ = P_Y(y + h_y grad_y f / v_y^b)`, with `a > b`.
pub struct TiAda<G: Game> {
    step_x: f64,
    step_y: f64,
    a: f64,
    b: f64,
    seen_x: f64,
    seen_y: f64,
    g: Point<G::Real>,
}

impl<G: Game> TiAda<G> {
    /// Parameters `step_x`, `step_y`, `a`, `b`, `v0`, all with defaults.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let given = Given::new("tiada", choice, settings)?;
        let (a, b) = (given.share("a", 0.6)?, given.share("b", 0.4)?);
        if !(a > b) {
            return Err(Error::Setting { name: "a", value: a, want: "larger than b" });
        }
        let v0 = given.positive("v0", || Ok(1.0))?;
        Ok(Self {
            step_x: given.positive("step_x", || Ok(1.0))?,
            step_y: given.positive("step_y", || Ok(1.0))?,
            a,
            b,
            seen_x: v0,
            seen_y: v0,
            g: zeros(game),
        })
    }
}

impl<G: Game> Method<G> for TiAda<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        self.seen_x += ops::norm(&self.g.x).powi(2);
        self.seen_y += ops::norm(&self.g.y).powi(2);
        let most = if self.seen_x >= self.seen_y { self.seen_x } else { self.seen_y };
        descend(f, &mut z.x, self.step_x / most.powf(self.a), &self.g.x);
        ascend(f, &mut z.y, self.step_y / self.seen_y.powf(self.b), &self.g.y);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.scalar("seen_x", &mut self.seen_x);
        visitor.scalar("seen_y", &mut self.seen_y);
    }
}
