//! `kink`: a value function that is neither convex nor smooth.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::Constants;

struct Kink;

impl Formula for Kink {
    const LINEAR_IN_Y: bool = true;

    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        0.25 * (3.0 * x[0]).cos() + y[0] * (x[0] - 0.5)
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = y[0] - 0.75 * (3.0 * x[0]).sin();
    }

    fn grad_y(&self, x: &[f64], _y: &[f64], out: &mut [f64]) {
        out[0] = x[0] - 0.5;
    }
}

/// `f = cos(3x)/4 + y (x - 1/2)` on `[-2, 2] x [-1, 1]`, with value function `cos(3x)/4 + |x - 1/2|`.
///
/// For `x != 1/2` the slope of the cosine, at most 3/4, cannot balance that of the absolute value, so the only
/// equilibrium is at the kink, with `y = (3/4) sin(3/2)`.
pub fn kink() -> Instance {
    let game = Plain::new(Kink, interval(-2.0, 2.0), interval(-1.0, 1.0));
    let value = |x: f64| 0.25 * (3.0 * x).cos() + (x - 0.5).abs();
    Instance::new(game, &[1.7], &[-1.0])
        .constants(Constants {
            l11: 2.25,
            l12: 1.0,
            delta_g: Some(value(1.7) - value(0.5)),
            delta: Some(5.0),
            g_max: Some(1.75),
            radius_x: Some(2.0),
            radius_y: Some(1.0),
            ..Constants::default()
        })
        .answer(&[0.5], &[0.75 * 1.5_f64.sin()], value(0.5))
}
