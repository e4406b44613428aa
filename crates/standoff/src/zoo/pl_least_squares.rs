//! `pl-least-squares`: y solves an underdetermined least-squares problem, so its maximisers form a subspace.

use nalgebra::{DMatrix, DVector};

use super::cosines::{CURVATURE, SIDE, SLOPE, dp, lowest, p, phases};
use super::random::Random;
use super::{Instance, at_least, linear};
use crate::ops::sum_of;
use crate::sets::Matrix;
use crate::{Constants, Error, Game, Need, Set, ops};

struct PlLeastSquares {
    c: Matrix,
    d: Matrix,
    w: Vec<f64>,
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: Vec<f64>,
    /// `D x`.
    dx: Vec<f64>,
    /// `C y - D x`.
    miss: Vec<f64>,
}

impl PlLeastSquares {
    fn fit(&mut self, y: &[f64]) -> f64 {
        linear::times(&self.c, y, &mut self.miss);
        ops::axpy(-1.0, &self.dx, &mut self.miss);
        sum_of(self.x.len(), |i| p(self.x[i], self.w[i])) - 0.5 * ops::dot(&self.miss, &self.miss)
    }
}

impl Game for PlLeastSquares {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x.copy_from_slice(x);
        linear::times(&self.d, x, &mut self.dx);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.fit(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let f = self.fit(y);
        linear::transpose_times(&self.d, &self.miss, out);
        for i in 0..out.len() {
            out[i] += dp(self.x[i], self.w[i]);
        }
        f
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let f = self.fit(y);
        linear::transpose_times(&self.c, &self.miss, out);
        out.iter_mut().for_each(|g| *g = -*g);
        f
    }
}

/// `f = sum_i [cos(x_i + w_i) + x_i^2/20] - ||Cy - Dx||^2/2` on `[0, 4]^n x R^m`, `C` of half as many rows as columns.
///
/// Concave in y and `sigma_min(C)^2`-PL, never strongly concave. `C` has full rank, so y fits exactly and the value
/// function is the sum of cosines, with one stationary point. The stored equilibrium has the shortest y.
pub fn pl_least_squares(n: usize, m: usize, seed: u64) -> Result<Instance, Error> {
    at_least("n", n, 1)?;
    at_least("m", m, 2)?;
    let mut random = Random::new(seed);
    let rows = m / 2;
    let scale = 1.0 / (m as f64).sqrt();
    let (c, d) = (random.normals(rows * m, scale), random.normals(rows * n, scale));
    let (w, start) = phases(n, &mut random);
    let dense_c = DMatrix::from_row_slice(rows, m, &c);
    let dense_d = DMatrix::from_row_slice(rows, n, &d);
    let x: Vec<f64> = w.iter().map(|&w| lowest(w)).collect();
    // The shortest solution of C y = D x is C'(CC')^-1 D x.
    let gram = (&dense_c * dense_c.transpose()).cholesky();
    let fitted = gram.map(|g| dense_c.transpose() * g.solve(&(&dense_d * DVector::from_column_slice(&x))));
    let singular = dense_c.singular_values();
    let value = sum_of(n, |i| p(x[i], w[i]));
    let constants = Constants {
        l11: dense_d.singular_values().max().powi(2) + CURVATURE,
        l12: (dense_c.transpose() * &dense_d).singular_values().max(),
        l22: singular.max().powi(2),
        mu: singular.min().powi(2) * (1.0 - 1e-9),
        delta_g: Some(sum_of(n, |i| p(start[i], w[i])) - value),
        g_max: Some(SLOPE * (n as f64).sqrt()),
        radius_x: Some(0.5 * SIDE * (n as f64).sqrt()),
        ..Constants::default()
    };
    let game = PlLeastSquares {
        c: Matrix::new(rows, m, c)?,
        d: Matrix::new(rows, n, d)?,
        w,
        x_set: Set::boxed(vec![0.0; n], vec![SIDE; n])?,
        y_set: Set::free(m),
        x: vec![0.0; n],
        dx: vec![0.0; rows],
        miss: vec![0.0; rows],
    };
    let instance = Instance::new(game, &start, &vec![0.0; m]).constants(constants);
    Ok(match fitted {
        Some(y) => instance.answer(&x, y.as_slice(), value),
        None => instance,
    })
}
