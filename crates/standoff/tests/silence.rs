//! Cases in which the certificate once proved nothing: bounds that could be small must not be infinite or NaN.

use standoff::formula::FormulaGame;
use standoff::{Certificate, Point, Settings, StopReason, certify, solve};

fn read(text: &str) -> FormulaGame {
    FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}"))).unwrap()
}

fn certificate(text: &str, x: &[f64], y: &[f64]) -> Certificate {
    certify(&mut read(text), &Point::new(x, y), 1.0)
}

/// On a simplex only differences of the gradient's entries matter; here they are all zero.
#[test]
fn a_constant_gradient_on_a_simplex_is_proven() {
    let text = "objective = \"x^2 - sum(y^2)/2\"\n[min.x]\n[max.y]\ndim = 5\nset = \"simplex\"\n";
    assert!(certificate(text, &[0.0], &[0.2; 5]).y.upper <= 1e-15);
}

/// The path of a simplex with one or two entries ends where it starts.
#[test]
fn the_bound_on_a_short_simplex_is_the_gap() {
    let text = "objective = \"u @ x - y^2\"\n[min.x]\ndim = 2\nset = \"simplex\"\n[max.y]\n[data]\nu = [0.8, 0.3]\n";
    let c = certificate(text, &[1.0, 0.0], &[0.0]);
    assert!((c.x.upper - 0.5 / 2f64.sqrt()).abs() <= 1e-15, "{c:?}");
    let text = "objective = \"u @ x - y^2\"\n[min.x]\ndim = 1\nset = \"simplex\"\n[max.y]\n[data]\nu = [0.8]\n";
    assert!(certificate(text, &[1.0], &[0.0]).x.upper <= 1e-15);
}

/// The terms cancel up to the errors of the enclosures: the gradient is 0 within 1e-32.
#[test]
fn a_gradient_that_cancels_has_a_small_bound() {
    for objective in ["sin(x/x) - y^2", "abs(x)*(-1/x) - y^2", "log(exp(x)/exp(x) + 1) - y^2"] {
        let c = certificate(&format!("objective = \"{objective}\"\n[min.x]\n[max.y]\n"), &[1.7], &[0.0]);
        assert!(c.x.upper <= 1e-25, "{objective}: {c:?}");
    }
}

#[test]
fn a_kink_whose_slopes_are_all_covered_has_a_finite_bound() {
    let text = "objective = \"exp(max(tanh(y))) + x^2\"\n[min.x]\n[max.y]\ndim = 3\nlower = -1\nupper = 1\n";
    let c = certificate(text, &[0.0], &[0.0, 0.0, -1.0]);
    assert!(c.y.upper >= 1.0 && c.y.upper <= 2.0, "{c:?}");
}

/// This case once caused infinite recursion.
#[test]
fn a_hyperbolic_tangent_outside_its_domain_proves_nothing() {
    let text = "objective = \"tanh(1/x)*y\"\n[min.x]\nlower = -1\nupper = 1\n[max.y]\nlower = -1\nupper = 1\n";
    assert!(certificate(text, &[0.0], &[0.5]).epsilon().is_nan());
}

#[test]
fn runs_that_end_on_the_middle_of_a_simplex_converge() {
    let text = "objective = \"sum(x^2) + (x @ A @ y) - sum(y^2)\"\n[min.x]\ndim = 3\nset = \"simplex\"\n[max.y]\ndim = 3\nset = \"simplex\"\n[data]\nA = [[2, 1, 3], [3, 2, 1], [1, 3, 2]]\n";
    let mut game = read(text);
    let start = game.start();
    let s = solve(&mut game, &start, &Settings::eps(1e-6)).unwrap();
    assert_eq!(s.reason, StopReason::Converged, "{:?}", s.certificate);
}
