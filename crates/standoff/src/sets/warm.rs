//! Warm-started projection onto `A z <= b`: the dual active-set method of `active.rs`, which keeps the active rows `W`
//! and the Cholesky factor of `A_W A_W^T` between calls.
//!
//! For active rows `W` the projection is `z = v - A_W^T l` with `A_W A_W^T l = A_W v - b_W`. The condition number of
//! `A_W A_W^T` is the square of that of `A_W`; two steps of iterative refinement (the same equation for the residual
//! `A_W z - b_W`) restore the digits this loses. Rows that are nearly dependent are left to `active.rs`.
//!
//! At the end the active rows are sorted and refactored, so that the result depends only on `v` and on the set `W`, not
//! on the order in which rows entered. `W` is unique unless more rows meet in the projection than are needed to
//! determine it.

use super::gram::GramFactor;
use super::matrix::Matrix;
use super::products;
use crate::ops::{axpy, dot, norm};

/// Smallest part outside the span of the active rows (rows have length one) with which a row may become active.
const INDEPENDENT: f64 = 1e-4;
/// Largest part outside the span of the active rows with which a row counts as dependent on them.
const DEPENDENT: f64 = 1e-9;
/// A part outside the span that is shorter than this is orthogonalised a second time, because of cancellation.
const SHORT: f64 = 0.1;
/// Same as in `active.rs`: a row is violated if it exceeds its bound by more than this, relative to the size of its
/// numbers.
const VIOLATED: f64 = 1e-14;
/// Same as in `active.rs`: a row that depends on the active rows (up to `DEPENDENT`) is skipped if it is violated by at
/// most this, relative to the size of its numbers.
const ROUNDING: f64 = 1e-11;
/// A multiplier is negative if it is below minus this, relative to the size of the numbers that it is computed from.
const NEGATIVE: f64 = 4.0 * f64::EPSILON;

/// The system `A z <= b` with rows of length one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) a: &'a Matrix,
    pub(super) b: &'a [f64],
}

/// The active rows of the last projection, their Cholesky factor and scratch space. Nothing is allocated after the
/// first projections.
#[derive(Debug, Clone, Default)]
pub(super) struct WarmSet {
    /// Buffer of the caller for the point to project.
    pub(super) aim: Vec<f64>,
    rows: Vec<usize>,
    /// For each row, true if it is active or passed over in this projection.
    skip: Vec<bool>,
    passed_over: Vec<usize>,
    multipliers: Vec<f64>,
    factor: GramFactor,
    /// True if the rows are in ascending order and were factored in this order.
    sorted: bool,
    z: Vec<f64>,
    /// `A z` of all rows.
    heights: Vec<f64>,
    rest: Vec<f64>,
    products: Vec<f64>,
    rates: Vec<f64>,
    order: Vec<usize>,
    /// Number of rows that entered or left, over all projections.
    changes: u64,
}

/// Result of trying to make a row active.
enum RowOutcome {
    Entered,
    PassedOver,
    Failed,
}

impl WarmSet {
    /// Clears the active rows.
    pub(super) fn forget(&mut self) {
        self.rows.clear();
        self.multipliers.clear();
        self.factor.clear();
        self.skip.fill(false);
        self.sorted = true;
    }

    /// Number of rows that entered or left so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Computes the projection of `v`. Returns `false`, with the active rows cleared, if rows are nearly dependent,
    /// contradict each other, or more than `limit` rows enter.
    pub(super) fn project(&mut self, set: Rows<'_>, v: &[f64], limit: usize) -> bool {
        let fits = self.skip.len() == set.b.len() && self.z.len() == v.len();
        if !fits {
            self.skip.resize(set.b.len(), false);
            self.heights.resize(set.b.len(), 0.0);
            self.z.resize(v.len(), 0.0);
            self.rest.resize(v.len(), 0.0);
            self.forget();
        }
        self.passed_over.clear();
        let found = self.search(set, v, limit);
        for &row in &self.passed_over {
            self.skip[row] = false;
        }
        if !found {
            self.forget();
        }
        found
    }

    /// The projection found last.
    pub(super) fn point(&self) -> &[f64] {
        &self.z
    }

    /// Writes the point and the multipliers of all rows.
    pub(super) fn write(&self, z: &mut [f64], multipliers: &mut [f64]) {
        z.copy_from_slice(&self.z);
        multipliers.fill(0.0);
        for (&row, &l) in self.rows.iter().zip(&self.multipliers) {
            multipliers[row] = if l > 0.0 { l } else { 0.0 };
        }
    }

    /// Derivative of the path of projections of `x - tau g`. Writes `along`, the part of `g` orthogonal to the active rows
    /// (`z' = -along`), and the rates at which the multipliers of all rows grow with tau: `l_W' = -(A_W A_W^T)^-1 A_W g`,
    /// refined once.
    pub(super) fn write_rates(&mut self, set: Rows<'_>, g: &[f64], along: &mut [f64], rates: &mut [f64]) {
        along.copy_from_slice(g);
        rates.fill(0.0);
        for _ in 0..2 {
            self.products.resize(self.rows.len(), 0.0);
            products::chosen(set.a, &self.rows, along, &mut self.products);
            self.factor.solve(&mut self.products);
            products::subtract(set.a, &self.rows, &self.products, along);
            for (&row, t) in self.rows.iter().zip(&self.products) {
                rates[row] -= t;
            }
        }
    }

    fn search(&mut self, set: Rows<'_>, v: &[f64], limit: usize) -> bool {
        let mut settled = self.start(set, v);
        for _ in 0..limit {
            match self.most_violated(set, v) {
                Some((row, beyond)) => match self.enter(set, row, beyond, norm(v)) {
                    RowOutcome::Entered => settled = false,
                    RowOutcome::PassedOver => {}
                    RowOutcome::Failed => return false,
                },
                None if settled => return true,
                None => {
                    if !self.sort() {
                        return false;
                    }
                    self.settle(set, v);
                    settled = !self.drop_negative(set, v);
                }
            }
        }
        false
    }

    /// Computes the point for the active rows of the last projection and drops rows whose multiplier is negative for
    /// the new `v`. Returns true if the result is settled, that is, computed from sorted rows.
    fn start(&mut self, set: Rows<'_>, v: &[f64]) -> bool {
        self.settle(set, v);
        !self.drop_negative(set, v) && self.sorted
    }

    /// Removes rows with a negative multiplier, the most negative one first. Returns true if there were any.
    fn drop_negative(&mut self, set: Rows<'_>, v: &[f64]) -> bool {
        let mut any = false;
        // Rounding leaves a multiplier that should be 0 within this.
        let negative = -NEGATIVE * (norm(v) + norm(&self.z));
        loop {
            let (mut worst, mut least) = (None, negative);
            for (k, &l) in self.multipliers.iter().enumerate() {
                if l < least {
                    (worst, least) = (Some(k), l);
                }
            }
            let Some(worst) = worst else { break };
            any = true;
            self.remove(worst);
            self.products.resize(self.rows.len(), 0.0);
            products::chosen(set.a, &self.rows, v, &mut self.products);
            for (p, &row) in self.products.iter_mut().zip(&self.rows) {
                *p -= set.b[row];
            }
            self.factor.solve(&mut self.products);
            self.multipliers.copy_from_slice(&self.products);
        }
        if any {
            self.settle(set, v);
        }
        any
    }

    fn remove(&mut self, at: usize) {
        self.skip[self.rows[at]] = false;
        self.rows.remove(at);
        self.multipliers.remove(at);
        // Removing the last row leaves the factor of the other rows unchanged.
        self.sorted &= at == self.rows.len();
        self.factor.remove(at);
        self.changes += 1;
    }

    /// Computes the point and the multipliers of the active rows from `v`: `z <- z - A_W^T (A_W A_W^T)^-1 (A_W z - b_W)`, three
    /// times, from `z = v`.
    fn settle(&mut self, set: Rows<'_>, v: &[f64]) {
        self.z.copy_from_slice(v);
        self.multipliers.fill(0.0);
        self.products.resize(self.rows.len(), 0.0);
        for _ in 0..3 {
            products::chosen(set.a, &self.rows, &self.z, &mut self.products);
            for (p, &row) in self.products.iter_mut().zip(&self.rows) {
                *p -= set.b[row];
            }
            self.factor.solve(&mut self.products);
            products::subtract(set.a, &self.rows, &self.products, &mut self.z);
            for (l, p) in self.multipliers.iter_mut().zip(&self.products) {
                *l += p;
            }
        }
    }

    /// Sorts the active rows in ascending order and refactors. Returns `false` if they are nearly dependent.
    fn sort(&mut self) -> bool {
        if self.sorted {
            return true;
        }
        self.order.clear();
        self.order.extend(0..self.rows.len());
        let rows = &self.rows;
        self.order.sort_unstable_by_key(|&k| rows[k]);
        if !self.factor.reorder(&self.order, 0.5 * INDEPENDENT) {
            return false;
        }
        // The multipliers are recomputed afterwards, so they need not be permuted.
        self.rows.sort_unstable();
        self.sorted = true;
        true
    }

    fn most_violated(&mut self, set: Rows<'_>, v: &[f64]) -> Option<(usize, f64)> {
        products::all(set.a, &self.z, &mut self.heights);
        // In the directions of the active rows, z is computed to the precision of its own size, however far away v is.
        let size = norm(&self.z) + f64::EPSILON * norm(v);
        let (mut worst, mut most) = (None, 0.0);
        for (i, (height, b)) in self.heights.iter().zip(set.b).enumerate() {
            let beyond = height - b;
            if beyond > most && beyond > VIOLATED * (size + b.abs()) && !self.skip[i] {
                (worst, most) = (Some((i, beyond)), beyond);
            }
        }
        worst
    }

    /// Increases the multiplier of `row` until the row holds. Meanwhile `l_W` changes at the rate `-r`, where `A_W^T r`
    /// is the part of `a_row` in the span of the active rows. An active row whose multiplier reaches 0 first leaves the
    /// active set.
    fn enter(&mut self, set: Rows<'_>, row: usize, beyond: f64, far: f64) -> RowOutcome {
        let (mut own, mut beyond) = (0.0, beyond);
        loop {
            let outside = self.split(set, row);
            let depends = outside <= DEPENDENT;
            if !depends && !(outside >= INDEPENDENT) {
                return RowOutcome::Failed;
            }
            let full = if depends { f64::INFINITY } else { beyond / (outside * outside) };
            let (mut step, mut blocked) = (full, None);
            for (k, (&l, &r)) in self.multipliers.iter().zip(&self.rates).enumerate() {
                if r > 0.0 && l < step * r {
                    let reach = l / r;
                    (step, blocked) = (if reach > 0.0 { reach } else { 0.0 }, Some(k));
                }
            }
            if depends && (blocked.is_none() || own == 0.0) {
                let allowed = ROUNDING * (norm(&self.z) + far + set.b[row].abs());
                if beyond <= allowed && own == 0.0 {
                    self.skip[row] = true;
                    self.passed_over.push(row);
                    return RowOutcome::PassedOver;
                }
                if blocked.is_none() {
                    return RowOutcome::Failed;
                }
            }
            for (l, r) in self.multipliers.iter_mut().zip(&self.rates) {
                *l -= step * r;
            }
            own += step;
            if !depends {
                axpy(-step, &self.rest, &mut self.z);
            }
            let Some(leaving) = blocked else {
                self.append(set, row, outside, own);
                return RowOutcome::Entered;
            };
            self.remove(leaving);
            beyond = dot(set.a.row(row), &self.z) - set.b[row];
            if !(beyond > 0.0) {
                beyond = 0.0;
            }
        }
    }

    /// Splits row `row` into `A_W^T rates` and the `rest`, and returns the length of the rest. Leaves `A_W a_row` in
    /// `products` for [`append`](Self::append).
    fn split(&mut self, set: Rows<'_>, row: usize) -> f64 {
        self.products.resize(self.rows.len(), 0.0);
        self.rates.resize(self.rows.len(), 0.0);
        self.rest.copy_from_slice(set.a.row(row));
        products::chosen(set.a, &self.rows, &self.rest, &mut self.products);
        self.rates.copy_from_slice(&self.products);
        self.factor.solve(&mut self.rates);
        products::subtract(set.a, &self.rows, &self.rates, &mut self.rest);
        let length = norm(&self.rest);
        if length >= SHORT || self.rows.is_empty() {
            return length;
        }
        products::chosen(set.a, &self.rows, &self.rest, &mut self.products);
        self.factor.solve(&mut self.products);
        products::subtract(set.a, &self.rows, &self.products, &mut self.rest);
        self.rates.iter_mut().zip(&self.products).for_each(|(r, p)| *r += p);
        products::chosen(set.a, &self.rows, set.a.row(row), &mut self.products);
        norm(&self.rest)
    }

    /// Makes the row active that was [`split`](Self::split) last.
    fn append(&mut self, set: Rows<'_>, row: usize, outside: f64, multiplier: f64) {
        let a = set.a.row(row);
        self.rates.copy_from_slice(&self.products);
        self.factor.forward(&mut self.rates);
        self.factor.push(&self.products, dot(a, a), &self.rates, outside);
        self.sorted = false;
        self.rows.push(row);
        self.skip[row] = true;
        self.multipliers.push(multiplier);
        self.changes += 1;
        debug_assert_eq!(self.factor.rank(), self.rows.len());
    }
}
