//! Vector operations: stored in `R`, computed in `f64`, in a fixed order so that the same input gives the same bits.

use crate::Real;

/// Accumulators per sum. Wide enough for two AVX2 registers; fixed, because the order of additions is part of the result.
const LANES: usize = 8;

/// `<a, b>`.
pub fn dot<R: Real>(a: &[R], b: &[R]) -> f64 {
    assert_eq!(a.len(), b.len());
    sum_of(a.len(), |i| a[i].to_f64() * b[i].to_f64())
}

/// `||a||`, without overflow or underflow.
pub fn norm<R: Real>(a: &[R]) -> f64 {
    norm_of(a.len(), |i| a[i].to_f64())
}

/// `||a - b||`.
pub fn distance<R: Real>(a: &[R], b: &[R]) -> f64 {
    assert_eq!(a.len(), b.len());
    norm_of(a.len(), |i| a[i].to_f64() - b[i].to_f64())
}

/// The norm of the vector with these entries: the plain sum of squares, and only where that leaves the safe range
/// once more in units of the largest entry.
#[inline(always)]
fn norm_of(n: usize, entry: impl Fn(usize) -> f64) -> f64 {
    let squares = sum_of(n, |i| entry(i) * entry(i));
    if (1e-280..=f64::MAX).contains(&squares) || squares.is_nan() {
        return squares.sqrt();
    }
    let largest = (0..n).map(|i| entry(i).abs()).fold(0.0, f64::max);
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * sum_of(n, |i| (entry(i) / largest) * (entry(i) / largest)).sqrt()
}

/// `y += t x`.
pub fn axpy<R: Real>(t: f64, x: &[R], y: &mut [R]) {
    assert_eq!(x.len(), y.len());
    for (yi, xi) in y.iter_mut().zip(x) {
        *yi = R::from_f64(yi.to_f64() + t * xi.to_f64());
    }
}

/// `out = a + t b`.
pub fn add_scaled<R: Real>(out: &mut [R], a: &[R], t: f64, b: &[R]) {
    assert_eq!(a.len(), b.len());
    assert_eq!(a.len(), out.len());
    for i in 0..out.len() {
        out[i] = R::from_f64(a[i].to_f64() + t * b[i].to_f64());
    }
}

/// Whether every entry is a number one can compute with.
pub fn all_finite<R: Real>(a: &[R]) -> bool {
    a.iter().all(|v| v.to_f64().is_finite())
}

/// `sum_i term(i)` for `i < n`: eight running sums, added pairwise at the end.
#[inline(always)]
pub(crate) fn sum_of(n: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut acc = [0.0; LANES];
    let whole = n - n % LANES;
    for start in (0..whole).step_by(LANES) {
        for (lane, a) in acc.iter_mut().enumerate() {
            *a += term(start + lane);
        }
    }
    for i in whole..n {
        acc[i - whole] += term(i);
    }
    ((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7]))
}
