//! `quadmax` and `saddle2d`: the maximum of finitely many non-convex quadratics.

use super::random::Random;
use super::{Instance, at_least, linear, sure};
use crate::sets::Matrix;
use crate::{Constants, Error, Game, Need, Set, ops};

/// One of the quadratics, `x'Hx/2 + b'x + c`.
struct Quadratic {
    h: Matrix,
    b: Vec<f64>,
    c: f64,
}

impl Quadratic {
    /// Symmetric with normal entries, scaled to a norm of about 2 in any dimension; `b` and `c` have size about 1.
    fn random(n: usize, random: &mut Random) -> Result<Self, Error> {
        let scale = 1.0 / (n as f64).sqrt();
        let g = random.normals(n * n, scale / 2.0_f64.sqrt());
        let h = (0..n * n).map(|at| g[at] + g[at % n * n + at / n]).collect();
        Ok(Self { h: Matrix::new(n, n, h)?, b: random.normals(n, scale), c: random.normal() })
    }

    /// Bounds of `||H||`, of the gradient, and of the distance from `c`, within `radius` of 0.
    fn bounds(&self, radius: f64) -> (f64, f64, f64) {
        let (h, b) = (linear::norm(&self.h), ops::norm(&self.b));
        (h, h * radius + b, (0.5 * h * radius + b) * radius)
    }
}

/// `sum_k y_k q_k(x)` with y in the simplex: the maximum of the `q_k`.
struct FiniteMax {
    parts: Vec<Quadratic>,
    x_set: Set<f64>,
    y_set: Set<f64>,
    /// `q_k(x)`.
    values: Vec<f64>,
    /// `H_k x + b_k`, concatenated.
    slopes: Vec<f64>,
}

impl FiniteMax {
    fn new(parts: Vec<Quadratic>, x_set: Set<f64>) -> Result<Self, Error> {
        let (n, m) = (x_set.dim(), parts.len());
        Ok(Self { parts, x_set, y_set: Set::simplex(m, 1.0)?, values: vec![0.0; m], slopes: vec![0.0; n * m] })
    }
}

impl Game for FiniteMax {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        let slopes = self.slopes.chunks_exact_mut(x.len());
        for ((q, slope), value) in self.parts.iter().zip(slopes).zip(&mut self.values) {
            linear::times(&q.h, x, slope);
            *value = 0.5 * ops::dot(slope, x) + ops::dot(&q.b, x) + q.c;
            ops::axpy(1.0, &q.b, slope);
        }
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        ops::dot(&self.values, y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out.fill(0.0);
        for (yk, slope) in y.iter().zip(self.slopes.chunks_exact(out.len())) {
            ops::axpy(*yk, slope, out);
        }
        self.value(y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.values);
        self.value(y)
    }

    fn linear_in_y(&self) -> bool {
        true
    }
}

/// The largest of `m` random indefinite quadratics in `n` variables, on the ball of radius 2.
///
/// The equilibria are unknown; only the certificate decides.
pub fn quadmax(n: usize, m: usize, seed: u64) -> Result<Instance, Error> {
    const RADIUS: f64 = 2.0;
    at_least("n", n, 1)?;
    at_least("m", m, 1)?;
    let mut random = Random::new(seed);
    let parts = (0..m).map(|_| Quadratic::random(n, &mut random)).collect::<Result<Vec<_>, Error>>()?;
    let x_set = Set::ball(vec![0.0; n], RADIUS)?;
    let mut x = random.normals(n, 0.5 / (n as f64).sqrt());
    x_set.project(&mut x);
    let mut constants = finite_max_constants(&parts, RADIUS);
    let mut game = FiniteMax::new(parts, x_set)?;
    game.fix(&x, Need::Values);
    // g is at least each of the quadratics: `delta_g` holds minus the best of their lower bounds.
    constants.delta_g = constants.delta_g.map(|d| d + largest(game.values.iter().copied()));
    Ok(Instance::new(game, &x, &vec![1.0 / m as f64; m]).constants(constants))
}

/// All constants; `delta_g` does not include `g(x_0)` yet.
fn finite_max_constants(parts: &[Quadratic], radius: f64) -> Constants {
    let bounds: Vec<_> = parts.iter().map(|q| (q.c, q.bounds(radius))).collect();
    let lower = largest(bounds.iter().map(|(c, (_, _, spread))| c - spread));
    let lowest = -largest(bounds.iter().map(|(c, (_, _, spread))| spread - c));
    let highest = largest(bounds.iter().map(|(c, (_, _, spread))| c + spread));
    Constants {
        l11: largest(bounds.iter().map(|(_, (h, _, _))| *h)),
        l12: bounds.iter().map(|(_, (_, slope, _))| slope * slope).sum::<f64>().sqrt(),
        delta_g: Some(-lower),
        delta: Some(highest - lowest),
        g_max: Some(largest(bounds.iter().map(|(_, (_, slope, _))| *slope).chain([1.0]))),
        radius_x: Some(radius),
        radius_y: Some((1.0 - 1.0 / parts.len() as f64).sqrt()),
        ..Constants::default()
    }
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::MIN, f64::max)
}

/// The larger of `(x_0^2 - x_1^2)/2 + x_0` and `(x_0^2 - x_1^2)/2 - x_0` on `[-2, 2]^2`: a value function with a kink along a
/// line and negative curvature on it. Equilibria at `x_0 = 0`, `x_1` one of `-2, 0, 2`, `y = (1/2, 1/2)`.
pub fn saddle2d() -> Instance {
    let part = |slope: f64| -> Result<Quadratic, Error> {
        Ok(Quadratic { h: Matrix::new(2, 2, vec![1.0, 0.0, 0.0, -1.0])?, b: vec![slope, 0.0], c: 0.0 })
    };
    let make = || FiniteMax::new(vec![part(1.0)?, part(-1.0)?], Set::boxed(vec![-2.0; 2], vec![2.0; 2])?);
    Instance::new(sure(make()), &[1.5, 0.3], &[0.9, 0.1])
        .constants(Constants {
            l11: 1.0,
            l12: (9.0 + 65.0_f64.sqrt()).sqrt(), // the norm of [x_0 + 1, x_0 - 1; -x_1, -x_1] at the corner (2, 2)
            delta_g: Some(4.58),
            delta: Some(4.0), // 2 |x_0|
            g_max: Some(13.0_f64.sqrt()),
            radius_x: Some(8.0_f64.sqrt()),
            radius_y: Some(0.5_f64.sqrt()),
            ..Constants::default()
        })
        .answer(&[0.0, 2.0], &[0.5, 0.5], -2.0)
        .answer(&[0.0, -2.0], &[0.5, 0.5], -2.0)
        .answer(&[0.0, 0.0], &[0.5, 0.5], 0.0)
}
