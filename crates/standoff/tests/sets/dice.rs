//! Random numbers for the tests.

use standoff::Real;
use standoff::sets::Matrix;

/// A small generator of uniform and Gaussian numbers, the same on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut z = self.0;
        z = (z ^ (z >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        z = (z ^ (z >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        ((z ^ (z >> 32)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn gauss(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    pub(crate) fn vector<R: Real>(&mut self, n: usize, size: f64) -> Vec<R> {
        (0..n).map(|_| R::from_f64(size * self.gauss())).collect()
    }

    pub(crate) fn matrix(&mut self, rows: usize, cols: usize) -> Matrix {
        let data = (0..rows * cols).map(|_| self.gauss()).collect();
        Matrix::new(rows, cols, data).unwrap()
    }
}
