//! Projection onto the simplex and the l1 ball: `z_i = max(v_i - tau, 0)` with the one `tau` that makes the sum right.
//!
//! The conditions of the projection onto `z >= 0, sum z = scale` are `z_i = v_i - tau + l_i`, `l_i >= 0`, `l_i z_i = 0`, with a multiplier
//! `tau` of the sum: hence the form above, and `phi(tau) = sum_i max(v_i - tau, 0) - scale = 0`. In the l1 ball (for `v` outside) the same
//! holds for absolute values. `phi` is convex and decreasing with slope `-count`, `count` the number of entries above tau. Newton's method,
//! `tau <- tau + phi(tau)/count`, starts left of the root, at `max v - scale`: a tangent lies below `phi`, so it never passes the root,
//! the entries above tau only become fewer, and once their number stays the same `phi` was linear and tau is exact.
//!
//! Leaving entries out makes `phi` smaller, so the threshold of any part of the entries is a bound on tau from below: one pass with a
//! small buffer of candidates settles most inputs, and only those with thousands of entries above tau take passes over all of them.
//!
//! `gap/threshold.rs` follows the threshold along a whole path of projections, in terms of steps; the two explain each other there.

use super::passes::{CHUNK, Excess, LANES, LargestAndSum, ShiftedView, Shrink, Skip};
use crate::{Real, simd};

/// Candidates kept on the stack.
const CAPACITY: usize = 2048;
/// Entries summed before the sum is added to that of the others: rounding errors grow with the longest chain of additions.
const BLOCK: usize = 4096;

/// Projects onto `z >= 0, sum z = scale`. A NaN anywhere makes every entry NaN, and so does `+inf`; `-inf` becomes 0.
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
    // Differences from the largest entry are exact where the threshold lies, however large the entries are.
    let origin = if largest.abs() <= scale { 0.0 } else { largest };
    let view = ShiftedView::<R, ABSOLUTE> { v, origin };
    let (tau, last) = threshold(view, scale, (largest - origin) - scale);
    simd::run(Shrink::<R, ABSOLUTE> { v, origin, tau, last });
}

/// The root in two parts, as [`newton`] gives it, from a bound on it from below.
fn threshold<R: Real, const ABSOLUTE: bool>(view: ShiftedView<'_, R, ABSOLUTE>, scale: f64, bound: f64) -> (f64, f64) {
    if view.v.len() <= CAPACITY {
        return newton(view, scale, bound);
    }
    let mut candidates = Candidates { kept: [0.0; CAPACITY], len: 0, settled: 0, work: 0, tau: bound, scale };
    if candidates.collect(view) {
        return newton(candidates.kept(), scale, candidates.tau);
    }
    // One step of Newton's method leads to the left of the root from wherever it starts.
    let (bound, guess) = (candidates.tau, candidates.estimate(view));
    let (excess, count) = excess(view, guess);
    let better = guess + (excess - scale) / count;
    newton(view, scale, if better > bound { better } else { bound })
}

/// Newton's method from the left, in residual form: what is added to tau shrinks to rounding errors, so no digits cancel.
/// The root is the sum of the two numbers returned: the last step is smaller than the gap between tau and the next number.
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

/// What is above tau, summed and counted, over all entries.
fn excess<R: Real, const ABSOLUTE: bool>(view: ShiftedView<'_, R, ABSOLUTE>, tau: f64) -> (f64, f64) {
    let (mut sum, mut count) = (0.0, 0.0);
    for v in view.v.chunks(BLOCK) {
        let (s, c) = simd::run(Excess { view: ShiftedView { v, ..view }, tau });
        sum += s;
        count += c;
    }
    (sum, count)
}

/// The entries seen so far that may be above the threshold.
struct Candidates {
    kept: [f64; CAPACITY],
    len: usize,
    /// How many were left when tau was last brought up to date.
    settled: usize,
    /// How many went through all such updates.
    work: usize,
    /// The threshold of the entries seen so far: a bound from below on that of all.
    tau: f64,
    scale: f64,
}

impl Candidates {
    /// One pass over all entries; `false` when too many stay above the threshold to keep them here, or when they come
    /// and go as fast as they are read (entries in ascending order).
    fn collect<R: Real, const ABSOLUTE: bool>(&mut self, view: ShiftedView<'_, R, ABSOLUTE>) -> bool {
        let mut left = view;
        let patience = 8 * CAPACITY + view.v.len() / 16;
        while !left.v.is_empty() {
            let within = CHUNK * simd::run(Skip { view: left, tau: self.tau });
            let end = (within + CHUNK).min(left.v.len());
            for vi in &left.v[within..end] {
                let d = view.see(*vi);
                self.kept[self.len] = d;
                // A NaN is kept, and will be seen.
                self.len += usize::from(d > self.tau || d.is_nan());
            }
            // Once the list has doubled: what settling costs stays in proportion to what was added.
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

    /// Brings tau up to date and drops the candidates that are out.
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

    /// The threshold of a sample spread over all entries, with its share of the scale: near the root, on either side,
    /// if many entries are above it. Overwrites the candidates.
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
