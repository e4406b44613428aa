//! Algorithm 1 without constants on the paper's own PL example (imitation of a linear-quadratic regulator; the cost
//! minimises and the gain maximises), where smoothness and the PL condition hold only on sublevel sets of stabilising
//! gains.

use standoff::methods::{Mode, Multistep};
use standoff::zoo::lqr::{self, Order};
use standoff::zoo::{self, Class, Instance};
use standoff::{Constants, Error, Point, Set, Settings, Solution, StopReason, ops, solve};

use super::common::Plain;
use super::common::verify::judge;

fn by_itself(i: &mut Instance, eps: f64) -> Solution<f64> {
    let settings = Settings { method: Multistep::default().into(), ..Settings::eps(eps) };
    let end = solve(&mut i.game, &i.start, &settings).expect("no constants are needed");
    assert_eq!(end.reason, StopReason::Converged, "{end:?}");
    let verdict = judge(&mut i.game, &end.point, 1.0);
    assert!(verdict.holds(eps), "{verdict:?}");
    end
}

#[test]
fn multistep_finds_the_known_saddles_of_the_scalar_imitation_game() {
    // The saddles around the centres (1, 1/2) and (3/2, 1/2), to six digits.
    for (centre, k, q, r) in [((1.0, 0.5), 1.174941, 1.0, 0.5), ((1.5, 0.5), 1.231790, 1.449818, 0.609424)] {
        let mut i = lqr::scalar(centre.0, centre.1, Order::CostMinimises).expect("valid");
        let end = by_itself(&mut i, 1e-6);
        let z = &end.point;
        let off = (z.y[0] - k).abs().max((z.x[0] - q).abs()).max((z.x[1] - r).abs());
        assert!(off < 3e-6, "centre {centre:?}: {z:?} is off by {off:e}");
        assert!(end.calls.gradients() < 1000, "{:?}", end.calls);
    }
}

#[test]
fn multistep_recovers_the_expert_of_random_systems() {
    for (states, inputs) in [(1, 1), (2, 1), (4, 2), (8, 2)] {
        for seed in 1..=3 {
            let mut i = lqr::random(states, inputs, seed, Order::CostMinimises).expect("stabilisable");
            let end = by_itself(&mut i, 1e-5);
            let expert = &i.answers[0].point;
            let off = ops::distance(&end.point.x, &expert.x) + ops::distance(&end.point.y, &expert.y);
            assert!(off < 1e-4, "{states} states, seed {seed}: off by {off:e}");
        }
    }
}

#[test]
fn multistep_recovers_the_expert_of_the_cart_and_pole() {
    let mut i = lqr::cart_pole_imitation(Order::CostMinimises);
    let end = by_itself(&mut i, 1e-3);
    let expert = &i.answers[0].point;
    let off = ops::distance(&end.point.x, &expert.x) + ops::distance(&end.point.y, &expert.y);
    assert!(off < 1e-2, "off by {off:e}");
}

#[test]
fn multistep_needs_no_constants_on_any_pl_or_strongly_concave_game() {
    for e in zoo::all().iter().filter(|e| matches!(e.class, Class::Pl | Class::StronglyConcave)) {
        // The cart and pole with the policy as minimiser takes 10^5 gradients; the paper's order is tested above.
        if e.name != "lqr-cart-pole" {
            by_itself(&mut (e.make)(), 1e-4);
        }
    }
}

#[test]
fn a_step_of_y_outside_the_domain_is_rejected_and_shortened() {
    // ln(y) - y on y > 0, from y = 0.01: the first trial has length 1, and steps towards 0 leave the domain.
    for start in [0.01, 5.0] {
        let mut game = Plain::new(
            Set::interval(-1.0, 1.0).unwrap(),
            Set::free(1),
            |x: &[f64], y: &[f64]| if y[0] > 0.0 { 0.5 * x[0] * x[0] + y[0].ln() - y[0] } else { f64::NEG_INFINITY },
            |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = x[0],
            |_: &[f64], y: &[f64], g: &mut [f64]| g[0] = if y[0] > 0.0 { 1.0 / y[0] - 1.0 } else { f64::NAN },
        );
        let settings = Settings { method: Multistep::default().into(), ..Settings::eps(1e-8) };
        let end = solve(&mut game, &Point::new(&[0.7], &[start]), &settings).unwrap();
        assert_eq!(end.reason, StopReason::Converged, "{end:?}");
        assert!((end.point.y[0] - 1.0).abs() < 1e-7 && end.point.x[0].abs() < 1e-7, "{end:?}");
    }
}

#[test]
fn a_step_of_x_outside_the_domain_is_rejected_and_shortened() {
    // 50 (x - ln x) - y^2/2 on x > 0: the minimum of g is at 1, and the first trial of length 1 from 0.9 overshoots it
    // far.
    let mut game = Plain::new(
        Set::free(1),
        Set::free(1),
        |x: &[f64], y: &[f64]| if x[0] > 0.0 { 50.0 * (x[0] - x[0].ln()) - 0.5 * y[0] * y[0] } else { f64::INFINITY },
        |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = if x[0] > 0.0 { 50.0 - 50.0 / x[0] } else { f64::NAN },
        |x: &[f64], y: &[f64], g: &mut [f64]| g[0] = if x[0] > 0.0 { -y[0] } else { f64::NAN },
    );
    let settings = Settings { method: Multistep::default().into(), ..Settings::eps(1e-8) };
    for start in [0.9, 1.9, 30.0] {
        let end = solve(&mut game, &Point::new(&[start], &[3.0]), &settings).unwrap();
        assert_eq!(end.reason, StopReason::Converged, "from {start}: {end:?}");
        assert!((end.point.x[0] - 1.0).abs() < 1e-8, "{end:?}");
    }
}

#[test]
fn an_infinite_value_is_rejected_also_where_the_gradients_are_finite() {
    // 100 x - ln(x) + ln(y) - 100 y from (0.5, 0.5): both first trials, of length 1, lead to -0.5, where only the value
    // is non-finite.
    let log = |v: f64| if v > 0.0 { v.ln() } else { f64::NEG_INFINITY };
    let mut game = Plain::new(
        Set::free(1),
        Set::free(1),
        move |x: &[f64], y: &[f64]| 100.0 * x[0] - log(x[0]) + log(y[0]) - 100.0 * y[0],
        |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = 100.0 - 1.0 / x[0],
        |_: &[f64], y: &[f64], g: &mut [f64]| g[0] = 1.0 / y[0] - 100.0,
    );
    let settings = Settings { method: Multistep::default().into(), ..Settings::eps(1e-6) };
    let end = solve(&mut game, &Point::new(&[0.5], &[0.5]), &settings).unwrap();
    assert_eq!(end.reason, StopReason::Converged, "{end:?}");
    assert!((end.point.x[0] - 0.01).abs() < 1e-8 && (end.point.y[0] - 0.01).abs() < 1e-8, "{end:?}");
}

#[test]
fn a_gradient_that_becomes_nan_is_not_convergence() {
    // Every point except the start is outside the domain: no step is accepted.
    let mut game = Plain::new(
        Set::free(1),
        Set::free(1),
        |x: &[f64], y: &[f64]| if x[0] == 1.0 { -0.5 * y[0] * y[0] + x[0] } else { f64::NAN },
        |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = if x[0] == 1.0 { 1.0 } else { f64::NAN },
        |x: &[f64], y: &[f64], g: &mut [f64]| g[0] = if x[0] == 1.0 { -y[0] } else { f64::NAN },
    );
    let settings = Settings { method: Multistep::default().into(), ..Settings::eps(1e-3) };
    let end = solve(&mut game, &Point::new(&[1.0], &[0.5]), &settings).unwrap();
    assert!(matches!(end.reason, StopReason::Stalled(_)), "{end:?}");
    assert!((end.certificate.x.upper - 1.0).abs() < 1e-12, "{end:?}");
}

#[test]
fn the_steps_follow_constants_that_change_along_the_way() {
    // -(y^4)/4 from y = 100: L22 decreases from 30000 to almost 0; with a fixed step of 1/30000 this would take 10^5
    // steps or more.
    let mut game = Plain::new(
        Set::interval(-1.0, 1.0).unwrap(),
        Set::interval(-100.0, 100.0).unwrap(),
        |x: &[f64], y: &[f64]| 0.5 * x[0] * x[0] - 0.25 * y[0].powi(4),
        |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = x[0],
        |_: &[f64], y: &[f64], g: &mut [f64]| g[0] = -y[0].powi(3),
    );
    let settings = Settings { method: Multistep::default().into(), ..Settings::eps(1e-3) };
    let end = solve(&mut game, &Point::new(&[0.5], &[100.0]), &settings).unwrap();
    assert_eq!(end.reason, StopReason::Converged, "{end:?}");
    assert!(end.calls.grad_y < 400, "{:?}", end.calls);
}

#[test]
fn theory_mode_and_the_printed_algorithm_still_need_constants() {
    let mut i = lqr::scalar(1.0, 0.5, Order::CostMinimises).expect("valid");
    let plain = Multistep::default();
    let no_mu = Constants { l11: 1.0, l12: 1.0, l22: 1.0, ..Constants::default() };
    for method in [
        Multistep { mode: Mode::Theory, ..plain },
        Multistep { as_printed: true, ..plain },
        Multistep { constants: Some(no_mu), ..plain },
    ] {
        let refused = solve(&mut i.game, &i.start, &Settings { method: method.into(), ..Settings::eps(1e-3) });
        assert!(matches!(refused, Err(Error::MissingConstant { method: "multistep", .. })), "{refused:?}");
    }
}
