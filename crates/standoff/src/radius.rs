//! The radius of a certificate. An infinite radius is replaced by a finite one that covers both sets; X and Y are then
//! gains over whole sets.

use crate::{Error, Game, Real, Set};

/// Relative widening of the diameters, which covers the rounding of their computation.
const WIDEN: f64 = 1e-9;

/// The radius to measure with: a finite one is unchanged; an infinite one becomes the larger diameter of the two sets,
/// slightly widened.
///
/// `X_r` is the same number for every `r` of at least the diameter of the set, because no step inside the set is
/// longer. So X and Y at this radius cover steps of any length, and everything that stores a finite radius (such as
/// proof files) can store it. Returns an error if a set is unbounded, because X over the whole set may then be
/// infinite.
///
/// ```
/// use standoff::{radius, zoo};
///
/// let game = (zoo::find("rps").unwrap().make)().game;
/// let found = radius::resolve(&game, f64::INFINITY).unwrap();
/// assert!((found - 2f64.sqrt()).abs() < 1e-8);
/// assert_eq!(radius::resolve(&game, 0.5), Ok(0.5));
/// ```
pub fn resolve<G: Game + ?Sized>(game: &G, radius: f64) -> Result<f64, Error> {
    if radius != f64::INFINITY {
        return Ok(radius);
    }
    let (x, y) = (game.x_set().diameter_bound(), game.y_set().diameter_bound());
    for (player, diameter) in [("x", x), ("y", y)] {
        if !diameter.is_finite() {
            return Err(Error::UnboundedSet { player });
        }
    }
    let longest = if x > y { x } else { y };
    // Both sets are single points: any radius covers them.
    Ok(if longest > 0.0 { longest * (1.0 + WIDEN) } else { 1.0 })
}

/// Same as [`resolve`], but returns NaN, which proves nothing, if a set is unbounded.
pub(crate) fn resolve_or_nan<G: Game + ?Sized>(game: &G, radius: f64) -> f64 {
    resolve(game, radius).unwrap_or(f64::NAN)
}

/// True if no step inside the set is longer than `radius`, with a margin for rounding.
pub fn covers<R: Real>(set: &Set<R>, radius: f64) -> bool {
    set.diameter_bound() * (1.0 + 0.1 * WIDEN) <= radius
}
