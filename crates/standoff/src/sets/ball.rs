//! The Euclidean ball.

use super::{ConvexSet, refuse, refuse_non_finite};
use crate::{Error, Real, ops};

/// The ball `||z - centre|| <= radius`.
#[derive(Debug, Clone)]
pub struct Ball<R> {
    centre: Vec<R>,
    radius: f64,
}

impl<R: Real> Ball<R> {
    pub(super) fn new(centre: Vec<R>, radius: f64) -> Result<Self, Error> {
        refuse_non_finite("ball", "the centre", &centre)?;
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(refuse(
                "ball",
                format!("the radius is {radius}; give a finite number >= 0, or use a free set"),
            ));
        }
        Ok(Self { centre, radius })
    }

    /// The centre of the ball.
    pub fn centre(&self) -> &[R] {
        &self.centre
    }

    /// The radius; 0 for a single point.
    pub fn radius(&self) -> f64 {
        self.radius
    }
}

impl<R: Real> ConvexSet<R> for Ball<R> {
    fn dim(&self) -> usize {
        self.centre.len()
    }

    fn project(&self, v: &mut [R]) {
        let d = ops::distance(v, &self.centre);
        // A NaN distance fails this test and makes the whole point NaN.
        if d <= self.radius {
            return;
        }
        let t = self.radius / d;
        for (vi, c) in v.iter_mut().zip(&self.centre) {
            let c = c.to_f64();
            *vi = R::from_f64(c + t * (vi.to_f64() - c));
        }
    }

    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        assert_eq!(g.len(), self.centre.len());
        out.copy_from_slice(&self.centre);
        let length = ops::norm(g);
        if length != 0.0 {
            for (oi, gi) in out.iter_mut().zip(g) {
                *oi = R::from_f64(oi.to_f64() - self.radius * (gi.to_f64() / length));
            }
        }
        ops::all_finite(out)
    }

    fn centre(&self, out: &mut [R]) {
        out.copy_from_slice(&self.centre);
    }

    fn radius_around(&self, from: &[R]) -> f64 {
        ops::distance(from, &self.centre) + self.radius
    }
}
