//! Projections against plain references and against an independent conic solver.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT, SolverStatus, SupportedConeT,
    ZeroConeT,
};

use crate::dice::Dice;
use standoff::sets::Matrix;
use standoff::{Real, Set, ops};

/// The projection onto the simplex by sorting: take entries from the largest down while they stay above the resulting
/// threshold. Uses differences from the largest entry, so that huge entries lose no digits.
fn simplex_by_sorting(v: &[f64], scale: f64) -> Vec<f64> {
    let top = v.iter().fold(f64::NEG_INFINITY, |m: f64, x| m.max(*x));
    let mut sorted: Vec<f64> = v.iter().map(|x| x - top).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut tau) = (0.0, -scale);
    for (k, d) in sorted.iter().enumerate() {
        sum += d;
        let t = (sum - scale) / (k + 1) as f64;
        if *d <= t {
            break;
        }
        tau = t;
    }
    v.iter().map(|x| (x - top - tau).max(0.0)).collect()
}

fn l1_by_sorting(v: &[f64], radius: f64) -> Vec<f64> {
    let absolute: Vec<f64> = v.iter().map(|x| x.abs()).collect();
    if absolute.iter().sum::<f64>() <= radius {
        return v.to_vec();
    }
    simplex_by_sorting(&absolute, radius).iter().zip(v).map(|(z, x)| z.copysign(*x)).collect()
}

/// Vectors of all kinds: ties, all equal, spread over many scales, ordered, sparse, already feasible, far away.
fn vectors(dice: &mut Dice, n: usize) -> Vec<Vec<f64>> {
    let size = 10f64.powi(dice.below(13) as i32 - 6);
    let gauss: Vec<f64> = dice.vector(n, size);
    let uniform: Vec<f64> = (0..n).map(|_| size * dice.uniform()).collect();
    let mut ascending = uniform.clone();
    ascending.sort_by(f64::total_cmp);
    let descending = ascending.iter().rev().copied().collect();
    let sum: f64 = uniform.iter().sum();
    vec![
        uniform.iter().map(|u| u / sum).collect(),
        uniform.iter().map(|u| (3.0 * u / size).floor()).collect(),
        (0..n).map(|_| 10f64.powf(24.0 * dice.uniform() - 12.0) * dice.gauss()).collect(),
        (0..n).map(|_| if dice.uniform() < 0.9 { 0.0 } else { dice.gauss() }).collect(),
        gauss.iter().map(|g| g + 1e9).collect(),
        vec![0.3 * size; n],
        vec![-1e17; n],
        gauss,
        uniform,
        ascending,
        descending,
    ]
}

fn compare(name: &str, set: &Set<f64>, v: &[f64], reference: &[f64], scale: f64) {
    let mut z = v.to_vec();
    set.project(&mut z);
    for i in 0..z.len() {
        assert!(
            (z[i] - reference[i]).abs() <= 1e-12 * scale,
            "{name}, n = {}, entry {i}: {} {}",
            v.len(),
            z[i],
            reference[i]
        );
    }
    let kept = |z: &[f64]| z.iter().filter(|z| z.abs() > 1e-12 * scale).count();
    assert_eq!(kept(&z), kept(reference), "{name}: another active set");
    // Sum in blocks: a hundred thousand equal numbers added one by one are off by 1e-12.
    let sum: f64 = z.chunks(300).map(|block| block.iter().map(|z| z.abs()).sum::<f64>()).sum();
    let want: f64 = reference.chunks(300).map(|block| block.iter().map(|z| z.abs()).sum::<f64>()).sum();
    assert!((sum - want).abs() <= 1e-11 * scale, "{name}: the sum is {sum}, not {want}");
    let outside = v.iter().map(|v| v.abs()).sum::<f64>() > scale || name == "simplex";
    assert!(!outside || (sum - scale).abs() <= 1e-13 * scale, "{name}: the sum is {sum}, not {scale}");
}

#[test]
fn simplex_and_l1_projections_agree_with_sorting() {
    let mut dice = Dice(3);
    let lengths = [1, 2, 3, 5, 8, 13, 40, 63, 64, 65, 200, 777, 2048, 2049, 3000, 6000];
    for _ in 0..15 {
        for n in lengths {
            for v in vectors(&mut dice, n) {
                let scale = 10f64.powi(dice.below(7) as i32 - 3);
                compare("simplex", &Set::simplex(n, scale).unwrap(), &v, &simplex_by_sorting(&v, scale), scale);
                compare("l1 ball", &Set::l1_ball(n, scale).unwrap(), &v, &l1_by_sorting(&v, scale), scale);
            }
        }
    }
}

#[test]
fn many_candidates_take_passes_over_all_entries_and_stay_exact() {
    let mut dice = Dice(4);
    let n = 100_003;
    for v in vectors(&mut dice, n) {
        for scale in [1e-2, 1.0, 1e3] {
            compare("simplex", &Set::simplex(n, scale).unwrap(), &v, &simplex_by_sorting(&v, scale), scale);
        }
    }
}

#[test]
fn single_precision_is_double_precision_rounded() {
    let mut dice = Dice(5);
    for n in [1, 7, 100, 5000] {
        let v: Vec<f32> = dice.vector(n, 1.0);
        let mut z = v.clone();
        Set::simplex(n, 1.0).unwrap().project(&mut z);
        let wide: Vec<f64> = v.iter().map(|x| f64::from(*x)).collect();
        for (z, r) in z.iter().zip(simplex_by_sorting(&wide, 1.0)) {
            assert!((f64::from(*z) - r).abs() <= 1e-7 * r + 1e-14);
        }
    }
}

#[test]
fn a_nan_or_an_infinity_does_not_hang_and_stays_visible() {
    for n in [1, 3, 100, 5000] {
        for at in [0, n / 2, n - 1] {
            for bad in [f64::NAN, f64::INFINITY] {
                let mut v = vec![0.1; n];
                v[at] = bad;
                for set in [Set::simplex(n, 1.0).unwrap(), Set::l1_ball(n, 1e-3).unwrap()] {
                    let mut z = v.clone();
                    set.project(&mut z);
                    assert!(z.iter().all(|z| z.is_nan()), "{bad} hidden by {set:?}");
                }
            }
            let mut v = vec![0.1; n];
            v[at] = f64::NEG_INFINITY;
            Set::simplex(n, 1.0).unwrap().project(&mut v);
            let sum: f64 = v.iter().sum();
            assert!(if n == 1 { sum.is_nan() } else { v[at] == 0.0 && (sum - 1.0).abs() < 1e-12 });
        }
    }
}

/// The nearest `z` to `v` with `b - A z` in the cones, by Clarabel.
pub(crate) fn nearest_by_clarabel(v: &[f64], rows: &[Vec<f64>], b: &[f64], cones: &[SupportedConeT<f64>]) -> Vec<f64> {
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-13,
        tol_gap_rel: 1e-13,
        tol_feas: 1e-13,
        ..DefaultSettings::default()
    };
    let minus_v: Vec<f64> = v.iter().map(|x| -x).collect();
    let a = CscMatrix::from(rows);
    let mut solver = DefaultSolver::new(&CscMatrix::identity(v.len()), &minus_v, &a, b, cones, settings).unwrap();
    solver.solve();
    assert!(matches!(
        solver.solution.status,
        SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress
    ));
    solver.solution.x.clone()
}

fn unit(n: usize, i: usize, value: f64) -> Vec<f64> {
    (0..n).map(|k| if k == i { value } else { 0.0 }).collect()
}

#[test]
fn closed_forms_agree_with_an_independent_conic_solver() {
    let mut dice = Dice(6);
    for n in [1, 2, 5, 20, 60] {
        for _ in 0..5 {
            let v: Vec<f64> = dice.vector(n, 1.0);
            let scale = 0.2 + dice.uniform();
            let minus: Vec<Vec<f64>> = (0..n).map(|i| unit(n, i, -1.0)).collect();
            // Simplex: the sum in the zero cone, then -z <= 0.
            let rows = [vec![vec![1.0; n]], minus.clone()].concat();
            let b = [vec![scale], vec![0.0; n]].concat();
            let want = nearest_by_clarabel(&v, &rows, &b, &[ZeroConeT(1), NonnegativeConeT(n)]);
            agree(&Set::simplex(n, scale).unwrap(), &v, &want);
            // Ball around c: (radius, z - c) in the second-order cone.
            let c: Vec<f64> = dice.vector(n, 1.0);
            let rows = [vec![vec![0.0; n]], minus].concat();
            let b: Vec<f64> = std::iter::once(scale).chain(c.iter().map(|c| -c)).collect();
            agree(&Set::ball(c, scale).unwrap(), &v, &nearest_by_clarabel(&v, &rows, &b, &[SecondOrderConeT(n + 1)]));
            // The l1 ball has 2^n sides.
            if n <= 5 {
                let signs = |i: usize| (0..n).map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 }).collect::<Vec<f64>>();
                let rows: Vec<Vec<f64>> = (0..1 << n).map(signs).collect();
                let b = vec![scale; rows.len()];
                let want = nearest_by_clarabel(&v, &rows, &b, &[NonnegativeConeT(rows.len())]);
                agree(&Set::l1_ball(n, scale).unwrap(), &v, &want);
                agree(&Set::polyhedron(Matrix::from_rows(&rows).unwrap(), &b).unwrap(), &v, &want);
            }
            let rows = vec![dice.vector(n, 1.0)];
            let b = [dice.gauss()];
            let want = nearest_by_clarabel(&v, &rows, &b, &[NonnegativeConeT(1)]);
            agree(&Set::halfspace(rows[0].clone(), b[0]).unwrap(), &v, &want);
            let want = nearest_by_clarabel(&v, &rows, &b, &[ZeroConeT(1)]);
            agree(&Set::affine(Matrix::from_rows(&rows).unwrap(), &b).unwrap(), &v, &want);
        }
    }
}

fn agree(set: &Set<f64>, v: &[f64], want: &[f64]) {
    let mut z = v.to_vec();
    set.project(&mut z);
    assert!(ops::distance(&z, want) < 1e-6, "{set:?}: {z:?} against {want:?}");
    // The library's point is at least as good, up to rounding.
    assert!(ops::distance(&z, v) <= ops::distance(want, v) + 1e-9 || !set.contains(want, 1e-9));
}

/// `z = v - A^T l`, `l >= 0`, `A z <= b`, and `l_i > 0` only where row `i` is tight: this proves that `z` is the
/// projection.
pub(crate) fn prove_projection(set: &Set<f64>, v: &[f64]) {
    prove_projection_to(set, v, 1e-12);
}

/// Same as [`prove_projection`], with rows violated by at most `share` of the numbers in them.
pub(crate) fn prove_projection_to(set: &Set<f64>, v: &[f64], share: f64) {
    let Set::Polyhedron(p) = set else { panic!("not a polyhedron") };
    let (mut z, mut l) = (vec![0.0; v.len()], vec![0.0; p.rhs().len()]);
    p.project_with_multipliers(v, &mut z, &mut l);
    let tol = share * (1.0 + ops::norm(v) + ops::norm(&z));
    assert!(p.violation(&z) <= tol, "violated by {:e}", p.violation(&z));
    let mut back = z.clone();
    for (i, a) in p.rows().iter().enumerate() {
        assert!(l[i] >= 0.0);
        let slack = p.rhs()[i] - ops::dot(a, &z);
        assert!(l[i] == 0.0 || slack.abs() <= tol, "row {i} has multiplier {} and slack {slack:e}", l[i]);
        ops::axpy(l[i], a, &mut back);
    }
    assert!(ops::distance(&back, v) <= 10.0 * tol * (1.0 + ops::norm(&l)), "not stationary");
}

#[test]
fn projections_onto_polyhedra_are_proven_by_their_multipliers() {
    let mut dice = Dice(7);
    for round in 0..60 {
        let n = 1 + round % 12;
        let m = 1 + dice.below(4 * n);
        let rows = dice.matrix(m, n);
        let inside: Vec<f64> = dice.vector(n, 1.0);
        // In every third polyhedron all rows meet in one point.
        let room = if round % 3 == 0 { 0.0 } else { 1.0 };
        let b: Vec<f64> = rows.iter().map(|a| ops::dot(a, &inside) + room * dice.uniform()).collect();
        let set = Set::polyhedron(rows, &b).unwrap();
        for size in [0.1, 1.0, 1e3] {
            prove_projection(&set, &dice.vector(n, size));
        }
    }
}

#[test]
fn a_polyhedron_with_equalities_and_repeated_rows_is_projected_onto_exactly() {
    // The unit simplex in R^4, its sum as two opposite inequalities, every row twice.
    let n = 4;
    let mut rows: Vec<Vec<f64>> = (0..n).map(|i| unit(n, i, -1.0)).collect();
    rows.extend([vec![1.0; n], vec![-1.0; n]]);
    let b = [0.0, 0.0, 0.0, 0.0, 1.0, -1.0].repeat(2);
    let set = Set::polyhedron(Matrix::from_rows(&[rows.clone(), rows].concat()).unwrap(), &b).unwrap();
    let mut dice = Dice(8);
    for _ in 0..300 {
        let v: Vec<f64> = dice.vector(n, 2.0);
        let mut z = v.clone();
        set.project(&mut z);
        assert!(ops::distance(&z, &simplex_by_sorting(&v, 1.0)) < 1e-12);
    }
    assert!((set.radius_around(&[0.25; 4]) - 4f64.sqrt() * 0.75).abs() < 1e-6);
}

#[test]
fn linear_minimisation_over_a_polyhedron_finds_a_vertex_or_reports_that_none_exists() {
    let set =
        Set::<f64>::polyhedron(Matrix::from_rows(&[vec![-1.0, 0.0], vec![0.0, -1.0]]).unwrap(), &[0.0, 0.0]).unwrap();
    let mut z = [9.0, 9.0];
    assert!(set.minimise_linear(&[1.0, 2.0], &mut z));
    assert!(ops::norm(&z) < 1e-6, "{z:?}");
    assert!(!set.minimise_linear(&[1.0, -1.0], &mut z));
    assert_eq!(set.radius_around(&[0.0, 0.0]), f64::INFINITY);
}

#[test]
fn linear_minimisation_over_lines_and_halfspaces_is_bounded_only_across_them() {
    fn check<R: Real>() {
        let vector = |v: [f64; 3]| v.map(R::from_f64).to_vec();
        let mut z = vector([0.0; 3]);
        let half = Set::halfspace(vector([0.3, -0.7, 0.1]), 2.0).unwrap();
        assert!(half.minimise_linear(&vector([-0.6, 1.4, -0.2]), &mut z));
        assert!(half.contains(&z, 1e-6));
        assert!(!half.minimise_linear(&vector([0.6, -1.4, 0.2]), &mut z));
        assert!(!half.minimise_linear(&vector([-0.6, 1.4, -0.3]), &mut z));
        let rows = Matrix::from_rows(&[vec![1.0, 2.0, 3.0], vec![0.0, 1.0, -1.0]]).unwrap();
        let line = Set::<R>::affine(rows, &[1.0, 2.0]).unwrap();
        assert!(line.minimise_linear(&vector([2.0, 7.0, 3.0]), &mut z));
        assert!(!line.minimise_linear(&vector([2.0, 7.0, 3.5]), &mut z));
    }
    check::<f64>();
    check::<f32>();
}
