//! The duality gap `max over y' of f(x, y') - min over x' of f(x', y)` of a convex-concave game.
//!
//! If f is convex in x, `f(x, y) - f(x', y) <= -<grad_x f, x' - x>`, which is at most `X_r` if r covers the set. If it
//! is strongly convex with modulus mu, it is at most `-<g, s> - mu/2 ||s||^2` with `s = x' - x`. For a vector n with
//! `<n, s> <= slack` this is at most `-<g + n, s> - mu/2 ||s||^2 + slack <= ||g + n||^2 / (2 mu) + slack`. The same
//! holds for y with `-f`.

use super::{Assumptions, smaller, up};
use crate::certify::{Residual, Residuals};
use crate::{Certificate, Game, radius};

/// Assumption about f as a function of one player's variables, for that player's half of the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConvexityAssumption {
    /// f is linear, as the game states; no assumption is needed.
    Unneeded,
    /// f is convex in x, or concave in y.
    Plain,
    /// f is strongly convex in x, or strongly concave in y, with this modulus.
    Strong(f64),
}

/// Upper bound of the duality gap, in two halves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualityBound {
    /// Upper bound of `f(x, y) - min over x' of f(x', y)`.
    pub x: f64,
    /// Upper bound of `max over y' of f(x, y') - f(x, y)`.
    pub y: f64,
    /// Assumption of the first half.
    pub x_shape: ConvexityAssumption,
    /// Assumption of the second half.
    pub y_shape: ConvexityAssumption,
    /// True if a modulus was estimated by sampling; the bound is then an estimate.
    pub estimated: bool,
}

impl DualityBound {
    /// Upper bound of the duality gap.
    pub fn gap(&self) -> f64 {
        (self.x + self.y).next_up()
    }

    /// The assumptions in words; `None` if the game itself guarantees them.
    pub fn condition(&self) -> Option<String> {
        let side = |shape, word: &str, player: &str| match shape {
            ConvexityAssumption::Unneeded => None,
            ConvexityAssumption::Plain => Some(format!("{word} in {player}")),
            ConvexityAssumption::Strong(mu) => Some(format!("strongly {word} in {player} (modulus {mu})")),
        };
        let parts: Vec<String> =
            [side(self.x_shape, "convex", "x"), side(self.y_shape, "concave", "y")].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("f is {}", parts.join(" and ")))
    }

    pub(super) fn new<G: Game + ?Sized>(
        game: &G,
        c: &Certificate,
        residuals: &Residuals,
        assumed: &Assumptions,
    ) -> Option<Self> {
        let mu_y = assumed.constants.map(|c| c.mu);
        let shape = |linear: bool| if linear { ConvexityAssumption::Unneeded } else { ConvexityAssumption::Plain };
        let over = |covered: bool, gap: f64, linear: bool| covered.then_some((gap, shape(linear)));
        let x_whole = over(radius::covers(game.x_set(), c.radius), c.x.upper, game.linear_in_x());
        let y_whole = over(radius::covers(game.y_set(), c.radius), c.y.upper, game.linear_in_y());
        let (x, x_shape) = smaller(x_whole, strongly(residuals.x, assumed.mu_x))?;
        let (y, y_shape) = smaller(y_whole, strongly(residuals.y, mu_y))?;
        let from_estimate =
            assumed.constants.is_some_and(|c| c.estimated) && matches!(y_shape, ConvexityAssumption::Strong(_));
        Some(Self { x, y, x_shape, y_shape, estimated: from_estimate })
    }
}

/// The half of a player for whom f is strongly convex (or `-f` is).
fn strongly(residual: Option<Residual>, mu: Option<f64>) -> Option<(f64, ConvexityAssumption)> {
    let (r, mu) = (residual?, mu.filter(|mu| *mu > 0.0 && mu.is_finite())?);
    Some((up(up(r.norm * r.norm / (2.0 * mu)) + r.slack), ConvexityAssumption::Strong(mu)))
}

/// Upper bound of `max over y' of f(x, y') - f(x, y)` if f is concave in y: from the whole set, a shorter radius, the
/// residual or the modulus.
pub(super) fn inner_gap<G: Game + ?Sized>(
    game: &G,
    c: &Certificate,
    residuals: &Residuals,
    assumed: &Assumptions,
) -> Option<(f64, ConvexityAssumption)> {
    let shape = if game.linear_in_y() { ConvexityAssumption::Unneeded } else { ConvexityAssumption::Plain };
    let diameter = game.y_set().diameter_bound();
    let bounded = diameter.is_finite();
    // Y_r / r decreases with r, so the gain over the whole set is at most max(1, diameter / r) Y_r.
    let longer = if diameter > c.radius { up(diameter / c.radius) } else { 1.0 };
    let by_gap = bounded.then_some((up(longer * c.y.upper), shape));
    let by_residual = residuals.y.filter(|_| bounded).map(|r| (up(r.gain(up(diameter))), shape));
    smaller(smaller(by_gap, by_residual), strongly(residuals.y, assumed.constants.map(|c| c.mu)))
}
