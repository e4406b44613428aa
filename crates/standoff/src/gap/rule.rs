//! The difference between the simplex and the l1 ball: how one coordinate moves along the path.

/// One coordinate on the path. Its new weight is `max(weight + rise - level, 0)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathEntry {
    /// Start of the coordinate; may be negative after mirroring.
    pub(super) start: f64,
    pub(super) weight: f64,
    /// Change of the weight by the gradient before the threshold; `-inf` if the weight is lost in the limit.
    pub(super) rise: f64,
    /// Derivative of the step before the threshold.
    pub(super) rate: f64,
    /// `tau rate`. While the entry is active, its step is `side (drift - level)`.
    pub(super) drift: f64,
    pub(super) side: f64,
    /// Gain per unit of step.
    pub(super) slope: f64,
    /// `rate`, with the sign of the side where the coordinate starts.
    pub(super) pull: f64,
}

impl PathEntry {
    /// True if the entry has positive weight.
    #[inline(always)]
    pub(super) fn is_active(&self, level: f64) -> bool {
        self.weight + self.rise > level
    }

    #[inline(always)]
    pub(super) fn step(&self, level: f64) -> f64 {
        if self.is_active(level) { self.side * (self.drift - level) } else { -self.start }
    }
}

/// The rule of a kind of set, simplex or l1 ball.
pub(super) trait ThresholdRule: Copy {
    /// The path entry of a coordinate with gradient `g` that starts at `p`.
    fn entry(self, tau: f64, g: f64, p: f64) -> PathEntry;

    /// The level up to which the constraint is not active.
    fn floor(self, tau: f64) -> f64;

    /// True if an inactive entry stays inactive for every larger tau, given the rate at which the level rises.
    fn stays_inactive(self, e: &PathEntry, rising: f64) -> bool;

    /// `c`, the largest entry of `n`, for `level = m` and `inverse = 1/tau`; infinite for the simplex, where only
    /// differences of it matter.
    fn push(self, m: f64, inverse: f64) -> f64;

    /// Mirrors a coordinate, or undoes the mirroring.
    fn mirror(self, g: f64, s: f64) -> f64;
}

/// The simplex: weights with a constant sum. `g` is the gradient minus its smallest entry; a constant changes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimplexRule;

/// The l1 ball: absolute values with a bounded sum. Every coordinate is mirrored so that the path moves it upwards,
/// from `-sign(g) p` with the gradient `-|g|`. At `tau` the absolute values are reduced by `level + tau steepest`, if
/// that is positive.
#[derive(Debug, Clone, Copy)]
pub(super) struct L1Rule {
    pub(super) steepest: f64,
}

/// `tau x`, with 0 for `x = 0` even if `tau` is infinite.
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

    /// The entry's height above the threshold, `p - tau g - m(tau)`, is concave in tau and non-negative at 0: once
    /// negative, it stays negative.
    #[inline(always)]
    fn stays_inactive(self, _: &PathEntry, _: f64) -> bool {
        true
    }

    fn push(self, _: f64, _: f64) -> f64 {
        f64::INFINITY
    }

    #[inline(always)]
    fn mirror(self, _: f64, s: f64) -> f64 {
        s
    }
}

impl ThresholdRule for L1Rule {
    #[inline(always)]
    fn entry(self, tau: f64, g: f64, p: f64) -> PathEntry {
        let (start, slope) = (self.mirror(g, p), g.abs());
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

    /// As on the simplex, unless the coordinate has not passed 0 yet. Afterwards its absolute value grows at the rate
    /// `|g|`, and the threshold `m + tau steepest` grows at least at the rate `rising + steepest`, because `m` is
    /// convex in tau.
    #[inline(always)]
    fn stays_inactive(self, e: &PathEntry, rising: f64) -> bool {
        e.start >= 0.0 || e.slope - self.steepest <= rising
    }

    fn push(self, m: f64, inverse: f64) -> f64 {
        self.steepest + m * inverse
    }

    #[inline(always)]
    fn mirror(self, g: f64, s: f64) -> f64 {
        -s * 1.0_f64.copysign(g)
    }
}
