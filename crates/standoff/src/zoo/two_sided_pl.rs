//! `two-sided-pl`: Polyak-Lojasiewicz in each player, but neither convex in x nor concave in y.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::{Constants, Set};

struct TwoSidedPl;

fn square_of_sine(t: f64) -> f64 {
    t.sin().powi(2)
}

impl Formula for TwoSidedPl {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        let (sx, sy) = (square_of_sine(x[0]), square_of_sine(y[0]));
        x[0] * x[0] + 3.0 * sx * sy - 4.0 * y[0] * y[0] - 10.0 * sy
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * x[0] + 3.0 * (2.0 * x[0]).sin() * square_of_sine(y[0]);
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = (3.0 * square_of_sine(x[0]) - 10.0) * (2.0 * y[0]).sin() - 8.0 * y[0];
    }
}

/// `f = x^2 + 3 sin^2 x sin^2 y - 4y^2 - 10 sin^2 y` on `[-1, 1] x R`, the example of Yang, Kiyavash and He (2020).
///
/// The only saddle point is `(0, 0)`. The best response is `y = 0`, so the value function is `x^2`. In y the PL
/// constant is 1.2603 (at `x = 0`).
pub fn two_sided_pl() -> Instance {
    let game = Plain::new(TwoSidedPl, interval(-1.0, 1.0), Set::free(1));
    Instance::new(game, &[-1.0], &[-1.0])
        .constants(Constants {
            l11: 8.0,
            l12: 3.0,
            l22: 28.0,
            mu: 1.26,
            delta_g: Some(1.0),
            g_max: Some(2.0),
            radius_x: Some(1.0),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0)
}
