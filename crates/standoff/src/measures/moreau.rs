//! The gradient of the Moreau envelope of `g(x) = max over y of f(x, y)` on X: "optimisation stationarity".
//!
//! Let f be l-weakly convex in x and concave in y, `phi = g` on X and infinite elsewhere, and `d = ||x - p||`, where p is the
//! minimiser of `phi(z) + l ||z - x||^2`. That function is l-strongly convex, so `phi(x) >= phi(p) + (3 l/2) d^2`. On the other
//! hand, `phi(p) >= f(p, y) >= f(x, y) + <g_x, p - x> - (l/2) d^2 >= phi(x) - gap - R d - slack - (l/2) d^2`, with
//! `gap = g(x) - f(x, y)` and the normal-cone residual R with its slack. Together, `l d^2 <= R d + gap + slack`, and the
//! gradient of the envelope with parameter `1/(2l)` is
//! `2 l d <= R + sqrt(R^2 + 4 l (gap + slack)) <= 2 R + 2 sqrt(l (gap + slack))`.

use super::duality::{ConvexityAssumption, inner_gap};
use super::{Assumptions, up};
use crate::certify::Residuals;
use crate::{Certificate, Game};

/// Upper bound of `||grad phi_{1/(2l)}(x)||`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoreauBound {
    /// The bound.
    pub norm: f64,
    /// The weak convexity `l` in x, taken from the constant L11. The envelope's parameter is `1/(2l)`.
    pub weak_convexity: f64,
    /// The bound of `max over y' of f(x, y') - f(x, y)` that was used.
    pub inner_gap: f64,
    /// Assumption about f as a function of y.
    pub y_shape: ConvexityAssumption,
    /// True if a constant was estimated by sampling; the bound is then an estimate.
    pub estimated: bool,
}

impl MoreauBound {
    /// The assumptions in words. f is l-weakly convex in x if its gradient in x is l-Lipschitz in x.
    pub fn condition(&self) -> String {
        let l = self.weak_convexity;
        let concave = match self.y_shape {
            ConvexityAssumption::Unneeded => String::new(),
            ConvexityAssumption::Plain => " and concave in y".to_owned(),
            ConvexityAssumption::Strong(mu) => format!(" and strongly concave in y (modulus {mu})"),
        };
        format!("f is {l}-weakly convex in x{concave}")
    }

    pub(super) fn new<G: Game + ?Sized>(
        game: &G,
        c: &Certificate,
        residuals: &Residuals,
        assumed: &Assumptions,
    ) -> Option<Self> {
        let constants = assumed.constants?;
        let l = Some(constants.l11).filter(|l| *l > 0.0 && l.is_finite())?;
        let r = residuals.x?;
        let (inner_gap, y_shape) = inner_gap(game, c, residuals, assumed)?;
        let root = up(up(r.norm * r.norm + 4.0 * l * up(inner_gap + r.slack)).sqrt());
        let norm = up(r.norm + root);
        let bound = Self { norm, weak_convexity: l, inner_gap, y_shape, estimated: constants.estimated };
        norm.is_finite().then_some(bound)
    }
}
