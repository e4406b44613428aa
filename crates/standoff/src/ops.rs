//! Vector operations: stored in `R`, computed in `f64`, in a fixed order so that the same input gives the same bits.

use crate::Real;
use crate::simd::{self, Pass};

/// Number of partial sums. Wide enough for two AVX2 registers; it is fixed because the order of additions is part of
/// the result.
const LANES: usize = 8;

/// `<a, b>`.
pub fn dot<R: Real>(a: &[R], b: &[R]) -> f64 {
    assert_eq!(a.len(), b.len());
    simd::run(SumOf { a, b, term: |a, b| a * b })
}

/// `||a||`, without overflow or underflow.
pub fn norm<R: Real>(a: &[R]) -> f64 {
    norm_of(a, a, |a, _| a)
}

/// `||a - b||`, without overflow or underflow.
pub fn distance<R: Real>(a: &[R], b: &[R]) -> f64 {
    assert_eq!(a.len(), b.len());
    norm_of(a, b, |a, b| a - b)
}

/// The norm of the vector with the entries `entry(a_i, b_i)`: the plain sum of squares, and a second pass in units of
/// the largest entry only if the first one may have overflowed or underflowed.
fn norm_of<R: Real>(a: &[R], b: &[R], entry: impl Fn(f64, f64) -> f64 + Copy) -> f64 {
    let squares = simd::run(SumOf { a, b, term: |a, b| entry(a, b) * entry(a, b) });
    if (1e-280..=f64::MAX).contains(&squares) || squares.is_nan() {
        return squares.sqrt();
    }
    let entries = || a.iter().zip(b).map(|(a, b)| entry(a.to_f64(), b.to_f64()));
    let largest = entries().fold(0.0, |m: f64, e| m.max(e.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * entries().map(|e| (e / largest) * (e / largest)).sum::<f64>().sqrt()
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

/// True if every entry is finite.
pub fn all_finite<R: Real>(a: &[R]) -> bool {
    // 0 * inf and 0 * NaN are NaN.
    simd::run(SumOf { a, b: a, term: |a, _| 0.0 * a }) == 0.0
}

/// `sum_i term(i)` for `i < n`: eight partial sums, added pairwise at the end.
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
    tree(acc)
}

/// `sum_i term(a_i, b_i)`, in the same order as [`sum_of`].
struct SumOf<'a, R, F> {
    a: &'a [R],
    b: &'a [R],
    term: F,
}

impl<R: Real, F: Fn(f64, f64) -> f64> Pass for SumOf<'_, R, F> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut acc = [0.0; LANES];
        let ((a, a_rest), (b, b_rest)) = (self.a.as_chunks::<LANES>(), self.b.as_chunks::<LANES>());
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                acc[lane] += (self.term)(a[lane].to_f64(), b[lane].to_f64());
            }
        }
        for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
            acc[lane] += (self.term)(a.to_f64(), b.to_f64());
        }
        tree(acc)
    }
}

/// Pairwise sum of the partial sums.
#[inline(always)]
fn tree(a: [f64; LANES]) -> f64 {
    ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_norm_neither_overflows_nor_underflows() {
        for scale in [1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let v = [3.0 * scale, -4.0 * scale];
            assert!((norm(&v) / (5.0 * scale) - 1.0).abs() < 1e-15, "{scale}");
            assert!((distance(&v, &[0.0, 0.0]) / (5.0 * scale) - 1.0).abs() < 1e-15, "{scale}");
        }
        assert_eq!(norm::<f64>(&[0.0, 0.0]), 0.0);
        assert_eq!(norm(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(norm(&[f64::NAN, f64::INFINITY]).is_nan());
    }

    #[test]
    fn a_value_that_is_not_finite_is_found_anywhere() {
        for n in [1, 7, 8, 9, 30] {
            for i in 0..n {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let mut v = vec![-1e308; n];
                    assert!(all_finite(&v));
                    v[i] = bad;
                    assert!(!all_finite(&v));
                }
            }
        }
    }

    #[test]
    fn both_ways_to_sum_give_the_same_bits() {
        let a: Vec<f64> = (0..77).map(|i| (i as f64).sin() * 1e3).collect();
        let b: Vec<f64> = (0..77).map(|i| (i as f64).cos()).collect();
        let plain = sum_of(77, |i| a[i] * b[i]);
        assert_eq!(dot(&a, &b).to_bits(), plain.to_bits());
        assert_eq!(simd::narrow(SumOf { a: &a, b: &b, term: |a, b| a * b }).to_bits(), plain.to_bits());
    }
}
