//! The simplex and the l1 ball: along the path the entries above a common level carry the weight, and between two
//! changes of that active set everything is linear in tau. The level is a convex function of tau, so that entries leave
//! the active set for good: what is gone is summed up once, and only the rest is looked at again.

use super::part::ROUNDING;
use super::sums::{Sums, add_up};
use crate::Real;

/// Far more passes than Newton's method was ever seen to need.
const PASSES: usize = 200;

/// What sets the simplex and the l1 ball apart.
pub(super) trait Rule: Copy {
    /// The coordinate with the gradient `g` that starts at `p`.
    fn entry(self, tau: f64, g: f64, p: f64) -> Entry;

    /// The level at which nothing is taken off yet.
    fn floor(self, tau: f64) -> f64;

    /// Whether an inactive entry stays so for every larger tau, given how fast the level rises.
    fn is_gone(self, e: &Entry, rising: f64) -> bool;

    /// `c`, the size of `n`, at `level = m`, `inverse = 1/tau`; infinite where only differences of it matter.
    fn push(self, m: f64, inverse: f64) -> f64;

    /// Undoes the mirroring.
    fn turn(self, g: f64, s: f64) -> f64;
}

/// Weights that keep their sum. The gradient is taken above its smallest entry: a constant changes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Simplex;

/// Absolute values with a bounded sum. Every coordinate is mirrored so that the path moves it upwards, from
/// `-sign(g) p` with the gradient `-|g|`. At `tau` the absolute values lose `level + tau steepest`, if that is positive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cross {
    steepest: f64,
}

/// One coordinate on the path. It weighs `max(weight + rise - level, 0)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Where it starts; where mirrored, this may be negative.
    start: f64,
    weight: f64,
    /// What the gradient adds to the weight; `-inf` where that is all lost in the limit.
    rise: f64,
    /// The derivative of the step before the level is taken off: `step = side (tau rate - level)` while active.
    rate: f64,
    side: f64,
    /// The gain per unit of step.
    slope: f64,
    /// `rate`, on the side where the coordinate starts.
    pull: f64,
}

/// `tau x`, where 0 stays 0 for an infinite `tau`.
#[inline(always)]
fn times(tau: f64, x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { tau * x }
}

/// `x`, or 0 if that is negative. Unlike `f64::max` it lets NaN through.
#[inline(always)]
fn not_negative(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

impl Rule for Simplex {
    #[inline(always)]
    fn entry(self, tau: f64, g: f64, p: f64) -> Entry {
        Entry { start: p, weight: p, rise: -times(tau, g), rate: -g, side: 1.0, slope: -g, pull: -g }
    }

    fn floor(self, _: f64) -> f64 {
        f64::NEG_INFINITY
    }

    /// It has come down from above, and its height is concave in tau.
    #[inline(always)]
    fn is_gone(self, _: &Entry, _: f64) -> bool {
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

impl Rule for Cross {
    #[inline(always)]
    fn entry(self, tau: f64, g: f64, p: f64) -> Entry {
        let (start, slope) = (self.turn(g, p), g.abs());
        let (upwards, downwards) = (slope - self.steepest, -slope - self.steepest);
        let ahead = start + times(tau, slope) >= 0.0;
        let rate = if ahead { upwards } else { downwards };
        let crossed = if ahead && start < 0.0 { 2.0 * start } else { 0.0 };
        let pull = if start < 0.0 { downwards } else { upwards };
        let side = if ahead { 1.0 } else { -1.0 };
        Entry { start, weight: start.abs(), rise: crossed + times(tau, rate), rate, side, slope, pull }
    }

    fn floor(self, tau: f64) -> f64 {
        -tau * self.steepest
    }

    /// As on the simplex, unless it has yet to pass 0: then it must be falling there.
    #[inline(always)]
    fn is_gone(self, e: &Entry, rising: f64) -> bool {
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

/// The level at one tau, and how it goes on from there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    tau: f64,
    height: f64,
    slope: f64,
}

/// What has lost its weight for good: `sum weight`, `sum weight^2`, `-sum weight pull` and what it gained.
#[derive(Debug, Clone, Copy, Default)]
struct Gone {
    weight: f64,
    square: f64,
    moment: f64,
    gain: f64,
}

/// A part that follows a rule.
#[derive(Debug, Clone)]
pub(super) struct Crowd<K> {
    rule: K,
    norm2: f64,
    /// What the sum of the weights may still grow by, and the set's scale.
    slack: f64,
    scale: f64,
    /// How many entries are kept; `None` before the first finite tau.
    kept: Option<usize>,
    gone: Gone,
    /// The last finite level, and that in the limit.
    level: Level,
    limit: Level,
    /// The mean of the rates, if known: what the level starts from when every entry is active.
    mean: f64,
}

/// The entries that may still be active, compacted, behind their full vectors.
pub(super) struct Entries<'a> {
    pub(super) w: &'a [f64],
    pub(super) base: &'a [f64],
    pub(super) kept_w: &'a mut [f64],
    pub(super) kept_base: &'a mut [f64],
}

impl Crowd<Simplex> {
    /// `w` holds the gradient and is left with what each entry is above the smallest one.
    pub(super) fn simplex(w: &mut [f64], scale: f64) -> Self {
        let mut least = f64::INFINITY;
        for &wi in w.iter() {
            least = if wi < least { wi } else { least };
        }
        let [sum, squares] = add_up(w.len(), |i| {
            w[i] -= least;
            [w[i], w[i] * w[i]]
        });
        // The square of the distance from the mean, rounded up.
        let n = w.len() as f64;
        let norm2 = squares - sum / n * sum + n * f64::EPSILON * squares;
        Self { mean: -sum / n, ..Self::new(Simplex, norm2, 0.0, scale) }
    }
}

impl Crowd<Cross> {
    /// `slack` is the radius less `sum |p|`.
    pub(super) fn cross(g: &[f64], radius: f64, slack: f64) -> Self {
        let mut steepest = 0.0;
        for gi in g {
            steepest = if gi.abs() > steepest { gi.abs() } else { steepest };
        }
        let [norm2] = add_up(g.len(), |i| [g[i] * g[i]]);
        Self::new(Cross { steepest }, norm2, slack, radius)
    }
}

impl<K: Rule> Crowd<K> {
    fn new(rule: K, norm2: f64, slack: f64, scale: f64) -> Self {
        let level = Level { tau: 0.0, height: f64::NEG_INFINITY, slope: 0.0 };
        let (gone, mean) = (Gone::default(), f64::NEG_INFINITY);
        Self { rule, norm2, slack, scale, kept: None, gone, level, limit: level, mean }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.norm2
    }

    /// The sums at `tau`. The first finite `tau` must not be beyond the one that is sought.
    pub(super) fn at(&mut self, tau: f64, mut entries: Entries<'_>) -> Sums {
        if tau.is_infinite() {
            self.limit = self.find(tau, entries.w, entries.base, 0.0);
            return self.sums(&self.limit, entries.w, entries.base);
        }
        if self.kept.is_none() {
            self.settle_in(tau, &mut entries);
        }
        let kept = self.kept.unwrap_or(0);
        let (w, base) = (&entries.kept_w[..kept], &entries.kept_base[..kept]);
        self.level = self.find(tau, w, base, self.gone.weight);
        self.sums(&self.level, w, base)
    }

    /// The tau of the last [`at`](Self::at) was not beyond the one that is sought: what is inactive there is gone.
    pub(super) fn prune(&mut self, mut entries: Entries<'_>) {
        self.sift(self.level, &mut entries);
    }

    /// Writes the step at `tau`, times a factor.
    pub(super) fn write<R: Real>(&self, tau: f64, factor: f64, entries: &Entries<'_>, step: &mut [R]) {
        let (w, base) = (entries.w, entries.base);
        let level = if tau == self.limit.tau {
            self.limit
        } else if tau == self.level.tau {
            self.level
        } else {
            // Whatever is gone by now may not have been gone there.
            self.find(tau, w, base, 0.0)
        };
        let outside = level.height > self.rule.floor(tau);
        for i in 0..step.len() {
            let e = self.rule.entry(tau, w[i], base[i]);
            let s = if !outside {
                times(tau, e.slope)
            } else if e.weight + e.rise > level.height {
                e.side * (times(tau, e.rate) - level.height)
            } else {
                -e.start
            };
            step[i] = R::from_f64(factor * self.rule.turn(w[i], s));
        }
    }

    /// The `m` with `sum_i max(weight_i + rise_i - m, 0) = sum_i weight_i + slack`, by Newton's method on this convex
    /// decreasing function of `m`. After the first step `m` only grows and the active entries only become fewer; when
    /// their number stays the same, `m` is exact. In this form, `m = (sum_active rise - sum_others weight - slack) / count`,
    /// the weights of active entries never enter and short steps keep all their digits. `gone` is the weight of entries
    /// that are not among these.
    fn find(&self, tau: f64, w: &[f64], base: &[f64], gone: f64) -> Level {
        let Level { tau: from, height, slope } = self.level;
        let height = if tau.is_finite() { height + slope * (tau - from) } else { f64::NEG_INFINITY };
        let mut level = Level { tau, height, slope: 0.0 };
        let mut before = f64::NAN;
        for pass in 0..PASSES {
            let [count, rise, lost, rate] = add_up(w.len(), |i| {
                let e = self.rule.entry(tau, w[i], base[i]);
                let active = e.weight + e.rise > level.height;
                if active { [1.0, e.rise, 0.0, e.rate] } else { [0.0, 0.0, e.weight, 0.0] }
            });
            if count == 0.0 {
                level.height = f64::NEG_INFINITY;
                continue;
            }
            level.height = (rise - lost - gone - self.slack) / count;
            level.slope = rate / count;
            if count == before || (pass > 1 && count > before) {
                break;
            }
            before = count;
        }
        level
    }

    /// Copies the entries and finds the first level, dropping on the way what is below it.
    fn settle_in(&mut self, tau: f64, entries: &mut Entries<'_>) {
        entries.kept_w.copy_from_slice(entries.w);
        entries.kept_base.copy_from_slice(entries.base);
        self.kept = Some(entries.w.len());
        let mut level = Level { tau, height: tau * self.mean, slope: f64::NEG_INFINITY };
        let mut before = f64::NAN;
        for _ in 0..PASSES {
            let [count, rise, lost] = self.sift(level, entries);
            if count == before || count == 0.0 {
                break;
            }
            before = count;
            level.height = (rise - lost - self.gone.weight - self.slack) / count;
        }
        self.level = Level { slope: 0.0, ..level };
    }

    /// Drops what is below the level for good; returns the count and the rise of the active entries and the weight of
    /// the others that are kept.
    fn sift(&mut self, level: Level, entries: &mut Entries<'_>) -> [f64; 3] {
        let (w, base) = (&mut *entries.kept_w, &mut *entries.kept_base);
        let mut gone = self.gone;
        let (mut count, mut rise, mut lost, mut kept) = (0.0, 0.0, 0.0, 0);
        for i in 0..self.kept.unwrap_or(0) {
            let e = self.rule.entry(level.tau, w[i], base[i]);
            let active = e.weight + e.rise > level.height;
            let drop = !active && self.rule.is_gone(&e, level.slope);
            (w[kept], base[kept]) = (w[i], base[i]);
            kept += usize::from(!drop);
            count += if active { 1.0 } else { 0.0 };
            rise += if active { e.rise } else { 0.0 };
            lost += if active || drop { 0.0 } else { e.weight };
            let weight = if drop { e.weight } else { 0.0 };
            gone.weight += weight;
            gone.square += weight * weight;
            gone.moment -= weight * e.pull;
            gone.gain -= if drop { e.start * e.slope } else { 0.0 };
        }
        (self.gone, self.kept) = (gone, Some(kept));
        [count, rise, lost]
    }

    /// At the level `m`, with `c = m/tau` up to a constant, the proof is `n_i = min(c, p_i/tau - g_i)` on the simplex and
    /// `n_i = clamp(p_i/tau - g_i, -c, c)` in the l1 ball; the supports are `sum_i p_i (c - n_i)` and
    /// `sum_i (c |p_i| - n_i p_i) + c slack`, every term of which is positive.
    fn sums(&self, level: &Level, w: &[f64], base: &[f64]) -> Sums {
        let (tau, m, inverse) = (level.tau, level.height, 1.0 / level.tau);
        if m <= self.rule.floor(tau) {
            return Sums::straight(tau, self.norm2);
        }
        let push = self.rule.push(m, inverse);
        let [mut length2, mut gain, mut support, along, speed2] = add_up(w.len(), |i| {
            let e = self.rule.entry(tau, w[i], base[i]);
            let active = e.weight + e.rise > m;
            let s = if active { e.side * (times(tau, e.rate) - m) } else { -e.start };
            let ds = if active { e.side * (e.rate - level.slope) } else { 0.0 };
            let loss = not_negative((m - e.weight) * inverse - e.pull);
            let loss = if e.start < 0.0 && loss > 2.0 * push { 2.0 * push } else { loss };
            [s * s, e.slope * s, e.weight * loss, s * ds, ds * ds]
        });
        if tau.is_finite() {
            length2 += self.gone.square;
            gain += self.gone.gain;
            support += not_negative(self.gone.moment + (m * self.gone.weight - self.gone.square) * inverse);
        }
        let mut doubt = 0.0;
        if push.is_finite() {
            support += push * self.slack;
            // The slack is a difference of sums as large as the radius.
            doubt = ROUNDING * push * self.scale;
        }
        Sums { length2, gain, residual2: length2 * inverse * inverse, support, along, speed2, doubt }
    }
}
