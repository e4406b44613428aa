//! The path of the simplex and of the l1 ball: the entries above a common threshold carry the weight.
//!
//! **The simplex** `z >= 0, sum z = scale`. The projection of `p - tau g` is `max(p_i - tau g_i - m, 0)` with the
//! unique threshold `m = m(tau)` that gives the right sum, so
//!
//! ```text
//! s_i = -tau g_i - m   where p_i - tau g_i > m (active),   s_i = -p_i   elsewhere,
//! m = (sum over active of -tau g_i  -  sum over the others of p_i) / (number of active).
//! ```
//!
//! In the last line the weights of active entries have cancelled (`sum p = scale`). No `p_i - tau g_i` is ever formed,
//! so steps that are much shorter than the point keep all their digits. Between two changes of the active set
//! everything is linear in tau: `m' = mean of -g_i over the active entries`.
//!
//! **Entries never become active again.** `F(tau, m) = sum_i max(p_i - tau g_i - m, 0)` is convex in `(tau, m)` and
//! decreases with `m`, so the set `{ F <= scale } = { m >= m(tau) }` is convex: `m(tau)` is a convex function. The
//! height `h_i(tau) = p_i - tau g_i - m(tau)` of an entry is concave and `h_i(0) = p_i >= 0`, so once it is negative it
//! stays negative. Such entries are summed once ([`PrunedSums`]), and only the others are visited again.
//!
//! **The proof.** `n = -g - s/tau` is `c = m/tau` for active entries and `p_i/tau - g_i <= c` for the others. Its
//! supremum over the simplex is `scale c - <n, p> = sum_i p_i (c - n_i)`, a sum of non-negative terms.
//!
//! **The l1 ball** `sum |z| <= radius` is the same for absolute values after mirroring every coordinate ([`L1Rule`]),
//! with additional room `slack = radius - sum |p|`; `n_i = clamp(p_i/tau - g_i, -c, c)`.
//!
//! `sets/threshold.rs` computes the threshold of a single projection. It uses the same Newton iteration but shares no
//! code with this file: it works in place, on the stored type, for one vector `v`, and must be exact for entries of any
//! size. This file follows `m` along tau, needs its derivative, and works with steps instead of points.

use super::newton::Threshold;
use super::rule::{L1Rule, SimplexRule, ThresholdRule};
use super::sums::{self, ROUNDING, Sums};
use super::threshold_passes::{CHUNK, LoadSimplex, PruneInactive, not_negative, pick};
use crate::{Real, simd};

/// For large sets, one chunk in `SAMPLE` is read for a first guess.
const SAMPLE: usize = 32;
const MANY: usize = 2 * SAMPLE * CHUNK;

/// Sums over entries that stay inactive: `sum weight`, `sum weight^2`, `-sum weight pull` and their gain.
#[derive(Debug, Clone, Copy, Default)]
struct PrunedSums {
    weight: f64,
    square: f64,
    moment: f64,
    gain: f64,
}

/// A simplex or an l1 ball on the path, according to its rule.
#[derive(Debug, Clone)]
pub(super) struct ThresholdPart<K> {
    rule: K,
    norm2: f64,
    /// The sum of the weights, and the amount by which it may grow.
    scale: f64,
    slack: f64,
    /// Number of entries in the compact copy; `None` while all entries are used in place.
    kept: Option<usize>,
    pruned: PrunedSums,
    /// The threshold at the last finite tau.
    level: Threshold,
    /// The threshold and the sums in the limit, once computed.
    limit: Option<(Threshold, Sums)>,
}

/// The vectors of a part, and compact copies of the entries that may still be active.
pub(super) struct Entries<'a> {
    pub(super) w: &'a [f64],
    pub(super) base: &'a [f64],
    pub(super) kept_w: &'a mut [f64],
    pub(super) kept_base: &'a mut [f64],
}

/// Result of loading a point of the simplex in one pass.
pub(super) struct LoadedSimplex {
    pub(super) part: ThresholdPart<SimplexRule>,
    /// The sum of the weights, and the sum of the negative entries.
    pub(super) sum: f64,
    pub(super) below: f64,
    /// The square of the length of `w`.
    pub(super) squares: f64,
}

impl ThresholdPart<SimplexRule> {
    /// Writes the gradient minus its smallest entry into `w` and the weights into `base`.
    pub(super) fn weigh(load: LoadSimplex<'_, impl Real>) -> LoadedSimplex {
        let n = load.w.len() as f64;
        let [total, squares, sum, below, ties, lost, square, moment] = simd::run(load);
        // The square of the distance of the gradient from its mean, rounded up.
        let norm2 = squares - total / n * total + n * f64::EPSILON * squares;
        let mut part = Self::new(SimplexRule, norm2, sum, 0.0);
        // In the limit, the coordinates with the smallest gradient share the weight that all others have lost.
        let height = -lost / ties;
        let level = Threshold { tau: f64::INFINITY, height, slope: 0.0, count: ties };
        let length2 = square + ties * height * height;
        part.limit = Some((level, Sums { length2, gain: moment, support: moment, ..Sums::default() }));
        LoadedSimplex { part, sum, below, squares }
    }
}

impl ThresholdPart<L1Rule> {
    /// `scale` is `sum |p|`, `slack` the radius minus that.
    pub(super) fn l1_ball(steepest: f64, norm2: f64, scale: f64, slack: f64) -> Self {
        Self::new(L1Rule { steepest }, norm2, scale, slack)
    }
}

impl<K: ThresholdRule> ThresholdPart<K> {
    fn new(rule: K, norm2: f64, scale: f64, slack: f64) -> Self {
        let (pruned, level) = (PrunedSums::default(), Threshold::GROUND);
        Self { rule, norm2, scale, slack, kept: None, pruned, level, limit: None }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.norm2
    }

    /// The sums at `tau`. The first finite `tau` must not be beyond the root of the search.
    pub(super) fn at(&mut self, tau: f64, mut entries: Entries<'_>) -> Sums {
        if tau.is_infinite() {
            if let Some((_, sums)) = self.limit {
                return sums;
            }
            let level = self.find(Threshold::GROUND.extended(tau), (entries.w, entries.base), 0.0);
            let sums = self.sums(&level, entries.w, entries.base);
            self.limit = Some((level, sums));
            return sums;
        }
        let mut guess = self.level.extended(tau);
        if self.level == Threshold::GROUND && entries.w.len() > MANY {
            guess = self.bound(tau, &mut entries);
            self.drop_inactive(guess, &mut entries);
        }
        let (w, base) = match self.kept {
            Some(kept) => (&entries.kept_w[..kept], &entries.kept_base[..kept]),
            None => (entries.w, entries.base),
        };
        self.level = self.find(guess, (w, base), self.pruned.weight);
        self.sums(&self.level, w, base)
    }

    /// Drops the entries that are inactive at the tau of the last [`at`](Self::at), which must not be beyond the root
    /// of the search.
    pub(super) fn prune(&mut self, mut entries: Entries<'_>) {
        self.drop_inactive(self.level, &mut entries);
    }

    /// Drops the entries below a threshold for good, if they are at least half of all.
    fn drop_inactive(&mut self, level: Threshold, entries: &mut Entries<'_>) {
        let count = self.kept.unwrap_or(entries.w.len());
        if level.count > 0.5 * count as f64 {
            return;
        }
        let source = if self.kept.is_none() { Some((entries.w, entries.base)) } else { None };
        let (w, base) = (&mut *entries.kept_w, &mut *entries.kept_base);
        let (kept, [weight, square, moment, gain]) =
            simd::run(PruneInactive { rule: self.rule, level, source, w, base, count });
        self.kept = Some(kept);
        self.pruned.weight += weight;
        self.pruned.square += square;
        self.pruned.moment += moment;
        self.pruned.gain += gain;
    }

    /// A threshold below that at `tau` but near it: that of a sample, followed by one step of Newton's method, which
    /// leads to the left of the root from any start.
    fn bound(&self, tau: f64, entries: &mut Entries<'_>) -> Threshold {
        let (w, base) = (entries.w, entries.base);
        let mut size = 0;
        for start in (0..w.len() - CHUNK).step_by(SAMPLE * CHUNK) {
            entries.kept_w[size..size + CHUNK].copy_from_slice(&w[start..start + CHUNK]);
            entries.kept_base[size..size + CHUNK].copy_from_slice(&base[start..start + CHUNK]);
            size += CHUNK;
        }
        let share = (self.scale + self.slack) * (size as f64 / w.len() as f64);
        let sample = Threshold::GROUND.extended(tau).newton(share, |m| {
            sums::sum(&entries.kept_w[..size], &entries.kept_base[..size], |g, p| {
                let e = self.rule.entry(tau, g, p);
                let active = e.is_active(m);
                [pick(active, 1.0), pick(active, e.weight + e.rise), 0.0, 0.0]
            })
        });
        let [count, rise, _, lost] = sums::sum(w, base, |g, p| self.census(tau, sample.height, g, p));
        if count == 0.0 {
            return Threshold::GROUND.extended(tau);
        }
        Threshold { tau, height: (rise - lost - self.slack) / count, slope: f64::NEG_INFINITY, count }
    }

    /// Writes the step at `tau`, times a factor.
    pub(super) fn write<R: Real>(&self, tau: f64, factor: f64, (w, base): (&[f64], &[f64]), step: &mut [R]) {
        let level = match self.limit {
            Some((level, _)) if level.tau == tau => level,
            _ if tau == self.level.tau => self.level,
            // An entry that has been dropped may be active at this tau, so use all of them.
            _ => self.find(self.level.extended(tau), (w, base), 0.0),
        };
        let (rule, m) = (self.rule, level.height);
        if m > rule.floor(tau) {
            sums::fill(step, w, base, |g, p| factor * rule.mirror(g, rule.entry(tau, g, p).step(m)));
        } else {
            sums::fill(step, w, base, |g, _| -factor * tau * g);
        }
    }

    /// Contribution of one entry to a pass of Newton's method.
    #[inline(always)]
    fn census(&self, tau: f64, m: f64, g: f64, p: f64) -> [f64; 4] {
        let e = self.rule.entry(tau, g, p);
        let active = e.is_active(m);
        [pick(active, 1.0), pick(active, e.rise), pick(active, e.rate), pick(!active, e.weight)]
    }

    /// The threshold of these entries and of dropped entries with the total weight `pruned`, from a guess.
    fn find(&self, guess: Threshold, (w, base): (&[f64], &[f64]), pruned: f64) -> Threshold {
        guess.newton(pruned + self.slack, |m| sums::sum(w, base, |g, p| self.census(guess.tau, m, g, p)))
    }

    /// With the threshold `m` and `c = m/tau` (up to a constant), the proof is `n_i = min(c, p_i/tau - g_i)` on the
    /// simplex and `n_i = clamp(p_i/tau - g_i, -c, c)` in the l1 ball; the supports are `sum_i p_i (c - n_i)` and
    /// `sum_i (c |p_i| - n_i p_i) + c slack`, sums of positive terms.
    fn sums(&self, level: &Threshold, w: &[f64], base: &[f64]) -> Sums {
        let (tau, m, inverse) = (level.tau, level.height, 1.0 / level.tau);
        if m <= self.rule.floor(tau) {
            return Sums::straight(tau, self.norm2);
        }
        let (rule, rising, push) = (self.rule, level.slope, self.rule.push(m, inverse));
        let [mut length2, mut gain, mut support, along, speed2] = sums::sum(w, base, |g, p| {
            let e = rule.entry(tau, g, p);
            let s = e.step(m);
            let ds = pick(e.is_active(m), e.side * (e.rate - rising));
            let loss = not_negative((m - e.weight) * inverse - e.pull);
            let loss = if e.start < 0.0 && loss > 2.0 * push { 2.0 * push } else { loss };
            [s * s, e.slope * s, e.weight * loss, s * ds, ds * ds]
        });
        if tau.is_finite() {
            length2 += self.pruned.square;
            gain += self.pruned.gain;
            support += not_negative(self.pruned.moment + (m * self.pruned.weight - self.pruned.square) * inverse);
        }
        let mut doubt = 0.0;
        if push.is_finite() {
            support += push * self.slack;
            // The slack is a difference of sums as large as the radius.
            doubt = ROUNDING * push * (self.scale + self.slack);
        }
        Sums { length2, gain, residual2: length2 * inverse * inverse, support, along, speed2, doubt }
    }
}
