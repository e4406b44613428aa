//! A linear system with random starts, and the cost of its feedback gains.

use nalgebra::{Complex, DMatrix, SVD, Schur};

use super::doubling::Doubling;
use super::{check, check_definite, dare, refuse};
use crate::Error;

/// The system `x' = A x + B u` from `x_0` with covariance `Sigma0`; it must be stabilisable.
///
/// ```
/// use standoff::zoo::lqr::{DMatrix, System};
///
/// let one = |v: f64| DMatrix::from_element(1, 1, v);
/// assert!(System::new(one(1.2), one(1.0), one(1.0)).is_ok());
/// // No input controls an unstable mode.
/// assert!(System::new(one(1.2), one(0.0), one(1.0)).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    a: DMatrix<f64>,
    b: DMatrix<f64>,
    sigma0: DMatrix<f64>,
}

impl System {
    /// A system with as many states as `A` has rows and as many inputs as `B` has columns. Refuses a system that no
    /// gain can stabilise.
    pub fn new(a: DMatrix<f64>, b: DMatrix<f64>, sigma0: DMatrix<f64>) -> Result<Self, Error> {
        let n = a.nrows();
        if n == 0 || b.ncols() == 0 {
            return Err(refuse(format!("A has {n} rows and B has {} columns; give at least one of each", b.ncols())));
        }
        if a.ncols() != n {
            return Err(refuse(format!("A is {n} x {}, it must be square", a.ncols())));
        }
        check("A", &a, n, n)?;
        check("B", &b, n, b.ncols())?;
        check("Sigma0", &sigma0, n, n)?;
        check_definite("Sigma0", &sigma0, false)?;
        if let Some(mode) = unreachable_mode(&a, &b) {
            return Err(refuse(format!(
                "(A, B) cannot be stabilised: the mode of A with eigenvalue {mode} does not decay and no input controls it"
            )));
        }
        Ok(Self { a, b, sigma0 })
    }

    /// `A`.
    pub fn a(&self) -> &DMatrix<f64> {
        &self.a
    }

    /// `B`.
    pub fn b(&self) -> &DMatrix<f64> {
        &self.b
    }

    /// The covariance of the start.
    pub fn sigma0(&self) -> &DMatrix<f64> {
        &self.sigma0
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.a.nrows()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.b.ncols()
    }

    /// `A - B K`.
    pub fn closed_loop(&self, k: &DMatrix<f64>) -> DMatrix<f64> {
        &self.a - &self.b * k
    }

    /// Refuses a gain of the wrong shape, or one for which the state does not decay.
    pub fn check_stabilising(&self, name: &str, k: &DMatrix<f64>) -> Result<(), Error> {
        check(name, k, self.inputs(), self.states())?;
        if Doubling::new(self.states()).factor(&self.closed_loop(k)) {
            return Ok(());
        }
        let radius = spectral_radius(&self.closed_loop(k)).map_or("at least 1".into(), |r| format!("{r:.6}"));
        Err(refuse(format!(
            "{name} does not stabilise the system: A - B K has spectral radius {radius}, it must be below 1"
        )))
    }

    /// The optimal gain for the cost `(Q, R)`.
    pub fn gain_for(&self, q: &DMatrix<f64>, r: &DMatrix<f64>) -> Result<DMatrix<f64>, Error> {
        dare(&self.a, &self.b, q, r).map(|(_, gain)| gain)
    }

    /// The cost `C(K; Q, R)`; infinite if `K` does not stabilise.
    pub fn cost(&self, k: &DMatrix<f64>, q: &DMatrix<f64>, r: &DMatrix<f64>) -> f64 {
        let mut doubling = Doubling::new(self.states());
        if !doubling.factor(&self.closed_loop(k)) {
            return f64::INFINITY;
        }
        let mut sigma = self.sigma0.clone();
        doubling.sum(&mut sigma);
        q.dot(&sigma) + r.dot(&(k * &sigma * k.transpose()))
    }
}

/// The largest modulus of an eigenvalue; `None` if the eigenvalues are not found.
pub(super) fn spectral_radius(m: &DMatrix<f64>) -> Option<f64> {
    eigenvalues(m).map(|all| all.iter().map(|e| e.norm()).fold(0.0, f64::max))
}

fn eigenvalues(m: &DMatrix<f64>) -> Option<Vec<Complex<f64>>> {
    let most = 1000 * (m.nrows() + 1);
    Schur::try_new(m.clone(), f64::EPSILON, most).map(|s| s.complex_eigenvalues().iter().copied().collect())
}

/// An eigenvalue on or outside the unit circle at which `[lambda I - A, B]` loses rank (Popov, Belevitch and Hautus).
fn unreachable_mode(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Option<Complex<f64>> {
    let n = a.nrows();
    let size = a.norm() + b.norm();
    eigenvalues(a)?.into_iter().filter(|e| e.norm() >= 1.0 - 1e-12).find(|lambda| {
        let mut pencil = DMatrix::<Complex<f64>>::zeros(n, n + b.ncols());
        for i in 0..n {
            for j in 0..n {
                pencil[(i, j)] = Complex::new(-a[(i, j)], 0.0);
            }
            pencil[(i, i)] += lambda;
            for j in 0..b.ncols() {
                pencil[(i, n + j)] = Complex::new(b[(i, j)], 0.0);
            }
        }
        let most = 1000 * (n + 1);
        SVD::try_new(pencil, false, false, f64::EPSILON, most).is_some_and(|s| s.singular_values.min() <= 1e-10 * size)
    })
}
