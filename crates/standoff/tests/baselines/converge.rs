//! Convergence of each method, checked by independent code, and its known failures.

use standoff::{Constants, Game, Need, Point, Set, Settings, StopReason, solve, zoo};

use super::common::Plain;
use super::common::verify::judge;
use super::{build, choice, instance, oracle, run};

/// Runs a method and verifies the result.
fn reaches(method: &str, game: &str, eps: f64, params: &[(&str, f64)]) {
    let mut z = instance(game);
    let end = run(method, &mut z, eps, params, 300_000);
    assert_eq!(end.reason, StopReason::Converged, "{method} on {game}: {end:?}");
    let verdict = judge(&mut z.game, &end.point, 1.0);
    assert!(verdict.holds(eps), "{method} on {game}: {verdict:?}");
}

#[test]
fn each_method_converges_on_the_games_its_theory_covers() {
    for (method, games) in [
        ("gda", &["printed-step"][..]),
        ("agda", &["printed-step", "trap", "pl-line"]),
        ("ttgda", &["printed-step", "trap", "pl-line"]),
        ("gdmax", &["printed-step", "trap", "pl-line"]),
        ("extragradient", &["abs", "bilinear", "rps", "matrix-2x2", "printed-step"]),
        ("ogda", &["abs", "bilinear", "rps", "matrix-2x2", "printed-step"]),
        ("negative-momentum", &["bilinear"]),
        ("hibsa", &["printed-step", "trap", "robust-regression"]),
        ("smoothed-gda", &["kink", "saddle2d", "quadmax", "trap", "pl-line"]),
        ("perturbed-smoothed-gda", &["kink", "saddle2d", "quadmax", "trap", "rps"]),
        ("ds-gda", &["kink", "saddle2d", "trap", "quadmax"]),
        ("tiada", &["printed-step", "trap", "robust-regression"]),
        ("fastnash", &["abs", "kink", "saddle2d", "quadmax", "trap", "rank-deficient", "rps"]),
    ] {
        for game in games {
            reaches(method, game, 1e-3, &[]);
        }
    }
}

#[test]
fn every_method_solves_a_strongly_monotone_game() {
    // Strongly convex in x, strongly concave in y, both with modulus 1; the solution is in the interior.
    let mut game = Plain::new(
        Set::boxed(vec![-2.0; 2], vec![2.0; 2]).unwrap(),
        Set::boxed(vec![-2.0; 2], vec![2.0; 2]).unwrap(),
        |x, y| 0.5 * (x[0] * x[0] + x[1] * x[1] - y[0] * y[0] - y[1] * y[1]) + x[0] * y[1] - x[1] * y[0] + 0.5 * x[0],
        |x, y, g| (g[0], g[1]) = (x[0] + y[1] + 0.5, x[1] - y[0]),
        |x, y, g| (g[0], g[1]) = (-y[0] - x[1], -y[1] + x[0]),
    );
    let c = Constants { l11: 1.0, l12: 1.0, l22: 1.0, mu: 1.0, g_max: Some(5.0), ..Constants::default() };
    for info in standoff::methods::METHODS {
        let settings = Settings { method: choice(info.name, Some(c), &[]), ..Settings::eps(1e-2) };
        let end = solve(&mut game, &Point::new(&[1.5, -1.0], &[0.5, 2.0]), &settings).unwrap();
        assert_eq!(end.reason, StopReason::Converged, "{}: {end:?}", info.name);
        assert!(judge(&mut game, &end.point, 1.0).holds(1e-2), "{}", info.name);
    }
}

#[test]
fn doubly_smoothed_steps_reach_the_middle_of_the_published_limit_cycles() {
    let quartics = [("r1", 5.0), ("r2", 22.0), ("c", 2e-3), ("a", 2e-2), ("b", 2e-4), ("m", 2e-4)];
    let forsaken = [("r1", 1.0), ("r2", 1.0), ("c", 0.05), ("a", 0.05), ("b", 0.02), ("m", 0.1)];
    for (name, published) in [("coupled-quartics", quartics), ("forsaken", forsaken)] {
        for params in [&published[..], &[]] {
            let mut game = instance(name);
            let end = run("ds-gda", &mut game, 1e-4, params, 400_000);
            assert_eq!(end.reason, StopReason::Converged, "{name} {params:?}: {end:?}");
            assert!(judge(&mut game.game, &end.point, 1.0).holds(1e-4));
            let middle = &game.answers[0].point;
            assert!((end.point.x[0] - middle.x[0]).abs() < 1e-3 && (end.point.y[0] - middle.y[0]).abs() < 1e-3);
        }
    }
}

#[test]
fn equal_steps_cycle_in_the_trap() {
    for (method, params) in
        [("gda", &[("step", 0.05)][..]), ("extragradient", &[]), ("extragradient", &[("step", 0.1)]), ("ogda", &[])]
    {
        let mut trap = zoo::trap();
        let method = choice(method, trap.constants, params);
        let settings = Settings { method, max_iterations: 10_000, ..Settings::eps(1e-2) };
        let end = solve(&mut trap.game, &trap.start, &settings).unwrap();
        assert_eq!((end.reason, end.iterations), (StopReason::MaxIterations, 10_000));
    }
}

#[test]
fn simultaneous_steps_spiral_outwards_on_a_bilinear_game() {
    let mut game = zoo::bilinear().game;
    let h = 0.1;
    let mut method = build(&game, &choice("gda", None, &[("step", h)]), 1e-3);
    let mut f = oracle(&mut game);
    let mut z = Point::new(&[0.01], &[0.02]);
    let norm = |z: &Point<f64>| z.x[0].hypot(z.y[0]);
    for _ in 0..300 {
        let before = norm(&z);
        method.advance(&mut f, &mut z).unwrap();
        assert!((norm(&z) / before - (1.0 + h * h).sqrt()).abs() < 1e-12);
    }
    for _ in 0..10_000 {
        method.advance(&mut f, &mut z).unwrap();
    }
    assert!(norm(&z) > 0.9, "it ends on the border of the square, not at the equilibrium: {z:?}");
}

#[test]
fn every_method_keeps_the_gradient_limit() {
    for info in standoff::methods::METHODS {
        let mut game = instance("robust-regression");
        let end = run(info.name, &mut game, 1e-12, &[], 60);
        // At most one step more: the limit is checked before each step.
        assert!(end.calls.gradients() <= 64, "{}: {:?}", info.name, end.calls);
        assert!(matches!(end.reason, StopReason::OracleLimit | StopReason::Stalled(_)), "{}: {end:?}", info.name);
    }
}

#[test]
fn a_nan_gradient_is_not_convergence_for_any_method() {
    let c = Constants { l11: 2.0, l12: 1.0, l22: 1.0, mu: 1.0, g_max: Some(5.0), ..Constants::default() };
    for poisoned_x in [true, false] {
        let mut game = Plain::new(
            Set::interval(-2.0, 2.0).unwrap(),
            Set::interval(-3.0, 3.0).unwrap(),
            |x, y| x[0] * y[0] - 0.5 * y[0] * y[0] + x[0] * x[0],
            |x, y, g| g[0] = if poisoned_x && x[0] < 0.9 { f64::NAN } else { y[0] + 2.0 * x[0] },
            |x, y, g| g[0] = if !poisoned_x && x[0] < 0.9 { f64::NAN } else { x[0] - y[0] },
        );
        game.fix(&[1.0], Need::Gradients);
        for info in standoff::methods::METHODS {
            let method = choice(info.name, Some(c), &[]);
            let settings = Settings { method, max_gradients: 20_000, ..Settings::eps(1e-6) };
            let end = solve(&mut game, &Point::new(&[1.0], &[-1.0]), &settings).unwrap();
            assert_ne!(end.reason, StopReason::Converged, "{}, poisoned_x = {poisoned_x}", info.name);
        }
    }
}
