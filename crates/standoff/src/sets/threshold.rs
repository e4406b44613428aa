//! Projection onto the simplex and the l1 ball: `z_i = max(v_i - tau, 0)` with the unique `tau` for which the entries
//! have the right sum.
//!
//! The optimality conditions of the projection onto `z >= 0, sum z = scale` are `z_i = v_i - tau + l_i`, `l_i >= 0`,
//! `l_i z_i = 0`, where `tau` is the multiplier of the sum. They give the formula above and the equation
//! `phi(tau) = sum_i max(v_i - tau, 0) - scale = 0`. For the l1 ball and `v` outside it, the same holds for absolute values.
//! `phi` is convex and decreasing with slope `-count`, where `count` is the number of entries above tau. Newton's method,
//! `tau <- tau + phi(tau)/count`, starts left of the root, at `max v - scale`. A tangent lies below `phi`, so tau never passes
//! the root and the number of entries above tau never grows. As soon as that number stays the same, `phi` was linear over the
//! step and tau is exact.
//!
//! Leaving entries out makes `phi` smaller, so the threshold of any subset of the entries is a lower bound of tau. One
//! pass with a small buffer of candidates is enough for most inputs; only inputs with thousands of entries above tau
//! need passes over all entries.
//!
//! `gap/threshold.rs` follows the threshold along a whole path of projections, in terms of steps, and compares the two.

use super::passes::{CHUNK, Excess, LANES, LargestAndSum, ShiftedView, Shrink, Skip};
use crate::{Real, simd};

/// Number of candidates kept on the stack.
const CAPACITY: usize = 2048;
/// Entries per block of a sum. Blocks are summed first, because rounding errors grow with the longest chain of
/// additions.
const BLOCK: usize = 4096;

/// Projects onto `z >= 0, sum z = scale`. A NaN or `+inf` anywhere makes every entry NaN; `-inf` becomes 0.
pub(super) fn project_simplex<R: Real>(v: &mut [R], scale: f64) {
    let (largest, _) = simd::run(LargestAndSum::<R, false>(v));
    shrink::<R, false>(v, scale, largest);
}

/// Projects onto `sum |z| <= scale`. A NaN or an infinite entry makes every entry NaN.
pub(super) fn project_l1<R: Real>(v: &mut [R], scale: f64) {
    let (largest, sum) = simd::run(LargestAndSum::<R, true>(v));
    if sum <= scale {
        return;
    }
    shrink::<R, true>(v, scale, largest);
}

fn shrink<R: Real, const ABSOLUTE: bool>(v: &mut [R], scale: f64, largest: f64) {
    // Differences from the largest entry are exact near the threshold, however large the entries are.
    let origin = if largest.abs() <= scale { 0.0 } else { largest };
    let view = ShiftedView::<R, ABSOLUTE> { v, origin };
    let (tau, last) = threshold(view, scale, (largest - origin) - scale);
    simd::run(Shrink::<R, ABSOLUTE> { v, origin, tau, last });
}

/// The root, in two parts as in [`newton`], from a lower bound of it.
fn threshold<R: Real, const ABSOLUTE: bool>(view: ShiftedView<'_, R, ABSOLUTE>, scale: f64, bound: f64) -> (f64, f64) {
    if view.v.len() <= CAPACITY {
        return newton(view, scale, bound);
    }
    let mut candidates = Candidates { kept: [0.0; CAPACITY], len: 0, settled: 0, work: 0, tau: bound, scale };
    if candidates.collect(view) {
        return newton(candidates.kept(), scale, candidates.tau);
    }
    // One step of Newton's method leads to the left of the root from any start.
    let (bound, guess) = (candidates.tau, candidates.estimate(view));
    let (excess, count) = excess(view, guess);
    let better = guess + (excess - scale) / count;
    newton(view, scale, if better > bound { better } else { bound })
}

/// Newton's method from the left, in residual form: the increments of tau shrink to rounding errors, so no digits
/// cancel. Returns tau and the last increment, whose sum is the root: the last increment is smaller than the spacing of
/// numbers at tau.
fn newton<R: Real, const ABSOLUTE: bool>(view: ShiftedView<'_, R, ABSOLUTE>, scale: f64, bound: f64) -> (f64, f64) {
    let (mut tau, mut before) = (bound, f64::INFINITY);
    loop {
        let (excess, count) = excess(view, tau);
        if count == 0.0 {
            return (tau, 0.0);
        }
        let step = (excess - scale) / count;
        if count >= before {
            return (tau, step);
        }
        tau += step;
        before = count;
    }
}

/// `sum max(v_i - tau, 0)` and the number of entries above tau, over all entries.
fn excess<R: Real, const ABSOLUTE: bool>(view: ShiftedView<'_, R, ABSOLUTE>, tau: f64) -> (f64, f64) {
    let (mut sum, mut count) = (0.0, 0.0);
    for v in view.v.chunks(BLOCK) {
        let (s, c) = simd::run(Excess { view: ShiftedView { v, ..view }, tau });
        sum += s;
        count += c;
    }
    (sum, count)
}

/// The entries read so far that may be above the threshold.
struct Candidates {
    kept: [f64; CAPACITY],
    len: usize,
    /// Number of candidates left after the last update of tau.
    settled: usize,
    /// Total number of candidates in all updates of tau.
    work: usize,
    /// The threshold of the entries read so far: a lower bound of the threshold of all entries.
    tau: f64,
    scale: f64,
}

impl Candidates {
    /// Reads all entries once. Returns `false` if too many stay above the threshold to keep them here, or if updates drop
    /// most candidates soon after they were added (entries in ascending order).
    fn collect<R: Real, const ABSOLUTE: bool>(&mut self, view: ShiftedView<'_, R, ABSOLUTE>) -> bool {
        let mut left = view;
        let patience = 8 * CAPACITY + view.v.len() / 16;
        while !left.v.is_empty() {
            let within = CHUNK * simd::run(Skip { view: left, tau: self.tau });
            let end = (within + CHUNK).min(left.v.len());
            for vi in &left.v[within..end] {
                let d = view.see(*vi);
                self.kept[self.len] = d;
                // A NaN is kept, so that it reaches the result.
                self.len += usize::from(d > self.tau || d.is_nan());
            }
            // Update only after the list has doubled: the cost of updates then stays proportional to the number of
            // entries added.
            if self.len >= (2 * self.settled + 2 * CHUNK).min(CAPACITY - CHUNK) {
                self.settle();
                if self.len > CAPACITY - CAPACITY / 8 || self.work > patience {
                    return false;
                }
            }
            left.v = &left.v[end..];
        }
        true
    }

    /// Updates tau and drops the candidates below it.
    fn settle(&mut self) {
        self.work += self.len;
        let (tau, last) = newton(self.kept(), self.scale, self.tau);
        self.tau = tau + last;
        let mut len = 0;
        for i in 0..self.len {
            let d = self.kept[i];
            self.kept[len] = d;
            len += usize::from(d > self.tau || d.is_nan());
        }
        (self.len, self.settled) = (len, len);
    }

    /// The threshold of a sample spread over all entries, with its share of the scale. If many entries are above the
    /// root, it is close to the root, on either side. Overwrites the candidates.
    fn estimate<R: Real, const ABSOLUTE: bool>(&mut self, view: ShiftedView<'_, R, ABSOLUTE>) -> f64 {
        let n = view.v.len();
        let mut largest = f64::NEG_INFINITY;
        for (run, kept) in self.kept.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let start = run * (n - LANES) / (CAPACITY / LANES);
            for (d, vi) in kept.iter_mut().zip(&view.v[start..start + LANES]) {
                *d = view.see(*vi);
                largest = if *d > largest { *d } else { largest };
            }
        }
        let share = self.scale * CAPACITY as f64 / n as f64;
        self.len = CAPACITY;
        newton(self.kept(), share, largest - share).0
    }

    fn kept(&self) -> ShiftedView<'_, f64, false> {
        ShiftedView { v: &self.kept[..self.len], origin: 0.0 }
    }
}
