//! Edge cases: NaN, rounding, huge and tiny numbers, single precision, custom sets.

use super::dice::Dice;
use super::measured;
use standoff::gap::{Ask, Gauge, Side};
use standoff::{Certificate, ConvexSet, Gap, Real, Set, ops};

fn every_set(dice: &mut Dice, n: usize) -> Vec<Set<f64>> {
    let mut sets = dice.closed_sets(n);
    sets.push(dice.product(n));
    sets.push(dice.polyhedron(n, n + 2));
    let part = dice.polyhedron(n, n + 2);
    sets.push(Set::product(vec![part, Set::l1_ball(2, 1.0).unwrap()]).unwrap());
    sets
}

fn ask(set: &Set<f64>, point: &[f64], g: &[f64], ask: Ask) -> Gap {
    Gauge::new(1.0).measure(set, point, g, Side::Min, ask)
}

#[test]
fn a_nan_or_infinite_number_is_never_a_small_gap() {
    let mut dice = Dice(21);
    for set in every_set(&mut dice, 4) {
        let point = dice.point(&set);
        let g: Vec<f64> = dice.vector(set.dim(), 1.0);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for i in [0, set.dim() - 1] {
                let mut spoiled = g.clone();
                spoiled[i] = bad;
                let gap = ask(&set, &point, &spoiled, Ask::AtMost(1.0));
                assert!(gap.lower.is_nan() && gap.upper.is_nan(), "{gap:?}");
                let mut spoiled = point.clone();
                spoiled[i] = bad;
                let gap = ask(&set, &spoiled, &g, Ask::Exact);
                assert!(gap.lower.is_nan() && gap.upper.is_nan(), "{gap:?}");
            }
        }
        for radius in [f64::NAN, f64::INFINITY, -1.0] {
            let gap = Gauge::new(radius).measure(&set, &point, &g, Side::Min, Ask::Exact);
            assert!(gap.lower.is_nan() && gap.upper.is_nan(), "{gap:?}");
        }
    }
}

#[test]
fn a_certificate_with_a_nan_proves_nothing() {
    for (x, y) in [(Gap::UNKNOWN, Gap::ZERO), (Gap::ZERO, Gap::UNKNOWN), (Gap::UNKNOWN, Gap::UNKNOWN)] {
        let certificate = Certificate::as_computed(x, y, 1.0);
        assert!(certificate.epsilon().is_nan() && !certificate.proves(f64::INFINITY));
    }
    let (small, large) = (Gap { lower: 0.0, upper: 0.1 }, Gap { lower: 0.0, upper: 0.2 });
    for (x, y) in [(small, large), (large, small)] {
        let certificate = Certificate::as_computed(x, y, 1.0);
        assert!(certificate.epsilon() == 0.2 && certificate.proves(0.2) && !certificate.proves(0.19));
    }
}

#[test]
fn a_point_that_is_clearly_outside_has_no_gap_and_one_that_is_barely_outside_has() {
    let mut dice = Dice(22);
    for set in every_set(&mut dice, 4) {
        let mut point: Vec<f64> = dice.vector(set.dim(), 30.0);
        let g: Vec<f64> = dice.vector(set.dim(), 1.0);
        if set.distance(&point) > 1.0 {
            let gap = ask(&set, &point, &g, Ask::Exact);
            assert!(gap.upper.is_nan(), "{gap:?} for {set:?}");
        }
        let outside = point.clone();
        set.project(&mut point);
        let inside = measured(&set, &point, &g, 1.0);
        for i in 0..point.len() {
            point[i] += 1e-9 * (outside[i] - point[i]);
        }
        let gap = ask(&set, &point, &g, Ask::Exact);
        let tolerance = 1e-5 * ops::norm(&g);
        assert!((gap.upper - inside.upper).abs() <= tolerance, "{gap:?}, not {inside:?}: {set:?}");
    }
}

#[test]
fn a_gap_of_zero_is_exactly_zero() {
    let mut dice = Dice(23);
    for set in every_set(&mut dice, 5) {
        let point = dice.point(&set);
        assert_eq!(measured(&set, &point, &vec![0.0; set.dim()], 1.0), Gap::ZERO);
        let g: Vec<f64> = dice.vector(set.dim(), 1.0);
        assert_eq!(measured(&set, &point, &g, 0.0), Gap::ZERO);
    }
    let corner = Set::boxed(vec![0.0, -1.0], vec![1.0, 0.3]).unwrap();
    assert_eq!(measured(&corner, &[0.0, 0.3], &[5.0, -1e-7], 1.0), Gap::ZERO);
    let simplex = Set::simplex(3, 1.0).unwrap();
    assert_eq!(measured(&simplex, &[0.0, 1.0, 0.0], &[0.7, 0.1, 0.2], 1.0), Gap::ZERO);
    assert_eq!(measured(&simplex, &[0.2, 0.3, 0.5], &[0.7, 0.7, 0.7], 1.0), Gap::ZERO);
    assert_eq!(measured(&Set::l1_ball(2, 0.0).unwrap(), &[0.0, 0.0], &[1.0, 2.0], 1.0), Gap::ZERO);
    assert_eq!(measured(&Set::ball(vec![1.0, 2.0], 0.0).unwrap(), &[1.0, 2.0], &[1.0, 2.0], 1.0), Gap::ZERO);
}

#[test]
fn an_early_decision_is_the_right_one() {
    let mut dice = Dice(24);
    for round in 0..60 {
        for set in every_set(&mut dice, 1 + round % 8) {
            let mut point = dice.point(&set);
            let g = dice.direction(&set, &mut point);
            let gap = ask(&set, &point, &g, Ask::Exact);
            for factor in [1e-3, 0.5, 0.99, 1.01, 2.0, 1e3] {
                let eps = factor * gap.upper;
                let early = ask(&set, &point, &g, Ask::AtMost(eps));
                assert!(early.lower <= early.upper && early.lower <= gap.upper && early.upper >= gap.lower);
                if gap.upper <= eps {
                    assert!(early.upper <= eps, "{early:?} does not prove {eps}: {gap:?} in {set:?}");
                } else if gap.lower > eps {
                    assert!(early.upper > eps, "{early:?} proves {eps} against {gap:?} in {set:?}");
                }
            }
        }
    }
}

#[test]
fn the_maximising_side_is_the_minimising_side_of_the_opposite_gradient() {
    let mut dice = Dice(25);
    for set in every_set(&mut dice, 5) {
        let point = dice.point(&set);
        let g: Vec<f64> = dice.vector(set.dim(), 1.0);
        let opposite: Vec<f64> = g.iter().map(|v| -v).collect();
        let (mut one, mut other) = (Gauge::new(0.7), Gauge::new(0.7));
        let max = one.measure(&set, &point, &g, Side::Max, Ask::Exact);
        assert_eq!(max, other.measure(&set, &point, &opposite, Side::Min, Ask::Exact));
        assert_eq!(one.step(), other.step());
    }
}

#[test]
fn gradients_of_any_size_are_measured_alike() {
    let mut dice = Dice(26);
    for set in every_set(&mut dice, 5) {
        let point = dice.point(&set);
        let g: Vec<f64> = dice.vector(set.dim(), 1.0);
        let gap = measured(&set, &point, &g, 1.0);
        for size in [2.0_f64.powi(-800), 2.0_f64.powi(800)] {
            let scaled: Vec<f64> = g.iter().map(|v| v * size).collect();
            let same = ask(&set, &point, &scaled, Ask::Exact);
            assert_eq!((same.lower, same.upper), (gap.lower * size, gap.upper * size));
        }
    }
}

#[test]
fn one_gauge_serves_many_sets_in_turn() {
    let mut dice = Dice(27);
    let mut gauge = Gauge::new(1.0);
    for _ in 0..20 {
        let n = 1 + dice.below(12);
        for set in every_set(&mut dice, n) {
            let point = dice.point(&set);
            let g: Vec<f64> = dice.vector(set.dim(), 1.0);
            let gap = gauge.measure(&set, &point, &g, Side::Min, Ask::Exact);
            assert_eq!(gap, ask(&set, &point, &g, Ask::Exact));
            assert_eq!(gauge.step().len(), set.dim());
        }
    }
}

#[test]
fn single_precision_agrees_with_double() {
    let mut dice = Dice(28);
    for round in 0..40 {
        let n = 1 + round % 9;
        let mut sets: Vec<Set<f32>> = dice.closed_sets(n);
        sets.push(dice.product(n));
        sets.push(dice.polyhedron(n, n + 2));
        for set in sets {
            let mut point = dice.point(&set);
            let g = dice.direction(&set, &mut point);
            let mut gauge = Gauge::new(1.0);
            let gap = gauge.measure(&set, &point, &g, Side::Min, Ask::Exact);
            let (norm, step) = (ops::norm(&g), gauge.step());
            assert!(gap.lower <= gap.upper && ops::norm(step) <= 1.0, "{gap:?}");
            assert!(gap.upper - gap.lower <= 3e-5 * norm, "{gap:?} of {norm}: {set:?} at {point:?} along {g:?}");
            assert!((-ops::dot(&g, step) - gap.lower).abs() <= 1e-5 * norm, "{gap:?}: {set:?}");
            let arrival: Vec<f32> = point.iter().zip(step).map(|(p, s)| p + s).collect();
            assert!(set.contains(&arrival, 1e-5 * (1.0 + ops::norm(&point))), "{}", set.distance(&arrival));
        }
    }
}

/// A ball given only by its projection.
#[derive(Debug)]
struct Disguised(Set<f64>);

impl ConvexSet<f64> for Disguised {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn project(&self, v: &mut [f64]) {
        self.0.project(v);
    }
    fn minimise_linear(&self, g: &[f64], out: &mut [f64]) -> bool {
        self.0.minimise_linear(g, out)
    }
    fn centre(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.0.centre());
    }
    fn radius_around(&self, from: &[f64]) -> f64 {
        self.0.radius_around(from)
    }
}

#[test]
fn a_custom_set_is_measured_by_its_projection() {
    let mut dice = Dice(29);
    for round in 0..60 {
        let n = 1 + round % 8;
        let known: Vec<Set<f64>> = dice.closed_sets(n);
        let seed = dice.0;
        for (k, set) in known.into_iter().enumerate() {
            let mut dice = Dice(seed + k as u64);
            let mut point = dice.point(&set);
            let g = dice.direction(&set, &mut point);
            let want = measured(&set, &point, &g, 1.0);
            let custom = Set::Custom(Box::new(Disguised(set)));
            let gap = measured(&custom, &point, &g, 1.0);
            let slip = 1e-7 * ops::norm(&g);
            assert!(gap.lower <= want.upper + slip && gap.upper >= want.lower, "{gap:?}, not {want:?}");
            assert!(gap.upper - gap.lower <= slip, "{gap:?}, not {want:?}: {custom:?} at {point:?} along {g:?}");
        }
    }
}

/// A set whose projection always fails.
#[derive(Debug)]
struct Broken;

impl<R: Real> ConvexSet<R> for Broken {
    fn dim(&self) -> usize {
        2
    }
    fn project(&self, v: &mut [R]) {
        v.fill(R::from_f64(f64::NAN));
    }
    fn minimise_linear(&self, _: &[R], out: &mut [R]) -> bool {
        out.fill(R::from_f64(f64::NAN));
        true
    }
    fn centre(&self, out: &mut [R]) {
        out.fill(R::default());
    }
    fn radius_around(&self, _: &[R]) -> f64 {
        f64::INFINITY
    }
}

#[test]
fn a_set_that_fails_leaves_the_trivial_bounds() {
    let gap = ask(&Set::Custom(Box::new(Broken)), &[0.0, 0.0], &[3.0, 4.0], Ask::Exact);
    assert!(gap.lower == 0.0 && (gap.upper - 5.0).abs() < 1e-12, "{gap:?}");
}
