//! Properties of every set: projections are feasible, idempotent, non-expansive and nearest; linear minimisers are at
//! least as good as any sampled point; radii bound every sampled point.

use crate::dice::Dice;
use standoff::{Real, Set, ops};

/// One random set of every kind, in dimension `n`.
fn one_of_each<R: Real>(dice: &mut Dice, n: usize) -> Vec<Set<R>> {
    let low: Vec<R> = dice.vector(n, 1.0);
    let high = low.iter().map(|l| R::from_f64(l.to_f64() + dice.uniform())).collect();
    let half_open = (vec![R::from_f64(0.0); n], vec![R::from_f64(f64::INFINITY); n]);
    let equations = 1 + dice.below(n);
    let inside: Vec<f64> = dice.vector(n, 1.0);
    let rows = dice.matrix(2 * n + 1, n);
    let rhs: Vec<f64> = rows.iter().map(|a| ops::dot(a, &inside) + dice.uniform()).collect();
    vec![
        Set::free(n),
        Set::boxed(low, high).unwrap(),
        Set::boxed(half_open.0, half_open.1).unwrap(),
        Set::ball(dice.vector(n, 1.0), 0.1 + dice.uniform()).unwrap(),
        Set::l1_ball(n, 0.1 + dice.uniform()).unwrap(),
        Set::simplex(n, 0.1 + 2.0 * dice.uniform()).unwrap(),
        Set::halfspace(dice.vector(n, 1.0), dice.gauss()).unwrap(),
        Set::affine(dice.matrix(equations, n), &dice.vector(equations, 1.0)).unwrap(),
        Set::polyhedron(rows, &rhs).unwrap(),
    ]
}

fn with_products<R: Real>(dice: &mut Dice, n: usize) -> Vec<Set<R>> {
    let mut sets = one_of_each(dice, n);
    sets.push(Set::product(one_of_each(dice, n)).unwrap());
    let nested = vec![Set::product(one_of_each(dice, 2)).unwrap(), Set::simplex(3, 1.0).unwrap()];
    sets.push(Set::product(nested).unwrap());
    sets
}

fn check_every_set<R: Real>(seed: u64, tol: f64) {
    let mut dice = Dice(seed);
    for round in 0..40 {
        for set in with_products::<R>(&mut dice, 1 + round % 9) {
            let n = set.dim();
            let size = 10f64.powi(dice.below(3) as i32);
            let v: Vec<R> = dice.vector(n, size);
            let w: Vec<R> = dice.vector(n, size);
            let (mut pv, mut pw) = (v.clone(), w.clone());
            set.project(&mut pv);
            set.project(&mut pw);
            let tol = tol * (1.0 + size) * (n as f64).sqrt();
            let mut again = pv.clone();
            set.project(&mut again);
            assert!(ops::distance(&pv, &again) <= tol, "not idempotent: {set:?}");
            assert!(set.contains(&pv, tol), "not feasible: {set:?}");
            assert!(ops::distance(&pv, &pw) <= ops::distance(&v, &w) + tol, "expansive: {set:?}");
            let g: Vec<R> = dice.vector(n, 1.0);
            let mut corner = vec![R::default(); n];
            let bounded = set.minimise_linear(&g, &mut corner);
            assert!(!bounded || set.contains(&corner, 10.0 * tol), "corner not feasible: {set:?}");
            let (radius, diameter) = (set.radius_around(&v), set.diameter_bound());
            assert!(set.contains(&set.centre(), tol), "centre not feasible: {set:?}");
            for _ in 0..20 {
                let mut z: Vec<R> = dice.vector(n, size);
                set.project(&mut z);
                // <v - Pv, z - Pv> <= 0 for every feasible z.
                let angle: f64 =
                    (0..n).map(|i| (v[i].to_f64() - pv[i].to_f64()) * (z[i].to_f64() - pv[i].to_f64())).sum();
                assert!(angle <= tol * size * 10.0, "a nearer point exists ({angle:e}): {set:?}");
                if bounded {
                    assert!(ops::dot(&g, &corner) <= ops::dot(&g, &z) + 100.0 * tol, "corner beaten: {set:?}");
                }
                assert!(ops::distance(&z, &v) <= radius + tol, "radius too small: {set:?}");
                assert!(ops::distance(&z, &pv) <= diameter + tol, "diameter too small: {set:?}");
            }
        }
    }
}

#[test]
fn every_set_has_its_properties_in_double_precision() {
    check_every_set::<f64>(1, 1e-12);
}

#[test]
fn every_set_has_its_properties_in_single_precision() {
    check_every_set::<f32>(2, 3e-6);
}

#[test]
fn a_nan_stays_visible_in_every_set() {
    let mut dice = Dice(9);
    for set in with_products::<f64>(&mut dice, 4) {
        let n = set.dim();
        for at in 0..n {
            let mut v: Vec<f64> = dice.vector(n, 1.0);
            v[at] = f64::NAN;
            assert!(!set.contains(&v, f64::INFINITY), "{set:?}");
            let mut out = vec![0.0; n];
            assert!(!set.minimise_linear(&v, &mut out), "a minimiser for NaN: {set:?}");
            let radius = set.radius_around(&v);
            assert!(radius.is_nan() || radius == f64::INFINITY, "a radius of {radius} around NaN: {set:?}");
            set.project(&mut v);
            assert!(v.iter().any(|z| z.is_nan()), "hidden: {set:?}");
        }
    }
}
