//! `trap`: a game on which equal step sizes for both players cycle forever.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::Constants;

struct Trap;

impl Formula for Trap {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        -0.5 * x[0] * x[0] + 1.2 * x[0] * y[0] - 0.1 * y[0] * y[0]
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 1.2 * y[0] - x[0];
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 1.2 * x[0] - 0.2 * y[0];
    }
}

/// `f = -x^2/2 + 1.2 x y - y^2/10` on `[-5, 5] x [-40, 40]`.
///
/// The best response is `y = 6x`, so the value function is `3.1 x^2` and `(0, 0)` is the only equilibrium. But the flow
/// `(-grad_x, grad_y)` has trace `1 - 0.2 > 0`: x's negative curvature is stronger than y's damping, and simultaneous,
/// extragradient and optimistic steps of equal size cycle. y must either respond fully or move more than 5 times as
/// fast as x.
pub fn trap() -> Instance {
    let game = Plain::new(Trap, interval(-5.0, 5.0), interval(-40.0, 40.0));
    Instance::new(game, &[1.0], &[1.0])
        .constants(Constants {
            l11: 1.0,
            l12: 1.2,
            l22: 0.2,
            mu: 0.2,
            delta_g: Some(3.1),
            delta: Some(490.0), // (y - 6x)^2 / 10, at most 70^2 / 10
            g_max: Some(31.0),
            radius_x: Some(5.0),
            radius_y: Some(40.0),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0)
}
