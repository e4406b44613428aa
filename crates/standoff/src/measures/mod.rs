//! Measures of a pair beside X and Y: the normal-cone residual, the duality gap of a convex-concave game, and the
//! gradient of the Moreau envelope. Each is a theorem whose conditions are part of the result (`docs/measures.md` has
//! the proofs).

mod duality;
mod moreau;

pub use duality::{ConvexityAssumption, DualityBound};
pub use moreau::MoreauBound;

use crate::certify::{Residuals, residuals};
use crate::{Certificate, Constants, Game, Point};

/// Assumptions about a game beyond what can be computed. None by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Assumptions {
    /// `l11` bounds the weak convexity in x; `mu > 0` is the strong concavity (or PL) constant in y.
    pub constants: Option<Constants>,
    /// Modulus of strong convexity of f in x.
    pub mu_x: Option<f64>,
}

/// Measures of a pair beside its certificate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// The normal-cone residuals.
    pub residuals: Residuals,
    /// Bound of the duality gap; `None` if the certificate's radius does not cover the sets and no modulus is known.
    pub duality: Option<DualityBound>,
    /// Bound of the gradient of the Moreau envelope; `None` without constants, or if Y is unbounded and `mu` unknown.
    pub moreau: Option<MoreauBound>,
}

/// Measures a pair that has a certificate.
///
/// ```
/// use standoff::measures::{Assumptions, measure};
/// use standoff::{certify, zoo};
///
/// // The radius covers both sets: X + Y bounds the duality gap of a matrix game.
/// let mut made = (zoo::find("rps").unwrap().make)();
/// let certificate = certify(&mut made.game, &made.start, f64::INFINITY);
/// let found = measure(&mut made.game, &made.start, &certificate, &Assumptions::default());
/// let duality = found.duality.unwrap();
/// assert!((duality.gap() - (certificate.x.upper + certificate.y.upper)).abs() < 1e-12);
/// ```
pub fn measure<G: Game + ?Sized>(
    game: &mut G,
    point: &Point<G::Real>,
    certificate: &Certificate,
    assumed: &Assumptions,
) -> Measures {
    let residuals = residuals(game, point);
    let duality = DualityBound::new(game, certificate, &residuals, assumed);
    let moreau = MoreauBound::new(game, certificate, &residuals, assumed);
    Measures { residuals, duality, moreau }
}

/// Rounds up by more than the error of the few operations before it.
fn up(v: f64) -> f64 {
    (v * (1.0 + 8.0 * f64::EPSILON)).next_up()
}

/// The smaller of two bounds; ignores NaN and `None`.
fn smaller<T: Copy>(a: Option<(f64, T)>, b: Option<(f64, T)>) -> Option<(f64, T)> {
    let known = |bound: Option<(f64, T)>| bound.filter(|(v, _)| v.is_finite());
    match (known(a), known(b)) {
        (Some(a), Some(b)) => Some(if a.0 <= b.0 { a } else { b }),
        (a, b) => a.or(b),
    }
}
