//! An independent verifier: recomputes everything from the game and the point, and shares no code with the certificate.

use standoff::{Game, Need, Point, Set};

/// Result of verifying a point.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Upper bound of X.
    pub x: f64,
    /// Upper bound of Y.
    pub y: f64,
    /// Distance of the point from its sets.
    pub outside: f64,
    pub value: f64,
}

impl Verdict {
    pub fn holds(&self, eps: f64) -> bool {
        let slack = eps * (1.0 + 1e-6) + 1e-12;
        self.x <= slack && self.y <= slack && self.outside <= 1e-9 && self.value.is_finite()
    }
}

/// Verifies a point.
pub fn judge<G: Game<Real = f64> + ?Sized>(game: &mut G, z: &Point<f64>, radius: f64) -> Verdict {
    let (mut gx, mut gy) = (vec![0.0; z.x.len()], vec![0.0; z.y.len()]);
    game.fix(&z.x, Need::Gradients);
    let value = game.value(&z.y);
    game.grad_x(&z.y, &mut gx);
    game.grad_y(&z.y, &mut gy);
    gy.iter_mut().for_each(|g| *g = -*g);
    let outside = strayed(game.x_set(), &z.x) + strayed(game.y_set(), &z.y);
    let (x, y) = (gap(game.x_set(), &z.x, &gx, radius), gap(game.y_set(), &z.y, &gy, radius));
    Verdict { x, y, outside, value }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|a| a * a).sum::<f64>().sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn strayed(set: &Set<f64>, z: &[f64]) -> f64 {
    let mut p = z.to_vec();
    set.project(&mut p);
    p.iter_mut().zip(z).for_each(|(p, z)| *p -= z);
    norm(&p) / (1.0 + norm(z))
}

/// The smallest upper bound of `max { -<g, s> }` over a fine scan of the path `s(tau) = P(z - tau g) - z`.
///
/// Any tau gives a bound: `-<g, s> + ||s|| (radius - ||s||) / tau`, from the multiplier `-g - s/tau` in the normal cone.
fn gap(set: &Set<f64>, z: &[f64], g: &[f64], radius: f64) -> f64 {
    let size = norm(g);
    if size.is_nan() {
        return f64::NAN;
    }
    if size == 0.0 {
        return 0.0;
    }
    let bound = |tau: f64| {
        let mut s: Vec<f64> = z.iter().zip(g).map(|(z, g)| z - tau * g).collect();
        set.project(&mut s);
        s.iter_mut().zip(z).for_each(|(s, z)| *s -= z);
        let length = norm(&s);
        (-dot(g, &s) + length * (radius - length) / tau, length)
    };
    let mut best = radius * size;
    let (mut lo, mut hi) = (0.0, radius / size);
    for _ in 0..60 {
        let (b, length) = bound(hi);
        best = best.min(b);
        if length >= radius || hi > 1e9 * radius / size {
            break;
        }
        lo = hi;
        hi *= 2.0;
    }
    for _ in 0..80 {
        let mid = 0.5 * (lo + hi);
        let (b, length) = bound(mid);
        best = best.min(b);
        if length < radius { lo = mid } else { hi = mid }
    }
    best.max(0.0)
}
