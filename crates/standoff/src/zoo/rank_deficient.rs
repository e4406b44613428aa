//! `rank-deficient`: a quadratic game, indefinite in x and concave in y with a flat subspace.

use super::random::Random;
use super::{Instance, at_least, linear};
use crate::sets::Matrix;
use crate::{Constants, Error, Game, Need, Set, ops};

/// x is in `[-1, 1]^n`, y in the ball of this radius.
const RADIUS: f64 = 2.0;

struct RankDeficient {
    h: Matrix,
    p: Vec<f64>,
    /// `n x m`.
    b: Matrix,
    q: Vec<f64>,
    /// `m/2 x m`.
    c: Matrix,
    x_set: Set<f64>,
    y_set: Set<f64>,
    /// `x'Hx/2 + p'x`, `Hx + p` and `B'x + q`.
    own: f64,
    slope: Vec<f64>,
    pull: Vec<f64>,
    cy: Vec<f64>,
}

impl Game for RankDeficient {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        linear::times(&self.h, x, &mut self.slope);
        self.own = 0.5 * ops::dot(&self.slope, x) + ops::dot(&self.p, x);
        ops::axpy(1.0, &self.p, &mut self.slope);
        linear::transpose_times(&self.b, x, &mut self.pull);
        ops::axpy(1.0, &self.q, &mut self.pull);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        linear::times(&self.c, y, &mut self.cy);
        self.own + ops::dot(&self.pull, y) - 0.5 * ops::dot(&self.cy, &self.cy)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        linear::times(&self.b, y, out);
        ops::axpy(1.0, &self.slope, out);
        self.value(y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let f = self.value(y);
        linear::transpose_times(&self.c, &self.cy, out);
        for (g, pull) in out.iter_mut().zip(&self.pull) {
            *g = pull - *g;
        }
        f
    }
}

/// `f = x'Hx/2 + p'x + x'By + q'y - ||Cy||^2/2` on `[-1, 1]^n` and the ball of radius 2 in `R^m`.
///
/// All data is normal; `H` is symmetric and indefinite, and `C` has half as many rows as columns, so f is concave in y
/// but not strongly. The equilibria are unknown.
pub fn rank_deficient(n: usize, m: usize, seed: u64) -> Result<Instance, Error> {
    at_least("n", n, 1)?;
    at_least("m", m, 2)?;
    let mut random = Random::new(seed);
    let (root_n, root_m) = ((n as f64).sqrt(), (m as f64).sqrt());
    let g = random.normals(n * n, 0.5_f64.sqrt() / root_n);
    let h = Matrix::new(n, n, (0..n * n).map(|at| g[at] + g[at % n * n + at / n]).collect())?;
    let b = Matrix::new(n, m, random.normals(n * m, 1.0 / root_m))?;
    let c = Matrix::new(m / 2, m, random.normals(m / 2 * m, 1.0 / root_m))?;
    let (p, q) = (random.normals(n, 1.0 / root_n), random.normals(m, 1.0 / root_m));
    let x: Vec<f64> = (0..n).map(|_| random.uniform(-0.5, 0.5)).collect();
    let [h_norm, b_norm, c_norm] = [&h, &b, &c].map(linear::norm);
    let [p_norm, q_norm] = [&p, &q].map(|v| ops::norm(v));
    let pull = (b_norm * root_n + q_norm) * RADIUS;
    let game = RankDeficient {
        h,
        p,
        b,
        q,
        c,
        x_set: Set::boxed(vec![-1.0; n], vec![1.0; n])?,
        y_set: Set::ball(vec![0.0; m], RADIUS)?,
        own: 0.0,
        slope: vec![0.0; n],
        pull: vec![0.0; m],
        cy: vec![0.0; m / 2],
    };
    let mut instance = Instance::new(game, &x, &vec![0.0; m]);
    instance.game.fix(&x, Need::Values);
    let own = instance.game.value(&instance.start.y);
    Ok(instance.constants(Constants {
        l11: h_norm,
        l12: b_norm,
        l22: c_norm * c_norm,
        // y = 0 shows g >= x'Hx/2 + p'x, and g(x_0) is at most that value plus `pull`.
        delta_g: Some(own + pull + 0.5 * h_norm * n as f64 + p_norm * root_n),
        delta: Some(2.0 * pull + 0.5 * (c_norm * RADIUS).powi(2)),
        g_max: Some((h_norm * root_n + p_norm + b_norm * RADIUS).max(1.0)),
        radius_x: Some(root_n),
        radius_y: Some(RADIUS),
        ..Constants::default()
    }))
}
