//! `dirac-gan`: the smallest generative adversarial network; the generator is a single point.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::Constants;

/// Both players are in `[-SIDE, SIDE]`.
const SIDE: f64 = 4.0;

struct DiracGan;

/// `log(1 + e^t)`, without overflow.
fn softplus(t: f64) -> f64 {
    (-t.abs()).exp().ln_1p() + if t > 0.0 { t } else { 0.0 }
}

/// `1/(1 + e^t)`.
fn falling(t: f64) -> f64 {
    1.0 / (1.0 + t.exp())
}

impl Formula for DiracGan {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        std::f64::consts::LN_2 - softplus(-x[0] * y[0])
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = y[0] * falling(x[0] * y[0]);
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = x[0] * falling(x[0] * y[0]);
    }
}

/// `f = log 2 - log(1 + exp(-xy))` on `[-4, 4]^2` (Mescheder, Geiger and Nowozin 2018), concave in y.
///
/// x is the position of the generator's mass, the data is at 0, and y is the slope of the discriminator. The only
/// equilibrium is `(0, 0)`. On the whole plane, where the game is usually stated, y's best response to `x != 0` would
/// be infinite, hence the box.
pub fn dirac_gan() -> Instance {
    let game = Plain::new(DiracGan, interval(-SIDE, SIDE), interval(-SIDE, SIDE));
    Instance::new(game, &[1.0], &[1.0])
        .constants(Constants {
            l11: 0.25 * SIDE * SIDE, // y^2 s(1 - s) with s = 1/(1 + e^xy)
            l12: 1.1,                // |s - xy s(1 - s)|, largest at xy = -2.4
            l22: 0.25 * SIDE * SIDE,
            delta_g: Some(std::f64::consts::LN_2 - softplus(-SIDE)),
            delta: Some(SIDE * SIDE), // the range of f
            g_max: Some(0.5 * SIDE),
            radius_x: Some(SIDE),
            radius_y: Some(SIDE),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0)
}
