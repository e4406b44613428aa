//! The normal-cone residual `R_x = dist(0, grad_x f + N_X(x))`, and `R_y` with `-grad_y f`, which papers since 2020
//! report.
//! most papers since 2020.
//!
//! The reported number is `||g + n||` for one vector `n`, so it is an upper bound. Strictly inside the set the normal cone is
//! {0} and `R_x = ||g||`; on the border the residual drops, however small the distance. A point that rounding leaves just
//! inside would therefore have a meaningless residual. So `n` need only be normal up to a `slack`: `<n, z - x> <= slack` for
//! every z of the set, with `slack = 0` if n is exactly normal at x. Both numbers together prove `X_r <= r R_x + slack` for
//! every radius r.

use super::{Certifier, OUTSIDE_UNITS, bound, normals};
use crate::enclosure::{EnclosedGradient, Enclosure, Number, Precision, Slopes};
use crate::{Game, Need, Point, Proof, Real, Set, ops};

/// Residual of one player: some vector `n` has `||g + n|| <= norm` and `<n, z - x> <= slack` for every point z of the
/// set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// Upper bound of the distance from `-g` to the normal cone, if `slack` is 0 (or of the size of rounding errors).
    pub norm: f64,
    /// Largest value of `<n, z - x>`: 0 if `n` is exactly normal.
    pub slack: f64,
}

impl Residual {
    /// Both numbers are NaN.
    pub const UNKNOWN: Self = Self { norm: f64::NAN, slack: f64::NAN };

    /// `radius norm + slack`, rounded up: no step of length at most `radius` has a larger first-order gain.
    pub fn gain(&self, radius: f64) -> f64 {
        ((radius * self.norm).next_up() + self.slack).next_up()
    }
}

/// The residuals of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residuals {
    /// Residual of the minimising player; `None` if its set is known only by its projection.
    pub x: Option<Residual>,
    /// Residual of the maximising player.
    pub y: Option<Residual>,
    /// States which gradients they hold for: exact or as computed.
    pub proof: Proof,
}

/// The normal-cone residuals at a pair, evaluated with outward rounding.
///
/// ```
/// use standoff::certify::residuals;
/// use standoff::formula::FormulaGame;
/// use standoff::Point;
///
/// // The gradient 2 in x presses against the lower side of its box; y has a slope of 0.5 and room to move.
/// let text = "objective = \"2*x + 0.5*y\"\n[min.x]\nlower = 0\nupper = 1\n[max.y]\nlower = 0\nupper = 1\n";
/// let mut game = FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}")))?;
/// let found = residuals(&mut game, &Point::new(&[0.0], &[0.25]));
/// assert_eq!(found.x.map(|r| (r.norm, r.slack)), Some((0.0, 0.0)));
/// assert!((found.y.unwrap().norm - 0.5).abs() < 1e-15);
/// # Ok::<(), standoff::Error>(())
/// ```
pub fn residuals<G: Game + ?Sized>(game: &mut G, z: &Point<G::Real>) -> Residuals {
    assert_eq!((z.x.len(), z.y.len()), (game.x_set().dim(), game.y_set().dim()));
    let (value, gx, gy, proof) = gradients(game, z);
    let (error, known) = (game.grad_error(), value.is_finite());
    let error = if proof == Proof::Rigorous { 0.0 } else { error };
    let side = |set: &Set<G::Real>, point: &[G::Real], g: &[Enclosure]| {
        if known { residual(set, point, g, error) } else { Some(Residual::UNKNOWN) }
    };
    let (x, y) = (side(game.x_set(), &z.x, &gx), side(game.y_set(), &z.y, &gy));
    Residuals { x, y, proof }
}

/// The value and both gradients with the sign of a minimising player: enclosed if the game supports that, otherwise as
/// computed.
fn gradients<G: Game + ?Sized>(game: &mut G, z: &Point<G::Real>) -> (f64, Vec<Enclosure>, Vec<Enclosure>, Proof) {
    let opposite = |g: &EnclosedGradient| g.entries.iter().map(|e| e.negated()).collect();
    if let Some(mut first) = game.enclose(z, Precision::Double, &Slopes::default()) {
        if !(first.x.free.is_empty() && first.y.free.is_empty()) {
            // Use the slopes at kinks that the certificate chose.
            let slopes = Certifier::new(1.0).certify(game, z).slopes;
            first = game.enclose(z, Precision::Double, &slopes).unwrap_or(first);
        }
        return (first.value.middle(), first.x.entries, opposite(&first.y), Proof::Rigorous);
    }
    let (mut gx, mut gy) = (vec![G::Real::default(); z.x.len()], vec![G::Real::default(); z.y.len()]);
    game.whole();
    game.fix(&z.x, Need::Gradients);
    let value = game.grad_x(&z.y, &mut gx);
    game.grad_y(&z.y, &mut gy);
    let exact = |g: &[G::Real], sign: f64| g.iter().map(|g| Enclosure::exact(sign * g.to_f64())).collect();
    (value, exact(&gx, 1.0), exact(&gy, -1.0), Proof::AsComputed)
}

fn residual<R: Real>(set: &Set<R>, point: &[R], g: &[Enclosure], error: f64) -> Option<Residual> {
    let x: Vec<f64> = point.iter().map(|v| v.to_f64()).collect();
    let middle: Vec<f64> = g.iter().map(|e| e.middle()).collect();
    let n = normals::all(set, &x, &middle, OUTSIDE_UNITS * R::UNIT_ROUNDOFF)?;
    if !(ops::all_finite(&x) && ops::all_finite(&middle)) {
        return Some(Residual::UNKNOWN);
    }
    let Some((norm, support)) = bound::terms(set, &x, g, &n) else { return Some(Residual::UNKNOWN) };
    let (norm, slack) = (norm.bounds().1, support.bounds().1);
    let norm = if error > 0.0 { (norm + error).next_up() } else { norm };
    if !(norm.is_finite() && slack.is_finite()) {
        return Some(Residual::UNKNOWN);
    }
    Some(Residual { norm, slack: if slack > 0.0 { slack } else { 0.0 } })
}
