//! The discrete algebraic Riccati equation by the structured doubling algorithm, and the optimal gain.

use nalgebra::DMatrix;

use super::doubling::Doubling;
use super::{check, check_definite, refuse, symmetrise};
use crate::Error;

/// The stabilising solution `P` of `P = Q + A'PA - A'PB (R + B'PB)^-1 B'PA`, for `Q >= 0` and `R > 0`, and the optimal
/// gain `K = (R + B'PB)^-1 B'PA`.
///
/// Structured doubling (Chu, Fan and Lin 2005) converges quadratically; a Newton step (Kleinman 1968), one Lyapunov
/// equation, then removes its rounding errors.
pub fn dare(
    a: &DMatrix<f64>,
    b: &DMatrix<f64>,
    q: &DMatrix<f64>,
    r: &DMatrix<f64>,
) -> Result<(DMatrix<f64>, DMatrix<f64>), Error> {
    let (n, k) = (a.nrows(), b.ncols());
    check("A", a, n, n)?;
    check("B", b, n, k)?;
    check("Q", q, n, n)?;
    check("R", r, k, k)?;
    check_definite("Q", q, true)?;
    check_definite("R", r, false)?;
    let unsolved = || {
        refuse(
            "the Riccati equation has no stabilising solution: an unstable mode cannot be controlled by the input, or has no cost".into(),
        )
    };
    let mut p = double(a, b, q, r).ok_or_else(unsolved)?;
    let mut doubling = Doubling::new(n);
    for _ in 0..2 {
        let gain = gain(a, b, r, &p).ok_or_else(unsolved)?;
        if !doubling.factor(&(a - b * &gain)) {
            return Err(unsolved());
        }
        p = q + gain.transpose() * r * &gain;
        symmetrise(&mut p);
        doubling.sum_transposed(&mut p);
    }
    let gain = gain(a, b, r, &p).ok_or_else(unsolved)?;
    if p.iter().chain(gain.iter()).all(|v| v.is_finite()) { Ok((p, gain)) } else { Err(unsolved()) }
}

/// `(R + B'PB)^-1 B'PA`.
fn gain(a: &DMatrix<f64>, b: &DMatrix<f64>, r: &DMatrix<f64>, p: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let btp = b.transpose() * p;
    Some((r + &btp * b).cholesky()?.solve(&(btp * a)))
}

/// The iteration: `A_0 = A`, `G_0 = B R^-1 B'`, `H_0 = Q`; then, with `W = I + G H`,
/// `A' = A W^-1 A`, `G' = G + A W^-1 G A^T`, `H' = H + A^T H W^-1 A`. `H` converges to P.
fn double(a: &DMatrix<f64>, b: &DMatrix<f64>, q: &DMatrix<f64>, r: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    const MOST: usize = 60;
    let n = a.nrows();
    let mut a = a.clone();
    let mut g = b * r.clone().cholesky()?.solve(&b.transpose());
    let mut h = q.clone();
    for _ in 0..MOST {
        let w = (DMatrix::identity(n, n) + &g * &h).lu();
        let (wa, wg) = (w.solve(&a)?, w.solve(&g)?);
        let rise = a.transpose() * &h * &wa;
        g += &a * wg * a.transpose();
        h += &rise;
        a = &a * wa;
        symmetrise(&mut g);
        symmetrise(&mut h);
        if !h.norm().is_finite() {
            return None;
        }
        if rise.norm() <= 1e-15 * h.norm() {
            return Some(h);
        }
    }
    None
}
