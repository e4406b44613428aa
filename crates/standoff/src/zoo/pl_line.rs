//! `pl-line`: a Polyak-Lojasiewicz game whose inner maximisers form a line.

use super::plain::{Formula, Plain};
use super::{Instance, interval};
use crate::{Constants, Set};

/// The root of `sin x = x/10` in (2, 3): the minimiser of `cos x + x^2/20`.
const ROOT: f64 = 2.852_341_894_450_092;

struct PlLine;

/// Signed distance (up to a factor) of y from the line of maximisers `y_0 + y_1 = 2x`.
fn miss(x: &[f64], y: &[f64]) -> f64 {
    y[0] + y[1] - 2.0 * x[0]
}

fn outer(x: f64) -> f64 {
    x.cos() + 0.05 * x * x
}

impl Formula for PlLine {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        let u = miss(x, y);
        outer(x[0]) - 0.5 * u * u
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = 2.0 * miss(x, y) - x[0].sin() + 0.1 * x[0];
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        out.fill(-miss(x, y));
    }
}

/// `f = -(y_0 + y_1 - 2x)^2/2 + cos x + x^2/20` on `[-4, 4] x R^2`: concave in y, but not strongly; 2-PL.
///
/// The value function is `cos x + x^2/20`. Its maximiser 0 and its minimisers, with any y on the line, are equilibria.
pub fn pl_line() -> Instance {
    let game = Plain::new(PlLine, interval(-4.0, 4.0), Set::free(2));
    Instance::new(game, &[1.0], &[0.0, 0.0])
        .constants(Constants {
            l11: 5.1, // 4 + 1 + 0.1, term by term
            l12: 8.0_f64.sqrt(),
            l22: 2.0,
            mu: 2.0,
            delta_g: Some(outer(1.0) - outer(ROOT)),
            g_max: Some(1.4),
            radius_x: Some(4.0),
            ..Constants::default()
        })
        .answer(&[ROOT], &[ROOT, ROOT], outer(ROOT))
        .answer(&[-ROOT], &[-ROOT, -ROOT], outer(ROOT))
        .answer(&[0.0], &[0.0, 0.0], 1.0)
}
