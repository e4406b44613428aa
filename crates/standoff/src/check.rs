//! Whether a game's gradients are the derivatives of its value: central differences, trusting nothing.

use crate::{Game, Need, Point, Real, ops};

/// What comparing gradients with central differences found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Derivatives {
    /// The largest disagreement in x, relative to the size of the gradient.
    pub x: f64,
    /// The same in y.
    pub y: f64,
    /// Coordinates compared.
    pub compared: usize,
    /// Coordinates where f is not finite on one side, and nothing could be said.
    pub skipped: usize,
}

impl Derivatives {
    /// Disagreement that central differences in `f64` cannot explain.
    pub const TOLERANCE: f64 = 1e-4;

    /// Whether the gradients may be trusted. NaN may not.
    pub fn agree(&self) -> bool {
        self.x <= Self::TOLERANCE && self.y <= Self::TOLERANCE
    }
}

/// Compares at most `most` coordinates of each player, evenly spread, at one point.
pub fn derivatives<G: Game + ?Sized>(game: &mut G, z: &Point<G::Real>, most: usize) -> Derivatives {
    let mut gx = vec![G::Real::default(); z.x.len()];
    let mut gy = vec![G::Real::default(); z.y.len()];
    game.fix(&z.x, Need::Gradients);
    game.grad_x(&z.y, &mut gx);
    game.grad_y(&z.y, &mut gy);
    let mut report = Derivatives::default();
    let mut x = z.x.clone();
    report.x = compare(&mut report, &gx, &z.x, most, |i, v| {
        x[i] = v;
        game.fix(&x, Need::Values);
        let f = game.value(&z.y);
        x[i] = z.x[i];
        f
    });
    game.fix(&z.x, Need::Values);
    let mut y = z.y.clone();
    report.y = compare(&mut report, &gy, &z.y, most, |i, v| {
        y[i] = v;
        let f = game.value(&y);
        y[i] = z.y[i];
        f
    });
    report
}

/// The worst relative disagreement over evenly spread coordinates; `f(i, v)` is the value with coordinate i set to v.
fn compare<R: Real>(
    report: &mut Derivatives,
    gradient: &[R],
    at: &[R],
    most: usize,
    mut f: impl FnMut(usize, R) -> f64,
) -> f64 {
    let n = at.len();
    let size = ops::norm(gradient).max(1e-3);
    let mut worst = 0.0;
    for k in 0..n.min(most) {
        let i = k * n / n.min(most);
        let centre = at[i].to_f64();
        // The cube root of the rounding unit balances truncation against cancellation.
        let h = R::UNIT_ROUNDOFF.cbrt() * centre.abs().max(1.0);
        let (up, down) = (R::from_f64(centre + h), R::from_f64(centre - h));
        let slope = (f(i, up) - f(i, down)) / (up.to_f64() - down.to_f64());
        if !slope.is_finite() {
            report.skipped += 1;
            continue;
        }
        report.compared += 1;
        let off = (slope - gradient[i].to_f64()).abs() / size;
        // Written so that NaN wins.
        if !(off <= worst) {
            worst = off;
        }
    }
    worst
}
