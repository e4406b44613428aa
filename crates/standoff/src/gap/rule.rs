//! What sets the simplex and the l1 ball apart: how one coordinate moves along the path.

/// One coordinate on the path. It weighs `max(weight + rise - level, 0)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathEntry {
    /// Where it starts; where mirrored, this may be negative.
    pub(super) start: f64,
    pub(super) weight: f64,
    /// What the gradient adds to the weight; `-inf` where that is all lost in the limit.
    pub(super) rise: f64,
    /// The derivative of the step before the level is taken off.
    pub(super) rate: f64,
    /// `tau rate`: while active, the step is `side (drift - level)`.
    pub(super) drift: f64,
    pub(super) side: f64,
    /// The gain per unit of step.
    pub(super) slope: f64,
    /// `rate`, on the side where the coordinate starts.
    pub(super) pull: f64,
}

impl PathEntry {
    /// Whether it still carries weight.
    #[inline(always)]
    pub(super) fn is_active(&self, level: f64) -> bool {
        self.weight + self.rise > level
    }

    #[inline(always)]
    pub(super) fn step(&self, level: f64) -> f64 {
        if self.is_active(level) { self.side * (self.drift - level) } else { -self.start }
    }
}

/// The two kinds of set.
pub(super) trait ThresholdRule: Copy {
    /// The coordinate with the gradient `g` that starts at `p`.
    fn entry(self, tau: f64, g: f64, p: f64) -> PathEntry;

    /// The level at which nothing is taken off yet.
    fn floor(self, tau: f64) -> f64;

    /// Whether an inactive entry stays so for every larger tau, given how fast the level rises.
    fn is_gone(self, e: &PathEntry, rising: f64) -> bool;

    /// `c`, the size of `n`, at `level = m`, `inverse = 1/tau`; infinite where only differences of it matter.
    fn push(self, m: f64, inverse: f64) -> f64;

    /// Mirrors a coordinate, or undoes that.
    fn turn(self, g: f64, s: f64) -> f64;
}

/// Weights that keep their sum. The gradient is taken above its smallest entry: a constant changes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimplexRule;

/// Absolute values with a bounded sum. Every coordinate is mirrored so that the path moves it upwards, from
/// `-sign(g) p` with the gradient `-|g|`. At `tau` the absolute values lose `level + tau steepest`, if that is positive.
#[derive(Debug, Clone, Copy)]
pub(super) struct L1Rule {
    pub(super) steepest: f64,
}

/// `tau x`, where 0 stays 0 for an infinite `tau`.
#[inline(always)]
fn times(tau: f64, x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { tau * x }
}

impl ThresholdRule for SimplexRule {
    #[inline(always)]
    fn entry(self, tau: f64, g: f64, p: f64) -> PathEntry {
        let drift = -times(tau, g);
        PathEntry { start: p, weight: p, rise: drift, rate: -g, drift, side: 1.0, slope: -g, pull: -g }
    }

    fn floor(self, _: f64) -> f64 {
        f64::NEG_INFINITY
    }

    /// Its height above the threshold, `p - tau g - m(tau)`, is concave in tau and not negative at 0: once negative, always negative.
    #[inline(always)]
    fn is_gone(self, _: &PathEntry, _: f64) -> bool {
        true
    }

    fn push(self, _: f64, _: f64) -> f64 {
        f64::INFINITY
    }

    #[inline(always)]
    fn turn(self, _: f64, s: f64) -> f64 {
        s
    }
}

impl ThresholdRule for L1Rule {
    #[inline(always)]
    fn entry(self, tau: f64, g: f64, p: f64) -> PathEntry {
        let (start, slope) = (self.turn(g, p), g.abs());
        let (upwards, downwards) = (slope - self.steepest, -slope - self.steepest);
        let ahead = start + times(tau, slope) >= 0.0;
        let rate = if ahead { upwards } else { downwards };
        let drift = times(tau, rate);
        let crossed = if ahead && start < 0.0 { 2.0 * start } else { 0.0 };
        let pull = if start < 0.0 { downwards } else { upwards };
        let side = if ahead { 1.0 } else { -1.0 };
        PathEntry { start, weight: start.abs(), rise: crossed + drift, rate, drift, side, slope, pull }
    }

    fn floor(self, tau: f64) -> f64 {
        -tau * self.steepest
    }

    /// As on the simplex, unless it has yet to pass 0. Its absolute value grows at the rate `|g|` from there, and what it is compared with,
    /// `m + tau steepest`, at least at the rate `rising + steepest`, because `m` is convex in tau.
    #[inline(always)]
    fn is_gone(self, e: &PathEntry, rising: f64) -> bool {
        e.start >= 0.0 || e.slope - self.steepest <= rising
    }

    fn push(self, m: f64, inverse: f64) -> f64 {
        self.steepest + m * inverse
    }

    #[inline(always)]
    fn turn(self, g: f64, s: f64) -> f64 {
        -s * 1.0_f64.copysign(g)
    }
}
