//! The solutions of linear equations.

use super::matrix::Matrix;
use super::span::Span;
use super::{ConvexSet, refuse};
use crate::{Error, Real, ops};

/// A row whose part outside the span of the others is shorter than this (rows have length one) depends on them.
const DEPENDENT: f64 = 1e-12;
/// Dependent equations must agree to this, relative to their right-hand sides.
const CONSISTENT: f64 = 1e-9;

/// `A z = b`, kept as `Q z = d` with orthonormal rows.
#[derive(Debug, Clone)]
pub struct Affine {
    basis: Matrix,
    rhs: Vec<f64>,
}

impl Affine {
    pub(super) fn new(a: Matrix, b: &[f64]) -> Result<Self, Error> {
        if let Some(i) = b.iter().position(|v| !v.is_finite()) {
            return Err(refuse("affine", format!("b[{i}] is {}; give finite numbers", b[i])));
        }
        let (a, b) = a.normalised("affine", b, |bi| bi == 0.0)?;
        let cols = a.cols();
        let mut span = Span::new(cols);
        let (mut rests, mut left): (Vec<Vec<f64>>, Vec<usize>) =
            (a.iter().map(<[f64]>::to_vec).collect(), (0..a.rows()).collect());
        let mut order = Vec::new();
        // The row that sticks out most goes next, so that what is left over at the end is truly dependent.
        while let Some(at) = farthest(&left, &rests) {
            let row = left.swap_remove(at);
            let mut rest = a.row(row).to_vec();
            let coefficients = span.split(&mut rest);
            span.push(coefficients, &rest);
            order.push(row);
            let q = span.basis().last().unwrap_or_default().to_vec();
            for &i in &left {
                let t = ops::dot(&q, &rests[i]);
                ops::axpy(-t, &q, &mut rests[i]);
            }
        }
        let rhs = span.forward(order.iter().map(|&i| b[i]).collect());
        let size = b.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        for i in left {
            let mut row = a.row(i).to_vec();
            let implied: f64 = span.split(&mut row).iter().zip(&rhs).map(|(c, d)| c * d).sum();
            if (implied - b[i]).abs() > CONSISTENT * size {
                return Err(refuse("affine", "the equations contradict each other: the set is empty".into()));
            }
        }
        let data: Vec<f64> = span.basis().flatten().copied().collect();
        Ok(Self { basis: Matrix::new(span.rank(), cols, data)?, rhs })
    }

    /// Orthonormal rows `Q` with `{A z = b} = {Q z = d}`.
    pub fn basis(&self) -> &Matrix {
        &self.basis
    }

    /// The right-hand sides `d` of `Q z = d`.
    pub fn rhs(&self) -> &[f64] {
        &self.rhs
    }

    /// Removes from `v` its part in the row space: what is left is a direction along the set.
    pub fn tangent<R: Real>(&self, v: &mut [R]) {
        self.remove(v, |_| 0.0);
    }

    /// `v -= Q^T (Q v - d)`, some rows at a time: one rounding of `v` for all of them.
    fn remove<R: Real>(&self, v: &mut [R], d: impl Fn(usize) -> f64) {
        const ROWS: usize = 8;
        assert_eq!(v.len(), self.basis.cols());
        for first in (0..self.basis.rows()).step_by(ROWS) {
            let rows = first..self.basis.rows().min(first + ROWS);
            let mut beyond = [0.0; ROWS];
            for (t, k) in beyond.iter_mut().zip(rows.clone()) {
                let q = self.basis.row(k);
                *t = ops::sum_of(v.len(), |i| q[i] * v[i].to_f64()) - d(k);
            }
            for (i, vi) in v.iter_mut().enumerate() {
                let moved: f64 = beyond.iter().zip(rows.clone()).map(|(t, k)| t * self.basis.row(k)[i]).sum();
                *vi = R::from_f64(vi.to_f64() - moved);
            }
        }
    }
}

/// Where in `left` the longest of the remaining rests stands, if any is long enough to count.
fn farthest(left: &[usize], rests: &[Vec<f64>]) -> Option<usize> {
    let mut best = None;
    let mut longest = DEPENDENT;
    for (at, &i) in left.iter().enumerate() {
        let length = ops::norm(&rests[i]);
        if length > longest {
            (best, longest) = (Some(at), length);
        }
    }
    best
}

impl<R: Real> ConvexSet<R> for Affine {
    fn dim(&self) -> usize {
        self.basis.cols()
    }

    fn project(&self, v: &mut [R]) {
        self.remove(v, |k| self.rhs[k]);
    }

    /// Bounded only when `g` is constant on the set.
    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        out.copy_from_slice(g);
        self.tangent(out);
        let constant = ops::norm(out) <= 16.0 * self.basis.cols() as f64 * R::UNIT_ROUNDOFF * ops::norm(g);
        self.centre(out);
        constant
    }

    fn centre(&self, out: &mut [R]) {
        out.fill(R::default());
        self.project(out);
    }

    fn radius_around(&self, from: &[R]) -> f64 {
        if self.basis.rows() < self.basis.cols() {
            return f64::INFINITY;
        }
        // A single point, z = Q^T d.
        ops::sum_of(from.len(), |i| {
            let z: f64 = self.basis.iter().zip(&self.rhs).map(|(q, d)| q[i] * d).sum();
            (z - from[i].to_f64()) * (z - from[i].to_f64())
        })
        .sqrt()
    }
}
