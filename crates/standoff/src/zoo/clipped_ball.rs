//! The intersection of a ball and a cube around the origin.

use crate::ConvexSet;
use crate::ops::{self, sum_of};

/// The set `||z|| <= radius`, `|z_i| <= side`.
#[derive(Debug, Clone)]
pub(super) struct ClippedBall {
    pub(super) dim: usize,
    pub(super) radius: f64,
    pub(super) side: f64,
}

impl ClippedBall {
    /// `clip(t v)` with the largest `t <= most` that stays in the ball. Exact, without sorting.
    ///
    /// With `k` clipped coordinates, `k side^2 + t^2 (sum of the other v_i^2) = radius^2`. Too small a `k` gives too
    /// small a `t`, so the count only grows from one round to the next, and its final value is correct.
    fn reach(&self, v: &mut [f64], most: f64) {
        let clip = |t: f64, e: f64| (t * e).clamp(-self.side, self.side);
        let squared = self.radius * self.radius;
        // Infinity times 0 is NaN. Without a limit on t, every non-zero coordinate is clipped.
        let end = |e: f64| if most.is_finite() { clip(most, e) } else { e.signum() * self.side * f64::from(e != 0.0) };
        if sum_of(v.len(), |i| end(v[i]).powi(2)) <= squared {
            v.iter_mut().for_each(|e| *e = end(*e));
            return;
        }
        let mut t = self.radius / ops::norm(v);
        let mut clipped = 0;
        loop {
            let out = |e: f64| t * e.abs() >= self.side;
            let count = v.iter().filter(|e| out(**e)).count();
            // NaN compares as not clipped, makes the norm NaN and ends the loop: t is then NaN.
            if count <= clipped {
                break;
            }
            clipped = count;
            let rest = sum_of(v.len(), |i| if out(v[i]) { 0.0 } else { v[i] * v[i] });
            t = ((squared - clipped as f64 * self.side * self.side) / rest).sqrt();
        }
        v.iter_mut().for_each(|e| *e = clip(t, *e));
    }
}

impl ConvexSet<f64> for ClippedBall {
    fn dim(&self) -> usize {
        self.dim
    }

    /// The nearest point is `clip(v / (1 + l))`, where `l >= 0` is the multiplier of the ball.
    fn project(&self, v: &mut [f64]) {
        assert_eq!(v.len(), self.dim);
        self.reach(v, 1.0);
    }

    /// The minimiser is `clip(-g / l)`, where `l >= 0` is the multiplier of the ball.
    fn minimise_linear(&self, g: &[f64], out: &mut [f64]) -> bool {
        for (o, g) in out.iter_mut().zip(g) {
            *o = -g;
        }
        if ops::norm(g) > 0.0 {
            self.reach(out, f64::INFINITY);
        }
        ops::all_finite(out)
    }

    fn centre(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn radius_around(&self, from: &[f64]) -> f64 {
        // The smaller of the distances to the farthest corner of the cube and to the farthest point of the ball.
        let corner = sum_of(from.len(), |i| (from[i].abs() + self.side).powi(2)).sqrt();
        let rim = self.radius + ops::norm(from);
        if rim < corner { rim } else { corner }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    fn feasible(set: &ClippedBall, v: &[f64]) -> bool {
        ops::norm(v) <= set.radius * (1.0 + 1e-12) && v.iter().all(|e| e.abs() <= set.side)
    }

    #[test]
    fn projections_and_linear_minimisers_satisfy_their_inequalities() {
        let mut random = Random::new(3);
        for round in 0..300 {
            let set =
                ClippedBall { dim: 1 + round % 9, radius: random.uniform(0.5, 3.0), side: random.uniform(0.2, 2.0) };
            let v = random.normals(set.dim, 3.0);
            let mut p = v.clone();
            set.project(&mut p);
            let mut lowest = vec![0.0; set.dim];
            assert!(set.minimise_linear(&v, &mut lowest));
            assert!(feasible(&set, &p) && feasible(&set, &lowest), "{set:?} {p:?} {lowest:?}");
            for _ in 0..50 {
                let mut z = random.normals(set.dim, 1.0);
                let shrink = (0..set.dim).fold(ops::norm(&z) / set.radius, |m: f64, i| m.max(z[i].abs() / set.side));
                z.iter_mut().for_each(|e| *e /= shrink);
                // <v - p, z - p> <= 0 characterises the projection; <v, z> >= <v, lowest> the minimiser.
                let angle = sum_of(set.dim, |i| (v[i] - p[i]) * (z[i] - p[i]));
                assert!(angle <= 1e-12 && ops::dot(&v, &z) >= ops::dot(&v, &lowest) - 1e-12, "{set:?} {v:?}");
            }
        }
    }

    #[test]
    fn nan_stays_visible() {
        let set = ClippedBall { dim: 3, radius: 1.0, side: 0.5 };
        let mut v = [4.0, f64::NAN, 1.0];
        set.project(&mut v);
        assert!(v.iter().any(|e| e.is_nan()));
        assert!(!set.minimise_linear(&[1.0, f64::NAN, 0.0], &mut [0.0; 3]));
    }

    #[test]
    fn a_direction_with_zeros_is_minimised() {
        let set = ClippedBall { dim: 3, radius: 1.0, side: 0.5 };
        let mut out = [0.0; 3];
        assert!(set.minimise_linear(&[0.0, -2.0, 0.0], &mut out));
        assert_eq!(out, [0.0, 0.5, 0.0]);
    }
}
