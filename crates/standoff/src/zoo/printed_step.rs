//! `printed-step`: a counterexample to the step size printed for the multi-step method.

use super::plain::{Formula, Plain};
use super::{Instance, interval, within};
use crate::{Constants, Error, Set};

struct PrintedStep {
    mu: f64,
}

impl Formula for PrintedStep {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        x[0] * y[0] - 0.5 * self.mu * y[0] * y[0]
    }

    fn grad_x(&self, _x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = y[0];
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = x[0] - self.mu * y[0];
    }
}

/// `f = xy - mu y^2/2` on `[-1, 1] x R`, started at `x = mu/2`; needs `0 < mu <= 2`.
///
/// One ascent step of `1/mu` gives the exact maximiser `y = x/mu`. The value function `x^2/(2 mu)` has smoothness `1/mu`. The
/// paper prints `L12^2/(2 mu)`, half of it, and the step `2 mu` moves x to `-x` forever, with `|grad_x f| = 1/2`. The step `mu`
/// reaches the solution at once.
pub fn printed_step(mu: f64) -> Result<Instance, Error> {
    within("mu", mu, 2.0, "greater than 0 and at most 2")?;
    let game = Plain::new(PrintedStep { mu }, interval(-1.0, 1.0), Set::free(1));
    Ok(Instance::new(game, &[0.5 * mu], &[0.0])
        .constants(Constants {
            l12: 1.0,
            l22: mu,
            mu,
            delta_g: Some(mu / 8.0),
            delta: Some(2.0 / mu), // (x - mu y)^2 / (2 mu), where mu y is 0 or the last x
            g_max: Some(if mu < 1.0 { 1.0 / mu } else { 1.0 }),
            radius_x: Some(1.0),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0))
}
