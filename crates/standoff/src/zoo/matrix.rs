//! `rps`, `matrix-2x2`, `matrix`, `bilinear`: the games `x'Ay`. Linear programming solves them; plain gradient descent
//! ascent does not.

use super::plain::{Formula, Plain};
use super::random::Random;
use super::{Instance, at_least, interval, linear, sure};
use crate::sets::Matrix;
use crate::{Constants, Error, Game, Need, Set, ops};

/// The game `x'Ay` with mixed strategies.
struct MatrixGame {
    a: Matrix,
    x_set: Set<f64>,
    y_set: Set<f64>,
    /// `A'x`, the gradient in y.
    atx: Vec<f64>,
}

impl Game for MatrixGame {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        linear::transpose_times(&self.a, x, &mut self.atx);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        ops::dot(&self.atx, y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        linear::times(&self.a, y, out);
        self.value(y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.atx);
        self.value(y)
    }

    fn linear_in_y(&self) -> bool {
        true
    }

    fn linear_in_x(&self) -> bool {
        true
    }
}

/// `x'Ay` on two simplices, from the first pure strategies. No equilibrium of a general matrix is stored.
pub fn matrix_game(a: Matrix) -> Result<Instance, Error> {
    let (n, m) = (a.rows(), a.cols());
    let (mut x, mut y) = (vec![0.0; n], vec![0.0; m]);
    x[0] = 1.0;
    y[0] = 1.0;
    let radius = |n: usize| (1.0 - 1.0 / n as f64).sqrt();
    let (lowest, highest) = a.data().iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    let steepest = (0..m).map(|j| a.iter().map(|row| row[j] * row[j]).sum::<f64>().sqrt()).fold(1.0, f64::max);
    let constants = Constants {
        l12: linear::norm(&a),
        // g(x_0) is the largest entry of row 0; the value of the game is at least the smallest entry of A.
        delta_g: Some(a.row(0).iter().fold(f64::MIN, |h, v| h.max(*v)) - lowest),
        delta: Some(highest - lowest),
        g_max: Some(steepest), // the longest column
        radius_x: Some(radius(n)),
        radius_y: Some(radius(m)),
        ..Constants::default()
    };
    let game = MatrixGame { a, x_set: Set::simplex(n, 1.0)?, y_set: Set::simplex(m, 1.0)?, atx: vec![0.0; m] };
    Ok(Instance::new(game, &x, &y).constants(constants))
}

/// A random matrix game with `n x m` normal payoffs.
pub fn random_matrix_game(n: usize, m: usize, seed: u64) -> Result<Instance, Error> {
    at_least("n", n, 1)?;
    at_least("m", m, 1)?;
    matrix_game(Matrix::new(n, m, Random::new(seed).normals(n * m, 1.0))?)
}

/// Rock, paper, scissors with unequal stakes: value 0, both play `(3, 2, 1)/6`.
pub fn rps() -> Instance {
    let a = Matrix::new(3, 3, vec![0.0, 1.0, -2.0, -1.0, 0.0, 3.0, 2.0, -3.0, 0.0]);
    let play = [0.5, 1.0 / 3.0, 1.0 / 6.0];
    let mut instance = sure(a.and_then(matrix_game)).answer(&play, &play, 0.0);
    tell_delta_g(&mut instance, 1.0);
    instance
}

/// `[[2, -1], [-1, 1]]`: value 1/5, both play `(2, 3)/5`.
pub fn matrix_2x2() -> Instance {
    let a = Matrix::new(2, 2, vec![2.0, -1.0, -1.0, 1.0]);
    let mut instance = sure(a.and_then(matrix_game)).answer(&[0.4, 0.6], &[0.4, 0.6], 0.2);
    tell_delta_g(&mut instance, 2.0 - 0.2);
    instance
}

/// The value of the game is known, so `g(x_0)` minus the value is exact.
fn tell_delta_g(instance: &mut Instance, exact: f64) {
    if let Some(c) = instance.constants.as_mut() {
        c.delta_g = Some(exact);
    }
}

struct Bilinear;

impl Formula for Bilinear {
    const LINEAR_IN_Y: bool = true;

    fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        x[0] * y[0]
    }

    fn grad_x(&self, _x: &[f64], y: &[f64], out: &mut [f64]) {
        out[0] = y[0];
    }

    fn grad_y(&self, x: &[f64], _y: &[f64], out: &mut [f64]) {
        out[0] = x[0];
    }
}

/// `f = xy` on `[-1, 1]^2`: every simultaneous gradient step of size h multiplies the length of `(x, y)` by `sqrt(1 + h^2)`.
pub fn bilinear() -> Instance {
    let game = Plain::new(Bilinear, interval(-1.0, 1.0), interval(-1.0, 1.0));
    Instance::new(game, &[0.5], &[0.5])
        .constants(Constants {
            l12: 1.0,
            delta_g: Some(0.5),
            delta: Some(2.0),
            g_max: Some(1.0),
            radius_x: Some(1.0),
            radius_y: Some(1.0),
            ..Constants::default()
        })
        .answer(&[0.0], &[0.0], 0.0)
}
