//! `cos(x + w) + x^2/20` on `[-4, 4]`, summed over coordinates: the value function of the random PL games.

/// x lives in a box of this half-width.
pub(super) const HALF: f64 = 4.0;
/// The largest slope and the largest curvature of one term.
pub(super) const SLOPE: f64 = 1.4;
pub(super) const CURVATURE: f64 = 1.1;

/// One term.
pub(super) fn p(x: f64, w: f64) -> f64 {
    (x + w).cos() + 0.05 * x * x
}

/// Its slope.
pub(super) fn dp(x: f64, w: f64) -> f64 {
    0.1 * x - (x + w).sin()
}

/// Its minimiser: the best of a fine grid, then bisection of the slope around it.
pub(super) fn lowest(w: f64) -> f64 {
    const GRID: usize = 800;
    let at = |i: usize| -HALF + 2.0 * HALF * i as f64 / GRID as f64;
    let mut best = 0;
    for i in 1..=GRID {
        if p(at(i), w) < p(at(best), w) {
            best = i;
        }
    }
    let (mut a, mut b) = (at(best.saturating_sub(1)), at((best + 1).min(GRID)));
    for _ in 0..100 {
        let m = 0.5 * (a + b);
        if dp(m, w) < 0.0 {
            a = m;
        } else {
            b = m;
        }
    }
    // A minimum at the end of the interval shows no change of sign, and the bisection runs to that end.
    0.5 * (a + b)
}
