//! `ramp`: a family on which the regularised method needs all of its `eps^-3` steps.

use super::plain::{Formula, Plain};
use super::{Instance, interval, positive};
use crate::{Constants, Error, Set};

struct Ramp {
    eps: f64,
}

impl Formula for Ramp {
    const LINEAR_IN_Y: bool = true;

    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        2.0 * self.eps * x[0] + (2.0 * y[0] - 1.0) * x[1]
    }

    fn grad_x(&self, _x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * self.eps;
        out[1] = 2.0 * y[0] - 1.0;
    }

    fn grad_y(&self, x: &[f64], _y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * x[1];
    }
}

/// `f = 2 eps x_0 + (2y - 1) x_1` on `[0, 1/(2 eps)] x [-1, 1] x [0, 1]`, with the only equilibrium at `x = 0`, `y = 1/2`.
///
/// A long slight slope and a kink. The kink makes the smoothness constant of the smoothed value function of order
/// `1/eps`, so a gradient step moves along the slope of length `1/(2 eps)` by only order `eps^2`. An eps-equilibrium
/// has `x_0 <= 1/2`.
pub fn ramp(eps: f64) -> Result<Instance, Error> {
    positive("eps", eps)?;
    let far = 0.5 / eps;
    let game = Plain::new(Ramp { eps }, Set::boxed(vec![0.0, -1.0], vec![far, 1.0])?, interval(0.0, 1.0));
    Ok(Instance::new(game, &[far, 0.3], &[1.0])
        .constants(Constants {
            l12: 2.0,
            delta_g: Some(1.3),
            delta: Some(2.0),
            g_max: Some((1.0 + 4.0 * eps * eps).sqrt()),
            radius_x: Some((0.25 * far * far + 1.0).sqrt()),
            radius_y: Some(0.5),
            ..Constants::default()
        })
        .answer(&[0.0, 0.0], &[0.5], 0.0))
}
