//! Anderson acceleration: from the last few points and their residuals, computes the point whose residual would be
//! smallest if the residual were affine. On an affine game with full memory it is equivalent to GMRES, which takes at most
//! n + m steps for any condition number.
//!
//! D. G. Anderson, "Iterative procedures for nonlinear integral equations", Journal of the ACM 12, 1965.

use crate::{Point, Real, ops};

/// Limit of stored differences: one for every [`PER_DIFFERENCE`] variables, at least [`SHORT_MEMORY`].
const MEMORY: usize = 16;
const PER_DIFFERENCE: usize = 12;
/// Number of differences for few or badly scaled variables, whose fit is ill-conditioned, and for games that are not
/// monotone, whose residual changes more from step to step.
pub(super) const SHORT_MEMORY: usize = 8;
/// Limit of stored numbers, which reduces the memory for long vectors; at least [`LEAST`] differences are kept.
const NUMBERS: usize = 1 << 18;
const LEAST: usize = 4;
/// A difference of residuals that is this close to the span of the newer ones is ignored.
const DEPENDENT: f64 = 1e-10;

/// Differences of points and of residuals, the newest at `head`; x and y are concatenated.
pub(super) struct Anderson<R> {
    dim: usize,
    memory: usize,
    kept: u64,
    head: u64,
    /// True if a point was pushed since the last reset.
    some: bool,
    dz: Vec<R>,
    dr: Vec<R>,
    last_z: Vec<R>,
    last_r: Vec<R>,
    /// Orthonormal basis of the differences of residuals.
    q: Vec<f64>,
    /// The upper triangle of the QR factorisation, column by column, and the coefficients.
    triangle: [[f64; MEMORY]; MEMORY],
    gamma: [f64; MEMORY],
}

impl<R: Real> Anderson<R> {
    pub(super) fn new(dim: usize) -> Self {
        let memory = (dim / PER_DIFFERENCE).clamp(SHORT_MEMORY, MEMORY).min(NUMBERS / dim.max(1)).max(LEAST);
        let zero = |n: usize| vec![R::default(); n];
        Self {
            dim,
            memory,
            kept: 0,
            head: 0,
            some: false,
            dz: zero(memory * dim),
            dr: zero(memory * dim),
            last_z: zero(dim),
            last_r: zero(dim),
            q: vec![0.0; memory * dim],
            triangle: [[0.0; MEMORY]; MEMORY],
            gamma: [0.0; MEMORY],
        }
    }

    pub(super) fn clear(&mut self) {
        self.kept = 0;
        self.some = false;
    }

    /// Adds a point and its residual, given coordinate by coordinate.
    pub(super) fn push(&mut self, z: impl Fn(usize) -> f64, r: impl Fn(usize) -> f64) {
        if self.some {
            self.head = (self.head + 1) % self.memory as u64;
            self.kept = (self.kept + 1).min(self.memory as u64);
        }
        let at = self.head as usize * self.dim;
        for i in 0..self.dim {
            let (z, r) = (z(i), r(i));
            if self.some {
                self.dz[at + i] = R::from_f64(z - self.last_z[i].to_f64());
                self.dr[at + i] = R::from_f64(r - self.last_r[i].to_f64());
            }
            self.last_z[i] = R::from_f64(z);
            self.last_r[i] = R::from_f64(r);
        }
        self.some = true;
    }

    /// The position of the j-th newest difference.
    fn column(&self, j: usize) -> usize {
        (self.head as usize + self.memory - j) % self.memory * self.dim
    }

    /// Computes the coefficients gamma with the smallest `||r - sum_j gamma_j dr_j||` by Gram-Schmidt from the newest
    /// difference on, for at most `most` differences. Returns the number of differences used.
    fn fit(&mut self, most: usize) -> usize {
        let (dim, mut used) = (self.dim, 0);
        let mut right = [0.0; MEMORY];
        for j in 0..most.min(self.kept as usize) {
            let from = self.column(j);
            let (done, rest) = self.q.split_at_mut(j * dim);
            let fresh = &mut rest[..dim];
            for i in 0..dim {
                fresh[i] = self.dr[from + i].to_f64();
            }
            let before = ops::norm(fresh);
            for k in 0..j {
                let old = &done[k * dim..(k + 1) * dim];
                let along = ops::dot(old, fresh);
                self.triangle[j][k] = along;
                ops::axpy(-along, old, fresh);
            }
            let after = ops::norm(fresh);
            if !(after > DEPENDENT * before) {
                break;
            }
            self.triangle[j][j] = after;
            fresh.iter_mut().for_each(|v| *v /= after);
            right[j] = ops::sum_of(dim, |i| fresh[i] * self.last_r[i].to_f64());
            used = j + 1;
        }
        for j in (0..used).rev() {
            let later: f64 = (j + 1..used).map(|k| self.triangle[k][j] * self.gamma[k]).sum();
            self.gamma[j] = (right[j] - later) / self.triangle[j][j];
        }
        used
    }

    /// `out := z - sum gamma_j dz_j - w (r - sum gamma_j dr_j)`, where `w` is the length of a plain step along the residual,
    /// for each coordinate, with at most `most` differences. Returns `false` if nothing can be fitted.
    pub(super) fn mix(&mut self, most: usize, w: impl Fn(usize) -> f64, out: &mut Point<R>) -> bool {
        let used = self.fit(most);
        if used == 0 || !self.gamma[..used].iter().all(|g| g.is_finite()) {
            return false;
        }
        let n = out.x.len();
        for i in 0..self.dim {
            let (mut z, mut r) = (self.last_z[i].to_f64(), self.last_r[i].to_f64());
            for j in 0..used {
                let at = self.column(j) + i;
                z -= self.gamma[j] * self.dz[at].to_f64();
                r -= self.gamma[j] * self.dr[at].to_f64();
            }
            let value = R::from_f64(z - w(i) * r);
            if i < n { out.x[i] = value } else { out.y[i - n] = value }
        }
        true
    }

    pub(super) fn visit(&mut self, visitor: &mut dyn crate::method::Visitor<R>) {
        let mut some = u64::from(self.some);
        visitor.count("anderson_some", &mut some);
        self.some = some != 0;
        visitor.count("anderson_kept", &mut self.kept);
        visitor.count("anderson_head", &mut self.head);
        visitor.vector("anderson_dz", &mut self.dz);
        visitor.vector("anderson_dr", &mut self.dr);
        visitor.vector("anderson_z", &mut self.last_z);
        visitor.vector("anderson_r", &mut self.last_r);
    }
}
