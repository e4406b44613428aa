//! Smoothed gradient descent ascent: a proximal term holds x near an anchor that follows it slowly.
//!
//! J. Zhang, P. Xiao, R. Sun, Z.-Q. Luo, "A single-loop smoothed gradient descent-ascent algorithm for nonconvex-concave
//! min-max problems", NeurIPS 2020.

use super::given::{Given, share};
use super::step::{ascend, descend, follow, pull, slope_x, slope_y, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason};

/// The constants of the smoothed methods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Smoothing {
    /// Weight of the proximal term that holds x near its anchor.
    pub(super) p: f64,
    /// The step in x.
    pub(super) c: f64,
    /// The step in y.
    pub(super) a: f64,
    /// Share of the distance by which the anchor moves per step.
    pub(super) b: f64,
}

/// Smoothed descent ascent: with `K(x, z; y) = f(x, y) + (p/2)||x - z||^2`,
/// `x+ = P_X(x - c grad_x K(x, z; y));  y+ = P_Y(y + a grad_y K(x+, z; y));  z+ = z + b (x+ - z)`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::SmoothedGda;
///
/// let method = SmoothedGda { p: Some(2.0), c: Some(0.1), a: Some(0.1), ..SmoothedGda::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothedGda {
    /// Weight p of the proximal term that holds x near its anchor; by default `2L`, where `L = max(L11, L22) + L12`.
    pub p: Option<f64>,
    /// The step c in x; by default `1/(p + L)`.
    pub c: Option<f64>,
    /// The step a in y; by default `1/(4L)`.
    pub a: Option<f64>,
    /// Share b of the distance by which the anchor moves per step, in `(0, 1]`; by default 0.1.
    pub b: f64,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl Default for SmoothedGda {
    fn default() -> Self {
        Self { p: None, c: None, a: None, b: 0.1, constants: None }
    }
}

impl SmoothedGda {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self {
            p: given.get("p"),
            c: given.get("c"),
            a: given.get("a"),
            b: given.or("b", Self::default().b),
            constants: given.constants,
        })
    }

    /// `p = 2L, c = 1/(p + L), a = 1/(4L), b = 0.1`. These are larger than the published bounds, which hold for every
    /// game.
    pub(super) fn smoothing(&self, given: &Given<'_>) -> Result<Smoothing, Error> {
        let p = given.positive("p", self.p, || Ok(2.0 * given.smoothness()?))?;
        let c = given.positive("c", self.c, || Ok(1.0 / (p + given.smoothness()?)))?;
        let a = given.positive("a", self.a, || Ok(0.25 / given.smoothness()?))?;
        Ok(Smoothing { p, c, a, b: share("b", self.b)? })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let k = self.smoothing(&Given::new("smoothed-gda", &self.constants, goal)?)?;
        Ok(Box::new(SmoothedGdaRun { k, started: 0, anchor: zeros(game).x, g: zeros(game) }))
    }
}

/// A running method with its state.
struct SmoothedGdaRun<G: Game> {
    k: Smoothing,
    started: u64,
    anchor: Vec<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for SmoothedGdaRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        if self.started == 0 {
            self.started = 1;
            self.anchor.copy_from_slice(&z.x);
        }
        slope_x(f, z, &mut self.g.x);
        pull(&mut self.g.x, self.k.p, &z.x, &self.anchor);
        descend(f, &mut z.x, self.k.c, &self.g.x);
        slope_y(f, z, &mut self.g.y);
        ascend(f, &mut z.y, self.k.a, &self.g.y);
        follow(&mut self.anchor, self.k.b, &z.x);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("started", &mut self.started);
        visitor.vector("anchor_x", &mut self.anchor);
    }
}
