//! `second-order`: three first-order equilibria, none of them of second order.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::Constants;

struct SecondOrder;

impl Formula for SecondOrder {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        y[0] * y[0] - x[0] * x[0] + 4.0 * x[0] * y[0]
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 4.0 * y[0] - 2.0 * x[0];
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * y[0] + 4.0 * x[0];
    }
}

/// `f = -x^2 + y^2 + 4xy` on `[-1, 1] x [-2, 2]`, the paper's example without a second-order equilibrium.
///
/// The paper states that `(0, 0)` is the only first-order equilibrium; `(-1, 2)` and `(1, -2)` are two more. At `(-1, 2)` y's
/// gradient is 0 and x's is 10, at x's lower bound. f is convex in y: the game tests the certificate, not the methods.
pub fn second_order() -> Instance {
    let game = Plain::new(SecondOrder, interval(-1.0, 1.0), interval(-2.0, 2.0));
    Instance::new(game, &[0.5], &[0.5])
        .constants(Constants {
            l11: 2.0,
            l12: 4.0,
            l22: 2.0,
            radius_x: Some(1.0),
            radius_y: Some(2.0),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0)
        .answer(&[-1.0], &[2.0], -5.0)
        .answer(&[1.0], &[-2.0], -5.0)
}
