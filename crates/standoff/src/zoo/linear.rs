//! Operations on dense matrices for the games: products with a vector and the spectral norm.

use nalgebra::DMatrix;

use crate::ops;
use crate::sets::Matrix;

/// `out = A v`.
pub(super) fn times(a: &Matrix, v: &[f64], out: &mut [f64]) {
    assert_eq!(out.len(), a.rows());
    for (o, row) in out.iter_mut().zip(a.iter()) {
        *o = ops::dot(row, v);
    }
}

/// `out = A' v`.
pub(super) fn transpose_times(a: &Matrix, v: &[f64], out: &mut [f64]) {
    assert_eq!(v.len(), a.rows());
    out.fill(0.0);
    for (vi, row) in v.iter().zip(a.iter()) {
        ops::axpy(*vi, row, out);
    }
}

/// The largest singular value.
pub(super) fn norm(a: &Matrix) -> f64 {
    let a = DMatrix::from_row_slice(a.rows(), a.cols(), a.data());
    a.singular_values().iter().fold(0.0, |m: f64, s| m.max(*s))
}
