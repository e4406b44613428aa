//! The l1 ball around the origin.

use super::threshold::project_l1;
use super::{ConvexSet, refuse, refuse_dim_zero};
use crate::{Error, Real, ops};

/// The l1 ball `sum |z_i| <= radius`.
#[derive(Debug, Clone)]
pub struct L1Ball {
    dim: usize,
    radius: f64,
}

impl L1Ball {
    pub(super) fn new(dim: usize, radius: f64) -> Result<Self, Error> {
        refuse_dim_zero("l1 ball", dim)?;
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(refuse("l1 ball", format!("the radius is {radius}; give a finite number >= 0")));
        }
        Ok(Self { dim, radius })
    }

    /// The radius; 0 for the origin alone.
    pub fn radius(&self) -> f64 {
        self.radius
    }
}

impl<R: Real> ConvexSet<R> for L1Ball {
    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, v: &mut [R]) {
        assert_eq!(v.len(), self.dim);
        project_l1(v, self.radius);
    }

    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        assert_eq!(g.len(), self.dim);
        out.fill(R::default());
        let mut best = 0;
        for i in 1..g.len() {
            if g[i].to_f64().abs() > g[best].to_f64().abs() {
                best = i;
            }
        }
        let slope = g[best].to_f64();
        if slope != 0.0 {
            out[best] = R::from_f64(-self.radius * slope.signum());
        }
        g.iter().all(|gi| !gi.to_f64().is_nan())
    }

    fn centre(&self, out: &mut [R]) {
        out.fill(R::default());
    }

    fn radius_around(&self, from: &[R]) -> f64 {
        // ||-+ r e_i - c||^2 = ||c||^2 + r (r + 2 |c_i|) at the vertex opposite to the largest entry.
        assert_eq!(from.len(), self.dim);
        let most = from.iter().map(|c| c.to_f64().abs()).fold(0.0, f64::max);
        let norm = ops::norm(from);
        (norm * norm + self.radius * (self.radius + 2.0 * most)).sqrt()
    }
}
