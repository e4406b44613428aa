//! `dro`: distributionally robust classification, a classifier against the weights of its samples.

use super::random::Random;
use super::{Instance, at_least, linear};
use crate::ops::sum_of;
use crate::sets::Matrix;
use crate::{Constants, Error, Game, Need, Set, ops};

/// Weight and sharpness of the non-convex penalty `a w^2 / (1 + a w^2)`.
const L2: f64 = 1e-3;
const A: f64 = 10.0;
/// x is in a ball of this radius.
const RADIUS: f64 = 5.0;

struct Dro {
    /// Row i is sample i times its label.
    z: Matrix,
    l1: f64,
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: Vec<f64>,
    penalty: f64,
    /// The losses, and their derivatives with respect to the margin.
    losses: Vec<f64>,
    slopes: Vec<f64>,
    weighted: Vec<f64>,
}

impl Dro {
    /// `(l1/2) ||n y - 1||^2`.
    fn divergence(&self, y: &[f64]) -> f64 {
        let n = y.len() as f64;
        0.5 * self.l1 * sum_of(y.len(), |i| (n * y[i] - 1.0).powi(2))
    }
}

impl Game for Dro {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x.copy_from_slice(x);
        self.penalty = L2 * sum_of(x.len(), |j| A * x[j] * x[j] / (1.0 + A * x[j] * x[j]));
        linear::times(&self.z, x, &mut self.losses);
        for (loss, slope) in self.losses.iter_mut().zip(&mut self.slopes) {
            *loss = 1.0 / (1.0 + loss.exp());
            *slope = -*loss * (1.0 - *loss);
        }
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        ops::dot(&self.losses, y) + self.penalty - self.divergence(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        for i in 0..y.len() {
            self.weighted[i] = y[i] * self.slopes[i];
        }
        linear::transpose_times(&self.z, &self.weighted, out);
        for (g, x) in out.iter_mut().zip(&self.x) {
            *g += L2 * 2.0 * A * x / (1.0 + A * x * x).powi(2);
        }
        self.value(y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let n = y.len() as f64;
        for i in 0..y.len() {
            out[i] = self.losses[i] - self.l1 * n * (n * y[i] - 1.0);
        }
        self.value(y)
    }

    fn linear_in_y(&self) -> bool {
        self.l1 == 0.0
    }
}

/// `f = sum_i y_i loss_i(x) - (l1/2)||n y - 1||^2 + l2 sum_j a x_j^2/(1 + a x_j^2)`, y in the simplex, x in the ball of radius 5.
///
/// `loss_i = 1/(1 + exp(b_i a_i'x))` on `n` normal samples in `d` dimensions, whose labels are given by a hidden weight
/// plus noise. With `l1 = 0`, y puts all weight on the worst sample; with `l1 > 0` the game is strongly concave with
/// `mu = l1 n^2`. `l2 = 1e-3`, `a = 10`.
pub fn dro(n: usize, d: usize, l1: f64, seed: u64) -> Result<Instance, Error> {
    at_least("n", n, 1)?;
    at_least("d", d, 1)?;
    if !(0.0..=f64::MAX).contains(&l1) {
        return Err(Error::Setting { name: "l1", value: l1, want: "0 or positive, and finite" });
    }
    let z = samples(n, d, &mut Random::new(seed))?;
    let longest = z.iter().map(ops::norm).fold(0.0, f64::max);
    let count = n as f64;
    let spread = 1.0 - 1.0 / count;
    let bend = l1 * count * count;
    let constants = Constants {
        l11: 0.0963 * longest * longest + 2.0 * A * L2, // the curvature of 1/(1 + e^t) is at most 1/(6 sqrt 3)
        l12: 0.25 * linear::norm(&z),
        l22: bend,
        mu: bend,
        delta_g: Some(0.5), // at x = 0 every loss is 1/2, and g >= 0
        delta: Some(1.0 + 0.5 * bend * spread),
        g_max: Some((0.25 * longest + L2 * 1.125 * (A / 3.0 * d as f64).sqrt()).max(1.0)),
        radius_x: Some(RADIUS),
        radius_y: Some(spread.sqrt()),
        ..Constants::default()
    };
    let game = Dro {
        z,
        l1,
        x_set: Set::ball(vec![0.0; d], RADIUS)?,
        y_set: Set::simplex(n, 1.0)?,
        x: vec![0.0; d],
        penalty: 0.0,
        losses: vec![0.0; n],
        slopes: vec![0.0; n],
        weighted: vec![0.0; n],
    };
    Ok(Instance::new(game, &vec![0.0; d], &vec![1.0 / count; n]).constants(constants))
}

/// Samples times labels. The label is the side of a hidden hyperplane, with noise.
fn samples(n: usize, d: usize, random: &mut Random) -> Result<Matrix, Error> {
    let hidden = random.normals(d, 1.0);
    let mut rows = Vec::with_capacity(n * d);
    for _ in 0..n {
        let sample = random.normals(d, 1.0);
        let side = ops::dot(&sample, &hidden) + 0.5 * random.normal();
        rows.extend(sample.iter().map(|v| v * side.signum()));
    }
    Matrix::new(n, d, rows)
}
