//! The gap as a cone program, written set by set and solved by an interior-point method. It uses nothing of the
//! library's own certificate.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT, SolverStatus, SupportedConeT,
    ZeroConeT,
};
use standoff::{Set, ops};

/// `min <c, u>` with `b - A u` in a product of cones. The first variables are the step in units of the radius.
#[derive(Default)]
struct Program {
    variables: usize,
    entries: Vec<(usize, usize, f64)>,
    rhs: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Program {
    /// Appends the row `b - sum a_j u_j`.
    fn row(&mut self, b: f64, terms: impl IntoIterator<Item = (usize, f64)>) {
        let row = self.rhs.len();
        self.entries.extend(terms.into_iter().filter(|t| t.1 != 0.0).map(|(j, a)| (j, row, a)));
        self.rhs.push(b);
    }

    /// Puts the rows appended since `from` into this cone.
    fn close(&mut self, from: usize, cone: impl Fn(usize) -> SupportedConeT<f64>) {
        if self.rhs.len() > from {
            self.cones.push(cone(self.rhs.len() - from));
        }
    }

    /// `point + radius u` lies in the set; the part's variables start at `at`.
    fn constrain(&mut self, set: &Set<f64>, point: &[f64], at: usize, radius: f64) {
        let from = self.rhs.len();
        let n = point.len();
        match set {
            Set::Free(_) => {}
            Set::Box(b) => {
                for i in 0..n {
                    if b.upper()[i].is_finite() {
                        self.row((b.upper()[i] - point[i]) / radius, [(at + i, 1.0)]);
                    }
                    if b.lower()[i].is_finite() {
                        self.row((point[i] - b.lower()[i]) / radius, [(at + i, -1.0)]);
                    }
                }
                self.close(from, NonnegativeConeT);
            }
            Set::Ball(b) => {
                self.row(b.radius() / radius, []);
                for i in 0..n {
                    self.row((point[i] - b.centre()[i]) / radius, [(at + i, -1.0)]);
                }
                self.close(from, SecondOrderConeT);
            }
            Set::L1Ball(b) => {
                let t = self.variables;
                self.variables += n;
                for i in 0..n {
                    self.row(-point[i] / radius, [(at + i, 1.0), (t + i, -1.0)]);
                    self.row(point[i] / radius, [(at + i, -1.0), (t + i, -1.0)]);
                }
                self.row(b.radius() / radius, (0..n).map(|i| (t + i, 1.0)));
                self.close(from, NonnegativeConeT);
            }
            Set::Simplex(b) => {
                for i in 0..n {
                    self.row(point[i] / radius, [(at + i, -1.0)]);
                }
                self.close(from, NonnegativeConeT);
                let from = self.rhs.len();
                self.row((b.scale() - point.iter().sum::<f64>()) / radius, (0..n).map(|i| (at + i, 1.0)));
                self.close(from, ZeroConeT);
            }
            Set::Halfspace(h) => {
                let slack = h.offset() - ops::dot(h.normal(), point);
                self.row(slack / radius, h.normal().iter().enumerate().map(|(i, a)| (at + i, *a)));
                self.close(from, NonnegativeConeT);
            }
            Set::Affine(a) => {
                for (q, d) in a.basis().iter().zip(a.rhs()) {
                    self.row((d - ops::dot(q, point)) / radius, q.iter().enumerate().map(|(i, a)| (at + i, *a)));
                }
                self.close(from, ZeroConeT);
            }
            Set::Polyhedron(p) => {
                for (q, b) in p.rows().iter().zip(p.rhs()) {
                    self.row((b - ops::dot(q, point)) / radius, q.iter().enumerate().map(|(i, a)| (at + i, *a)));
                }
                self.close(from, NonnegativeConeT);
            }
            Set::Product(p) => {
                for (part, range) in p.blocks() {
                    self.constrain(part, &point[range.clone()], at + range.start, radius);
                }
            }
            other => panic!("no conic form of {other:?}"),
        }
    }

    fn columns(&mut self) -> CscMatrix<f64> {
        self.entries.sort_by_key(|e| (e.0, e.1));
        let mut starts = vec![0; self.variables + 1];
        for (j, _, _) in &self.entries {
            starts[j + 1] += 1;
        }
        for j in 0..self.variables {
            starts[j + 1] += starts[j];
        }
        let rows = self.entries.iter().map(|e| e.1).collect();
        let values = self.entries.iter().map(|e| e.2).collect();
        CscMatrix::new(self.rhs.len(), self.variables, starts, rows, values)
    }
}

/// `max { -<g, s> : point + s in set, ||s|| <= radius }`; `None` if the solver does not finish.
pub(crate) fn gap(set: &Set<f64>, point: &[f64], g: &[f64], radius: f64) -> Option<f64> {
    let n = point.len();
    let norm = ops::norm(g);
    let mut program = Program { variables: n, ..Program::default() };
    program.constrain(set, point, 0, radius);
    let from = program.rhs.len();
    program.row(1.0, []);
    for i in 0..n {
        program.row(0.0, [(i, -1.0)]);
    }
    program.close(from, SecondOrderConeT);
    let mut objective: Vec<f64> = g.iter().map(|gi| gi / norm).collect();
    objective.resize(program.variables, 0.0);
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        tol_gap_abs: 1e-9,
        tol_gap_rel: 1e-9,
        tol_feas: 1e-9,
        ..DefaultSettings::default()
    };
    let quadratic = CscMatrix::zeros((program.variables, program.variables));
    let columns = program.columns();
    let mut solver =
        DefaultSolver::new(&quadratic, &objective, &columns, &program.rhs, &program.cones, settings).ok()?;
    solver.solve();
    (solver.solution.status == SolverStatus::Solved).then(|| -solver.solution.obj_val * norm * radius)
}
