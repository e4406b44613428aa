//! `pl-ramp`: a family on which the multi-step method needs all of its `eps^-2` steps.

use super::plain::{Formula, Plain};
use super::{Instance, positive};
use crate::{Constants, Error, Set};

struct PlRamp {
    eps: f64,
}

impl Formula for PlRamp {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        2.0 * self.eps * x[0] + x[1] * y[0] - 0.5 * y[0] * y[0]
    }

    fn grad_x(&self, _x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * self.eps;
        out[1] = y[0];
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = x[1] - y[0];
    }
}

/// `f = 2 eps x_0 + x_1 y - y^2/2` on `[0, 1/(2 eps)] x [-1, 1] x R`, with the only equilibrium at 0.
///
/// The value function `2 eps x_0 + x_1^2/2` has curvature 1 along x_1, so gradient steps of size 1 move along the slope
/// of length `1/(2 eps)` by `2 eps` each. An eps-equilibrium has `x_0 <= 1/2`.
pub fn pl_ramp(eps: f64) -> Result<Instance, Error> {
    positive("eps", eps)?;
    let far = 0.5 / eps;
    let game = Plain::new(PlRamp { eps }, Set::boxed(vec![0.0, -1.0], vec![far, 1.0])?, Set::free(1));
    Ok(Instance::new(game, &[far, 0.3], &[1.0])
        .constants(Constants {
            l12: 1.0,
            l22: 1.0,
            mu: 1.0,
            delta_g: Some(1.0 + 0.5 * 0.3 * 0.3),
            delta: Some(2.0), // y stays within [-1, 1], as x_1 does
            g_max: Some((1.0 + 4.0 * eps * eps).sqrt()),
            radius_x: Some((0.25 * far * far + 1.0).sqrt()),
            ..Constants::default()
        })
        .answer(&[0.0, 0.0], &[0.0], 0.0))
}
