//! The linear space of directions in which a point may move both ways inside its set, and the curvature of the set
//! along them.
//!
//! A constraint with less room than a trial step counts as active. The space consists of the coordinates that may move
//! (`free`), minus the span of some orthonormal vectors (`removed`). On a sphere of radius r around c, a step d curves
//! by `-|d|^2/r` towards c, which changes the second derivative of f by `-<g, u>/r |d|^2`, where u is the unit vector
//! from c to the point (`bend`, per coordinate).

use std::ops::Range;

use crate::{Real, Set, ops};

/// The space of two-sided directions at a point.
#[derive(Debug)]
pub(super) struct Directions {
    free: Vec<bool>,
    removed: Vec<(Range<usize>, Vec<f64>)>,
    bend: Vec<f64>,
}

impl Directions {
    /// The directions at `point` with gradient `g` that have room for steps of length `step`.
    pub(super) fn new<R: Real>(set: &Set<R>, point: &[f64], g: &[f64], step: f64) -> Self {
        let n = point.len();
        let mut all = Self { free: vec![true; n], removed: Vec::new(), bend: vec![0.0; n] };
        all.add(set, 0..n, (point, g), step);
        all
    }

    /// The dimension of the space.
    pub(super) fn dim(&self) -> usize {
        self.free.iter().filter(|f| **f).count().saturating_sub(self.removed.len())
    }

    /// Projects a vector onto the space.
    pub(super) fn project(&self, v: &mut [f64]) {
        v.iter_mut().zip(&self.free).filter(|(_, free)| !**free).for_each(|(v, _)| *v = 0.0);
        // Twice: one pass leaves an error proportional to what it removed.
        for _ in 0..2 {
            for (range, q) in &self.removed {
                let t = ops::dot(&v[range.clone()], q);
                ops::axpy(-t, q, &mut v[range.clone()]);
            }
        }
    }

    /// Adds the contribution of the set's curvature to a Hessian-vector product.
    pub(super) fn add_bend(&self, d: &[f64], product: &mut [f64]) {
        for ((p, d), bend) in product.iter_mut().zip(d).zip(&self.bend) {
            *p += bend * d;
        }
    }

    fn add<R: Real>(&mut self, set: &Set<R>, range: Range<usize>, (all, gradient): (&[f64], &[f64]), step: f64) {
        let (point, g) = (&all[range.clone()], &gradient[range.clone()]);
        match set {
            Set::Free(_) => {}
            Set::Product(product) => {
                for (block, own) in product.blocks() {
                    let own = range.start + own.start..range.start + own.end;
                    self.add(block, own, (all, gradient), step);
                }
            }
            Set::Box(b) => {
                for (i, x) in point.iter().enumerate() {
                    let (low, high) = (b.lower()[i].to_f64(), b.upper()[i].to_f64());
                    self.free[range.start + i] = x - low > step && high - x > step;
                }
            }
            Set::Simplex(_) => self.keep_sum(&range, point, step),
            Set::L1Ball(b) => {
                let reach = step * (point.len() as f64).sqrt();
                if !(b.radius() - ops::sum_of(point.len(), |i| point[i].abs()) > reach) {
                    self.keep_sum(&range, point, step);
                }
            }
            Set::Ball(b) => {
                let out: Vec<f64> = point.iter().zip(b.centre()).map(|(x, c)| x - c.to_f64()).collect();
                self.keep_radius(range, (out, g), b.radius(), step);
            }
            Set::Halfspace(h) => {
                let normal: Vec<f64> = h.normal().iter().map(|a| a.to_f64() / h.normal_length()).collect();
                if !(h.offset() / h.normal_length() - ops::dot(&normal, point) > step) {
                    self.remove(range, normal);
                }
            }
            Set::Affine(a) => a.basis().iter().for_each(|q| self.remove(range.clone(), q.to_vec())),
            Set::Polyhedron(p) => {
                for (row, b) in p.rows().iter().zip(p.rhs()) {
                    if !(b - ops::dot(row, point) > step) {
                        self.remove(range.clone(), row.to_vec());
                    }
                }
            }
            // Only the projection is known, so no direction is known to stay inside.
            Set::Custom(_) => self.free[range].fill(false),
        }
    }

    /// On the border of a ball, keeps the tangent directions and their curvature; `out` is the point minus the centre.
    fn keep_radius(&mut self, range: Range<usize>, (out, g): (Vec<f64>, &[f64]), radius: f64, step: f64) {
        let offset = ops::norm(&out);
        if !(radius - offset > step) && offset > step {
            self.bend[range.clone()].fill(-ops::dot(&out, g) / (offset * offset));
            self.remove(range, out);
        } else if !(radius > step) {
            self.free[range].fill(false);
        }
    }

    /// Fixes entries near 0; the others keep the sum of their absolute values.
    fn keep_sum(&mut self, range: &Range<usize>, point: &[f64], step: f64) {
        let signs: Vec<f64> = point.iter().map(|x| if x.abs() > step { x.signum() } else { 0.0 }).collect();
        for (i, sign) in signs.iter().enumerate() {
            self.free[range.start + i] = *sign != 0.0;
        }
        self.remove(range.clone(), signs);
    }

    /// Removes a vector from the space, unless it is already removed.
    fn remove(&mut self, range: Range<usize>, mut v: Vec<f64>) {
        let before = ops::norm(&v);
        for _ in 0..2 {
            for (other, q) in self.removed.iter().filter(|(other, _)| *other == range) {
                debug_assert_eq!(other.len(), q.len());
                let t = ops::dot(&v, q);
                ops::axpy(-t, q, &mut v);
            }
        }
        let length = ops::norm(&v);
        if length > 1e-10 * before {
            v.iter_mut().for_each(|v| *v /= length);
            self.removed.push((range, v));
        }
    }
}
