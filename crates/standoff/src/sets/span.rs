//! Orthonormal basis of the span of some rows, extended row by row (Gram-Schmidt, each row orthogonalised twice).

use crate::ops::{axpy, dot, norm};

/// Factorisation `A = L Q` of rows `a_0, a_1, ...`: `L` is lower triangular, the rows of `Q` are orthonormal.
#[derive(Debug, Clone)]
pub(super) struct Span {
    dim: usize,
    /// `Q`, row by row.
    basis: Vec<f64>,
    /// `L`; row `k` has `k + 1` entries.
    triangle: Vec<Vec<f64>>,
}

impl Span {
    pub(super) fn new(dim: usize) -> Self {
        Self { dim, basis: Vec::new(), triangle: Vec::new() }
    }

    /// Drops all rows except the first `rank`.
    #[cfg(feature = "polyhedron")]
    pub(super) fn truncate(&mut self, rank: usize) {
        self.basis.truncate(rank * self.dim);
        self.triangle.truncate(rank);
    }

    pub(super) fn rank(&self) -> usize {
        self.triangle.len()
    }

    pub(super) fn basis(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.basis.chunks_exact(self.dim)
    }

    /// Splits `a = Q^T c + rest`: `a` becomes the rest, orthogonal to the span, and `c` is returned.
    pub(super) fn split(&self, a: &mut [f64]) -> Vec<f64> {
        let mut coefficients = vec![0.0; self.rank()];
        // One pass leaves an error proportional to the removed part; two passes are enough.
        for _ in 0..2 {
            for (c, q) in coefficients.iter_mut().zip(self.basis()) {
                let t = dot(q, a);
                *c += t;
                axpy(-t, q, a);
            }
        }
        coefficients
    }

    /// Adds a row, given by its [`split`](Self::split) into coefficients and a rest that must not be zero.
    pub(super) fn push(&mut self, mut coefficients: Vec<f64>, rest: &[f64]) {
        let length = norm(rest);
        coefficients.push(length);
        self.triangle.push(coefficients);
        self.basis.extend(rest.iter().map(|r| r / length));
    }

    /// Solves `L d = b`: `A z = b` is then `Q z = d`.
    pub(super) fn forward(&self, mut b: Vec<f64>) -> Vec<f64> {
        for (k, row) in self.triangle.iter().enumerate() {
            let known: f64 = (0..k).map(|j| row[j] * b[j]).sum();
            b[k] = (b[k] - known) / row[k];
        }
        b
    }

    /// Solves `L^T l = t` in place, so that `A^T l = Q^T t`.
    pub(super) fn backward(&self, t: &mut [f64]) {
        for k in (0..self.rank()).rev() {
            t[k] /= self.triangle[k][k];
            for j in 0..k {
                t[j] -= self.triangle[k][j] * t[k];
            }
        }
    }
}
