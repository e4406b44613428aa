//! The half-space and the ball. From the point, one direction `e` (the normal, or away from the centre) and the
//! gradient span a plane that contains the whole path, so the path is known in closed form.

use super::sums::{ROUNDING, Sums};
use crate::ops;

/// Splits `w` along the unit vector `e`: returns `<w, e>` and leaves the rest in `w`.
fn split(w: &mut [f64], e: &[f64]) -> f64 {
    let mut along = 0.0;
    // One pass leaves an error proportional to the removed part; two passes are enough.
    for _ in 0..2 {
        let t = ops::dot(w, e);
        ops::axpy(-t, e, w);
        along += t;
    }
    along
}

/// A step `ahead e - sideways r`, where `e` is the direction and `r` the rest of the gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Flat {
    pub(super) ahead: f64,
    pub(super) sideways: f64,
}

/// The half-space `<e, z - x> <= slack` with a unit normal `e`; the gradient is `along e + rest`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    slack: f64,
    /// Size of the numbers whose difference is the slack.
    size: f64,
    along: f64,
    rest2: f64,
}

impl Plane {
    /// `normal` has length one; `w` holds the gradient and keeps the rest of it.
    pub(super) fn new(w: &mut [f64], normal: &[f64], slack: f64, size: f64) -> Self {
        let along = split(w, normal);
        Self { slack, size, along, rest2: ops::dot(w, w) }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.along * self.along + self.rest2
    }

    /// `-<g, s>`.
    pub(super) fn gain(&self, rest_s: f64, normal_s: f64) -> f64 {
        -(rest_s + self.along * normal_s)
    }

    fn is_stopped(&self, tau: f64) -> bool {
        self.along < 0.0 && -tau * self.along > self.slack
    }

    /// The step at `tau`: the normal component stops at the slack.
    pub(super) fn step(&self, tau: f64) -> Flat {
        let ahead = if self.is_stopped(tau) { self.slack } else { -tau * self.along };
        Flat { ahead, sideways: if self.rest2 > 0.0 { tau } else { 0.0 } }
    }

    pub(super) fn at(&self, tau: f64) -> Sums {
        if !self.is_stopped(tau) {
            return Sums::straight(tau, self.norm2());
        }
        if tau.is_infinite() && self.rest2 > 0.0 {
            return Sums::endless();
        }
        // n = pressure e cancels the part of the gradient that the plane stops.
        let Flat { sideways, .. } = self.step(tau);
        let held = self.slack / tau;
        let pressure = -self.along - held;
        Sums {
            length2: self.slack * self.slack + sideways * sideways * self.rest2,
            gain: sideways * self.rest2 - self.along * self.slack,
            residual2: self.rest2 + held * held,
            support: pressure * self.slack,
            along: sideways * self.rest2,
            speed2: self.rest2,
            doubt: ROUNDING * pressure * self.size,
        }
    }
}

/// The ball around `c`, for a point `x` at the distance `offset` from `c`. Coordinates in the plane are along
/// `e = (x - c) / offset` and along minus the rest of the gradient.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    offset: f64,
    /// The ball's radius minus the offset.
    slack: f64,
    /// Size of the numbers whose difference is the slack.
    size: f64,
    along: f64,
    rest: f64,
}

impl Round {
    /// `e` is the unit vector from the centre to the point, or 0; `w` holds the gradient and keeps the rest of it.
    pub(super) fn new(w: &mut [f64], e: &[f64], (offset, slack): (f64, f64), size: f64) -> Self {
        let along = if offset > 0.0 { split(w, e) } else { 0.0 };
        Self { offset, slack, size, along, rest: ops::norm(w) }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.along * self.along + self.rest * self.rest
    }

    /// `-<g, s>`.
    pub(super) fn gain(&self, rest_s: f64, e_s: f64) -> f64 {
        -(rest_s + self.along * e_s)
    }

    /// The step at `tau`.
    pub(super) fn step(&self, tau: f64) -> Flat {
        let aim = Aim::new(self, tau);
        if aim.excess <= 0.0 {
            return Flat { ahead: -tau * self.along, sideways: tau };
        }
        let (ahead, sideways) = self.step_to_sphere(&aim);
        Flat { ahead, sideways: if self.rest > 0.0 { sideways / self.rest } else { 0.0 } }
    }

    pub(super) fn at(&self, tau: f64) -> Sums {
        let aim = Aim::new(self, tau);
        if aim.excess <= 0.0 { Sums::straight(tau, self.norm2()) } else { self.on_the_sphere(tau, &aim) }
    }

    /// The tau at which the path, on the sphere, has the length `reach`; NaN or not positive if there is none. The
    /// triangle of centre, point and end point has the sides `offset`, `reach` and the ball's radius, and `v` points at
    /// the end point.
    pub(super) fn tau_at(&self, reach: f64) -> f64 {
        let ahead = 0.5 * (self.slack * (2.0 * self.offset + self.slack) - reach * reach) / self.offset;
        let sideways = (reach * reach - ahead * ahead).sqrt();
        self.offset * sideways / (self.along * sideways + self.rest * (self.offset + ahead))
    }

    /// `radius v/||v|| - offset e`, without the cancellation in `radius - offset`.
    fn step_to_sphere(&self, aim: &Aim) -> (f64, f64) {
        (self.slack * aim.forward - self.offset * aim.turned(), (self.offset + self.slack) * aim.side)
    }

    /// `n` is a multiple of `v` of length `excess / tau`; its support is that length times `radius - <offset e, v/||v||>`.
    fn on_the_sphere(&self, tau: f64, aim: &Aim) -> Sums {
        let (ahead, sideways) = self.step_to_sphere(aim);
        // The derivative of the projection keeps only the component tangent to the sphere.
        let slip = (-self.along * aim.side - self.rest * aim.forward) * aim.shrink;
        let length2 = ahead * ahead + sideways * sideways;
        let press = if tau.is_finite() { aim.excess / tau } else { self.norm2().sqrt() };
        Sums {
            length2,
            gain: -self.along * ahead + self.rest * sideways,
            residual2: length2 / (tau * tau),
            support: press * (self.slack + self.offset * aim.turned()),
            along: slip * (ahead * aim.side - sideways * aim.forward),
            speed2: slip * slip,
            doubt: ROUNDING * press * self.size,
        }
    }
}

/// The direction of `v = x - c - tau g` in the plane, and the distance of `v` from the ball.
struct Aim {
    forward: f64,
    side: f64,
    excess: f64,
    /// `radius / ||v||`.
    shrink: f64,
}

impl Aim {
    fn new(ball: &Round, tau: f64) -> Self {
        if tau.is_infinite() {
            let norm = ball.along.hypot(ball.rest);
            return Self { forward: -ball.along / norm, side: ball.rest / norm, excess: f64::INFINITY, shrink: 0.0 };
        }
        let (ahead, sideways) = (ball.offset - tau * ball.along, tau * ball.rest);
        let length = ahead.hypot(sideways);
        // ||v|| - offset from the difference of the squares: the plain difference would lose the digits of short steps.
        let growth = tau * (tau * ball.norm2() - 2.0 * ball.offset * ball.along) / (length + ball.offset);
        let excess = if length > 0.0 { growth - ball.slack } else { -ball.slack };
        Self { forward: ahead / length, side: sideways / length, excess, shrink: (length - excess) / length }
    }

    /// `1 - forward`.
    fn turned(&self) -> f64 {
        if self.forward > 0.0 { self.side * self.side / (1.0 + self.forward) } else { 1.0 - self.forward }
    }
}
