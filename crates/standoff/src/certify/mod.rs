//! The certificate of a pair: [`certify`] measures it from scratch, [`verify()`] checks a claim.
//!
//! The upper bounds of X and Y come from multipliers (`docs/proofs.md`) and are evaluated with outward rounding, so
//! neither ill-conditioned sets nor a failed search can make them too small. If the game bounds the errors of its
//! gradients (formulas do), the bounds hold for the exact gradients and the proof is [`Proof::Rigorous`]; otherwise
//! they hold for the gradients as computed.

mod bound;
mod distance;
mod inside;
mod multipliers;
mod normals;
mod projection;
mod residual;
mod slopes;
mod verify;

pub use inside::outside;
pub(crate) use inside::pull_inside;
pub use multipliers::Multiplier;
pub use projection::check_projections;
pub(crate) use projection::check_projections_along;
pub use residual::{Residual, Residuals, residuals};
pub use verify::{Claim, Verdict, verify};

use crate::enclosure::{EnclosedGradient, EnclosedGradients, Enclosure, KinkSlope, Number, Precision, Slopes};
use crate::gap::{Ask, Gauge, Side};
use crate::radius::resolve_or_nan;
use crate::{Certificate, Error, Game, Gap, Need, Point, Proof, Real, Set};
use multipliers::PathProof;

/// Number of rounds of choosing slopes at kinks and multipliers in turn.
const ROUNDS: usize = 4;
/// Largest distance, relative to the size of the set, by which rounding may leave a point outside a simplex or an
/// affine set, in units of the unit roundoff: 1e-12 for `f64`.
const OUTSIDE_UNITS: f64 = 9e3;

/// Measures X and Y of a pair from scratch, with the tightest bounds available. Panics on wrong lengths. The bounds are
/// NaN, which proves nothing, if a value or gradient is not finite or the radius is not positive (or is infinite while
/// a set is unbounded).
///
/// ```
/// use standoff::formula::FormulaGame;
/// use standoff::{Point, Proof, certify};
///
/// let text = "objective = \"x*y - y^2\"\n[min.x]\nlower = -1\nupper = 1\n[max.y]\n";
/// let mut game = FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}")))?;
/// let certificate = certify(&mut game, &Point::new(&[0.0], &[0.0]), 1.0);
/// assert!(certificate.proves(1e-12));
/// assert_eq!(certificate.proof, Proof::Rigorous);
/// # Ok::<(), standoff::Error>(())
/// ```
pub fn certify<G: Game + ?Sized>(game: &mut G, point: &Point<G::Real>, radius: f64) -> Certificate {
    evidence(game, point, radius).certificate
}

/// A certificate with everything it is based on. Proof files store it.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// `f` at the pair.
    pub value: f64,
    /// The certificate.
    pub certificate: Certificate,
    /// Multipliers that prove the bound of X, set by set; absent if a set is known only by its projection.
    pub x: Option<Vec<Multiplier>>,
    /// Multipliers that prove the bound of Y.
    pub y: Option<Vec<Multiplier>>,
    /// The slopes used at kinks that are met exactly.
    pub slopes: Slopes,
    /// Share of the bounds of X and Y that comes from rounding in the game's gradients, as enclosed or as stated; 0 if
    /// unknown.
    pub rounding: f64,
    /// True if a bound covers several slopes of a kink.
    pub at_kink: bool,
}

/// Same as [`certify`], and returns the evidence.
pub fn evidence<G: Game + ?Sized>(game: &mut G, point: &Point<G::Real>, radius: f64) -> Evidence {
    // Before the sets are read: Y may depend on the mini-batch.
    game.whole();
    Certifier::new(resolve_or_nan(game, radius)).certify(game, point)
}

/// Certificate of a pair from a given value and given gradients, taken as computed. For games where computing them
/// again is expensive.
pub fn with_gradients<G: Game + ?Sized>(
    game: &G,
    point: &Point<G::Real>,
    value: f64,
    gradients: (&[G::Real], &[G::Real]),
    radius: f64,
) -> Certificate {
    Certifier::new(resolve_or_nan(game, radius)).as_measured(game, point, value, gradients).certificate
}

/// Same as [`evidence`], but tries the cheaper enclosures first and keeps them if they prove `goal`. Runs do this at
/// every candidate.
pub fn evidence_for<G: Game + ?Sized>(game: &mut G, point: &Point<G::Real>, radius: f64, goal: f64) -> Evidence {
    let mut certifier = Certifier::new(resolve_or_nan(game, radius));
    certifier.with_goal(game, point, goal).unwrap_or_else(|| certifier.certify(game, point))
}

/// Checks that a pair has the right lengths and finite numbers. For points from outside the program.
pub fn check_point<G: Game + ?Sized>(game: &G, point: &Point<G::Real>) -> Result<(), Error> {
    for (player, v, set) in [("x", &point.x, game.x_set()), ("y", &point.y, game.y_set())] {
        if v.len() != set.dim() {
            return Err(Error::StartLength { player, got: v.len(), want: set.dim() });
        }
        if let Some(index) = v.iter().position(|e| !e.to_f64().is_finite()) {
            return Err(Error::StartNotFinite { player, index, value: v[index].to_f64() });
        }
    }
    Ok(())
}

/// Measures pairs of one game and keeps the scratch space.
pub(crate) struct Certifier<R> {
    radius: f64,
    gauge: Gauge<R>,
}

/// One player's half of a measurement.
struct Half {
    gap: Gap,
    multipliers: Option<Vec<Multiplier>>,
    slopes: Vec<KinkSlope>,
    outside: f64,
}

impl<R: Real> Certifier<R> {
    pub(crate) fn new(radius: f64) -> Self {
        Self { radius, gauge: Gauge::new(radius) }
    }

    /// Certificate of a pair, measured from scratch.
    pub(crate) fn certify<G: Game<Real = R> + ?Sized>(&mut self, game: &mut G, z: &Point<R>) -> Evidence {
        assert_eq!((z.x.len(), z.y.len()), (game.x_set().dim(), game.y_set().dim()));
        if let Some(enclosed) = game.enclose(z, Precision::Double, &Slopes::default()) {
            return self.with_enclosures(game, z, enclosed, Precision::Double);
        }
        let (mut gx, mut gy) = (vec![R::default(); z.x.len()], vec![R::default(); z.y.len()]);
        game.whole();
        game.fix(&z.x, Need::Gradients);
        let value = game.grad_x(&z.y, &mut gx);
        game.grad_y(&z.y, &mut gy);
        self.as_measured(game, z, value, (&gx, &gy))
    }

    /// Certificate of a pair with enclosed gradients; the cheaper enclosures are kept if they prove the goal. `None`
    /// for a game without enclosures.
    pub(crate) fn with_goal<G: Game<Real = R> + ?Sized>(
        &mut self,
        game: &mut G,
        z: &Point<R>,
        goal: f64,
    ) -> Option<Evidence> {
        let fast = game.enclose(z, Precision::Fast, &Slopes::default())?;
        let evidence = self.with_enclosures(game, z, fast, Precision::Fast);
        if evidence.certificate.proves(goal) {
            return Some(evidence);
        }
        let double = game.enclose(z, Precision::Double, &Slopes::default())?;
        Some(self.with_enclosures(game, z, double, Precision::Double))
    }

    /// Certificate from gradients as the game computed them, plus the error that the game states.
    pub(crate) fn as_measured<G: Game<Real = R> + ?Sized>(
        &mut self,
        game: &G,
        z: &Point<R>,
        value: f64,
        (gx, gy): (&[R], &[R]),
    ) -> Evidence {
        let error = game.grad_error();
        let x = self.given(game.x_set(), &z.x, gx, Side::Min, error);
        let y = self.given(game.y_set(), &z.y, gy, Side::Max, error);
        let rounding = error * self.radius;
        Evidence { rounding, ..assemble(value, Proof::AsComputed, self.radius, (x, y)) }
    }

    /// One player's gap for a gradient taken as computed.
    fn given(&mut self, set: &Set<R>, point: &[R], gradient: &[R], side: Side, error: f64) -> Half {
        let sign = if side == Side::Min { 1.0 } else { -1.0 };
        let g: Vec<f64> = gradient.iter().map(|g| sign * g.to_f64()).collect();
        let enclosed: Vec<Enclosure> = g.iter().map(|g| Enclosure::exact(*g)).collect();
        let mut half = self.half(set, point, &g, &enclosed);
        if half.multipliers.is_none() {
            // A set that is known only by its projection: use the bound of the path, as computed.
            half.gap = self.gauge.measure(set, point, gradient, side, Ask::Exact);
        }
        if error > 0.0 {
            half.gap.upper = (half.gap.upper + (error * self.radius).next_up()).next_up();
        }
        half.gap.lower = not_negative(half.gap.lower - error * self.radius);
        half
    }

    fn with_enclosures<G: Game<Real = R> + ?Sized>(
        &mut self,
        game: &mut G,
        z: &Point<R>,
        first: EnclosedGradients,
        precision: Precision,
    ) -> Evidence {
        let (mut x, mut covered_x) = (self.enclosed(game.x_set(), &z.x, &first.x, Side::Min), first.x.covers_a_kink);
        let (mut y, mut covered_y) = (self.enclosed(game.y_set(), &z.y, &first.y, Side::Max), first.y.covers_a_kink);
        let value = first.value.middle();
        let mut at_hand = first;
        for _ in 0..ROUNDS {
            let slopes = Slopes {
                x: self.better_slopes(game.x_set(), &z.x, (&at_hand.x, &x), Side::Min).unwrap_or_default(),
                y: self.better_slopes(game.y_set(), &z.y, (&at_hand.y, &y), Side::Max).unwrap_or_default(),
            };
            if slopes == Slopes::default() {
                break;
            }
            let Some(next) = game.enclose(z, precision, &slopes) else { break };
            let new_x = self.enclosed(game.x_set(), &z.x, &next.x, Side::Min);
            let new_y = self.enclosed(game.y_set(), &z.y, &next.y, Side::Max);
            if new_x.gap.upper < x.gap.upper {
                (x, covered_x) = (new_x, next.x.covers_a_kink);
            }
            if new_y.gap.upper < y.gap.upper {
                (y, covered_y) = (new_y, next.y.covers_a_kink);
            }
            at_hand = next;
        }
        let rigorous = x.multipliers.is_some() && y.multipliers.is_some();
        let proof = if rigorous { Proof::Rigorous } else { Proof::AsComputed };
        let mut evidence = assemble(value, proof, self.radius, (x, y));
        // Used only where something is not proven, and that is decided with the better enclosures.
        if precision == Precision::Double {
            evidence.rounding = self.rounding(game, z, &at_hand);
        }
        evidence.at_kink = covered_x || covered_y;
        evidence
    }

    /// Distance between the gradients that the game computes and the enclosed ones, times the radius.
    fn rounding<G: Game<Real = R> + ?Sized>(&self, game: &mut G, z: &Point<R>, enclosed: &EnclosedGradients) -> f64 {
        let (mut gx, mut gy) = (vec![R::default(); z.x.len()], vec![R::default(); z.y.len()]);
        game.fix(&z.x, Need::Gradients);
        game.grad_x(&z.y, &mut gx);
        game.grad_y(&z.y, &mut gy);
        let apart = |g: &[R], of: &EnclosedGradient| {
            let difference: Vec<Enclosure> =
                g.iter().zip(&of.entries).map(|(g, e)| Enclosure::exact(g.to_f64()) - *e).collect();
            crate::enclosure::norm(&difference).bounds().1
        };
        let (x, y) = (apart(&gx, &enclosed.x), apart(&gy, &enclosed.y));
        self.radius * if x > y { x } else { y }
    }

    /// One player's gap for an enclosed gradient.
    fn enclosed(&mut self, set: &Set<R>, point: &[R], gradient: &EnclosedGradient, side: Side) -> Half {
        let flip = |e: Enclosure| if side == Side::Min { e } else { e.negated() };
        let entries: Vec<Enclosure> = gradient.entries.iter().map(|e| flip(*e)).collect();
        let g: Vec<f64> = entries.iter().map(|e| e.middle()).collect();
        let mut half = self.half(set, point, &g, &entries);
        if half.multipliers.is_none() {
            let stored: Vec<R> = g.iter().map(|g| R::from_f64(*g)).collect();
            half.gap = self.gauge.measure(set, point, &stored, Side::Min, Ask::Exact);
        }
        half.slopes = gradient.free.iter().map(|free| free.used.clone()).collect();
        half
    }

    /// The gap for an enclosed gradient with the sign of a minimising player. Its midpoint `g` is used to find
    /// multipliers.
    fn half(&mut self, set: &Set<R>, point: &[R], g: &[f64], enclosed: &[Enclosure]) -> Half {
        let outside = outside(set, point);
        let unknown = Half { gap: Gap::UNKNOWN, multipliers: None, slopes: Vec::new(), outside };
        let usable = self.radius > 0.0 && self.radius.is_finite() && crate::ops::all_finite(point);
        if !usable || !crate::ops::all_finite(g) {
            // Without multipliers a custom set would be measured again.
            return Half { multipliers: multipliers::zeros(set), ..unknown };
        }
        let Some(zeros) = multipliers::zeros(set) else { return unknown };
        let x: Vec<f64> = point.iter().map(|v| v.to_f64()).collect();
        let mut best = (bound::upper(set, &x, enclosed, &zeros, self.radius), zeros);
        let mut lower = 0.0;
        if best.0 > 0.0 {
            // The gauge needs the gradient in the number type of the set; the path is the same.
            let stored: Vec<R> = g.iter().map(|g| R::from_f64(*g)).collect();
            let gap = self.gauge.measure(set, point, &stored, Side::Min, Ask::Exact);
            lower = if gap.lower > 0.0 { gap.lower } else { 0.0 };
            let (tau, rows, unit) = self.gauge.proof();
            let mut path = PathProof { tau: tau / unit, rows, unit };
            // The gauge does not measure a point that is clearly outside.
            let found = if gap.upper.is_nan() { None } else { multipliers::all(set, &x, g, &mut path) };
            if let Some(found) = found {
                let upper = bound::upper(set, &x, enclosed, &found, self.radius);
                if upper < best.0 {
                    best = (upper, found);
                }
            }
        }
        let error = enclosed.iter().map(|e| Enclosure::exact(e.error())).collect::<Vec<_>>();
        let doubt = self.radius * crate::enclosure::norm(&error).bounds().1;
        let upper = if best.0.is_finite() { best.0 } else { f64::NAN };
        let lower = not_negative(lower - doubt);
        let gap = Gap { lower: if lower < upper { lower } else { upper }, upper };
        Half { gap, multipliers: Some(best.1), slopes: Vec::new(), outside }
    }

    /// Slopes that make the bound smaller for the current multipliers.
    fn better_slopes(
        &mut self,
        set: &Set<R>,
        point: &[R],
        (gradient, half): (&EnclosedGradient, &Half),
        side: Side,
    ) -> Option<Vec<KinkSlope>> {
        if gradient.free.is_empty() || !(half.gap.upper > 0.0) {
            return None;
        }
        let sign = if side == Side::Min { 1.0 } else { -1.0 };
        let n: Vec<f64> = multipliers::vector(set, half.multipliers.as_ref()?, point.len())?;
        slopes::better(gradient, &n.into_iter().map(|n| sign * n).collect::<Vec<_>>())
    }
}

fn not_negative(v: f64) -> f64 {
    if v < 0.0 { 0.0 } else { v }
}

/// Joins both halves to one certificate.
fn assemble(value: f64, proof: Proof, radius: f64, (x, y): (Half, Half)) -> Evidence {
    let known = value.is_finite();
    let gap = |half: &Half| if known { half.gap } else { Gap::UNKNOWN };
    let certificate = Certificate { x: gap(&x), y: gap(&y), radius, proof, outside: [x.outside, y.outside] };
    let slopes = Slopes { x: x.slopes, y: y.slopes };
    Evidence { value, certificate, x: x.multipliers, y: y.multipliers, slopes, rounding: 0.0, at_kink: false }
}

/// True if a point counts as a point of its set: exactly inside, or within rounding of a simplex or an affine set.
pub fn is_inside<R: Real>(set: &Set<R>, point: &[R]) -> bool {
    is_admissible(set, point, outside(set, point))
}

/// Same as [`is_inside`], for a distance that is already known.
pub(crate) fn is_admissible<R: Real>(set: &Set<R>, point: &[R], outside: f64) -> bool {
    if outside == 0.0 {
        return true;
    }
    let share = OUTSIDE_UNITS * R::UNIT_ROUNDOFF;
    match set {
        Set::Product(product) => product.blocks().all(|(block, range)| {
            let part = &point[range];
            is_admissible(block, part, self::outside(block, part))
        }),
        Set::Simplex(s) => outside <= share * s.scale() && point.iter().all(|v| v.to_f64() >= 0.0),
        Set::Affine(_) => outside <= share * crate::ops::norm(point),
        Set::Polyhedron(p) => outside <= share * crate::ops::norm(point) && inside::misses_equations_only(p, point),
        // Only the projection is known; `projection.rs` tests it.
        Set::Custom(custom) => outside <= custom.accuracy() + share * (1.0 + crate::ops::norm(point)),
        _ => false,
    }
}
