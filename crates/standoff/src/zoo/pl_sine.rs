//! `pl-sine`: a Polyak-Lojasiewicz game that is not concave in y.

use super::cosines::{CURVATURE, SIDE, SLOPE, dp, lowest, p, phases};
use super::random::Random;
use super::{Instance, at_least, linear};
use crate::ops::sum_of;
use crate::sets::Matrix;
use crate::{Constants, Error, Game, Need, Set};

/// `min h'(t)^2 / (2 h(t))`, rounded down; attained at `t = 2.2017`. The literature uses the bound 1/32.
const MU: f64 = 0.17553;

/// `h(t) = t^2 + 3 sin^2 t`, with curvature in `[-4, 8]`.
fn h(t: f64) -> f64 {
    t * t + 3.0 * t.sin().powi(2)
}

fn dh(t: f64) -> f64 {
    2.0 * t + 3.0 * (2.0 * t).sin()
}

struct PlSine {
    b: Matrix,
    w: Vec<f64>,
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: Vec<f64>,
    /// `B x`, y's best response.
    bx: Vec<f64>,
    slope: Vec<f64>,
}

impl Game for PlSine {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x.copy_from_slice(x);
        linear::times(&self.b, x, &mut self.bx);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        let n = self.x.len();
        sum_of(n, |i| p(self.x[i], self.w[i])) - sum_of(n, |i| h(y[i] - self.bx[i]))
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        for i in 0..y.len() {
            self.slope[i] = dh(y[i] - self.bx[i]);
        }
        linear::transpose_times(&self.b, &self.slope, out);
        for i in 0..out.len() {
            out[i] += dp(self.x[i], self.w[i]);
        }
        self.value(y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        for i in 0..out.len() {
            out[i] = -dh(y[i] - self.bx[i]);
        }
        self.value(y)
    }
}

/// `f = sum_i [cos(x_i + w_i) + x_i^2/20 - h(y_i - (Bx)_i)]` on `[0, 4]^n x R^n`, with `h(t) = t^2 + 3 sin^2 t`.
///
/// `h` is PL but not convex (Karimi, Nutini and Schmidt 2016), so f is PL and not concave in y. The best response is `y = Bx`,
/// and the value function is the sum of cosines, which is not convex but has one stationary point: the equilibrium is unique.
pub fn pl_sine(n: usize, seed: u64) -> Result<Instance, Error> {
    at_least("n", n, 1)?;
    let mut random = Random::new(seed);
    let b = Matrix::new(n, n, random.normals(n * n, 0.5 / (n as f64).sqrt()))?;
    let (w, start) = phases(n, &mut random);
    let norm = linear::norm(&b);
    let x: Vec<f64> = w.iter().map(|&w| lowest(w)).collect();
    let mut y = vec![0.0; n];
    linear::times(&b, &x, &mut y);
    let value = sum_of(n, |i| p(x[i], w[i]));
    let constants = Constants {
        l11: 8.0 * norm * norm + CURVATURE,
        l12: 8.0 * norm,
        l22: 8.0,
        mu: MU,
        delta_g: Some(sum_of(n, |i| p(start[i], w[i])) - value),
        g_max: Some(SLOPE * (n as f64).sqrt()),
        radius_x: Some(0.5 * SIDE * (n as f64).sqrt()),
        ..Constants::default()
    };
    let game = PlSine {
        b,
        w,
        x_set: Set::boxed(vec![0.0; n], vec![SIDE; n])?,
        y_set: Set::free(n),
        x: vec![0.0; n],
        bx: vec![0.0; n],
        slope: vec![0.0; n],
    };
    Ok(Instance::new(game, &start, &vec![0.0; n]).constants(constants).answer(&x, &y, value))
}
