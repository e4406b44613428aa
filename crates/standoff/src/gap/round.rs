//! The half-space and the ball. Seen from the point, only one direction matters beside the gradient: everything happens
//! in a plane, and the path is known in closed form.

use super::sums::Sums;
use crate::ops;

/// Splits `w` along the unit vector `e`: returns `<w, e>` and leaves in `w` the rest.
fn split(w: &mut [f64], e: &[f64]) -> f64 {
    let mut along = 0.0;
    // Once leaves an error of the size of the part taken out; twice is enough.
    for _ in 0..2 {
        let t = ops::dot(w, e);
        ops::axpy(-t, e, w);
        along += t;
    }
    along
}

/// `s = ahead e - sideways r`, for a direction `e` and the rest `r` of the gradient.
fn combine(s: &mut [f64], (ahead, e): (f64, &[f64]), (sideways, r): (f64, &[f64])) {
    for i in 0..s.len() {
        s[i] = ahead * e[i] - sideways * r[i];
    }
}

/// `<e, z - x> <= slack` with a unit normal `e`: the gradient is `along e + rest`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    slack: f64,
    along: f64,
    rest2: f64,
}

impl Plane {
    /// `normal` has length one; `w` holds the gradient and is left with its rest.
    pub(super) fn new(w: &mut [f64], normal: &[f64], slack: f64) -> Self {
        let along = split(w, normal);
        Self { slack, along, rest2: ops::dot(w, w) }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.along * self.along + self.rest2
    }

    /// `-<g, s>`.
    pub(super) fn gain(&self, rest_s: f64, normal_s: f64) -> f64 {
        -(rest_s + self.along * normal_s)
    }

    pub(super) fn at(&self, tau: f64, rest: &[f64], normal: &[f64], s: &mut [f64]) -> Sums {
        if tau.is_infinite() && (self.rest2 > 0.0 || self.along > 0.0) {
            return Sums::endless();
        }
        if -tau * self.along <= self.slack || self.along == 0.0 {
            combine(s, (-tau * self.along, normal), (tau, rest));
            return Sums::straight(tau, self.norm2());
        }
        // The normal component stops at the slack; n = pressure e takes up what the gradient still presses.
        let sideways = if self.rest2 > 0.0 { tau } else { 0.0 };
        combine(s, (self.slack, normal), (sideways, rest));
        let held = self.slack / tau;
        let pressure = -self.along - held;
        Sums {
            length2: self.slack * self.slack + sideways * sideways * self.rest2,
            gain: sideways * self.rest2 - self.along * self.slack,
            residual2: self.rest2 + held * held,
            support: pressure * self.slack,
            along: sideways * self.rest2,
            speed2: self.rest2,
            doubt: 0.0,
        }
    }
}

/// The ball around `c`, seen from `x` at the distance `offset` from `c`, in the plane of `e = (x - c) / offset` and the
/// gradient's rest: coordinates are along `e` and along minus the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    offset: f64,
    /// The ball's radius less the offset.
    slack: f64,
    along: f64,
    rest: f64,
}

impl Round {
    /// `e` is the unit vector from the centre to the point, or 0; `w` holds the gradient and is left with its rest.
    pub(super) fn new(w: &mut [f64], e: &[f64], offset: f64, slack: f64) -> Self {
        let along = if offset > 0.0 { split(w, e) } else { 0.0 };
        Self { offset, slack, along, rest: ops::norm(w) }
    }

    pub(super) fn norm2(&self) -> f64 {
        self.along * self.along + self.rest * self.rest
    }

    /// `-<g, s>`.
    pub(super) fn gain(&self, rest_s: f64, e_s: f64) -> f64 {
        -(rest_s + self.along * e_s)
    }

    pub(super) fn at(&self, tau: f64, rest: &[f64], e: &[f64], s: &mut [f64]) -> Sums {
        let (mut ahead, mut sideways) = (-tau * self.along, tau * self.rest);
        let sums = match Aim::new(self, tau) {
            Aim { excess, .. } if excess <= 0.0 => Sums::straight(tau, self.norm2()),
            aim => {
                (ahead, sideways) = self.step_to_sphere(&aim);
                self.on_the_sphere(tau, &aim, ahead, sideways)
            }
        };
        let per_rest = if self.rest > 0.0 { sideways / self.rest } else { 0.0 };
        combine(s, (ahead, e), (per_rest, rest));
        sums
    }

    /// `radius v/||v|| - offset e`, without the cancellation in `radius - offset`.
    fn step_to_sphere(&self, aim: &Aim) -> (f64, f64) {
        (self.slack * aim.forward - self.offset * aim.turned(), (self.offset + self.slack) * aim.side)
    }

    /// `n` is a multiple of `v`, of length `excess / tau`: its support is that times `radius - <offset e, v/||v||>`.
    fn on_the_sphere(&self, tau: f64, aim: &Aim, ahead: f64, sideways: f64) -> Sums {
        // The derivative of the projection keeps only what is tangent to the sphere.
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
            doubt: 0.0,
        }
    }
}

/// The direction of `v = x - c - tau g` in the plane, and how far `v` is outside the ball.
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
        // ||v|| - offset, from the difference of the squares: short steps would drown in the offset.
        let growth = tau * (tau * ball.norm2() - 2.0 * ball.offset * ball.along) / (length + ball.offset);
        let excess = if length > 0.0 { growth - ball.slack } else { -ball.slack };
        Self { forward: ahead / length, side: sideways / length, excess, shrink: (length - excess) / length }
    }

    /// `1 - forward`.
    fn turned(&self) -> f64 {
        if self.forward > 0.0 { self.side * self.side / (1.0 + self.forward) } else { 1.0 - self.forward }
    }
}
