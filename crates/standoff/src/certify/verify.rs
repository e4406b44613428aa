//! Verification of a claim: recomputes everything and collects every reason against the claim.

use super::{Certifier, check_point, check_projections, is_admissible};
use crate::check::{Derivatives, derivatives};
use crate::{Certificate, Error, Game, Point};

/// Largest relative difference of a claimed and a recomputed number: another machine's `exp` may differ.
const CLAIM_TOLERANCE: f64 = 1e-9;
/// Number of coordinates of each player whose derivative is compared with central differences.
const COMPARED: usize = 200;

/// A claim about a pair, to be verified.
///
/// ```
/// use standoff::{Claim, Point, Set, verify, zoo};
///
/// let mut made = (zoo::find("kink").unwrap().make)();
/// let answer = Point::new(&[0.5], &[0.75 * 1.5_f64.sin()]);
/// assert!(verify(&mut made.game, &answer, &Claim::eps(1e-9)).unwrap().verified());
/// let verdict = verify(&mut made.game, &Point::new(&[0.6], &[0.0]), &Claim::eps(1e-9)).unwrap();
/// assert!(verdict.failures[0].starts_with("X is proven to be at most"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Claimed upper bound of X and Y.
    pub eps: f64,
    /// Length of the longest step considered; infinite for steps of any length if both sets are bounded.
    pub radius: f64,
    /// `f` at the pair, if claimed.
    pub value: Option<f64>,
    /// Upper bounds of X and Y, if claimed.
    pub gap: [Option<f64>; 2],
}

impl Claim {
    /// The claim that X and Y are at most `eps` for steps of length 1.
    pub fn eps(eps: f64) -> Self {
        Self { eps, radius: 1.0, value: None, gap: [None; 2] }
    }
}

/// Result of verifying a claim.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// `f` at the pair.
    pub value: f64,
    /// X, Y and the distances from the sets, measured from scratch.
    pub certificate: Certificate,
    /// Comparison of the gradients with central differences.
    pub derivatives: Derivatives,
    /// True if a bound covers several slopes of a kink.
    pub at_kink: bool,
    /// All reasons against the claim, as messages.
    pub failures: Vec<String>,
}

impl Verdict {
    /// True if there is no reason against the claim.
    pub fn verified(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Recomputes everything and compares it with the claim. Returns an error if the pair does not fit the game, or a set's
/// projection is wrong.
pub fn verify<G: Game + ?Sized>(game: &mut G, point: &Point<G::Real>, claim: &Claim) -> Result<Verdict, Error> {
    check_point(game, point)?;
    let claim = &Claim { radius: crate::radius::resolve(game, claim.radius)?, ..*claim };
    check_projections(game, point, claim.radius)?;
    let evidence = Certifier::new(claim.radius).certify(game, point);
    let derivatives = derivatives(game, point, COMPARED);
    let mut verdict = Verdict {
        value: evidence.value,
        certificate: evidence.certificate,
        derivatives,
        at_kink: evidence.at_kink,
        failures: Vec::new(),
    };
    let inside = [
        is_admissible(game.x_set(), &point.x, evidence.certificate.outside[0]),
        is_admissible(game.y_set(), &point.y, evidence.certificate.outside[1]),
    ];
    verdict.judge(claim, inside);
    Ok(verdict)
}

impl Verdict {
    /// Every test is written so that NaN fails it.
    fn judge(&mut self, claim: &Claim, inside: [bool; 2]) {
        let mut failures = Vec::new();
        let mut demand = |fine: bool, reason: String| {
            if !fine {
                failures.push(reason);
            }
        };
        let c = &self.certificate;
        demand(self.value.is_finite(), format!("the value is {}", self.value));
        for ((name, distance), inside) in ["min", "max"].into_iter().zip(c.outside).zip(inside) {
            let how_far = if distance.is_nan() {
                "nothing proves that they are inside".into()
            } else {
                format!("by up to {distance:.3e}")
            };
            demand(inside, format!("the {name} variables are outside their set: {how_far}"));
        }
        let kink = if self.at_kink { " (a kink is met here: the bound covers all its slopes)" } else { "" };
        for (name, gap, claimed) in [("X", &c.x, claim.gap[0]), ("Y", &c.y, claim.gap[1])] {
            let text =
                format!("{name} is proven to be at most {:.6e} only, above eps = {}{kink}", gap.upper, claim.eps);
            demand(gap.upper <= claim.eps, text);
            let claimed = claimed.unwrap_or(f64::INFINITY);
            let text = format!("the claim is {name} <= {claimed:e}, but {name} is at least {:e}", gap.lower);
            demand(gap.lower <= claimed * (1.0 + CLAIM_TOLERANCE) || gap.lower == 0.0, text);
        }
        let claimed = claim.value.unwrap_or(self.value);
        let text = format!("the claimed value is {claimed}, it is {}", self.value);
        demand((claimed - self.value).abs() <= CLAIM_TOLERANCE * (1.0 + claimed.abs()), text);
        let d = &self.derivatives;
        // Enclosed gradients need no comparison, and differences of f are useless where rounding or a kink spoils them.
        if c.proof == crate::Proof::AsComputed {
            let off = |side, by: f64| {
                format!("the derivatives in {side} differ from central differences by {by:.2e} (relative)")
            };
            demand(d.x <= Derivatives::TOLERANCE, off("x", d.x));
            demand(d.y <= Derivatives::TOLERANCE, off("y", d.y));
            demand(d.compared > 0, "no derivative could be compared: f is not finite around the point".to_owned());
        }
        self.failures = failures;
    }
}
