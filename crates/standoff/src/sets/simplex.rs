//! The simplex `z >= 0, sum z = scale`.

use super::threshold::project_simplex;
use super::{ConvexSet, refuse, refuse_dim_zero};
use crate::{Error, Real, ops};

/// The simplex `z >= 0, sum z = scale`.
#[derive(Debug, Clone)]
pub struct Simplex {
    dim: usize,
    scale: f64,
}

impl Simplex {
    pub(super) fn new(dim: usize, scale: f64) -> Result<Self, Error> {
        refuse_dim_zero("simplex", dim)?;
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(refuse("simplex", format!("the scale is {scale}; give a finite number > 0")));
        }
        Ok(Self { dim, scale })
    }

    /// The sum of the entries.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

impl<R: Real> ConvexSet<R> for Simplex {
    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, v: &mut [R]) {
        assert_eq!(v.len(), self.dim);
        project_simplex(v, self.scale);
    }

    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        assert_eq!(g.len(), self.dim);
        let mut best = 0;
        for i in 1..g.len() {
            if g[i] < g[best] {
                best = i;
            }
        }
        out.fill(R::default());
        out[best] = R::from_f64(self.scale);
        g.iter().all(|gi| !gi.to_f64().is_nan())
    }

    fn centre(&self, out: &mut [R]) {
        out.fill(R::from_f64(self.scale / self.dim as f64));
    }

    fn radius_around(&self, from: &[R]) -> f64 {
        // ||r e_i - c||^2 = ||c||^2 + r (r - 2 c_i): the farthest vertex is that of the smallest entry of c.
        assert_eq!(from.len(), self.dim);
        let least = from.iter().map(|c| c.to_f64()).fold(f64::INFINITY, f64::min);
        let norm = ops::norm(from);
        let square = norm * norm + self.scale * (self.scale - 2.0 * least);
        // Rounding can make this negative at the only point of a one-dimensional simplex. NaN stays NaN.
        if square < 0.0 { 0.0 } else { square.sqrt() }
    }

    fn diameter(&self) -> f64 {
        if self.dim == 1 { 0.0 } else { std::f64::consts::SQRT_2 * self.scale }
    }
}
