//! The half-space `<a, z> <= b`.

use super::{ConvexSet, refuse, refuse_non_finite};
use crate::{Error, Real, ops};

/// The half-space `<normal, z> <= offset`.
#[derive(Debug, Clone)]
pub struct Halfspace<R> {
    normal: Vec<R>,
    offset: f64,
    length: f64,
}

impl<R: Real> Halfspace<R> {
    pub(super) fn new(normal: Vec<R>, offset: f64) -> Result<Self, Error> {
        refuse_non_finite("half-space", "the normal a", &normal)?;
        if !offset.is_finite() {
            return Err(refuse("half-space", format!("b is {offset}; give a finite number")));
        }
        let length = ops::norm(&normal);
        if length == 0.0 {
            let what = if offset < 0.0 { "empty" } else { "everything; use a free set" };
            return Err(refuse("half-space", format!("the normal a is zero, so <a, z> <= {offset} is {what}")));
        }
        Ok(Self { normal, offset, length })
    }

    /// The outward normal as the user gave it.
    pub fn normal(&self) -> &[R] {
        &self.normal
    }

    /// The right-hand side.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// The length of the normal.
    pub fn normal_length(&self) -> f64 {
        self.length
    }

    /// Signed distance from `v` to the hyperplane; negative inside the half-space.
    pub fn signed_distance(&self, v: &[R]) -> f64 {
        (ops::dot(&self.normal, v) - self.offset) / self.length
    }

    /// Moves `v` by `-t` along the unit normal.
    fn retreat(&self, v: &mut [R], t: f64) {
        ops::axpy(-t / self.length, &self.normal, v);
    }
}

impl<R: Real> ConvexSet<R> for Halfspace<R> {
    fn dim(&self) -> usize {
        self.normal.len()
    }

    fn project(&self, v: &mut [R]) {
        let beyond = self.signed_distance(v);
        // A NaN distance fails this test and makes the whole point NaN.
        if beyond <= 0.0 {
            return;
        }
        self.retreat(v, beyond);
    }

    /// A minimiser exists only if `g` is a multiple `t >= 0` of minus the normal.
    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        self.centre(out);
        let length = ops::norm(g);
        if length == 0.0 {
            return true;
        }
        let beyond = self.signed_distance(out);
        self.retreat(out, beyond);
        let off = ops::sum_of(g.len(), |i| {
            let d = g[i].to_f64() / length + self.normal[i].to_f64() / self.length;
            d * d
        });
        off.sqrt() <= 16.0 * R::UNIT_ROUNDOFF
    }

    fn centre(&self, out: &mut [R]) {
        out.fill(R::default());
        self.project(out);
    }

    fn radius_around(&self, _from: &[R]) -> f64 {
        f64::INFINITY
    }
}
