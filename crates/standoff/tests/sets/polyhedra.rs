//! Sequences of projections onto polyhedra: each starts at the active rows of the last one, and the results must not
//! depend on that.

use clarabel::solver::NonnegativeConeT;

use crate::dice::Dice;
use crate::exact::{nearest_by_clarabel, prove_projection_to};
use standoff::formula::FormulaGame;
use standoff::sets::Matrix;
use standoff::{Game, Set, Settings, StopReason, ops, solve};

/// Inequalities around the point `inside`, which lies on all of them if `room` is 0.
struct System {
    rows: Vec<Vec<f64>>,
    b: Vec<f64>,
    inside: Vec<f64>,
}

impl System {
    fn random(dice: &mut Dice, (m, n): (usize, usize), room: f64) -> Self {
        let inside: Vec<f64> = dice.vector(n, 1.0);
        let rows: Vec<Vec<f64>> = (0..m).map(|_| dice.vector(n, 1.0)).collect();
        let b = rows.iter().map(|a| ops::dot(a, &inside) + room * (0.1 + dice.uniform())).collect();
        Self { rows, b, inside }
    }

    fn push(&mut self, row: Vec<f64>, b: f64) {
        self.rows.push(row);
        self.b.push(b);
    }

    /// Adds every row again, rotated by about `angle` and moved outwards slightly less than that.
    fn repeat(&mut self, dice: &mut Dice, angle: f64) {
        for i in 0..self.rows.len() {
            let row = self.rows[i].iter().map(|a| a + angle * dice.gauss()).collect();
            self.push(row, self.b[i] + angle * dice.uniform());
        }
    }

    /// Turns the first rows into equations, which hold at `inside`.
    fn equate(&mut self, count: usize) {
        for i in 0..count {
            self.b[i] = ops::dot(&self.rows[i], &self.inside);
            let row = self.rows[i].iter().map(|a| -a).collect();
            self.push(row, -self.b[i]);
        }
    }

    fn set(&self) -> Set<f64> {
        Set::polyhedron(Matrix::from_rows(&self.rows).unwrap(), &self.b).unwrap()
    }
}

/// Systems of all kinds that are hard for an active set.
fn systems(dice: &mut Dice, n: usize) -> Vec<(&'static str, System)> {
    let mut out = vec![
        ("general", System::random(dice, (4 * n, n), 1.0)),
        ("all rows meet in a point", System::random(dice, (3 * n, n), 0.0)),
    ];
    for (name, angle) in [("repeated", 0.0), ("1e-3", 1e-3), ("1e-6", 1e-6), ("1e-9", 1e-9), ("1e-12", 1e-12)] {
        let mut s = System::random(dice, (2 * n, n), 1.0);
        s.repeat(dice, angle);
        out.push((name, s));
    }
    let mut equations = System::random(dice, (2 * n, n), 1.0);
    equations.equate(n / 2);
    out.push(("equations", equations));
    let mut flat = System::random(dice, (2 * n, n), 1.0);
    flat.equate(1);
    flat.repeat(dice, 0.0);
    out.push(("no interior, repeated", flat));
    out
}

#[test]
fn every_projection_of_a_sequence_is_the_one_of_an_independent_solver() {
    let mut dice = Dice(31);
    for round in 0..6 {
        let n = 2 + 2 * round;
        for (kind, system) in systems(&mut dice, n) {
            let set = system.set();
            let mut v: Vec<f64> = dice.vector(n, 3.0);
            for step in 0..25 {
                // Small steps, with an occasional jump.
                let size = if step % 8 == 7 { 3.0 } else { 0.1 };
                v.iter_mut().for_each(|v| *v += size * dice.gauss());
                let mut z = v.clone();
                set.project(&mut z);
                // A row that is parallel to an active one up to 1e-9 is skipped if it is violated by at most 1e-11.
                prove_projection_to(&set, &v, if ["1e-9", "1e-12"].contains(&kind) { 1e-11 } else { 1e-12 });
                let want = nearest_by_clarabel(&v, &system.rows, &system.b, &[NonnegativeConeT(system.rows.len())]);
                // A nearer point is infeasible: the solver's point is feasible only to its own tolerance.
                let slack = 1e-5 * (1.0 + ops::norm(&v));
                assert!(ops::distance(&z, &v) <= ops::distance(&want, &v) + slack, "{kind} {n} {step}");
                assert!(ops::distance(&z, &want) <= slack, "{kind} {n} {step}: {:e}", ops::distance(&z, &want));
            }
        }
    }
}

#[test]
fn a_projection_has_the_same_bits_whatever_was_projected_before() {
    let mut dice = Dice(32);
    for n in [3, 8, 20] {
        let system = System::random(&mut dice, (4 * n, n), 1.0);
        let set = system.set();
        for _ in 0..40 {
            let v: Vec<f64> = dice.vector(n, 2.0);
            let (mut warm, mut cold) = (v.clone(), v.clone());
            set.project(&mut warm);
            system.set().project(&mut cold);
            assert_eq!(warm, cold);
        }
        let Set::Polyhedron(p) = &set else { panic!("not a polyhedron") };
        assert_eq!(p.work().from_scratch, 0);
    }
}

#[test]
fn a_small_move_changes_few_rows() {
    let mut dice = Dice(33);
    let n = 30;
    let set = System::random(&mut dice, (4 * n, n), 1.0).set();
    let Set::Polyhedron(p) = &set else { panic!("not a polyhedron") };
    let mut v: Vec<f64> = dice.vector(n, 5.0);
    set.project(&mut v.clone());
    let before = p.work();
    for _ in 0..100 {
        v.iter_mut().for_each(|v| *v += 1e-3 * dice.gauss());
        set.project(&mut v.clone());
    }
    let after = p.work();
    assert_eq!(after.projections - before.projections, 100);
    let changes = after.row_changes - before.row_changes;
    assert!(changes <= 100, "{changes} rows entered or left");
}

#[test]
fn a_corner_is_found_without_linear_programs() {
    let mut dice = Dice(34);
    let n = 10;
    let mut system = System::random(&mut dice, (4 * n, n), 1.0);
    for i in 0..2 * n {
        let side = (0..n)
            .map(|k| {
                if k != i / 2 {
                    0.0
                } else if i % 2 == 0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        system.push(side, 20.0);
    }
    let set = system.set();
    let radius = set.radius_around(&vec![0.0; n]);
    let Set::Polyhedron(p) = &set else { panic!("not a polyhedron") };
    assert_eq!(p.work().programs, 0);
    // The bounding box, by linear programs.
    let mut far2 = 0.0;
    for i in 0..n {
        let end = |sign: f64| {
            let (mut g, mut z) = (vec![0.0; n], vec![0.0; n]);
            g[i] = sign;
            assert!(set.minimise_linear(&g, &mut z));
            z[i].abs()
        };
        far2 += f64::max(end(1.0), end(-1.0)).powi(2);
    }
    assert!((radius / far2.sqrt() - 1.0).abs() < 1e-6, "{radius} against {}", far2.sqrt());
}

/// A quadratic on a polytope of `n` variables and `4 n` rows, against another polytope.
fn game(dice: &mut Dice, n: usize) -> FormulaGame {
    let mut system = System::random(dice, (2 * n, n), 1.0);
    for i in 0..2 * n {
        let side = (0..n)
            .map(|k| {
                if k != i / 2 {
                    0.0
                } else if i % 2 == 0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        system.push(side, 3.0);
    }
    let (h, b) = (dice.vector::<f64>(n * n, 0.5), dice.vector::<f64>(n * n, 0.5));
    let rows = |v: &[f64]| format!("{:?}", v.chunks(n).collect::<Vec<_>>());
    let set = "{ polyhedron = { A = \"A\", b = \"s\" } }";
    let text = format!(
        "objective = \"dot(x, H @ x) + dot(y, B @ x) - 0.5*dot(y, y) + sum(x)\"\n\
         [min.x]\ndim = {n}\nset = {set}\n[max.y]\ndim = {n}\nset = {set}\n\
         [data]\nH = {}\nB = {}\nA = {:?}\ns = {:?}\n",
        rows(&h),
        rows(&b),
        system.rows,
        system.b
    );
    FormulaGame::from_toml(&text, &mut |path| Err(format!("no file {path}"))).unwrap()
}

#[test]
fn a_run_on_polyhedra_solves_no_programs_and_changes_few_rows() {
    let mut dice = Dice(35);
    for n in [6, 20] {
        let mut game = game(&mut dice, n);
        let start = game.start();
        let solution = solve(&mut game, &start, &Settings::eps(1e-4)).unwrap();
        assert_eq!(solution.reason, StopReason::Converged);
        for set in [game.x_set(), game.y_set()] {
            let Set::Polyhedron(p) = set else { panic!("not a polyhedron") };
            let work = p.work();
            assert_eq!((work.programs, work.from_scratch), (0, 0), "{work:?}");
            assert!(work.row_changes <= 8 * work.projections, "{work:?}");
        }
    }
}

#[test]
fn a_second_run_on_the_same_sets_has_the_same_bits() {
    let mut dice = Dice(36);
    let mut game = game(&mut dice, 8);
    let start = game.start();
    let first = solve(&mut game, &start, &Settings::eps(1e-5)).unwrap();
    let second = solve(&mut game, &start, &Settings::eps(1e-5)).unwrap();
    assert_eq!((first.point.x, first.point.y), (second.point.x, second.point.y));
    assert_eq!((first.calls, first.certificate), (second.calls, second.certificate));
}
