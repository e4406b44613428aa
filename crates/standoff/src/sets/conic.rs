//! The two optimisation problems over `A z <= b` that the interior-point solver Clarabel solves.

use super::matrix::Matrix;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};

/// Status of a program after the solver returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConicStatus {
    /// A minimiser was found, possibly with low accuracy.
    Found,
    /// No point satisfies the inequalities.
    Empty,
    /// The objective has no lower bound.
    Unbounded,
    /// The solver stopped without an answer.
    Unknown,
}

/// A minimiser and the multipliers of its constraints.
#[derive(Debug)]
pub(super) struct ConicSolution {
    pub(super) ending: ConicStatus,
    pub(super) z: Vec<f64>,
    pub(super) multipliers: Vec<f64>,
}

/// The dense rows in Clarabel's compressed-column format.
pub(super) fn columns(a: &Matrix) -> CscMatrix<f64> {
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for col in 0..a.cols() {
        for (row, entries) in a.iter().enumerate() {
            if entries[col] != 0.0 {
                rows.push(row);
                values.push(entries[col]);
            }
        }
        starts.push(rows.len());
    }
    CscMatrix::new(a.rows(), a.cols(), starts, rows, values)
}

/// Finds the shortest `s` with `A s <= b`.
pub(super) fn shortest(a: &CscMatrix<f64>, b: &[f64]) -> ConicSolution {
    solve(&CscMatrix::identity(a.n), &vec![0.0; a.n], a, b)
}

/// Finds a minimiser of `<g, z>` over `A z <= b`.
pub(super) fn linear(g: &[f64], a: &CscMatrix<f64>, b: &[f64]) -> ConicSolution {
    solve(&CscMatrix::zeros((a.n, a.n)), g, a, b)
}

fn solve(p: &CscMatrix<f64>, q: &[f64], a: &CscMatrix<f64>, b: &[f64]) -> ConicSolution {
    // One thread, so that every machine computes the same bits.
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        tol_gap_abs: 1e-10,
        tol_gap_rel: 1e-10,
        tol_feas: 1e-10,
        ..DefaultSettings::default()
    };
    let nothing = || ConicSolution { ending: ConicStatus::Unknown, z: vec![0.0; a.n], multipliers: vec![0.0; a.m] };
    let Ok(mut solver) = DefaultSolver::new(p, q, a, b, &[NonnegativeConeT(a.m)], settings) else {
        return nothing();
    };
    solver.solve();
    let ending = match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => ConicStatus::Found,
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => ConicStatus::Empty,
        SolverStatus::DualInfeasible | SolverStatus::AlmostDualInfeasible => ConicStatus::Unbounded,
        _ => ConicStatus::Unknown,
    };
    ConicSolution { ending, z: solver.solution.x.clone(), multipliers: solver.solution.z.clone() }
}
