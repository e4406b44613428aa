//! Vectorised loops over the entries, used by [`threshold`](super::threshold).

use crate::Real;
use crate::simd::Pass;

/// Number of partial sums in a loop. It is fixed because the order of additions is part of the result.
pub(super) const LANES: usize = 8;
/// Number of entries tested before any of them is copied.
pub(super) const CHUNK: usize = 64;

/// Entries minus `origin`; with `ABSOLUTE`, absolute values minus `origin`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShiftedView<'a, R, const ABSOLUTE: bool> {
    pub(super) v: &'a [R],
    pub(super) origin: f64,
}

impl<R: Real, const ABSOLUTE: bool> ShiftedView<'_, R, ABSOLUTE> {
    #[inline(always)]
    pub(super) fn see(&self, v: R) -> f64 {
        fold::<R, ABSOLUTE>(v) - self.origin
    }
}

#[inline(always)]
fn fold<R: Real, const ABSOLUTE: bool>(v: R) -> f64 {
    if ABSOLUTE { v.to_f64().abs() } else { v.to_f64() }
}

/// Pairwise sum of the partial sums.
#[inline(always)]
fn tree(a: [f64; LANES]) -> f64 {
    ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]))
}

/// The largest entry, ignoring NaN, and the sum of all entries.
pub(super) struct LargestAndSum<'a, R, const ABSOLUTE: bool>(pub(super) &'a [R]);

impl<R: Real, const ABSOLUTE: bool> Pass for LargestAndSum<'_, R, ABSOLUTE> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let (mut largest, mut sum) = ([f64::NEG_INFINITY; LANES], [0.0; LANES]);
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                let value = fold::<R, ABSOLUTE>(chunk[lane]);
                largest[lane] = if value > largest[lane] { value } else { largest[lane] };
                sum[lane] += value;
            }
        }
        for (lane, vi) in rest.iter().enumerate() {
            let value = fold::<R, ABSOLUTE>(*vi);
            largest[lane] = if value > largest[lane] { value } else { largest[lane] };
            sum[lane] += value;
        }
        (largest.iter().fold(f64::NEG_INFINITY, |m, &x| if x > m { x } else { m }), tree(sum))
    }
}

/// `sum_i max(v_i - tau, 0)` and its number of positive terms. A NaN counts as a term and makes the sum NaN.
pub(super) struct Excess<'a, R, const ABSOLUTE: bool> {
    pub(super) view: ShiftedView<'a, R, ABSOLUTE>,
    pub(super) tau: f64,
}

impl<R: Real, const ABSOLUTE: bool> Pass for Excess<'_, R, ABSOLUTE> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let Self { view, tau } = self;
        let (mut sum, mut count) = ([0.0; LANES], [0.0; LANES]);
        let (chunks, rest) = view.v.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                let d = view.see(chunk[lane]) - tau;
                let out = d <= 0.0;
                sum[lane] += if out { 0.0 } else { d };
                count[lane] += if out { 0.0 } else { 1.0 };
            }
        }
        for (lane, vi) in rest.iter().enumerate() {
            let d = view.see(*vi) - tau;
            let out = d <= 0.0;
            sum[lane] += if out { 0.0 } else { d };
            count[lane] += if out { 0.0 } else { 1.0 };
        }
        (tree(sum), tree(count))
    }
}

/// Number of leading chunks (of [`CHUNK`] entries) without an entry above tau.
pub(super) struct Skip<'a, R, const ABSOLUTE: bool> {
    pub(super) view: ShiftedView<'a, R, ABSOLUTE>,
    pub(super) tau: f64,
}

impl<R: Real, const ABSOLUTE: bool> Pass for Skip<'_, R, ABSOLUTE> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let (chunks, _) = self.view.v.as_chunks::<CHUNK>();
        for (i, chunk) in chunks.iter().enumerate() {
            let mut within = 0;
            for vi in chunk {
                // NaN fails this test.
                within += usize::from(self.view.see(*vi) <= self.tau);
            }
            if within < CHUNK {
                return i;
            }
        }
        chunks.len()
    }
}

/// Soft threshold: `v_i <- sign(v_i) max(|v_i| - tau - last, 0)`, without the absolute values for a simplex.
pub(super) struct Shrink<'a, R, const ABSOLUTE: bool> {
    pub(super) v: &'a mut [R],
    pub(super) origin: f64,
    pub(super) tau: f64,
    pub(super) last: f64,
}

impl<R: Real, const ABSOLUTE: bool> Pass for Shrink<'_, R, ABSOLUTE> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for vi in self.v {
            let rest = ((fold::<R, ABSOLUTE>(*vi) - self.origin) - self.tau) - self.last;
            // Not f64::max, which ignores NaN.
            let kept = if rest < 0.0 { 0.0 } else { rest };
            *vi = R::from_f64(if ABSOLUTE { kept.copysign(vi.to_f64()) } else { kept });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd;

    #[test]
    fn wide_and_narrow_registers_give_the_same_bits() {
        for n in [1, 5, 8, 63, 64, 200, 1001] {
            let v: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin() * 1.3 - 0.2).collect();
            let view = ShiftedView::<f64, true> { v: &v, origin: 0.3 };
            assert_eq!(simd::run(LargestAndSum::<_, false>(&v)), simd::narrow(LargestAndSum::<_, false>(&v)));
            assert_eq!(simd::run(Excess { view, tau: 0.1 }), simd::narrow(Excess { view, tau: 0.1 }));
            assert_eq!(simd::run(Skip { view, tau: 0.799 }), simd::narrow(Skip { view, tau: 0.799 }));
            let (mut a, mut b) = (v.clone(), v.clone());
            simd::run(Shrink::<_, true> { v: &mut a, origin: 0.3, tau: 0.1, last: 1e-17 });
            simd::narrow(Shrink::<_, true> { v: &mut b, origin: 0.3, tau: 0.1, last: 1e-17 });
            assert_eq!(a, b);
        }
    }
}
