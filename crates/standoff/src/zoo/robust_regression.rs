//! `robust-regression`: a one-weight network fitted to labels that an adversary may change at a cost.

use super::plain::{Formula, Plain};
use super::{Instance, interval, sure};
use crate::ops::sum_of;
use crate::{Constants, Set};

/// The inputs.
const A: [f64; 3] = [-1.0, 0.5, 2.0];
/// The weight that generated the labels.
const WEIGHT: f64 = 1.5;
/// The cost of changing a label; it must be above 1, or the adversary's maximum is infinite.
const PRICE: f64 = 2.0;

struct RobustRegression;

fn label(i: usize) -> f64 {
    (WEIGHT * A[i]).tanh()
}

impl Formula for RobustRegression {
    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        let term = |i: usize| {
            let (miss, moved) = ((A[i] * x[0]).tanh() - y[i], y[i] - label(i));
            0.5 * miss * miss - 0.5 * PRICE * moved * moved
        };
        sum_of(3, term) / 3.0
    }

    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        let term = |i: usize| {
            let net = (A[i] * x[0]).tanh();
            (net - y[i]) * (1.0 - net * net) * A[i]
        };
        out[0] = sum_of(3, term) / 3.0;
    }

    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        for i in 0..3 {
            out[i] = (y[i] - (A[i] * x[0]).tanh() - PRICE * (y[i] - label(i))) / 3.0;
        }
    }
}

/// `f = mean_i [(tanh(a_i x) - y_i)^2/2 - (y_i - b_i)^2]` on `[-5, 5] x [-3, 3]^3`, with `b_i = tanh(1.5 a_i)`.
///
/// Regression against adversarial labels. The best response is `y = 2b - tanh(ax)`, the value function is the mean of
/// `(tanh(a_i x) - b_i)^2`, and the equilibrium recovers the weight: `x = 1.5`, `y = b`.
pub fn robust_regression() -> Instance {
    let y_set = sure(Set::boxed(vec![-3.0; 3], vec![3.0; 3]));
    let game = Plain::new(RobustRegression, interval(-5.0, 5.0), y_set);
    let value = |x: f64| sum_of(3, |i| ((A[i] * x).tanh() - label(i)).powi(2)) / 3.0;
    let squares = sum_of(3, |i| A[i] * A[i]);
    Instance::new(game, &[0.2], &[0.0; 3])
        .constants(Constants {
            // With t = tanh: |(1-t^2)^2 - 2t(1-t^2)(t-y)| <= 1 + 0.77 * 4, since |t - y| <= 4 and 2t(1-t^2) <= 0.77.
            l11: squares / 3.0 * 4.08,
            l12: squares.sqrt() / 3.0,
            l22: (PRICE - 1.0) / 3.0,
            mu: (PRICE - 1.0) / 3.0,
            delta_g: Some(value(0.2)),
            delta: Some(18.0),       // mu/2 times the squared diameter of Y
            g_max: Some(14.0 / 3.0), // 2/3 sum |t - b| |a|
            radius_x: Some(5.0),
            radius_y: Some(27.0_f64.sqrt()),
            ..Constants::default()
        })
        .answer(&[WEIGHT], &[label(0), label(1), label(2)], 0.0)
}
