//! Time-scale adaptive gradient descent ascent: steps decrease with the gradients so far, those of x at least as fast
//! as those of y, so that y moves on the faster time scale. Needs no constants.
//!
//! X. Li, J. Yang, N. He, "TiAda: a time-scale adaptive algorithm for nonconvex minimax optimization", ICLR 2023.

use super::given::{positive, share};
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Error, Game, Goal, Oracle, Point, StopReason, ops};

/// Time-scale adaptive descent ascent: `v_x += ||grad_x f||^2;  v_y += ||grad_y f||^2;`
/// `x+ = P_X(x - h_x grad_x f / max(v_x, v_y)^a);  y+ = P_Y(y + h_y grad_y f / v_y^b)`, with `a > b`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::TiAda;
///
/// let method = TiAda { step_x: 0.5, step_y: 0.5, ..TiAda::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TiAda {
    /// The step `h_x`; by default 1.
    pub step_x: f64,
    /// The step `h_y`; by default 1.
    pub step_y: f64,
    /// Exponent of the step in x, in `(0, 1]` and larger than b; by default 0.6.
    pub a: f64,
    /// Exponent of the step in y, in `(0, 1]`; by default 0.4.
    pub b: f64,
    /// Start of the sums of squared gradients; by default 1.
    pub v0: f64,
}

impl Default for TiAda {
    fn default() -> Self {
        Self { step_x: 1.0, step_y: 1.0, a: 0.6, b: 0.4, v0: 1.0 }
    }
}

impl TiAda {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        let default = Self::default();
        Ok(Self {
            step_x: given.or("step_x", default.step_x),
            step_y: given.or("step_y", default.step_y),
            a: given.or("a", default.a),
            b: given.or("b", default.b),
            v0: given.or("v0", default.v0),
        })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, _goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let (a, b) = (share("a", self.a)?, share("b", self.b)?);
        if !(a > b) {
            return Err(Error::Setting { name: "a", value: a, want: "larger than b" });
        }
        let v0 = positive("v0", self.v0)?;
        Ok(Box::new(TiAdaRun {
            step_x: positive("step_x", self.step_x)?,
            step_y: positive("step_y", self.step_y)?,
            a,
            b,
            seen_x: v0,
            seen_y: v0,
            g: zeros(game),
        }))
    }
}

/// A running method with its state.
struct TiAdaRun<G: Game> {
    step_x: f64,
    step_y: f64,
    a: f64,
    b: f64,
    seen_x: f64,
    seen_y: f64,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for TiAdaRun<G> {
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
