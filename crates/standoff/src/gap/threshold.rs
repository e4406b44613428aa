//! The simplex and the l1 ball: along the path the entries above a common level carry the weight, and between two
//! changes of that active set everything is linear in tau.

use super::sums::{Sums, add_up};

/// Far more passes than Newton's method was ever seen to need.
const PASSES: usize = 200;

/// One entry on the path: it weighs `max(rise + weight - level, 0)`.
#[derive(Clone, Copy)]
struct Entry {
    /// Its weight at the point.
    weight: f64,
    /// What the gradient adds; `-inf` for an entry that has lost everything in the limit.
    rise: f64,
    /// The derivative of `rise` in tau.
    rate: f64,
}

/// The level at one tau, and how it goes on from there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    tau: f64,
    height: f64,
    slope: f64,
}

impl Level {
    /// Nothing is known: every entry counts as active at first.
    const UNKNOWN: Self = Self { tau: 0.0, height: f64::NEG_INFINITY, slope: 0.0 };

    /// The `m` with `sum_i max(rise_i + weight_i - m, 0) = sum_i weight_i + slack`, by Newton's method on this convex
    /// decreasing function of `m`. After the first step `m` only grows and the active entries only become fewer; when
    /// their number stays the same, `m` is exact. In this form, `m = (sum_active rise - sum_others weight - slack) / count`,
    /// the weights of active entries never enter and short steps keep all their digits.
    fn find(self, n: usize, tau: f64, slack: f64, entry: impl Fn(usize) -> Entry) -> Self {
        let mut m = if tau.is_finite() { self.height + self.slope * (tau - self.tau) } else { f64::NEG_INFINITY };
        let mut slope = 0.0;
        let mut before = f64::NAN;
        for pass in 0..PASSES {
            let [count, rise, lost, rate] = add_up(n, |i| {
                let e = entry(i);
                if e.rise + e.weight > m { [1.0, e.rise, 0.0, e.rate] } else { [0.0, 0.0, e.weight, 0.0] }
            });
            if count == 0.0 {
                m = f64::NEG_INFINITY;
                continue;
            }
            m = (rise - lost - slack) / count;
            slope = rate / count;
            if count == before || (pass > 1 && count > before) {
                break;
            }
            before = count;
        }
        Self { tau, height: m, slope }
    }
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

/// The simplex: the point's weights, and the gradient less its smallest entry (adding a constant changes nothing).
#[derive(Debug, Clone, Copy)]
pub(super) struct Simplex {
    norm2: f64,
    level: Level,
}

impl Simplex {
    /// `w` holds the gradient and is left with what each entry is above the smallest one.
    pub(super) fn new(w: &mut [f64]) -> Self {
        let mut least = f64::INFINITY;
        for &wi in w.iter() {
            least = if wi < least { wi } else { least };
        }
        for wi in w.iter_mut() {
            *wi -= least;
        }
        let [sum] = add_up(w.len(), |i| [w[i]]);
        let mean = sum / w.len() as f64;
        let [norm2] = add_up(w.len(), |i| [(w[i] - mean) * (w[i] - mean)]);
        Self { norm2, level: Level::UNKNOWN }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.norm2
    }

    /// With `m` the level: `s_i = -tau w_i - m` where that leaves a weight, else `-p_i`. The proof is
    /// `n_i = min(c, p_i/tau - g_i)` with `c = -m/tau` up to the constant, whose support is `sum_i p_i (c - n_i)`.
    pub(super) fn at(&mut self, tau: f64, w: &[f64], p: &[f64], s: &mut [f64]) -> Sums {
        let entry = |i: usize| Entry { weight: p[i], rise: -times(tau, w[i]), rate: -w[i] };
        let level = self.level.find(w.len(), tau, 0.0, entry);
        let (m, inverse) = (level.height, 1.0 / tau);
        let [length2, gain, support, along, speed2] = add_up(w.len(), |i| {
            let Entry { weight, rise, .. } = entry(i);
            let active = rise + weight > m;
            let si = if active { rise - m } else { -weight };
            let rate = if active { -w[i] - level.slope } else { 0.0 };
            let lost = not_negative(w[i] + (m - weight) * inverse);
            s[i] = si;
            [si * si, -w[i] * si, weight * lost, si * rate, rate * rate]
        });
        if tau.is_finite() {
            self.level = level;
        }
        Sums { length2, gain, residual2: length2 * inverse * inverse, support, along, speed2, doubt: 0.0 }
    }
}

/// The l1 ball. Every coordinate is mirrored so that the path moves it upwards: it starts at `d = -sign(g) p` and its
/// gradient is `-|g|`. What is subtracted from the absolute values at `tau` is `m + tau max |g|`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cross {
    norm2: f64,
    steepest: f64,
    slack: f64,
    level: Level,
}

impl Cross {
    /// `slack` is the radius less `sum |p|`.
    pub(super) fn new(g: &[f64], slack: f64) -> Self {
        let mut steepest = 0.0;
        for gi in g {
            steepest = if gi.abs() > steepest { gi.abs() } else { steepest };
        }
        let [norm2] = add_up(g.len(), |i| [g[i] * g[i]]);
        Self { norm2, steepest, slack, level: Level::UNKNOWN }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.norm2
    }

    pub(super) fn at(&mut self, tau: f64, g: &[f64], p: &[f64], s: &mut [f64]) -> Sums {
        let steepest = self.steepest;
        let entry = |i: usize| {
            let m = Mirrored::new(g[i], p[i]);
            // |d + tau |g|| - tau steepest, less |d|; still on the far side of 0 the coordinate loses all the way.
            let rate = if m.ahead(tau) { m.slope - steepest } else { -m.slope - steepest };
            let turned = if m.ahead(tau) && m.start < 0.0 { 2.0 * m.start } else { 0.0 };
            Entry { weight: m.start.abs(), rise: turned + times(tau, rate), rate }
        };
        let level = self.level.find(g.len(), tau, self.slack, entry);
        if tau.is_finite() {
            self.level = level;
        }
        if level.height <= -tau * steepest {
            // Nothing is subtracted yet: still inside.
            for i in 0..s.len() {
                s[i] = -tau * g[i];
            }
            return Sums::straight(tau, self.norm2);
        }
        self.on_the_face(&level, (g, p), s, entry)
    }

    /// The proof is `n = clamp(p/tau - g, -c, c)` with `c = m/tau + steepest`; its support is
    /// `sum_i (c |p_i| - n_i p_i) + c slack`, every term of which is positive.
    fn on_the_face(
        &self,
        level: &Level,
        (g, p): (&[f64], &[f64]),
        s: &mut [f64],
        entry: impl Fn(usize) -> Entry,
    ) -> Sums {
        let (tau, m, inverse) = (level.tau, level.height, 1.0 / level.tau);
        let push = self.steepest + m * inverse;
        let [length2, gain, support, along, speed2] = add_up(g.len(), |i| {
            let mirrored = Mirrored::new(g[i], p[i]);
            let Entry { weight, rise, rate } = entry(i);
            let side = if mirrored.ahead(tau) { 1.0 } else { -1.0 };
            let active = rise + weight > m;
            let si = if active { side * (times(tau, rate) - m) } else { -mirrored.start };
            let ds = if active { side * (rate - level.slope) } else { 0.0 };
            let lost = if mirrored.start >= 0.0 {
                not_negative((self.steepest - mirrored.slope) + (m - weight) * inverse)
            } else {
                2.0 * push - not_negative(push - mirrored.slope + weight * inverse)
            };
            s[i] = -mirrored.sign * si;
            [si * si, mirrored.slope * si, weight * not_negative(lost), si * ds, ds * ds]
        });
        let support = support + push * self.slack;
        Sums { length2, gain, residual2: length2 * inverse * inverse, support, along, speed2, doubt: 0.0 }
    }
}

/// A coordinate turned so that it moves upwards.
#[derive(Clone, Copy)]
struct Mirrored {
    sign: f64,
    start: f64,
    slope: f64,
}

impl Mirrored {
    #[inline(always)]
    fn new(g: f64, p: f64) -> Self {
        let sign = 1.0_f64.copysign(g);
        Self { sign, start: -sign * p, slope: g.abs() }
    }

    /// Whether `start + tau slope` has passed 0.
    #[inline(always)]
    fn ahead(self, tau: f64) -> bool {
        self.start + times(tau, self.slope) >= 0.0
    }
}
