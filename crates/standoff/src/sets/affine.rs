//! The affine set `A z = b`: the solutions of linear equations.

use super::matrix::{GivenRows, Matrix, NormalisedRows};
use super::span::Span;
use super::{ConvexSet, refuse};
use crate::{Error, Real, ops};

/// Largest part outside the span of the other rows (rows have length one) with which a row counts as dependent on them.
const DEPENDENT: f64 = 1e-12;
/// Dependent equations must agree up to this, relative to their right-hand sides.
const CONSISTENT: f64 = 1e-9;

/// The set `A z = b`. It stores the equations as given and as `Q z = d` with orthonormal rows.
#[derive(Debug, Clone)]
pub struct Affine {
    given: GivenRows,
    basis: Matrix,
    rhs: Vec<f64>,
    /// Factors `L Q` of the independent rows, and the indices of these rows among the normalised ones.
    span: Span,
    independent: Vec<usize>,
}

impl Affine {
    pub(super) fn new(a: Matrix, b: &[f64]) -> Result<Self, Error> {
        if let Some(i) = b.iter().position(|v| !v.is_finite()) {
            return Err(refuse("affine", format!("b[{i}] is {}; give finite numbers", b[i])));
        }
        let NormalisedRows { rows, rhs: scaled_b, given } = a.normalised("affine", b, |bi| bi == 0.0)?;
        let given = GivenRows { a, b: b.to_vec(), scaled: given };
        let (a, b) = (rows, scaled_b);
        let cols = a.cols();
        let mut span = Span::new(cols);
        let (mut rests, mut left): (Vec<Vec<f64>>, Vec<usize>) =
            (a.iter().map(<[f64]>::to_vec).collect(), (0..a.rows()).collect());
        let mut order = Vec::new();
        // Pivoting: the row with the longest part outside the span goes next, so the rows left at the end are dependent
        // up to rounding.
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
        Ok(Self { given, basis: Matrix::new(span.rank(), cols, data)?, rhs, span, independent: order })
    }

    /// The equations as the user gave them.
    pub fn given(&self) -> &GivenRows {
        &self.given
    }

    /// Indices of the given rows that are independent of each other, up to rounding; all others depend on them.
    pub(crate) fn independent_rows(&self) -> Vec<usize> {
        self.independent.iter().map(|&i| self.given.scaled[i].0).collect()
    }

    /// Approximately the shortest `z` with `A z = 1` in the independent row number `k` and 0 in the other independent
    /// rows.
    pub(crate) fn inverse_column(&self, k: usize) -> Vec<f64> {
        let mut rhs = vec![0.0; self.independent.len()];
        rhs[k] = 1.0 / self.given.scaled[self.independent[k]].1;
        let t = self.span.forward(rhs);
        let mut z = vec![0.0; self.basis.cols()];
        for (t, q) in t.iter().zip(self.basis.iter()) {
            ops::axpy(*t, q, &mut z);
        }
        z
    }

    /// Multipliers `l` of the given rows that make `||g + A^T l||` small: they project `-g` onto the row space.
    pub(crate) fn multipliers(&self, g: &[f64]) -> Vec<f64> {
        let mut t: Vec<f64> = self.basis.iter().map(|q| -ops::dot(q, g)).collect();
        self.span.backward(&mut t);
        let mut scaled = vec![0.0; self.given.scaled.len()];
        for (&row, l) in self.independent.iter().zip(t) {
            scaled[row] = l;
        }
        self.given.multipliers(&scaled)
    }

    /// Orthonormal rows `Q` with `{A z = b} = {Q z = d}`.
    pub fn basis(&self) -> &Matrix {
        &self.basis
    }

    /// The right-hand sides `d` of `Q z = d`.
    pub fn rhs(&self) -> &[f64] {
        &self.rhs
    }

    /// Removes from `v` its part in the row space. The rest is a direction along the set.
    pub fn tangent<R: Real>(&self, v: &mut [R]) {
        self.remove(v, |_| 0.0);
    }

    /// `v -= Q^T (Q v - d)`, for a block of rows at a time, so that `v` is rounded once per block.
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

/// Position in `left` of the row with the longest part outside the span; `None` if all are dependent.
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

    /// A minimiser exists only if `<g, z>` is constant on the set.
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
