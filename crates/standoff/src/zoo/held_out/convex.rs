//! Convex-concave games: a quadratic one, a stiff one, and games with badly scaled variables.

use nalgebra::DMatrix;

use super::text::Text;
use crate::Error;
use crate::sets::Matrix;
use crate::zoo::random::Random;
use crate::zoo::{Instance, matrix_game};

/// Factors `10^u` with u uniform in [-2, 2].
fn factors(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| 10.0_f64.powf(random.uniform(-2.0, 2.0))).collect()
}

/// The matrix with column `j` multiplied by `by[j]`, stored row by row.
fn scale_columns(values: &[f64], by: &[f64]) -> Vec<f64> {
    values.iter().enumerate().map(|(at, v)| v * by[at % by.len()]).collect()
}

/// `|Kx|^2/2 + p'x + y'(Bx + q) - |Cy|^2/2` on two boxes; K and C have fewer rows than columns, so both players have flat directions.
///
/// With factors d and e the variables are `u = x/d` and `v = y/e`: the same game in other units, including the box.
fn quadratic_in_units(mut t: Text, d: &[f64], e: &[f64]) -> Result<Instance, Error> {
    const N: usize = 10;
    const M: usize = 8;
    const SIDE: f64 = 3.0;
    let k = t.random.normals(8 * N, 1.0 / 8.0_f64.sqrt());
    let b = t.random.normals(M * N, 1.0 / (M as f64).sqrt());
    let c = t.random.normals(6 * M, 1.0 / 6.0_f64.sqrt());
    let (p, q) = (t.random.normals(N, 1.0), t.random.normals(M, 1.0));
    let scaled = |v: &[f64], by: &[f64]| v.iter().zip(by).map(|(v, by)| v * by).collect::<Vec<f64>>();
    let coupling: Vec<f64> = scale_columns(&b, d).chunks(N).zip(e).flat_map(|(row, e)| scaled(row, &[*e; N])).collect();
    t.matrix("K", N, &scale_columns(&k, d));
    t.matrix("B", N, &coupling);
    t.matrix("C", M, &scale_columns(&c, e));
    t.vector("p", &scaled(&p, d));
    t.vector("q", &scaled(&q, e));
    let sides = |by: &[f64]| by.iter().map(|by| SIDE / by).collect::<Vec<f64>>();
    let set = |by: &[f64]| {
        let lower: Vec<f64> = sides(by).iter().map(|s| -s).collect();
        format!("{{ box = {{ lower = {lower:?}, upper = {:?} }} }}", sides(by))
    };
    t.variable("min.x", &set(d), &[0.0; N]);
    t.variable("max.y", &set(e), &[0.0; M]);
    t.game("0.5*sum((K@x)^2) + dot(p, x) + dot(y, B@x + q) - 0.5*sum((C@y)^2)")
}

/// A quadratic game, convex in x and concave in y, neither strongly.
pub(super) fn quadratic(seed: u64) -> Result<Instance, Error> {
    quadratic_in_units(Text::new(seed), &[1.0; 10], &[1.0; 8])
}

/// [`quadratic`] in units that differ by up to 10^4.
pub(super) fn scaled_quadratic(seed: u64) -> Result<Instance, Error> {
    let mut units = Random::stream(seed, 1);
    let (d, e) = (factors(&mut units, 10), factors(&mut units, 8));
    quadratic_in_units(Text::new(seed), &d, &e)
}

/// `x'Ay` becomes `(d x)'A(e y)`. The simplices are not scaled.
pub(super) fn scaled_matrix(a: &Matrix, seed: u64) -> Result<Instance, Error> {
    let mut units = Random::stream(seed, 1);
    let (d, e) = (factors(&mut units, a.rows()), factors(&mut units, a.cols()));
    let columns = scale_columns(a.data(), &e);
    let data = columns.iter().enumerate().map(|(at, v)| v * d[at / a.cols()]).collect();
    matrix_game(Matrix::new(a.rows(), a.cols(), data)?)
}

/// `x'Ay + 0.001|x|^2 - 0.001|y|^2` on two unit balls; A has singular values from 11 down to 0.03 between random rotations.
pub(super) fn stiff(seed: u64) -> Result<Instance, Error> {
    const N: usize = 6;
    let mut t = Text::new(seed);
    let mut rotation = || DMatrix::from_row_slice(N, N, &t.random.normals(N * N, 1.0)).qr().q();
    let (left, right) = (rotation(), rotation());
    let singular = |k: usize| 11.0 * (0.03_f64 / 11.0).powf(k as f64 / (N - 1) as f64);
    let a: Vec<f64> =
        (0..N * N).map(|at| (0..N).map(|k| left[(at / N, k)] * singular(k) * right[(at % N, k)]).sum()).collect();
    t.matrix("A", N, &a);
    for player in ["min.x", "max.y"] {
        let start = t.random.normals(N, 1.0);
        t.variable(player, "{ ball = { radius = 1 } }", &start);
    }
    t.game("dot(x, A@y) + 0.001*sum(x^2) - 0.001*sum(y^2)")
}
