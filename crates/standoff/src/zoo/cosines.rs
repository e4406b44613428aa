//! `cos(x + w) + x^2/20` on `[0, 4]`, summed over coordinates: the value function of the random PL games.
//!
//! For `w` in `[0.2, 1]` the slope is negative at 0, positive at 4, and changes sign once in between: it is not convex,
//! but has one stationary point.

use super::random::Random;

/// Every coordinate of x is in `[0, SIDE]`.
pub(super) const SIDE: f64 = 4.0;
/// Bounds of the slope and of the curvature of one term.
pub(super) const SLOPE: f64 = 1.4;
pub(super) const CURVATURE: f64 = 1.1;

/// `n` phases, and a start for each coordinate on the left, where most terms are not convex.
pub(super) fn phases(n: usize, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let w = (0..n).map(|_| random.uniform(0.2, 1.0)).collect();
    (w, (0..n).map(|_| random.uniform(0.0, 1.5)).collect())
}

/// One term.
pub(super) fn p(x: f64, w: f64) -> f64 {
    (x + w).cos() + 0.05 * x * x
}

/// Its slope.
pub(super) fn dp(x: f64, w: f64) -> f64 {
    0.1 * x - (x + w).sin()
}

/// Its minimiser, by bisection of the slope.
pub(super) fn lowest(w: f64) -> f64 {
    let (mut low, mut high) = (0.0, SIDE);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if dp(middle, w) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
