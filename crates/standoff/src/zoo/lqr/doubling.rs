//! Discrete Lyapunov equations by doubling (squared Smith): each step doubles the number of terms of the series.

use nalgebra::DMatrix;

use super::{check, refuse, symmetrise};
use crate::Error;

/// Limit of squarings; then the matrix counts as unstable. A spectral radius within 1e-15 of 1 is not distinguished
/// from 1.
const MOST: usize = 60;

/// `F, F^2, F^4, ...` until they vanish, which happens if and only if the spectral radius of `F` is below 1.
#[derive(Debug)]
pub(super) struct Doubling {
    powers: Vec<DMatrix<f64>>,
    used: usize,
    product: DMatrix<f64>,
    turned: DMatrix<f64>,
}

impl Doubling {
    pub(super) fn new(n: usize) -> Self {
        let zeros = || DMatrix::zeros(n, n);
        Self { powers: vec![zeros()], used: 0, product: zeros(), turned: zeros() }
    }

    /// Squares `f` until the rest of the series is below rounding. Returns `false` if that does not happen: `f` is not
    /// stable.
    pub(super) fn factor(&mut self, f: &DMatrix<f64>) -> bool {
        self.used = 0;
        self.powers[0].copy_from(f);
        while self.used < MOST {
            let size = self.powers[self.used].norm();
            self.used += 1;
            // The next term of the series is at most size^2 times the sum so far. NaN and infinity end here too.
            if size < 1e-9 {
                return true;
            }
            if !(size < 1e150) {
                break;
            }
            if self.powers.len() == self.used {
                self.powers.push(self.product.clone());
            }
            let (done, rest) = self.powers.split_at_mut(self.used);
            rest[0].gemm(1.0, &done[self.used - 1], &done[self.used - 1], 0.0);
        }
        self.used = 0;
        false
    }

    /// Replaces a symmetric `w` by `sum_i F^i w F'^i`, the solution of `X = F X F' + w`. Call `factor` first; it must
    /// have returned true.
    pub(super) fn sum(&mut self, w: &mut DMatrix<f64>) {
        for power in &self.powers[..self.used] {
            self.product.gemm(1.0, power, w, 0.0); // F X
            self.product.transpose_to(&mut self.turned); // X F'
            w.gemm(1.0, power, &self.turned, 1.0); // X + F X F'
        }
        symmetrise(w);
    }

    /// Same as [`sum`](Self::sum), for `X = F' X F + w`.
    pub(super) fn sum_transposed(&mut self, w: &mut DMatrix<f64>) {
        for power in &self.powers[..self.used] {
            self.product.gemm(1.0, w, power, 0.0);
            w.gemm_tr(1.0, power, &self.product, 1.0);
        }
        symmetrise(w);
    }
}

/// The solution of `X = F X F' + W` for a symmetric `W` and a stable `F`.
pub fn lyapunov(f: &DMatrix<f64>, w: &DMatrix<f64>) -> Result<DMatrix<f64>, Error> {
    let n = f.nrows();
    check("F", f, n, n)?;
    check("W", w, n, n)?;
    super::least_eigenvalue("W", w)?;
    let mut doubling = Doubling::new(n);
    if !doubling.factor(f) {
        return Err(refuse("F has an eigenvalue on or outside the unit circle: the Lyapunov series diverges".into()));
    }
    let mut x = w.clone();
    symmetrise(&mut x);
    doubling.sum(&mut x);
    Ok(x)
}
