//! The certificate: two bounds that are proofs, a step that attains one of them, and agreement with a cone solver.

mod closed;
mod conic;
mod dice;
mod edge;

use dice::Dice;
use standoff::gap::{Ask, Gauge, Side};
use standoff::{Gap, Set, ops};

/// Measures a gap and checks everything that can be checked without knowing the true value.
fn measured(set: &Set<f64>, point: &[f64], g: &[f64], radius: f64) -> Gap {
    let mut gauge = Gauge::new(radius);
    let gap = gauge.measure(set, point, g, Side::Min, Ask::Exact);
    let (norm, step) = (ops::norm(g), gauge.step());
    let story = || format!("{gap:?} with radius {radius} in {set:?} at {point:?} along {g:?}");
    assert!(0.0 <= gap.lower && gap.lower <= gap.upper, "{}", story());
    assert!(gap.upper <= radius * norm * (1.0 + 1e-12), "{}", story());
    assert!(ops::norm(step) <= radius, "a step of length {}: {}", ops::norm(step), story());
    let gain = -ops::dot(g, step);
    assert!((gain - gap.lower).abs() <= 1e-12 * radius * norm, "the step gains {gain}: {}", story());
    let arrival: Vec<f64> = point.iter().zip(step).map(|(p, s)| p + s).collect();
    let size = 1.0 + ops::norm(point) + radius;
    assert!(set.contains(&arrival, 1e-12 * size), "off by {}: {}", set.distance(&arrival), story());
    gap
}

/// Measures at random points along random directions, and compares with the cone solver. Returns the number of
/// comparisons.
fn agreement(dice: &mut Dice, set: &Set<f64>, tolerance: f64) -> usize {
    let mut point = dice.point(set);
    let g = dice.direction(set, &mut point);
    let radius = [0.1, 1.0, 10.0][dice.below(3)];
    let scale = radius * ops::norm(&g);
    let gap = measured(set, &point, &g, radius);
    let story = || format!("{gap:?} with radius {radius} in {set:?} at {point:?} along {g:?}");
    assert!(gap.upper - gap.lower <= 1e-9 * scale, "not tight: {}", story());
    if scale == 0.0 {
        return 0;
    }
    // The solver sometimes fails on numbers of very different sizes, but was never wrong.
    let Some(x) = conic::gap(set, &point, &g, radius) else { return 0 };
    assert!((gap.upper - x).abs() <= tolerance * scale, "not {x}: {}", story());
    1
}

#[test]
fn closed_forms_agree_with_a_cone_solver() {
    let mut dice = Dice(1);
    let (mut asked, mut answered) = (0, 0);
    for round in 0..70 {
        let n = [1, 2, 3, 5, 10, 30, 200][round % 7];
        for set in dice.closed_sets(n) {
            asked += 1;
            answered += agreement(&mut dice, &set, 1e-7);
        }
    }
    assert!(answered * 10 >= asked * 9, "only {answered} of {asked}");
}

#[test]
fn products_agree_with_a_cone_solver() {
    let mut dice = Dice(2);
    let (mut asked, mut answered) = (0, 0);
    for round in 0..150 {
        let n = [1, 2, 4, 10, 60][round % 5];
        let set = dice.product(n);
        asked += 1;
        answered += agreement(&mut dice, &set, 1e-7);
    }
    assert!(answered * 10 >= asked * 9, "only {answered} of {asked}");
}

#[test]
fn a_step_and_a_multiplier_bracket_the_gap_of_a_polyhedron() {
    let mut dice = Dice(3);
    let mut answered = 0;
    for round in 0..100 {
        let n = [1, 2, 3, 5, 10, 25][round % 6];
        let set = if round % 3 == 0 {
            let part = dice.polyhedron(n, n + 3);
            Set::product(vec![part, Set::simplex(n, 1.0).unwrap(), dice.polyhedron(2, 5)]).unwrap()
        } else {
            dice.polyhedron(n, 2 * n + 1)
        };
        answered += agreement(&mut dice, &set, 1e-6);
    }
    assert!(answered >= 85, "only {answered} of 100");
}

#[test]
fn no_sampled_step_gains_more_than_the_upper_bound() {
    let mut dice = Dice(4);
    for round in 0..40 {
        let n = 1 + round % 6;
        let mut sets: Vec<Set<f64>> = dice.closed_sets(n);
        sets.push(dice.product(n));
        sets.push(dice.polyhedron(n, n + 2));
        for set in sets {
            let mut point = dice.point(&set);
            let g = dice.direction(&set, &mut point);
            let gap = measured(&set, &point, &g, 1.0);
            for _ in 0..50 {
                let reach = 2.0 * dice.uniform();
                let mut z: Vec<f64> = point.iter().map(|p| p + reach * dice.gauss()).collect();
                set.project(&mut z);
                let length = ops::distance(&z, &point);
                let factor = if length > 1.0 { 1.0 / length } else { 1.0 };
                let gain: f64 = (0..z.len()).map(|i| -g[i] * factor * (z[i] - point[i])).sum();
                assert!(gain <= gap.upper + 1e-12 * ops::norm(&g), "{gain} beats {gap:?}: {set:?}");
            }
        }
    }
}

/// The bracket by projections only, in the most direct form: slow, and different from the library's search.
fn bisected(set: &Set<f64>, point: &[f64], g: &[f64], radius: f64) -> (f64, f64) {
    let (mut low, mut high) = (0.0, radius * ops::norm(g));
    let (mut a, mut b) = (0.0, f64::INFINITY);
    let mut tau = radius / ops::norm(g);
    for _ in 0..90 {
        let mut s: Vec<f64> = point.iter().zip(g).map(|(p, gi)| p - tau * gi).collect();
        set.project(&mut s);
        s.iter_mut().zip(point).for_each(|(si, p)| *si -= p);
        let (length, gain) = (ops::norm(&s), -ops::dot(g, &s));
        low = f64::max(low, gain * f64::min(1.0, radius / length));
        high = f64::min(high, gain + (radius * radius - length * length) / (2.0 * tau));
        if length < radius {
            a = tau;
        } else {
            b = tau;
        }
        tau = if b.is_finite() { 0.5 * (a + b) } else { 4.0 * tau };
        if tau * ops::norm(g) > 1e9 * radius {
            break;
        }
    }
    (low, high)
}

#[test]
fn thousands_of_coordinates_agree_with_bisection() {
    let mut dice = Dice(5);
    let n = 3000;
    for round in 0..24 {
        let set = match round % 4 {
            0 | 1 => Set::simplex(n, 1.0).unwrap(),
            2 => Set::l1_ball(n, 1.0).unwrap(),
            _ => Set::product(vec![Set::simplex(n, 2.0).unwrap(), Set::l1_ball(50, 1.0).unwrap()]).unwrap(),
        };
        let size = [1e-3, 0.1, 0.6][dice.below(3)];
        let mut point: Vec<f64> = dice.vector(set.dim(), size);
        set.project(&mut point);
        let g: Vec<f64> = dice.vector(set.dim(), 1.0);
        let radius = [0.03, 0.3, 1.0][dice.below(3)];
        let gap = measured(&set, &point, &g, radius);
        let (low, high) = bisected(&set, &point, &g, radius);
        let tolerance = 1e-7 * radius * ops::norm(&g);
        assert!(gap.upper - gap.lower <= 1e-6 * tolerance, "not tight: {gap:?}");
        assert!(gap.upper >= low - tolerance && gap.lower <= high + tolerance, "{gap:?}, not {low} to {high}");
    }
}
