//! Tests of the projection of a custom set. `z = P(v)` is the nearest point of a convex set if and only if
//! `<v - z, w - z> <= 0` for every `w` of the set. Using points `w` that the projection itself returns finds most mistakes.
//! Projecting the same point twice, and the midpoint of two points of the set, finds others.

use crate::{ConvexSet, Error, Game, Need, Point, Real, Set, ops};

/// Violations up to this, relative to the numbers compared and in units of roundoff, are attributed to rounding.
const TOLERANCE_UNITS: f64 = 1e7;
/// Number of coordinates along which points are tested.
const MOST_COORDINATES: usize = 16;
/// Steps along a coordinate, in units of the radius.
const STRIDES: [f64; 6] = [-3.0, -0.7, -0.04, 0.001, 0.3, 2.0];
/// Directions with mixed signs; two steps along each.
const DIAGONALS: usize = 8;
/// Steps along the path of the measurement, in units of the radius.
const PATH: [f64; 4] = [0.01, 0.2, 1.0, 5.0];
/// Up to this many points, the midpoints of all pairs are tested.
const ALL_PAIRS: usize = 48;
/// Above this dimension fewer points are tested, because all pairs of points are compared.
const LARGE: usize = 20_000;

/// Tests the projections of all custom sets around a pair, over steps of length `radius`. Returns an error if a
/// projection contradicts itself.
pub fn check_projections<G: Game + ?Sized>(game: &mut G, z: &Point<G::Real>, radius: f64) -> Result<(), Error> {
    if !has_custom(game.x_set()) && !has_custom(game.y_set()) {
        return Ok(());
    }
    let (mut gx, mut gy) = (vec![G::Real::default(); z.x.len()], vec![G::Real::default(); z.y.len()]);
    game.whole();
    game.fix(&z.x, Need::Gradients);
    game.grad_x(&z.y, &mut gx);
    game.grad_y(&z.y, &mut gy);
    check_projections_along(game, z, (&gx, &gy), radius)
}

/// Same as [`check_projections`]. The gradients give the directions of the measurement; they may belong to a nearby
/// pair.
pub(crate) fn check_projections_along<G: Game + ?Sized>(
    game: &G,
    z: &Point<G::Real>,
    (gx, gy): (&[G::Real], &[G::Real]),
    radius: f64,
) -> Result<(), Error> {
    check(game.x_set(), (&z.x, gx), radius, "x")?;
    check(game.y_set(), (&z.y, gy), radius, "y")
}

fn has_custom<R: Real>(set: &Set<R>) -> bool {
    match set {
        Set::Product(product) => product.parts().iter().any(has_custom),
        Set::Custom(_) => true,
        _ => false,
    }
}

fn check<R: Real>(set: &Set<R>, (point, g): (&[R], &[R]), radius: f64, player: &'static str) -> Result<(), Error> {
    match set {
        Set::Product(product) => product
            .blocks()
            .try_for_each(|(block, range)| check(block, (&point[range.clone()], &g[range]), radius, player)),
        Set::Custom(custom) => {
            let tried = Tried { set: custom.as_ref(), aims: aims(point, g, radius) };
            tried.contradiction().map_err(|problem| Error::NotAProjection { player, problem })
        }
        _ => Ok(()),
    }
}

/// A projection and the points it is tested on.
struct Tried<'s, R: Real> {
    set: &'s dyn ConvexSet<R>,
    aims: Vec<Vec<R>>,
}

impl<R: Real> Tried<'_, R> {
    fn project(&self, v: &[R]) -> Vec<R> {
        let mut z = v.to_vec();
        self.set.project(&mut z);
        z
    }

    /// Largest difference of two results that is allowed: each may be off by the stated accuracy.
    fn allowed(&self, size: f64) -> f64 {
        2.0 * self.set.accuracy() + TOLERANCE_UNITS * R::UNIT_ROUNDOFF * size
    }

    /// The first contradiction, as an error message.
    fn contradiction(mut self) -> Result<(), String> {
        // A non-finite result at the pair itself is reported by the measurement; one elsewhere proves no mistake.
        let pairs = std::mem::take(&mut self.aims).into_iter().map(|v| (self.project(&v), v));
        let (landed, aims): (Vec<_>, Vec<_>) = pairs.filter(|(z, _)| ops::all_finite(z)).unzip();
        self.aims = aims;
        self.repeats(&landed)?;
        self.middles_stay(&landed)?;
        self.aims.iter().zip(&landed).try_for_each(|(v, z)| self.is_nearest(v, z, &landed))
    }

    /// Projecting a point again gives the same result, in any order, and a projected point is not moved.
    fn repeats(&self, landed: &[Vec<R>]) -> Result<(), String> {
        for (v, z) in self.aims.iter().zip(landed).rev() {
            let allowed = self.allowed(ops::norm(v) + ops::norm(z));
            let moved = ops::distance(z, &self.project(v));
            if !(moved <= allowed) {
                return Err(format!("projecting the same point twice gives results that differ by {moved:.2e}"));
            }
            let moved = ops::distance(z, &self.project(z));
            if !(moved <= allowed) {
                return Err(format!("projecting a projected point again moves it by {moved:.2e}"));
            }
        }
        Ok(())
    }

    /// A convex set contains the midpoint of two of its points. All pairs are tested if there are few.
    fn middles_stay(&self, landed: &[Vec<R>]) -> Result<(), String> {
        let n = landed.len();
        let farthest = if n <= ALL_PAIRS { n } else { 5 };
        for (i, z) in landed.iter().enumerate() {
            for w in (1..farthest).map(|k| &landed[(i + k * (n / farthest)) % n]) {
                let middle: Vec<R> =
                    z.iter().zip(w).map(|(z, w)| R::from_f64(0.5 * z.to_f64() + 0.5 * w.to_f64())).collect();
                let moved = ops::distance(&middle, &self.project(&middle));
                if !(moved <= self.allowed(ops::norm(z) + ops::norm(w))) {
                    return Err(format!(
                        "the middle of two points of the set is not in the set: it is moved by {moved:.2e}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// No other point of the set is nearer to `v` than `z`.
    fn is_nearest(&self, v: &[R], z: &[R], landed: &[Vec<R>]) -> Result<(), String> {
        let out = ops::distance(v, z);
        let allowed = self.allowed(ops::norm(v) + ops::norm(z));
        let relative = TOLERANCE_UNITS * R::UNIT_ROUNDOFF;
        for w in landed {
            let ahead = ops::sum_of(v.len(), |i| {
                let (v, z, w) = (v[i].to_f64(), z[i].to_f64(), w[i].to_f64());
                (v - z) * (w - z)
            });
            let across = ops::distance(w, z);
            if !(ahead <= allowed * (out + across) + relative * out * across) {
                return Err(format!(
                    "a point of the set is nearer to v than P(v) is: <v - P(v), P(w) - P(v)> = {ahead:.2e} is positive"
                ));
            }
        }
        Ok(())
    }
}

/// Test points: the pair itself, steps along coordinates and diagonals, and steps along the path of the measurement in
/// both directions.
fn aims<R: Real>(point: &[R], g: &[R], radius: f64) -> Vec<Vec<R>> {
    let n = point.len();
    let mut all = vec![point.to_vec()];
    let mut push = |step: &dyn Fn(usize) -> f64| {
        all.push(point.iter().enumerate().map(|(i, v)| R::from_f64(v.to_f64() + step(i))).collect());
    };
    let length = if radius.is_finite() { radius } else { 1.0 };
    let (strides, diagonals) = if n > LARGE { (&STRIDES[1..2], 2) } else { (&STRIDES[..], DIAGONALS) };
    for k in 0..n.min(MOST_COORDINATES) {
        for t in strides {
            push(&|i| if i == k { t * length } else { 0.0 });
        }
    }
    for k in 0..diagonals {
        // All signs of three coordinates, repeated, and sizes without a pattern: multiples of an irrational number.
        let sign = |i: usize| if k >> (i % 3) & 1 == 0 { 1.0 } else { -1.0 };
        let entry = |i: usize| 0.3 + 0.7 * ((i * DIAGONALS + k + 1) as f64 * 0.618_033_988_749_894_9).fract();
        for scale in [0.5 * length, 1.8 * length] {
            push(&|i| scale * sign(i) * entry(i));
        }
    }
    let size = ops::norm(g);
    if g.len() == n && size > 0.0 && size.is_finite() {
        for t in PATH {
            push(&|i| t * length * (g[i].to_f64() / size));
            push(&|i| -t * length * (g[i].to_f64() / size));
        }
    }
    all
}
