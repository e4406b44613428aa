//! A polyhedron's gap as one cone program: `min <g, s>` with `A s <= b - A x` and `||s|| <= radius`, by Clarabel.

use super::projected::ProjectedPart;
use crate::ops;
use crate::sets::Polyhedron;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT, SupportedConeT};

/// An approximate step and approximate multipliers of all rows.
#[derive(Debug)]
pub(super) struct ConeSolution {
    pub(super) step: Vec<f64>,
    pub(super) multipliers: Vec<f64>,
}

/// Solves the program in units of the radius and of `||g||`; `None` if the solver returns no finite numbers.
pub(super) fn solve(set: &Polyhedron, seen: &ProjectedPart<'_>) -> Option<ConeSolution> {
    let n = seen.g.len();
    // Rows have length one, so a row with more slack than the radius is never active.
    let near: Vec<usize> = (0..seen.slacks.len()).filter(|&i| seen.slacks[i] < seen.radius).collect();
    let norm = ops::norm(seen.g);
    let objective: Vec<f64> = seen.g.iter().map(|g| g / norm).collect();
    let mut rhs: Vec<f64> = near.iter().map(|&i| seen.slacks[i] / seen.radius).collect();
    rhs.push(1.0);
    rhs.resize(near.len() + 1 + n, 0.0);
    let cones: [SupportedConeT<f64>; 2] = [NonnegativeConeT(near.len()), SecondOrderConeT(1 + n)];
    // One thread, so that every machine computes the same bits.
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        tol_gap_abs: 1e-10,
        tol_gap_rel: 1e-10,
        tol_feas: 1e-10,
        ..DefaultSettings::default()
    };
    let columns = columns(set, &near);
    let quadratic = CscMatrix::zeros((n, n));
    let mut solver = DefaultSolver::new(&quadratic, &objective, &columns, &rhs, &cones, settings).ok()?;
    set.count_program();
    solver.solve();
    // The status does not matter: any step made feasible gives a lower bound, any non-negative multipliers an upper
    // one.
    let (u, l) = (&solver.solution.x, &solver.solution.z);
    if !(ops::all_finite(u) && ops::all_finite(l)) {
        return None;
    }
    let mut multipliers = vec![0.0; seen.slacks.len()];
    for (k, &i) in near.iter().enumerate() {
        multipliers[i] = norm * l[k];
    }
    Some(ConeSolution { step: u.iter().map(|ui| ui * seen.radius).collect(), multipliers })
}

/// The constraints in compressed-column format: the near rows, then `(1, u)` in the second-order cone.
fn columns(set: &Polyhedron, near: &[usize]) -> CscMatrix<f64> {
    let n = set.rows().cols();
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for col in 0..n {
        for (k, &i) in near.iter().enumerate() {
            let a = set.rows().row(i)[col];
            if a != 0.0 {
                rows.push(k);
                values.push(a);
            }
        }
        rows.push(near.len() + 1 + col);
        values.push(-1.0);
        starts.push(rows.len());
    }
    CscMatrix::new(near.len() + 1 + n, n, starts, rows, values)
}
