//! Search for the tau at which the path reaches the radius. Uses Newton steps where the path's derivative is known
//! (exact between two changes of the active set), secant steps elsewhere, and keeps both inside a bracket.

use super::sums::Sums;

/// Largest growth of tau per step while no upper bound of the root is known.
const GROWTH: f64 = 1e3;
/// Growth of tau where neither the derivative nor the secant gives a slope: the path stands still at a corner.
const LEAP: f64 = 16.0;

/// An interval that contains the root, and the last evaluations.
#[derive(Debug)]
pub(super) struct Bracket {
    radius: f64,
    low: f64,
    high: f64,
    /// The last `(tau, ||s||)`.
    last: Option<(f64, f64)>,
    /// `ln(high / low)` after the last two evaluations, the older one first.
    widths: [f64; 2],
}

impl Bracket {
    pub(super) fn new(radius: f64) -> Self {
        Self { radius, low: 0.0, high: f64::INFINITY, last: None, widths: [f64::INFINITY; 2] }
    }

    /// True if a root is known to exist (`exists`, or the bracket is closed) and the bracket is still wide. Evaluations
    /// that improve no bound are then worth their cost.
    pub(super) fn is_wide(&self, exists: bool) -> bool {
        (exists || self.high.is_finite()) && self.high > self.low * (1.0 + 1e-6)
    }

    /// The next tau to evaluate after this one; `None` at the end of the search.
    pub(super) fn next(&mut self, tau: f64, sums: &Sums) -> Option<f64> {
        let length = sums.length2.sqrt();
        if !length.is_finite() {
            return None;
        }
        // ||s|| / tau decreases, so the root is not before tau radius / ||s|| (inside the radius) or not after it
        // (outside).
        let straight = if length > 0.0 { tau * (self.radius / length) } else { tau };
        if length <= self.radius {
            self.low = if straight > self.low { straight } else { self.low };
        } else {
            self.high = if straight < self.high { straight } else { self.high };
        }
        let width = (self.high / self.low).ln();
        let slow = width.is_finite() && width > 0.5 * self.widths[0];
        self.widths = [self.widths[1], width];
        let guess = if slow { None } else { self.newton(tau, sums).or_else(|| self.secant(tau, length)) };
        let seen = self.last.replace((tau, length));
        let next = self.confine(tau, guess);
        (next != tau && seen.is_none_or(|(t, _)| t != next)).then_some(next)
    }

    /// Root of `||s + d s'|| = radius` in `d`, a quadratic equation.
    fn newton(&self, tau: f64, sums: &Sums) -> Option<f64> {
        let excess = sums.length2 - self.radius * self.radius;
        let turn = sums.along * sums.along - sums.speed2 * excess;
        let slope = sums.along + turn.sqrt();
        (slope > 0.0).then(|| tau - excess / slope)
    }

    /// Root of the secant through the last two points, in logarithms.
    fn secant(&self, tau: f64, length: f64) -> Option<f64> {
        let (before, short) = self.last?;
        let slope = (length / short).ln() / (tau / before).ln();
        (slope > 0.0).then(|| tau * ((self.radius / length).ln() / slope).exp())
    }

    /// The guess, clamped to the bracket; without a guess the middle of the bracket in logarithms.
    fn confine(&self, tau: f64, guess: Option<f64>) -> f64 {
        let open = self.high.is_infinite();
        let (fallback, most) =
            if open { (LEAP * tau, GROWTH * tau) } else { ((self.low * self.high).sqrt(), self.high) };
        let guess = guess.filter(|g| g.is_finite()).unwrap_or(fallback);
        let guess = if guess > most { most } else { guess };
        if guess < self.low { self.low } else { guess }
    }
}
