//! The set of symmetric matrices with bounded eigenvalues, stored as flat vectors.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::symmetrise;
use crate::{ConvexSet, Error, ops};

/// Eigenvalues and eigenvectors of the symmetric part; `None` if they are not found, for example because of NaN.
pub(super) fn eigen(m: &DMatrix<f64>) -> Option<(DVector<f64>, DMatrix<f64>)> {
    if !ops::all_finite(m.as_slice()) {
        return None;
    }
    let mut m = m.clone();
    symmetrise(&mut m);
    let most = 1000 * (m.nrows() + 1);
    SymmetricEigen::try_new(m, f64::EPSILON, most).map(|e| (e.eigenvalues, e.eigenvectors))
}

/// The set `least I <= M <= most I` of symmetric `n x n` matrices `M`, stored column by column in full, with the inner
/// product of all entries. Every projection computes an eigendecomposition, so it is meant for small matrices.
///
/// ```
/// use standoff::{ConvexSet, zoo::lqr::SpectralBox};
///
/// let mut m = [5.0, 0.0, 0.0, -1.0];
/// SpectralBox::new(2, 0.1, 2.0)?.project(&mut m);
/// assert!((m[0] - 2.0).abs() < 1e-12 && (m[3] - 0.1).abs() < 1e-12);
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SpectralBox {
    n: usize,
    least: f64,
    most: f64,
}

impl SpectralBox {
    /// The `n x n` matrices with eigenvalues in `[least, most]`.
    pub fn new(n: usize, least: f64, most: f64) -> Result<Self, Error> {
        // Written so that NaN is refused.
        if !(least <= most && (most - least).is_finite()) {
            return Err(super::refuse(format!("no matrix has eigenvalues between {least} and {most}")));
        }
        if n == 0 {
            return Err(super::refuse("the matrix has no rows; give at least one".into()));
        }
        Ok(Self { n, least, most })
    }

    fn matrix(&self, v: &[f64]) -> DMatrix<f64> {
        DMatrix::from_column_slice(self.n, self.n, v)
    }

    /// Writes the matrix with these eigenvectors and changed eigenvalues.
    fn rebuild(&self, values: &DVector<f64>, vectors: &DMatrix<f64>, out: &mut [f64]) {
        let mut m = vectors * DMatrix::from_diagonal(values) * vectors.transpose();
        symmetrise(&mut m);
        out.copy_from_slice(m.as_slice());
    }
}

impl ConvexSet<f64> for SpectralBox {
    fn dim(&self) -> usize {
        self.n * self.n
    }

    fn project(&self, v: &mut [f64]) {
        let mut m = self.matrix(v);
        let Some((mut values, vectors)) = eigen(&m) else {
            v.fill(f64::NAN);
            return;
        };
        if values.iter().all(|e| (self.least..=self.most).contains(e)) {
            symmetrise(&mut m);
            v.copy_from_slice(m.as_slice());
        } else {
            values.iter_mut().for_each(|e| *e = e.clamp(self.least, self.most));
            self.rebuild(&values, &vectors, v);
        }
    }

    fn minimise_linear(&self, g: &[f64], out: &mut [f64]) -> bool {
        let Some((mut values, vectors)) = eigen(&self.matrix(g)) else { return false };
        let middle = 0.5 * (self.least + self.most);
        for e in values.iter_mut() {
            *e = if *e > 0.0 {
                self.least
            } else if *e < 0.0 {
                self.most
            } else {
                middle
            };
        }
        self.rebuild(&values, &vectors, out);
        true
    }

    fn centre(&self, out: &mut [f64]) {
        let middle = DMatrix::from_diagonal_element(self.n, self.n, 0.5 * (self.least + self.most));
        out.copy_from_slice(middle.as_slice());
    }

    /// The farthest matrix has the same eigenvectors, with each eigenvalue at its farther bound; the skew-symmetric
    /// part of `from` adds its length.
    fn radius_around(&self, from: &[f64]) -> f64 {
        let mut m = self.matrix(from);
        let Some((values, _)) = eigen(&m) else { return f64::NAN };
        let skew = {
            let whole = m.norm_squared();
            symmetrise(&mut m);
            whole - m.norm_squared()
        };
        let far = |e: &f64| (e - self.least).abs().max((self.most - e).abs()).powi(2);
        (values.iter().map(far).sum::<f64>() + if skew > 0.0 { skew } else { 0.0 }).sqrt()
    }
}
