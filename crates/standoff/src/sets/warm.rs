//! The projection onto `A z <= b` from where the last one ended: the dual active-set method of `active.rs`, with the active rows and
//! the factor of their products kept between calls.
//!
//! For active rows `W` the point is `z = v - A_W^T l` with `A_W A_W^T l = A_W v - b_W`. Two passes of the second equation on what is left
//! (`A_W z - b_W`) make up for the squared condition number of the products. Rows that are nearly dependent are left to `active.rs`.
//!
//! At the end the active rows are sorted and factored anew, so that the result is a function of `v` and of the set `W`, not of the way
//! there. `W` itself is unique unless more rows meet in the projection than are needed to hold it.

use super::gram::GramFactor;
use super::matrix::Matrix;
use super::products;
use crate::ops::{axpy, dot, norm};

/// Rows whose part outside the span of the active rows is at least this long (rows have length one) may become active.
const INDEPENDENT: f64 = 1e-4;
/// Rows whose part outside is at most this long depend on the active rows.
const DEPENDENT: f64 = 1e-9;
/// A part outside that is shorter than this is computed twice, because of cancellation.
const SHORT: f64 = 0.1;
/// As in `active.rs`: a row is violated beyond this, relative to the size of the numbers in it.
const VIOLATED: f64 = 1e-14;
/// As in `active.rs`: a row that depends on the active rows (is parallel to them up to `DEPENDENT`) is passed over when it misses by no
/// more than this, relative to the size of the numbers in it.
const ROUNDING: f64 = 1e-11;
/// A multiplier is negative below this, relative to the size of the numbers that it is computed from.
const NEGATIVE: f64 = 4.0 * f64::EPSILON;

/// `A z <= b`, with rows of length one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) a: &'a Matrix,
    pub(super) b: &'a [f64],
}

/// The active rows of the last projection, their factor, and scratch space: nothing is allocated once it has grown.
#[derive(Debug, Clone, Default)]
pub(super) struct WarmSet {
    /// For the caller: room for the point to project.
    pub(super) aim: Vec<f64>,
    rows: Vec<usize>,
    /// Per row: whether it is active, or passed over in this projection.
    skip: Vec<bool>,
    passed_over: Vec<usize>,
    multipliers: Vec<f64>,
    factor: GramFactor,
    /// Whether the rows are in ascending order and were factored in it.
    sorted: bool,
    z: Vec<f64>,
    /// `A z` of all rows.
    heights: Vec<f64>,
    rest: Vec<f64>,
    products: Vec<f64>,
    rates: Vec<f64>,
    order: Vec<usize>,
    /// Rows that entered or left, in all projections.
    changes: u64,
}

/// How a row was dealt with.
enum RowOutcome {
    Entered,
    PassedOver,
    Failed,
}

impl WarmSet {
    /// Forgets the active rows.
    pub(super) fn forget(&mut self) {
        self.rows.clear();
        self.multipliers.clear();
        self.factor.clear();
        self.skip.fill(false);
        self.sorted = true;
    }

    /// Rows that entered or left so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Finds the projection of `v`; `false`, with everything forgotten, when rows are nearly dependent, contradict each other, or more
    /// than `limit` rows enter.
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

    /// The projection found.
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

    /// For the path of projections of `x - tau g`: writes the part of `g` along the active rows' planes (the path moves at its
    /// negative) and the rates at which the multipliers of all rows grow with tau.
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

    /// The point of the active rows of the last projection, without those that `v` no longer presses against. Returns whether it is
    /// settled: found from sorted rows.
    fn start(&mut self, set: Rows<'_>, v: &[f64]) -> bool {
        self.settle(set, v);
        !self.drop_negative(set, v) && self.sorted
    }

    /// Removes rows with a negative multiplier, the most negative one first; returns whether there were any.
    fn drop_negative(&mut self, set: Rows<'_>, v: &[f64]) -> bool {
        let mut any = false;
        // Rounding leaves this much of a multiplier that is 0.
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
        // A last row leaves the others factored as they were.
        self.sorted &= at == self.rows.len();
        self.factor.remove(at);
        self.changes += 1;
    }

    /// The point and the multipliers of the active rows, from `v`.
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

    /// Puts the active rows into ascending order, with a new factor; `false` if they turn out to be nearly dependent.
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
        // Multipliers are computed anew; their order does not matter here.
        self.rows.sort_unstable();
        self.sorted = true;
        true
    }

    fn most_violated(&mut self, set: Rows<'_>, v: &[f64]) -> Option<(usize, f64)> {
        products::all(set.a, &self.z, &mut self.heights);
        // Along the active rows z is as exact as its own size allows, however far away v is.
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

    /// Raises the multiplier of `row` until the row holds. Along the way `l_W` changes at the rate `-r`, with
    /// `A_W^T r` the part of `a_row` in the span; an active row whose multiplier reaches 0 first is let go.
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

    /// Splits row `row` into `A_W^T rates` and the `rest`, whose length is returned; `products` are left for
    /// [`append`](Self::append).
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

    /// Makes a row active that was [`split`](Self::split) just now.
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
