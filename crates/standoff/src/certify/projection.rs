//! Whether a set of one's own really projects. `z = P(v)` is the nearest point of a convex set exactly if `<v - z, w - z> <= 0` for
//! every `w` of the set: a "projection" that only looks like one is caught by the points that it produces itself.

use crate::{ConvexSet, Error, Game, Point, Real, Set, ops};

/// Violations up to this, relative to the numbers compared, are put down to rounding (for `f64`).
const TOLERANCE_UNITS: f64 = 1e7;
/// Coordinates along which points are tried.
const MOST_COORDINATES: usize = 16;

/// Tries the projections of all sets that are known by nothing else, around a pair and over steps of length `radius`. An error if a
/// projection contradicts itself.
pub fn check_projections<G: Game + ?Sized>(game: &G, z: &Point<G::Real>, radius: f64) -> Result<(), Error> {
    check(game.x_set(), &z.x, radius, "x")?;
    check(game.y_set(), &z.y, radius, "y")
}

fn check<R: Real>(set: &Set<R>, point: &[R], radius: f64, player: &'static str) -> Result<(), Error> {
    match set {
        Set::Product(product) => {
            product.blocks().try_for_each(|(block, range)| check(block, &point[range], radius, player))
        }
        Set::Custom(custom) => {
            check_custom(custom.as_ref(), point, radius).map_err(|problem| Error::NotAProjection { player, problem })
        }
        _ => Ok(()),
    }
}

/// The first contradiction, in words.
fn check_custom<R: Real>(set: &dyn ConvexSet<R>, point: &[R], radius: f64) -> Result<(), String> {
    let aims = aims(point, radius);
    let landed: Vec<Vec<R>> = aims
        .iter()
        .map(|v| {
            let mut z = v.clone();
            set.project(&mut z);
            z
        })
        .collect();
    // What is not finite is reported by the measurement itself.
    if !landed.iter().all(|z| ops::all_finite(z)) {
        return Ok(());
    }
    let tolerance = TOLERANCE_UNITS * R::UNIT_ROUNDOFF;
    for (v, z) in aims.iter().zip(&landed) {
        let mut again = z.clone();
        set.project(&mut again);
        let moved = ops::distance(z, &again);
        let size = ops::norm(v) + ops::norm(z);
        if !(moved <= set.accuracy() + tolerance * size) {
            return Err(format!("projecting a projected point again moves it by {moved:.2e}"));
        }
        for w in &landed {
            let mut ahead = 0.0;
            for i in 0..v.len() {
                let (v, z, w) = (v[i].to_f64(), z[i].to_f64(), w[i].to_f64());
                ahead += (v - z) * (w - z);
            }
            let (out, across) = (ops::distance(v, z), ops::distance(w, z));
            let allowed = (set.accuracy() + tolerance * size) * (out + across) + tolerance * out * across;
            if !(ahead <= allowed) {
                return Err(format!(
                    "a point of the set is nearer to v than P(v) is: <v - P(v), P(w) - P(v)> = {ahead:.2e} is positive"
                ));
            }
        }
    }
    Ok(())
}

/// Points around the pair: itself, and steps along coordinates and a diagonal.
fn aims<R: Real>(point: &[R], radius: f64) -> Vec<Vec<R>> {
    let mut all = vec![point.to_vec()];
    let mut push = |step: &dyn Fn(usize) -> f64| {
        all.push(point.iter().enumerate().map(|(i, v)| R::from_f64(v.to_f64() + step(i))).collect());
    };
    let length = if radius.is_finite() { radius } else { 1.0 };
    for k in 0..point.len().min(MOST_COORDINATES) {
        for t in [-0.7 * length, 0.3 * length, 2.0 * length] {
            push(&|i| if i == k { t } else { 0.0 });
        }
    }
    push(&|i| length * (0.9 - 0.37 * (i % 5) as f64));
    push(&|i| length * (0.21 * (i % 7) as f64 - 0.6));
    all
}
