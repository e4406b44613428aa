//! Krylov basis: a few directions with the products of a symmetric operator, and the extreme curvature in their span.

use std::collections::VecDeque;

use super::directions::Directions;
use crate::ops;
use crate::random::Xoshiro;

/// A direction whose part outside the basis is at most this share of its length is not added.
const NEW: f64 = 1e-6;
/// Number of rejected directions, beyond one per direction wanted, after which the search stops.
const MISSES: usize = 8;
/// Limit of sweeps of Jacobi's method; more than 6 are rare.
const SWEEPS: usize = 30;

/// Orthonormal directions, the operator's product with each, and a second image of each (for x: in the space of y).
#[derive(Debug, Default)]
pub(super) struct Basis {
    pub(super) q: Vec<Vec<f64>>,
    pub(super) image: Vec<Vec<f64>>,
    pub(super) other: Vec<Vec<f64>>,
}

/// The eigenvalues of a small symmetric matrix in ascending order, with their eigenvectors.
pub(super) type Spectrum = Vec<(f64, Vec<f64>)>;

impl Basis {
    /// Builds up to `most` directions: the seeds first, then the operator's products with earlier ones, then random
    /// ones. `product` returns the two images of a direction, or `None` to stop.
    pub(super) fn build(
        space: &Directions,
        seeds: Vec<Vec<f64>>,
        (most, dim): (usize, usize),
        draws: &mut Xoshiro,
        mut product: impl FnMut(&[f64]) -> Option<(Vec<f64>, Vec<f64>)>,
    ) -> Self {
        let mut basis = Self::default();
        let mut queue: VecDeque<Vec<f64>> = seeds.into();
        let mut misses = 0;
        while basis.q.len() < most.min(space.dim()) && misses < MISSES + most {
            let v = queue.pop_front().unwrap_or_else(|| (0..dim).map(|_| 2.0 * draws.unit() - 1.0).collect());
            let Some(q) = basis.direction(space, v) else {
                misses += 1;
                continue;
            };
            let Some((mut image, other)) = product(&q) else { break };
            space.add_bend(&q, &mut image);
            space.project(&mut image);
            if !(ops::all_finite(&image) && ops::all_finite(&other)) {
                break;
            }
            queue.push_back(image.clone());
            basis.q.push(q);
            basis.image.push(image);
            basis.other.push(other);
        }
        basis
    }

    /// The unit vector along the part of `v` outside the basis; `None` if that part is negligible.
    fn direction(&self, space: &Directions, mut v: Vec<f64>) -> Option<Vec<f64>> {
        space.project(&mut v);
        let before = ops::norm(&v);
        for _ in 0..2 {
            for q in &self.q {
                let t = ops::dot(&v, q);
                ops::axpy(-t, q, &mut v);
            }
        }
        space.project(&mut v);
        let length = ops::norm(&v);
        if !(length > NEW * before && length.is_finite()) {
            return None;
        }
        v.iter_mut().for_each(|v| *v /= length);
        Some(v)
    }

    /// `Q^T H Q`, symmetrised.
    pub(super) fn matrix(&self) -> Vec<Vec<f64>> {
        let k = self.q.len();
        let entry =
            |i: usize, j: usize| 0.5 * (ops::dot(&self.q[i], &self.image[j]) + ops::dot(&self.q[j], &self.image[i]));
        (0..k).map(|i| (0..k).map(|j| entry(i, j)).collect()).collect()
    }

    /// `sum_j c_j v_j`.
    pub(super) fn combine(vectors: &[Vec<f64>], c: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
        for (v, c) in vectors.iter().zip(c) {
            ops::axpy(*c, v, &mut sum);
        }
        sum
    }
}

/// The eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi rotations.
pub(super) fn spectrum(mut a: Vec<Vec<f64>>) -> Spectrum {
    let k = a.len();
    let mut v: Vec<Vec<f64>> = (0..k).map(|i| (0..k).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..SWEEPS {
        for p in 0..k {
            for q in p + 1..k {
                rotate(&mut a, &mut v, p, q);
            }
        }
    }
    let mut pairs: Spectrum = (0..k).map(|i| (a[i][i], (0..k).map(|r| v[r][i]).collect())).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs
}

/// Rotates so that entry `(p, q)` becomes zero.
fn rotate(a: &mut [Vec<f64>], v: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = 1.0_f64.copysign(theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for row in a.iter_mut().chain(v.iter_mut()) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    for j in 0..a.len() {
        (a[p][j], a[q][j]) = (c * a[p][j] - s * a[q][j], s * a[p][j] + c * a[q][j]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_of_a_small_matrix_are_known() {
        let found = spectrum(vec![vec![2.0, 1.0, 0.0], vec![1.0, 2.0, 0.0], vec![0.0, 0.0, -5.0]]);
        let values: Vec<f64> = found.iter().map(|p| p.0).collect();
        for (got, want) in values.iter().zip([-5.0, 1.0, 3.0]) {
            assert!((got - want).abs() < 1e-14, "{values:?}");
        }
        let top = &found[2].1;
        assert!((top[0] - top[1]).abs() < 1e-14 && top[2].abs() < 1e-14, "{top:?}");
    }
}
