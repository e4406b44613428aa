//! Doubly smoothed gradient descent ascent: proximal terms hold both players near anchors that follow them slowly. It
//! is made for games that are not concave in y.
//!
//! T. Zheng, L. Zhu, A. M.-C. So, J. Blanchet, J. Li, "Universal gradient descent ascent method for nonconvex-nonconcave minimax
//! optimization", NeurIPS 2023.

use super::given::{Given, share};
use super::step::{ascend, descend, follow, pull, slope_x, slope_y, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason};

/// Doubly smoothed descent ascent: with `F(x, y; z, v) = f(x, y) + (r1/2)||x - z||^2 - (r2/2)||y - v||^2`,
/// `x+ = P_X(x - c grad_x F(x, y; z, v));  y+ = P_Y(y + a grad_y F(x+, y; z, v));  z+ = z + b (x+ - z);  v+ = v + m (y+ - v)`.
///
/// The paper sets all six parameters by hand for each game. The defaults are one rule with `L = max(L11, L22) + L12`,
/// found by a search for a rule that solves all published limit cycles in the zoo from four starts each; it comes
/// without a proof. `r2` must make y's side barely concave, because a strong response of y has to stabilise x in place
/// of `r1`. y moves 7.5 times as fast as x, and `a (L22 + r2) < 2` keeps its step stable for every game.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::DsGda;
///
/// let method = DsGda { r1: Some(0.1), r2: Some(0.3), c: Some(0.05), a: Some(0.4), ..DsGda::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DsGda {
    /// Weight of the proximal term that holds x near its anchor; by default `L/25`.
    pub r1: Option<f64>,
    /// Weight of the proximal term that holds y near its anchor; by default `L/8`.
    pub r2: Option<f64>,
    /// The step in x; by default `1/(5L)`.
    pub c: Option<f64>,
    /// The step in y; by default `3/(2L)`.
    pub a: Option<f64>,
    /// Share of the distance by which x's anchor moves per step, in `(0, 1]`; by default 0.0005.
    pub b: f64,
    /// Share of the distance by which y's anchor moves per step, in `(0, 1]`; by default 0.001.
    pub m: f64,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl Default for DsGda {
    fn default() -> Self {
        Self { r1: None, r2: None, c: None, a: None, b: 5e-4, m: 1e-3, constants: None }
    }
}

impl DsGda {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self {
            r1: given.get("r1"),
            r2: given.get("r2"),
            c: given.get("c"),
            a: given.get("a"),
            b: given.or("b", Self::default().b),
            m: given.or("m", Self::default().m),
            constants: given.constants,
        })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("ds-gda", &self.constants, goal)?;
        let r1 = given.positive("r1", self.r1, || Ok(given.smoothness()? / 25.0))?;
        let r2 = given.positive("r2", self.r2, || Ok(given.smoothness()? / 8.0))?;
        let c = given.positive("c", self.c, || Ok(0.2 / given.smoothness()?))?;
        let a = given.positive("a", self.a, || Ok(1.5 / given.smoothness()?))?;
        let (b, m) = (share("b", self.b)?, share("m", self.m)?);
        Ok(Box::new(DsGdaRun { r1, r2, c, a, b, m, started: 0, anchor: zeros(game), g: zeros(game) }))
    }
}

/// A running method with its state.
struct DsGdaRun<G: Game> {
    r1: f64,
    r2: f64,
    c: f64,
    a: f64,
    b: f64,
    m: f64,
    started: u64,
    anchor: Point<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for DsGdaRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        if self.started == 0 {
            self.started = 1;
            self.anchor.copy_from(z);
        }
        slope_x(f, z, &mut self.g.x);
        pull(&mut self.g.x, self.r1, &z.x, &self.anchor.x);
        descend(f, &mut z.x, self.c, &self.g.x);
        slope_y(f, z, &mut self.g.y);
        pull(&mut self.g.y, -self.r2, &z.y, &self.anchor.y);
        ascend(f, &mut z.y, self.a, &self.g.y);
        follow(&mut self.anchor.x, self.b, &z.x);
        follow(&mut self.anchor.y, self.m, &z.y);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("started", &mut self.started);
        visitor.vector("anchor_x", &mut self.anchor.x);
        visitor.vector("anchor_y", &mut self.anchor.y);
    }
}
