//! Imitation of a linear-quadratic regulator: a policy against a cost that separates it from the expert's policy.
//!
//! A system `x' = A x + B u` is controlled by `u = -K x` from random starts of covariance `Sigma0`, at the cost
//! `C(K; Q, R) = E sum_t x_t'Q x_t + u_t'R u_t`. The expert's gain is `K_E`. The imitation game (Cai, Hong, Chen and Wang 2019)
//! is
//!
//! ```text
//! min over K, max over (Q, R) in Theta, of  m = C(K; Q, R) - C(K_E; Q, R) - (gamma/2) ||(Q, R) - (Qc, Rc)||^2
//! ```
//!
//! where `Theta` is the set of symmetric matrices whose eigenvalues lie between given bounds. It is linear (`gamma = 0`) or
//! strongly concave in `(Q, R)`. The paper's PL games have the other order, `min over (Q, R), max over K, of -m`, because `C`
//! is PL in K among the stabilising gains. The equilibrium has `K = K_E` if `gamma = 0`, or if `K_E` is optimal for the centre
//! `(Qc, Rc)`.

mod doubling;
mod examples;
mod file;
mod game;
mod policy;
mod riccati;
mod spectral;
mod system;

pub use doubling::lyapunov;
pub use examples::{cart_pole, cart_pole_imitation, discretise, random, random_system, scalar, scalar_system};
pub use file::{EXAMPLE, ImitationTask, Recovered};
pub use game::{Imitation, LqrGame, Order};
pub use nalgebra::DMatrix;
pub use riccati::dare;
pub use spectral::SpectralBox;
pub use system::System;

use crate::Error;

/// The error of every check in this module.
fn refuse(problem: String) -> Error {
    Error::Lqr(problem)
}

/// The largest entry that a matrix may have. Products of four entries, as in `K Sigma K'`, then stay finite.
const LARGEST_ENTRY: f64 = 1e60;

/// Refuses a matrix of the wrong shape, or with a non-finite or too large entry.
fn check(name: &str, m: &DMatrix<f64>, rows: usize, columns: usize) -> Result<(), Error> {
    if m.shape() != (rows, columns) {
        let (r, c) = m.shape();
        return Err(refuse(format!("{name} is {r} x {c}, it must be {rows} x {columns}")));
    }
    match m.iter().position(|v| !(v.abs() <= LARGEST_ENTRY)) {
        Some(at) => {
            let (row, column, value) = (at % rows, at / rows, m[at]);
            let want = if value.is_finite() { "at most 1e60 in size; use other units" } else { "finite" };
            Err(refuse(format!("{name}[{row}][{column}] is {value:?}; every entry must be {want}")))
        }
        None => Ok(()),
    }
}

/// The smallest and the largest eigenvalue of a symmetric matrix; refuses a matrix that is not symmetric.
pub fn eigenvalue_range(name: &str, m: &DMatrix<f64>) -> Result<(f64, f64), Error> {
    let least = least_eigenvalue(name, m)?;
    Ok((least, -least_eigenvalue(name, &-m)?))
}

/// The smallest eigenvalue of a symmetric matrix; refuses a matrix that is not symmetric.
fn least_eigenvalue(name: &str, m: &DMatrix<f64>) -> Result<f64, Error> {
    let size = m.amax();
    for j in 0..m.ncols() {
        for i in 0..j {
            if (m[(i, j)] - m[(j, i)]).abs() > 1e-9 * size {
                let (p, q) = (m[(i, j)], m[(j, i)]);
                return Err(refuse(format!(
                    "{name} is not symmetric: {name}[{i}][{j}] is {p}, {name}[{j}][{i}] is {q}"
                )));
            }
        }
    }
    spectral::eigen(m)
        .map(|(values, _)| values.min())
        .ok_or_else(|| refuse(format!("no eigenvalues of {name} were found")))
}

/// Refuses a matrix that is not symmetric and positive definite (semidefinite if `zero` is true).
fn check_definite(name: &str, m: &DMatrix<f64>, zero: bool) -> Result<(), Error> {
    let least = least_eigenvalue(name, m)?;
    let (wanted, good) =
        if zero { ("semidefinite", least >= -1e-12 * m.amax()) } else { ("definite", least > 1e-14 * m.amax()) };
    if good {
        Ok(())
    } else {
        Err(refuse(format!("{name} is not positive {wanted}: its least eigenvalue is {least:e}")))
    }
}

/// Replaces a matrix by its symmetric part.
fn symmetrise(m: &mut DMatrix<f64>) {
    for j in 0..m.ncols() {
        for i in 0..j {
            let mean = 0.5 * (m[(i, j)] + m[(j, i)]);
            m[(i, j)] = mean;
            m[(j, i)] = mean;
        }
    }
}
