//! FastNash: residuals of its subproblems, adaptation of its weight, and the slope of its gradient counts.

use standoff::Visitor;
use standoff::{Game, Need, Point, Set, StopReason, zoo};

use super::common::verify::judge;
use super::updates::{self, CONSTANTS};
use super::{build, choice, instance, oracle, run};

/// The distance from `-g` to the normal cone of a box at `v`.
fn residual(set: &Set<f64>, v: &[f64], g: &[f64]) -> f64 {
    // A short enough step stays on the faces of v; its length divided by the step size is the residual.
    let t = 1e-6;
    let mut p: Vec<f64> = v.iter().zip(g).map(|(v, g)| v - t * g).collect();
    set.project(&mut p);
    p.iter().zip(v).map(|(p, v)| ((p - v) / t).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn a_step_ends_with_the_residuals_that_the_proof_needs() {
    let (mut game, mut own) = (updates::game(), updates::game());
    for (eps, m) in [(1e-1, 1.6), (1e-3, 1.6), (1e-3, 5.0)] {
        let mut method = build(&game, &choice("fastnash", Some(CONSTANTS), &[("m", m)]), eps);
        let mut f = oracle(&mut game);
        let mut z = Point::new(&[0.9, -0.6], &[0.3, 0.7]);
        let centre = own.y_set().centre();
        let lambda = eps / (2.0 * own.y_set().radius_around(&centre));
        for step in 0..5 {
            let anchor = z.x.clone();
            method.advance(&mut f, &mut z).unwrap();
            own.fix(&z.x, Need::Gradients);
            let (mut gx, mut gy) = (vec![0.0; 2], vec![0.0; 2]);
            own.grad_x(&z.y, &mut gx);
            own.grad_y(&z.y, &mut gy);
            for i in 0..2 {
                gx[i] += 2.0 * m * (z.x[i] - anchor[i]);
                gy[i] = lambda * (z.y[i] - centre[i]) - gy[i];
            }
            let (rx, ry) = (residual(own.x_set(), &z.x, &gx), residual(own.y_set(), &z.y, &gy));
            let most_y = (0.25 * eps).min(eps * (lambda / (32.0 * m)).sqrt());
            let rounding = 1e-9; // rounding error of the division by 1e-6
            assert!(rx <= 0.125 * eps + rounding, "eps {eps}, m {m}, step {step}: r_x = {rx}");
            assert!(ry <= most_y + rounding, "eps {eps}, m {m}, step {step}: r_y = {ry} > {most_y}");
        }
    }
}

/// Visitor that reads the weight m.
struct Weight(f64);

impl Visitor<f64> for Weight {
    fn vector(&mut self, _: &str, _: &mut Vec<f64>) {}
    fn scalar(&mut self, name: &str, v: &mut f64) {
        if name == "m" {
            self.0 = *v;
        }
    }
    fn count(&mut self, _: &str, _: &mut u64) {}
}

#[test]
fn a_weight_that_is_too_small_is_doubled() {
    // f = -x^2/2 + ... in the trap: the modulus of weak convexity is 1.
    let mut trap = zoo::trap();
    let mut method = build(&trap.game, &choice("fastnash", trap.constants, &[("adaptive", 1.0), ("m", 0.01)]), 1e-3);
    let mut f = oracle(&mut trap.game);
    let mut z = trap.start.clone();
    for _ in 0..3 {
        method.advance(&mut f, &mut z).unwrap();
    }
    let mut weight = Weight(0.0);
    method.visit(&mut weight);
    assert!((1.0..2.0).contains(&weight.0), "{}", weight.0);
    for name in ["trap", "kink", "saddle2d", "quadmax"] {
        let mut game = instance(name);
        let end = run("fastnash", &mut game, 1e-3, &[("adaptive", 1.0), ("m", 0.01)], 300_000);
        assert_eq!(end.reason, StopReason::Converged, "{name}: {end:?}");
        assert!(judge(&mut game.game, &end.point, 1.0).holds(1e-3), "{name}");
    }
}

#[test]
fn the_slope_is_below_two_and_a_half_where_algorithm_2_needs_three() {
    let count = |method: &str, eps: f64| {
        let mut ramp = zoo::ramp(eps).unwrap();
        let end = run(method, &mut ramp, eps, &[], 10_000_000);
        assert_eq!(end.reason, StopReason::Converged, "{method} at {eps}");
        assert!(judge(&mut ramp.game, &end.point, 1.0).holds(eps));
        end.calls.gradients() as f64
    };
    let slope = |method: &str, coarse: f64, fine: f64| {
        (count(method, fine) / count(method, coarse)).ln() / (coarse / fine).ln()
    };
    let (ours, theirs) = (slope("fastnash", 0.05, 0.003125), slope("regularised", 0.1, 0.025));
    assert!(ours <= 2.1, "{ours}");
    assert!(slope("fastnash", 0.0125, 0.003125) <= 2.1);
    assert!(theirs >= 3.0, "{theirs}");
}
