//! Cholesky factor of a Gram matrix, `A_W A_W^T = L L^T`, updated when a row enters or leaves `W`.
//!
//! Appending and removing a row take `O(k^2)` operations each (Givens rotations). The condition number of the Gram
//! matrix is the square of that of the rows, so the factor is used only for rows that are clearly independent; see
//! `warm.rs` for the limits.

use crate::ops::{axpy, dot};

/// Gram matrix and its factor for rows at positions `0..rank`. Both triangles are packed: row `i` takes `i + 1`
/// entries.
#[derive(Debug, Clone, Default)]
pub(super) struct GramFactor {
    rank: usize,
    /// `<a_i, a_j>` for `j <= i`.
    products: Vec<f64>,
    /// `L`.
    lower: Vec<f64>,
    /// Givens rotations of one removal.
    turns: Vec<(f64, f64)>,
}

/// Index of the first entry of row `i` in a packed triangle.
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

impl GramFactor {
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn clear(&mut self) {
        self.rank = 0;
        self.products.clear();
        self.lower.clear();
    }

    /// Appends a row. `products` are its inner products with the rows so far, `own` that with itself,
    /// `coefficients = L^-1 products`, and `outside` is the length of its part outside their span, which must be positive.
    pub(super) fn push(&mut self, products: &[f64], own: f64, coefficients: &[f64], outside: f64) {
        debug_assert_eq!((products.len(), coefficients.len()), (self.rank, self.rank));
        self.products.extend_from_slice(products);
        self.products.push(own);
        self.lower.extend_from_slice(coefficients);
        self.lower.push(outside);
        self.rank += 1;
    }

    /// Removes the row at a position.
    pub(super) fn remove(&mut self, at: usize) {
        let rank = self.rank;
        self.turns.clear();
        for i in at + 1..rank {
            let row = &mut self.lower[start(i)..start(i + 1)];
            for (c, &(cos, sin)) in self.turns.iter().enumerate() {
                let (p, q) = (row[at + c], row[at + c + 1]);
                row[at + c] = cos * p + sin * q;
                row[at + c + 1] = cos * q - sin * p;
            }
            // Rotate the last two entries into one, the new diagonal entry.
            let (p, q) = (row[i - 1], row[i]);
            let length = p.hypot(q);
            self.turns.push((p / length, q / length));
            row[i - 1] = length;
        }
        let mut to = start(at);
        let mut to_product = to;
        for i in at + 1..rank {
            let from = start(i);
            self.lower.copy_within(from..from + i, to);
            to += i;
            self.products.copy_within(from..from + at, to_product);
            self.products.copy_within(from + at + 1..from + i + 1, to_product + at);
            to_product += i;
        }
        self.rank = rank - 1;
        self.lower.truncate(start(rank - 1));
        self.products.truncate(start(rank - 1));
    }

    /// Permutes the rows (`order[i]` is the old position of the new row `i`) and refactors. Returns `false` if a
    /// diagonal entry is below `least`; the factor is then unusable.
    pub(super) fn reorder(&mut self, order: &[usize], least: f64) -> bool {
        debug_assert_eq!(order.len(), self.rank);
        // L has the same length as the products and is overwritten while the old products are read.
        for (i, &p) in order.iter().enumerate() {
            for (j, &q) in order[..=i].iter().enumerate() {
                let (low, high) = if p < q { (p, q) } else { (q, p) };
                self.lower[start(i) + j] = self.products[start(high) + low];
            }
        }
        self.products.copy_from_slice(&self.lower);
        for i in 0..self.rank {
            let (before, own) = self.lower.split_at_mut(start(i));
            for j in 0..i {
                let row = &before[start(j)..start(j + 1)];
                own[j] = (own[j] - dot(&row[..j], &own[..j])) / row[j];
            }
            let pivot = own[i] - dot(&own[..i], &own[..i]);
            if !(pivot >= least * least) {
                return false;
            }
            own[i] = pivot.sqrt();
        }
        true
    }

    /// Solves `L c = t` in place.
    pub(super) fn forward(&self, t: &mut [f64]) {
        for i in 0..self.rank {
            let row = &self.lower[start(i)..start(i + 1)];
            t[i] = (t[i] - dot(&row[..i], &t[..i])) / row[i];
        }
    }

    /// Solves `L^T l = c` in place.
    pub(super) fn backward(&self, c: &mut [f64]) {
        for i in (0..self.rank).rev() {
            let row = &self.lower[start(i)..start(i + 1)];
            c[i] /= row[i];
            let (before, own) = c.split_at_mut(i);
            axpy(-own[0], &row[..i], before);
        }
    }

    /// Solves `A_W A_W^T l = t` in place.
    pub(super) fn solve(&self, t: &mut [f64]) {
        self.forward(t);
        self.backward(t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(i: usize) -> Vec<f64> {
        (0..9).map(|k| ((i * 9 + k) as f64).powi(2).sin()).collect()
    }

    fn push(f: &mut GramFactor, rows: &[usize], new: usize) {
        let products: Vec<f64> = rows.iter().map(|&i| dot(&row(i), &row(new))).collect();
        let mut c = products.clone();
        f.forward(&mut c);
        let own = dot(&row(new), &row(new));
        let outside = (own - dot(&c, &c)).sqrt();
        f.push(&products, own, &c, outside);
    }

    /// The largest error of a solved system.
    fn error(f: &GramFactor, rows: &[usize]) -> f64 {
        let x: Vec<f64> = (0..rows.len()).map(|i| 1.0 + i as f64).collect();
        let mut t: Vec<f64> =
            rows.iter().map(|&i| rows.iter().zip(&x).map(|(&j, x)| x * dot(&row(i), &row(j))).sum()).collect();
        f.solve(&mut t);
        t.iter().zip(&x).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
    }

    #[test]
    fn rows_come_and_go_in_any_order() {
        let (mut f, mut rows) = (GramFactor::default(), Vec::new());
        for i in 0..6 {
            push(&mut f, &rows, i);
            rows.push(i);
        }
        for at in [2, 0, 3] {
            f.remove(at);
            rows.remove(at);
            assert!(error(&f, &rows) < 1e-10, "{rows:?}: {}", error(&f, &rows));
        }
        push(&mut f, &rows, 7);
        rows.push(7);
        assert!(error(&f, &rows) < 1e-10);
        let order = [3, 1, 0, 2];
        assert!(f.reorder(&order, 1e-6));
        let rows: Vec<usize> = order.iter().map(|&i| rows[i]).collect();
        assert!(error(&f, &rows) < 1e-10);
    }

    #[test]
    fn equal_rows_are_noticed() {
        let mut f = GramFactor::default();
        push(&mut f, &[], 1);
        f.push(&[dot(&row(1), &row(1))], dot(&row(1), &row(1)), &[0.0], 1.0);
        assert!(!f.reorder(&[1, 0], 1e-6));
    }
}
