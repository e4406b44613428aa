//! The free set: all of `R^n`.

use super::ConvexSet;
use crate::Real;

/// The set `R^n`, without constraints.
#[derive(Debug, Clone)]
pub struct Free {
    dim: usize,
}

impl Free {
    pub(crate) fn new(dim: usize) -> Self {
        Self { dim }
    }
}

impl<R: Real> ConvexSet<R> for Free {
    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, v: &mut [R]) {
        assert_eq!(v.len(), self.dim);
    }

    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        out.fill(R::default());
        g.iter().all(|gi| gi.to_f64() == 0.0)
    }

    fn centre(&self, out: &mut [R]) {
        out.fill(R::default());
    }

    fn radius_around(&self, _from: &[R]) -> f64 {
        if self.dim == 0 { 0.0 } else { f64::INFINITY }
    }
}
