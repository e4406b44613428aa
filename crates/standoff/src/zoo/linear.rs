//! Dense matrices as the zoo's games need them: row-major data, products with a vector, the spectral norm.

use nalgebra::DMatrix;

use crate::ops;

/// `rows x columns`, stored row by row.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    pub(super) fn new(rows: usize, columns: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), rows * columns);
        Self { rows, columns, data }
    }

    pub(super) fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// `out = A v`.
    pub(super) fn times(&self, v: &[f64], out: &mut [f64]) {
        assert_eq!(out.len(), self.rows);
        for (i, o) in out.iter_mut().enumerate() {
            *o = ops::dot(self.row(i), v);
        }
    }

    /// `out = A' v`.
    pub(super) fn transpose_times(&self, v: &[f64], out: &mut [f64]) {
        assert_eq!(v.len(), self.rows);
        out.fill(0.0);
        for i in 0..self.rows {
            ops::axpy(v[i], self.row(i), out);
        }
    }

    /// The largest singular value.
    pub(super) fn norm(&self) -> f64 {
        let a = DMatrix::from_row_slice(self.rows, self.columns, &self.data);
        a.singular_values().iter().fold(0.0, |m: f64, s| m.max(*s))
    }
}
