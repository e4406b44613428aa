//! The simplex and the l1 ball: along the path the entries above a common level carry the weight, and between two
//! changes of that active set everything is linear in tau. The level is a convex function of tau, so that entries leave
//! the active set for good: what is gone is summed up once, and only the rest is looked at again.

use super::rule::{L1Rule, SimplexRule, ThresholdRule};
use super::sums::{self, ROUNDING, Sums};
use crate::Real;
use crate::simd::{self, Pass};

/// Far more passes than Newton's method was ever seen to need.
const PASSES: usize = 200;
/// One chunk in so many is looked at for a first guess, if there are many.
const SAMPLE: usize = 32;
const MANY: usize = 2 * SAMPLE * CHUNK;
/// Entries looked at together before any is copied.
const CHUNK: usize = 64;

/// The level at one tau, how it goes on from there, and how many entries are above it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Threshold {
    tau: f64,
    height: f64,
    slope: f64,
    count: f64,
}

impl Threshold {
    /// Below everything.
    const GROUND: Self = Self { tau: 0.0, height: f64::NEG_INFINITY, slope: 0.0, count: f64::INFINITY };

    /// The guess for another tau.
    fn extended(self, tau: f64) -> Self {
        let height = if tau.is_finite() { self.height + self.slope * (tau - self.tau) } else { f64::NEG_INFINITY };
        Self { tau, height, ..self }
    }

    /// The `m` with `sum_i max(weight_i + rise_i - m, 0) = sum_i weight_i + slack`, by Newton's method on this convex
    /// decreasing function of `m`. After the first step `m` only grows and the active entries only become fewer; when
    /// their number stays the same, `m` is exact. In this form, `m = (sum_active rise - sum_others weight - slack) / count`,
    /// the weights of active entries never enter and short steps keep all their digits. `pass` gives the count, the
    /// rise and the rate of the active entries and the weight of the others.
    fn newton(mut self, slack: f64, pass: impl Fn(f64) -> [f64; 4]) -> Self {
        let mut before = f64::NAN;
        for round in 0..PASSES {
            let [count, rise, rate, lost] = pass(self.height);
            if count == 0.0 {
                self.height = f64::NEG_INFINITY;
                continue;
            }
            let height = (rise - lost - slack) / count;
            let still = (height - self.height).abs() <= 2.0 * f64::EPSILON * height.abs();
            self = Self { tau: self.tau, height, slope: rate / count, count };
            if still || count == before || (round > 1 && count > before) {
                break;
            }
            before = count;
        }
        self
    }
}

/// What has lost its weight for good: `sum weight`, `sum weight^2`, `-sum weight pull` and what it gained.
#[derive(Debug, Clone, Copy, Default)]
struct PrunedSums {
    weight: f64,
    square: f64,
    moment: f64,
    gain: f64,
}

/// A part that follows a rule.
#[derive(Debug, Clone)]
pub(super) struct ThresholdPart<K> {
    rule: K,
    norm2: f64,
    /// The sum of the weights, and what it may still grow by.
    scale: f64,
    slack: f64,
    /// How many entries are kept; `None` while that is all of them, in their own place.
    kept: Option<usize>,
    gone: PrunedSums,
    /// The last finite level.
    level: Threshold,
    /// The level and the sums in the limit, once known.
    limit: Option<(Threshold, Sums)>,
}

/// The vectors of a part, and of both the entries that may still be active.
pub(super) struct Entries<'a> {
    pub(super) w: &'a [f64],
    pub(super) base: &'a [f64],
    pub(super) kept_w: &'a mut [f64],
    pub(super) kept_base: &'a mut [f64],
}

/// What there is to know of a point of the simplex, from one pass.
pub(super) struct LoadedSimplex {
    pub(super) part: ThresholdPart<SimplexRule>,
    /// The sum of the weights, and of what was below 0.
    pub(super) sum: f64,
    pub(super) below: f64,
    /// The square of the length of `w`.
    pub(super) squares: f64,
}

impl ThresholdPart<SimplexRule> {
    /// Writes into `w` what each entry of the gradient is above the smallest one, and into `base` the weights.
    pub(super) fn weigh(load: LoadSimplex<'_, impl Real>) -> LoadedSimplex {
        let n = load.w.len() as f64;
        let [total, squares, sum, below, ties, lost, square, moment] = simd::run(load);
        // The square of the distance from the mean, rounded up.
        let norm2 = squares - total / n * total + n * f64::EPSILON * squares;
        let mut part = Self::new(SimplexRule, norm2, sum, 0.0);
        // In the limit the smallest entries of the gradient share what all others have lost.
        let height = -lost / ties;
        let level = Threshold { tau: f64::INFINITY, height, slope: 0.0, count: ties };
        let length2 = square + ties * height * height;
        part.limit = Some((level, Sums { length2, gain: moment, support: moment, ..Sums::default() }));
        LoadedSimplex { part, sum, below, squares }
    }
}

impl ThresholdPart<L1Rule> {
    /// `scale` is `sum |p|`, `slack` the radius less that.
    pub(super) fn l1_ball(steepest: f64, norm2: f64, scale: f64, slack: f64) -> Self {
        Self::new(L1Rule { steepest }, norm2, scale, slack)
    }
}

impl<K: ThresholdRule> ThresholdPart<K> {
    fn new(rule: K, norm2: f64, scale: f64, slack: f64) -> Self {
        let (gone, level) = (PrunedSums::default(), Threshold::GROUND);
        Self { rule, norm2, scale, slack, kept: None, gone, level, limit: None }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.norm2
    }

    /// The sums at `tau`. The first finite `tau` must not be beyond the one that is sought.
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
            self.sift(guess, &mut entries);
        }
        let (w, base) = match self.kept {
            Some(kept) => (&entries.kept_w[..kept], &entries.kept_base[..kept]),
            None => (entries.w, entries.base),
        };
        self.level = self.find(guess, (w, base), self.gone.weight);
        self.sums(&self.level, w, base)
    }

    /// The tau of the last [`at`](Self::at) was not beyond the one that is sought: what is inactive there is gone.
    pub(super) fn prune(&mut self, mut entries: Entries<'_>) {
        self.sift(self.level, &mut entries);
    }

    /// Drops what is below a level for good, if there is enough of it.
    fn sift(&mut self, level: Threshold, entries: &mut Entries<'_>) {
        let count = self.kept.unwrap_or(entries.w.len());
        if level.count > 0.5 * count as f64 {
            return;
        }
        let source = if self.kept.is_none() { Some((entries.w, entries.base)) } else { None };
        let (w, base) = (&mut *entries.kept_w, &mut *entries.kept_base);
        let (kept, [weight, square, moment, gain]) =
            simd::run(PruneInactive { rule: self.rule, level, source, w, base, count });
        self.kept = Some(kept);
        self.gone.weight += weight;
        self.gone.square += square;
        self.gone.moment += moment;
        self.gone.gain += gain;
    }

    /// A level below that at `tau`, but near it: that of a sample, and one step of Newton's method, which leads to the
    /// left of the root from wherever it starts.
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
            // Whatever is gone by now may not have been gone there.
            _ => self.find(self.level.extended(tau), (w, base), 0.0),
        };
        let (rule, m) = (self.rule, level.height);
        if m > rule.floor(tau) {
            sums::fill(step, w, base, |g, p| factor * rule.turn(g, rule.entry(tau, g, p).step(m)));
        } else {
            sums::fill(step, w, base, |g, _| -factor * tau * g);
        }
    }

    /// What one entry adds to a pass of Newton's method.
    #[inline(always)]
    fn census(&self, tau: f64, m: f64, g: f64, p: f64) -> [f64; 4] {
        let e = self.rule.entry(tau, g, p);
        let active = e.is_active(m);
        [pick(active, 1.0), pick(active, e.rise), pick(active, e.rate), pick(!active, e.weight)]
    }

    /// The level of these entries and of others that are gone and had that weight, from a guess.
    fn find(&self, guess: Threshold, (w, base): (&[f64], &[f64]), gone: f64) -> Threshold {
        guess.newton(gone + self.slack, |m| sums::sum(w, base, |g, p| self.census(guess.tau, m, g, p)))
    }

    /// At the level `m`, with `c = m/tau` up to a constant, the proof is `n_i = min(c, p_i/tau - g_i)` on the simplex and
    /// `n_i = clamp(p_i/tau - g_i, -c, c)` in the l1 ball; the supports are `sum_i p_i (c - n_i)` and
    /// `sum_i (c |p_i| - n_i p_i) + c slack`, every term of which is positive.
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
            length2 += self.gone.square;
            gain += self.gone.gain;
            support += not_negative(self.gone.moment + (m * self.gone.weight - self.gone.square) * inverse);
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

/// `x` or 0. Unlike a branch around several sums it is done in all lanes at once.
#[inline(always)]
fn pick(wanted: bool, x: f64) -> f64 {
    if wanted { x } else { 0.0 }
}

/// `x`, or 0 if that is negative. Unlike `f64::max` it lets NaN through.
#[inline(always)]
fn not_negative(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// Takes a gradient, times a factor, and a point of the simplex: see [`ThresholdPart::weigh`].
pub(super) struct LoadSimplex<'a, R> {
    pub(super) grad: &'a [R],
    pub(super) factor: f64,
    /// The smallest entry of the gradient, times the factor.
    pub(super) least: f64,
    pub(super) point: &'a [R],
    pub(super) w: &'a mut [f64],
    pub(super) base: &'a mut [f64],
}

impl<R: Real> Pass for LoadSimplex<'_, R> {
    type Output = [f64; 8];

    #[inline(always)]
    fn run(self) -> [f64; 8] {
        let Self { factor, least, w, base, .. } = self;
        let mut total = [0.0; 8];
        let blocks = self.grad.chunks(CHUNK).zip(self.point.chunks(CHUNK));
        for ((grad, point), (w, base)) in blocks.zip(w.chunks_mut(CHUNK).zip(base.chunks_mut(CHUNK))) {
            for (wi, g) in w.iter_mut().zip(grad) {
                *wi = g.to_f64() * factor - least;
            }
            for (bi, p) in base.iter_mut().zip(point) {
                *bi = not_negative(p.to_f64());
            }
            let [all, squares, ties, lost, square, moment] = sums::inline_sum(w, base, |w, p| {
                let off = pick(w != 0.0, p);
                [w, w * w, pick(w == 0.0, 1.0), off, off * off, w * p]
            });
            let [sum, below] = sums::inline_sum(base, point, |b, p| [b, b - p]);
            for (t, part) in total.iter_mut().zip([all, squares, sum, below, ties, lost, square, moment]) {
                *t += part;
            }
        }
        total
    }
}

/// Copies the entries that may still be active to the front, and sums up the others.
struct PruneInactive<'a, K> {
    rule: K,
    level: Threshold,
    /// Where the entries come from, if not from where they go.
    source: Option<(&'a [f64], &'a [f64])>,
    w: &'a mut [f64],
    base: &'a mut [f64],
    count: usize,
}

impl<K: ThresholdRule> Pass for PruneInactive<'_, K> {
    type Output = (usize, [f64; 4]);

    #[inline(always)]
    fn run(self) -> (usize, [f64; 4]) {
        let Self { rule, level, source, w, base, count } = self;
        let (mut kept, mut total) = (0, [0.0; 4]);
        let (mut buffer_w, mut buffer_base) = ([0.0; CHUNK], [0.0; CHUNK]);
        let is_gone = |g: f64, p: f64| {
            let e = rule.entry(level.tau, g, p);
            (!e.is_active(level.height) && rule.is_gone(&e, level.slope), e)
        };
        for start in (0..count).step_by(CHUNK) {
            let chunk = start..CHUNK.min(count - start) + start;
            let (chunk_w, chunk_base) = match source {
                Some((w, base)) => (&w[chunk.clone()], &base[chunk]),
                None => {
                    buffer_w[..chunk.len()].copy_from_slice(&w[chunk.clone()]);
                    buffer_base[..chunk.len()].copy_from_slice(&base[chunk.clone()]);
                    (&buffer_w[..chunk.len()], &buffer_base[..chunk.len()])
                }
            };
            let [left, sums @ ..] = sums::inline_sum(chunk_w, chunk_base, |g, p| {
                let (gone, e) = is_gone(g, p);
                let weight = pick(gone, e.weight);
                [pick(!gone, 1.0), weight, weight * weight, -weight * e.pull, pick(gone, -e.start * e.slope)]
            });
            for (t, sum) in total.iter_mut().zip::<[f64; 4]>(sums) {
                *t += sum;
            }
            if left > 0.0 {
                for (&g, &p) in chunk_w.iter().zip(chunk_base) {
                    (w[kept], base[kept]) = (g, p);
                    kept += usize::from(!is_gone(g, p).0);
                }
            }
        }
        (kept, total)
    }
}
