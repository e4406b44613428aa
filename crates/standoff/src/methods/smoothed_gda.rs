//! Smoothed gradient descent ascent: x is held to an anchor that follows it slowly.
//!
//! J. Zhang, P. Xiao, R. Sun, Z.-Q. Luo, "A single-loop smoothed gradient descent-ascent algorithm for nonconvex-concave
//! min-max problems", NeurIPS 2020.

use super::given::Given;
use super::step::{ascend, descend, follow, pull, slope_x, slope_y, zeros};
use super::{Method, Visitor};
use crate::{Choice, Error, Game, Oracle, Point, Settings, StopReason};

/// The constants of the smoothed methods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Smoothing {
    /// The weight that holds x to its anchor.
    pub(super) p: f64,
    /// The step in x.
    pub(super) c: f64,
    /// The step in y.
    pub(super) a: f64,
    /// The share by which the anchor follows.
    pub(super) b: f64,
}

impl Smoothing {
    /// `p = 2L, c = 1/(p + L), a = 1/(4L), b = 0.1`: longer than the published bounds, which hold for any game.
    pub(super) fn new(given: &Given<'_>) -> Result<Self, Error> {
        let p = given.positive("p", || Ok(2.0 * given.smoothness()?))?;
        let c = given.positive("c", || Ok(1.0 / (p + given.smoothness()?)))?;
        let a = given.positive("a", || Ok(0.25 / given.smoothness()?))?;
        let b = given.share("b", 0.1)?;
        Ok(Self { p, c, a, b })
    }
}

/// With `K(x, z; y) = f(x, y) + (p/2)||x - z||^2`:
/// `x+ = P_X(x - c grad_x K(x, z; y));  y+ = P_Y(y + a grad_y K(x+, z; y));  z+ = z + b (x+ - z)`.
pub struct SmoothedGda<G: Game> {
    k: Smoothing,
    started: u64,
    anchor: Vec<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> SmoothedGda<G> {
    /// Parameters `p`, `c`, `a`, `b`; without them, constants.
    pub fn new(game: &G, settings: &Settings, choice: &Choice) -> Result<Self, Error> {
        let k = Smoothing::new(&Given::new("smoothed-gda", choice, settings)?)?;
        Ok(Self { k, started: 0, anchor: zeros(game).x, g: zeros(game) })
    }
}

impl<G: Game> Method<G> for SmoothedGda<G> {
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
