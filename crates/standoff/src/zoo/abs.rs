//! `abs`: the smallest game whose value function has a kink.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::Constants;

struct Abs;

impl Formula for Abs {
    const LINEAR_IN_Y: bool = true;

    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        (2.0 * y[0] - 1.0) * x[0]
    }

    fn grad_x(&self, _x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * y[0] - 1.0;
    }

    fn grad_y(&self, x: &[f64], _y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * x[0];
    }
}

/// `f = (2y - 1) x` on `[-1, 1] x [0, 1]`: the value function is `g(x) = |x|`, the only equilibrium is `(0, 1/2)`.
///
/// The example of section 4 of the paper: at `x = 0` every y in `[0, 1]` is a best response, but only one of them gives
/// an equilibrium.
pub fn abs() -> Instance {
    let game = Plain::new(Abs, interval(-1.0, 1.0), interval(0.0, 1.0));
    Instance::new(game, &[0.9], &[1.0])
        .constants(Constants {
            l12: 2.0,
            delta_g: Some(0.9),
            delta: Some(2.0),
            g_max: Some(1.0),
            radius_x: Some(1.0),
            radius_y: Some(0.5),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.5], 0.0)
}
