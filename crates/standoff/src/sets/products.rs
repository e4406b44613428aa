//! Inner products of rows of a matrix with a vector, four rows at a time.

use super::matrix::Matrix;
use crate::simd::{self, Pass};

/// Number of partial sums per row. It is fixed because the order of additions is part of the result.
const LANES: usize = 8;
/// Number of rows that share one pass over the vector.
const ROWS: usize = 4;

/// `out_k = <a_k, v>` for all rows.
pub(super) fn all(a: &Matrix, v: &[f64], out: &mut [f64]) {
    assert_eq!((a.rows(), a.cols()), (out.len(), v.len()));
    simd::run(RowDots { row: |k| a.row(k), v, out });
}

/// `out_k = <a_k, v>` for the chosen rows.
pub(super) fn chosen(a: &Matrix, rows: &[usize], v: &[f64], out: &mut [f64]) {
    assert_eq!((rows.len(), a.cols()), (out.len(), v.len()));
    simd::run(RowDots { row: |k| a.row(rows[k]), v, out });
}

/// `z -= sum_k l_k a_k` over the chosen rows.
pub(super) fn subtract(a: &Matrix, rows: &[usize], l: &[f64], z: &mut [f64]) {
    assert_eq!((rows.len(), a.cols()), (l.len(), z.len()));
    simd::run(Subtract { a, rows, l, z });
}

struct RowDots<'a, F> {
    row: F,
    v: &'a [f64],
    out: &'a mut [f64],
}

impl<'a, F: Fn(usize) -> &'a [f64]> Pass for RowDots<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.v.len();
        let (blocks, rest) = self.out.as_chunks_mut::<ROWS>();
        let whole = blocks.len() * ROWS;
        for (block, out) in blocks.iter_mut().enumerate() {
            let rows: [&[f64]; ROWS] = std::array::from_fn(|r| &(self.row)(block * ROWS + r)[..n]);
            *out = dots(rows, self.v);
        }
        for (k, out) in rest.iter_mut().enumerate() {
            [*out] = dots([&(self.row)(whole + k)[..n]], self.v);
        }
    }
}

/// The inner products of `N` rows with `v`; each sum has the order of [`ops::dot`](crate::ops::dot).
#[inline(always)]
fn dots<const N: usize>(rows: [&[f64]; N], v: &[f64]) -> [f64; N] {
    let mut sums = [[0.0; LANES]; N];
    let (chunks, rest) = v.as_chunks::<LANES>();
    let whole = chunks.len() * LANES;
    let wide: [&[[f64; LANES]]; N] = std::array::from_fn(|r| rows[r].as_chunks::<LANES>().0);
    for (i, v) in chunks.iter().enumerate() {
        for r in 0..N {
            let a = &wide[r][i];
            for lane in 0..LANES {
                sums[r][lane] += a[lane] * v[lane];
            }
        }
    }
    for r in 0..N {
        for (lane, v) in rest.iter().enumerate() {
            sums[r][lane] += rows[r][whole + lane] * v;
        }
    }
    sums.map(|a| ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])))
}

struct Subtract<'a> {
    a: &'a Matrix,
    rows: &'a [usize],
    l: &'a [f64],
    z: &'a mut [f64],
}

impl Pass for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.z.len();
        let (rows, rest) = self.rows.as_chunks::<ROWS>();
        let (l, last) = self.l.as_chunks::<ROWS>();
        for (rows, l) in rows.iter().zip(l) {
            let [a, b, c, d] = rows.map(|row| &self.a.row(row)[..n]);
            for (i, z) in self.z.iter_mut().enumerate() {
                *z -= (l[0] * a[i] + l[1] * b[i]) + (l[2] * c[i] + l[3] * d[i]);
            }
        }
        for (row, l) in rest.iter().zip(last) {
            for (z, a) in self.z.iter_mut().zip(self.a.row(*row)) {
                *z -= l * a;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    #[test]
    fn products_and_sums_are_those_of_one_row_at_a_time() {
        for (rows, cols) in [(1, 1), (3, 7), (4, 8), (9, 20), (13, 33)] {
            let data = (0..rows * cols).map(|i| (i as f64 * 0.7).sin()).collect();
            let a = Matrix::new(rows, cols, data).unwrap();
            let v: Vec<f64> = (0..cols).map(|i| (i as f64 * 1.3).cos()).collect();
            let mut out = vec![0.0; rows];
            all(&a, &v, &mut out);
            for (row, o) in a.iter().zip(&out) {
                assert_eq!(ops::dot(row, &v).to_bits(), o.to_bits());
            }
            let some: Vec<usize> = (0..rows).rev().step_by(2).collect();
            let mut few = vec![0.0; some.len()];
            chosen(&a, &some, &v, &mut few);
            assert!(some.iter().zip(&few).all(|(&k, o)| out[k].to_bits() == o.to_bits()));
            let (mut z, mut w) = (v.clone(), v.clone());
            subtract(&a, &some, &few, &mut z);
            some.iter().zip(&few).for_each(|(&k, l)| ops::axpy(-l, a.row(k), &mut w));
            assert!(ops::distance(&z, &w) <= 1e-13 * (1.0 + ops::norm(&w)));
        }
    }
}
