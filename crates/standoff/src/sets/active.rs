//! Exact projection onto `A z <= b` by a dual active-set method: rows enter one at a time and all multipliers stay
//! non-negative.

use super::matrix::Matrix;
use super::span::Span;
use crate::ops::{axpy, dot, norm};

/// Smallest part outside the span of the active rows (rows have length one) with which a row counts as independent of
/// them.
const DEPENDENT: f64 = 1e-10;
/// A row is violated if `<a, z> - b` exceeds this, relative to the size of its numbers.
const VIOLATED: f64 = 1e-14;
/// A row that cannot be satisfied is skipped if it is violated by at most this: rows that meet in one point, or that
/// bound a coordinate from both sides, contradict each other by rounding errors.
const ROUNDING: f64 = 1e-11;

/// State of the search: `z = v - A_W^T l` with `A_W z = b_W` and `l >= 0`. `z` is the exact projection of `v` as soon
/// as no other row is violated.
#[derive(Debug)]
pub(super) struct ActiveSet<'a> {
    a: &'a Matrix,
    b: &'a [f64],
    v: &'a [f64],
    /// Factors of the active rows `W`, which are independent of each other.
    span: Span,
    rows: Vec<usize>,
    multipliers: Vec<f64>,
    passed_over: Vec<usize>,
    z: Vec<f64>,
}

impl<'a> ActiveSet<'a> {
    /// Starts at `v`, without active rows.
    pub(super) fn new(a: &'a Matrix, b: &'a [f64], v: &'a [f64]) -> Self {
        let (rows, multipliers, passed_over) = (Vec::new(), Vec::new(), Vec::new());
        Self { a, b, v, span: Span::new(a.cols()), rows, multipliers, passed_over, z: v.to_vec() }
    }

    /// Restarts from a guess of the active rows; rows with a negative multiplier are dropped first.
    pub(super) fn guess(&mut self, rows: &[usize]) {
        self.rows = rows.to_vec();
        self.passed_over.clear();
        self.restore();
    }

    /// Adds violated rows until none is left. Returns `false` if `steps` rows are not enough or a row cannot be
    /// satisfied.
    pub(super) fn run(&mut self, steps: usize) -> bool {
        for _ in 0..steps {
            let Some((row, beyond)) = self.most_violated() else {
                let least = -ROUNDING * self.size();
                return self.multipliers.iter().all(|&l| l >= least);
            };
            if !self.enter(row) {
                if beyond > ROUNDING * (self.size() + self.b[row].abs()) {
                    return false;
                }
                self.passed_over.push(row);
                self.restore();
            }
        }
        false
    }

    /// Writes the point and the multipliers of all rows.
    pub(super) fn write(&self, z: &mut [f64], multipliers: &mut [f64]) {
        z.copy_from_slice(&self.z);
        multipliers.fill(0.0);
        for (&row, &l) in self.rows.iter().zip(&self.multipliers) {
            multipliers[row] = l.max(0.0);
        }
    }

    /// Size of the numbers that `z` is computed from; rounding errors are relative to it.
    fn size(&self) -> f64 {
        norm(self.v) + norm(&self.z)
    }

    fn most_violated(&self) -> Option<(usize, f64)> {
        // In the directions of the active rows, z is computed to the precision of its own size, however far away v is.
        let size = norm(&self.z) + f64::EPSILON * norm(self.v);
        let (mut worst, mut most) = (None, 0.0);
        for (i, a) in self.a.iter().enumerate() {
            let beyond = dot(a, &self.z) - self.b[i];
            let counts = beyond > VIOLATED * (size + self.b[i].abs());
            if counts && beyond > most && !self.rows.contains(&i) && !self.passed_over.contains(&i) {
                (worst, most) = (Some((i, beyond)), beyond);
            }
        }
        worst
    }

    fn most_negative(&self) -> Option<usize> {
        let (mut worst, mut least) = (None, 0.0);
        for (k, &l) in self.multipliers.iter().enumerate() {
            if l < least {
                (worst, least) = (Some(k), l);
            }
        }
        worst
    }

    /// Increases the multiplier of `row` until the row holds. Meanwhile `l_W` changes at the rate `-r`, where `A_W^T r`
    /// is the part of `a_row` in the span of the active rows. An active row whose multiplier reaches 0 first leaves the
    /// active set.
    fn enter(&mut self, row: usize) -> bool {
        loop {
            let mut rest = self.a.row(row).to_vec();
            let coefficients = self.span.split(&mut rest);
            let mut rates = coefficients.clone();
            self.span.backward(&mut rates);
            let length = norm(&rest);
            let violation = dot(self.a.row(row), &self.z) - self.b[row];
            let full = if length > DEPENDENT { violation / (length * length) } else { f64::INFINITY };
            let (mut first, mut blocked) = (full, None);
            for (k, (&l, &r)) in self.multipliers.iter().zip(&rates).enumerate() {
                if r > 0.0 && l / r < first {
                    (first, blocked) = (l / r, Some(k));
                }
            }
            let Some(leaving) = blocked else {
                if full.is_infinite() {
                    return false;
                }
                self.rows.push(row);
                self.span.push(coefficients, &rest);
                self.settle();
                return true;
            };
            for (l, r) in self.multipliers.iter_mut().zip(&rates) {
                *l -= first * r;
            }
            if full.is_finite() {
                axpy(-first, &rest, &mut self.z);
            }
            self.multipliers.remove(leaving);
            self.rows.remove(leaving);
            self.factor(leaving);
        }
    }

    /// Recomputes the point and the multipliers of the active rows, and drops rows with a negative multiplier.
    fn restore(&mut self) {
        self.factor(0);
        self.settle();
        while let Some(worst) = self.most_negative() {
            self.rows.remove(worst);
            self.factor(worst);
            self.settle();
        }
    }

    /// Refactors the active rows from position `from` on and leaves out rows that depend on earlier ones.
    fn factor(&mut self, from: usize) {
        self.span.truncate(from);
        for row in self.rows.split_off(from) {
            let mut rest = self.a.row(row).to_vec();
            let coefficients = self.span.split(&mut rest);
            if norm(&rest) > DEPENDENT {
                self.span.push(coefficients, &rest);
                self.rows.push(row);
            }
        }
    }

    /// Computes the point and the multipliers of the active rows: `z = v - Q^T t` with `L t = A_W v - b_W`, and `L^T l = t`. A
    /// second pass removes the rounding errors that a `v` far from the set leaves in the first `z`.
    fn settle(&mut self) {
        self.z.copy_from_slice(self.v);
        let mut total = vec![0.0; self.rows.len()];
        for _ in 0..2 {
            let beyond = self.rows.iter().map(|&i| dot(self.a.row(i), &self.z) - self.b[i]).collect();
            for ((t, q), sum) in self.span.forward(beyond).into_iter().zip(self.span.basis()).zip(&mut total) {
                axpy(-t, q, &mut self.z);
                *sum += t;
            }
        }
        self.span.backward(&mut total);
        self.multipliers = total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A polytope with `rows` sides around the origin, at about unit distance.
    fn polytope(rows: usize, cols: usize, seed: f64) -> (Matrix, Vec<f64>) {
        let side = |i: usize| {
            let a: Vec<f64> = (0..cols).map(|k| (seed + ((i * cols + k) as f64).powi(2) * 0.37).sin()).collect();
            let length = norm(&a);
            a.iter().map(|a| a / length).collect::<Vec<f64>>()
        };
        let b = (0..rows).map(|i| 1.0 + 0.5 * (seed + i as f64).cos()).collect();
        (Matrix::from_rows(&(0..rows).map(side).collect::<Vec<_>>()).unwrap(), b)
    }

    #[test]
    fn rows_enter_and_leave_until_the_projection_is_found_without_other_help() {
        let mut left = 0;
        for seed in 0..200 {
            let (a, b) = polytope(24, 6, f64::from(seed));
            let v: Vec<f64> = (0..6).map(|k| 4.0 * (f64::from(seed * 6 + k) * 0.77).cos()).collect();
            let mut active = ActiveSet::new(&a, &b, &v);
            let mut entered = 0;
            while let Some((row, _)) = active.most_violated() {
                assert!(active.enter(row));
                entered += 1;
            }
            assert!(active.multipliers.iter().all(|&l| l >= 0.0), "{:?}", active.multipliers);
            left += entered - active.rows.len();
        }
        assert!(left > 10, "only {left} rows left: the inputs are too easy");
    }

    #[test]
    fn a_point_far_away_is_projected_with_the_precision_of_the_set() {
        // Three planes that meet near the origin at odd angles, and a point far beyond their corner.
        let (a, b) = polytope(3, 3, 0.3);
        let mut v = vec![0.0; 3];
        a.iter().for_each(|side| axpy(1e9, side, &mut v));
        let mut active = ActiveSet::new(&a, &b, &v);
        assert!(active.run(10));
        assert_eq!(active.rows.len(), 3);
        for &i in &active.rows {
            assert!((dot(a.row(i), &active.z) - b[i]).abs() < 1e-14 * (1.0 + norm(&active.z)));
        }
    }
}
