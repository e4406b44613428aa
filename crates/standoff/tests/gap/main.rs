//! The certificate: two bounds that are proofs, a step that attains one of them, and agreement with a cone solver.

mod conic;
mod dice;

use dice::Dice;
use standoff::gap::{Ask, Gauge, Side};
use standoff::{Gap, Set, ops};

/// Measures, and checks everything that can be checked without knowing the answer.
fn measured(set: &Set<f64>, point: &[f64], g: &[f64], radius: f64) -> Gap {
    let mut gauge = Gauge::new(radius);
    let gap = gauge.measure(set, point, g, Side::Min, Ask::Exact);
    let (norm, step) = (ops::norm(g), gauge.step());
    assert!(0.0 <= gap.lower && gap.lower <= gap.upper, "{gap:?} of {set:?} at {point:?} along {g:?}");
    assert!(gap.upper <= radius * norm * (1.0 + 1e-12), "{gap:?} of {set:?} at {point:?} along {g:?}");
    assert!(ops::norm(step) <= radius, "a step of {} for {set:?}", ops::norm(step));
    let gain = -ops::dot(g, step);
    assert!((gain - gap.lower).abs() <= 1e-12 * radius * norm, "the step {step:?} gains {gain}, not {gap:?}: {set:?} at {point:?} along {g:?} radius {radius}");
    let arrival: Vec<f64> = point.iter().zip(step).map(|(p, s)| p + s).collect();
    let size = 1.0 + ops::norm(point) + radius;
    assert!(set.contains(&arrival, 1e-11 * size), "off by {}: {set:?}", set.distance(&arrival));
    gap
}

#[test]
fn closed_forms_agree_with_a_cone_solver() {
    let mut dice = Dice(1);
    let (mut seen, mut finished) = (0, 0);
    for round in 0..60 {
        let n = [1, 2, 3, 5, 10, 30, 200][round % 7];
        let mut sets: Vec<Set<f64>> = dice.closed_sets(n);
        sets.push(dice.product(n.min(60)));
        for set in sets {
            let mut point = dice.point(&set);
            let g = dice.direction(&set, &mut point);
            let radius = [0.1, 1.0, 10.0][dice.below(3)];
            let scale = radius * ops::norm(&g);
            let gap = measured(&set, &point, &g, radius);
            let spread = gap.upper - gap.lower;
            assert!(spread <= 1e-9 * scale, "{gap:?} spread {:e} {round} of {set:?} at {point:?} along {g:?}", spread/scale);
            seen += 1;
            if let Some(x) = conic::gap(&set, &point, &g, radius) {
                finished += 1;
                assert!((gap.upper - x).abs() <= 1e-7 * scale, "{gap:?}, not {x}: {set:?} at {point:?} along {g:?}");
            }
        }
    }
    eprintln!("{finished} of {seen}");
}
