//! Derivatives of every operator and function against central differences, in x and in y, at many points.

use standoff::formula::FormulaGame;
use standoff::{Game, Need, Point, Proof, certify};

use crate::{around, read};

/// A fixed sequence of numbers in (-1, 1).
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn at(game: &mut FormulaGame, x: &[f64], y: &[f64]) -> f64 {
    game.fix(x, Need::Values);
    game.value(y)
}

/// Checks both gradients at points with entries in (lower, upper).
fn check(objective: &str, lower: f64, upper: f64) {
    let mut game = read(&around(objective)).unwrap_or_else(|e| panic!("{objective}: {e}"));
    let mut sequence = Sequence(7);
    let mut draw = || lower + (upper - lower) * 0.5 * (sequence.next() + 1.0);
    for _ in 0..20 {
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = ((0..4).map(|_| draw()).collect(), (0..4).map(|_| draw()).collect());
        let (mut gx, mut gy) = (vec![0.0; 4], vec![0.0; 4]);
        game.fix(&x, Need::Gradients);
        let f = game.grad_y(&y, &mut gy);
        assert_eq!(game.grad_x(&y, &mut gx), f, "{objective}: both gradients return f");
        assert_eq!(game.value(&y), f);
        let h = 1e-5;
        for i in 0..4 {
            for along_x in [true, false] {
                let mut moved = |step: f64| {
                    let z = if along_x { &mut x } else { &mut y };
                    let kept = z[i];
                    z[i] += step;
                    let f = at(&mut game, &x, &y);
                    (if along_x { &mut x } else { &mut y })[i] = kept;
                    f
                };
                let slope = (moved(h) - moved(-h)) / (2.0 * h);
                let got = if along_x { gx[i] } else { gy[i] };
                let scale = 1.0 + slope.abs() + f.abs();
                assert!((slope - got).abs() < 2e-8 * scale, "{objective}: entry {i}, {slope} against {got}");
            }
        }
    }
}

#[test]
fn every_elementwise_function_has_its_derivative() {
    for f in
        ["sin", "cos", "exp", "tanh", "sigmoid", "softplus", "expm1", "square", "sinh", "cosh", "atan", "abs", "relu"]
    {
        check(&format!("sum({f}(1.3*u + 0.4)) * t + s*sum({f}(v - 0.2)) + {f}(s*t + 0.1)"), -2.0, 2.0);
    }
    for f in ["log", "sqrt", "log1p", "tan", "abs", "relu"] {
        check(&format!("sum({f}(u)) * t + s*sum({f}(v)) + {f}(s*t)"), 0.2, 1.1);
    }
}

#[test]
fn every_operator_has_its_derivative_with_every_broadcast() {
    for op in ["+", "-", "*", "/", "^", "**"] {
        check(
            &format!(
                "sum((u {op} v) * c) + sum((s {op} v)*c)*t + sum((u {op} t)*c) + sum((u {op} k)*c) \
                 + sum((k {op} v)*c) + (s {op} t) + sum(((c^2) {op} u) * v) + sum(u {op} (c^2))"
            ),
            0.3,
            1.5,
        );
    }
}

#[test]
fn whole_powers_have_their_derivatives_on_both_sides_of_zero() {
    for n in ["0", "1", "2", "3", "7", "-1", "-2", "-3", "(1 + 2)"] {
        check(&format!("sum(c*u^{n}) * t + s*sum((v + 0.001)^{n})"), 0.3, 1.5);
        check(&format!("sum(c*u^{n}) * t + s*sum((v + 0.001)^{n})"), -1.5, -0.3);
    }
    check("sum(u^1.5) + sum(v^-0.5) + sum(u^(c^2))", 0.3, 1.5);
}

#[test]
fn powers_at_zero_are_as_in_mathematics() {
    let mut game = read(&around("sum(u^2) + sum(u^0) + s^1 + sum(u^(c*0 + 2)) + sum(u^1.5) + sum(v^3)")).unwrap();
    let (mut gx, mut gy) = ([9.0; 4], [9.0; 4]);
    game.fix(&[0.0; 4], Need::Gradients);
    assert_eq!(game.grad_x(&[0.0; 4], &mut gx), 3.0);
    assert_eq!(gx, [1.0, 0.0, 0.0, 0.0]);
    game.grad_y(&[0.0; 4], &mut gy);
    assert_eq!(gy, [0.0; 4]);
    let mut game = read(&around("sum(u^v) + sum(u^(0*c))")).unwrap();
    game.fix(&[0.0; 4], Need::Gradients);
    assert_eq!((game.grad_x(&[0.0, 2.0, 3.0, 0.0], &mut gx), gx), (4.0, [0.0; 4]));
    assert_eq!((game.grad_y(&[0.0, 2.0, 3.0, 1.0], &mut gy), gy), (3.0, [0.0; 4]));
}

#[test]
fn products_reductions_and_views_have_their_derivatives() {
    for objective in [
        "sum(A @ u) * t + (A @ v) @ (A @ u) + s",
        "u @ B @ v + v @ B @ v + u @ v * s",
        "sum((A.T @ (A @ u)) * v) + transpose(B)[1] @ u",
        "sum((B * s) @ (B * t) * B) + sum((B*s) @ v) + sum(v @ (B*t))",
        "sum(((B * s) @ B).T @ u) + sum((A * t) @ (B * s)) + norm(A * s)",
        "dot(u, v) + mean(u * v) + sum(u) * mean(v) + mean(s*A) * t",
        "norm(u) * norm(v + 0.3) + norm(u - v) + logsumexp(u + v) * logsumexp(3*v)",
        "u[0]*v[-1] + u[1]*v[1]^2 + s*t + sum(u[0:2] * v[1:]) + (B @ u)[2] * t",
        "sum((A*s)[0] * v) + (A*t)[1, 2] + sum((A*t)[:, 1]) * s + sum((B*s)[1:, :2] @ v[1:])",
        "sum(softplus(-c * (B @ u)) * v) + 0.01*sum(u^2/(1 + u^2))",
        "u @ u + s*s*s + sum(v*v) * sum(v*v)",
    ] {
        check(objective, -1.5, 1.5);
    }
}

#[test]
fn the_largest_and_the_smallest_have_their_derivatives_away_from_ties() {
    for objective in [
        "sum(max(u, v)) + sum(min(u, v, s)) + max(s, t, 0.1) * min(u) + max(v) * s",
        "max(u*v) + min(A * s) + sum(maximum(0.3, u)) + sum(minimum(v, t))",
    ] {
        check(objective, -1.5, 1.5);
    }
}

#[test]
fn at_a_tie_exactly_one_argument_receives_the_slope() {
    let mut game = read(&around("max(u) + sum(max(u, v)) + sum(min(u, v)) + abs(s) + relu(t) + norm(s*c)")).unwrap();
    let (mut gx, mut gy) = ([9.0; 4], [9.0; 4]);
    game.fix(&[0.0, 1.0, 1.0, 1.0], Need::Gradients);
    game.grad_x(&[0.0, 1.0, 1.0, 1.0], &mut gx);
    game.grad_y(&[0.0, 1.0, 1.0, 1.0], &mut gy);
    assert_eq!((gx, gy), ([0.0, 3.0, 2.0, 2.0], [0.0; 4]));
}

#[test]
fn nan_reaches_the_value_and_the_gradients() {
    for objective in ["max(u, v) @ c", "max(u) + s", "sum(relu(u))", "sum(abs(u))", "norm(u)", "logsumexp(u)"] {
        let mut game = read(&around(objective)).unwrap();
        let mut gx = [0.0; 4];
        game.fix(&[0.0, 1.0, f64::NAN, 2.0], Need::Gradients);
        assert!(game.grad_x(&[0.0; 4], &mut gx).is_nan(), "{objective}");
        assert!(gx.iter().any(|g| g.is_nan()), "{objective}");
    }
}

#[test]
fn the_order_of_calls_does_not_change_the_results() {
    let objective = "sum(v * sigmoid(B @ u)) - sum(v^2)*t + s*sin(t) + exp(s)";
    let (mut one, mut other) = (read(&around(objective)).unwrap(), read(&around(objective)).unwrap());
    let points: Vec<[f64; 4]> = (0..6).map(|i| [0.1, -0.3, 0.2 * f64::from(i % 3), 0.7]).collect();
    let (mut a, mut b) = ([0.0; 4], [0.0; 4]);
    for x in &points {
        one.fix(x, Need::Gradients);
        for y in &points {
            let f = (one.value(y), one.grad_x(y, &mut a), one.grad_y(y, &mut b));
            let (mut c, mut d) = ([0.0; 4], [0.0; 4]);
            other.fix(&[9.0; 4], Need::Values);
            other.grad_y(&[5.0; 4], &mut c);
            other.fix(x, Need::Gradients);
            let g = (other.grad_y(y, &mut d), other.grad_x(y, &mut c), other.value(y));
            assert_eq!((f.0, f.1, f.2, a, b), (g.2, g.1, g.0, c, d));
        }
    }
}

#[test]
fn negative_zero_is_a_different_point() {
    let mut game = read(&around("1/t + s")).unwrap();
    game.fix(&[0.0; 4], Need::Values);
    assert_eq!(game.value(&[0.0; 4]), f64::INFINITY);
    assert_eq!(game.value(&[-0.0, 0.0, 0.0, 0.0]), f64::NEG_INFINITY);
}

#[test]
fn every_operation_on_vectors_is_certified_with_tight_bounds() {
    let each =
        ["sin", "cos", "tan", "exp", "abs", "tanh", "sigmoid", "softplus", "expm1", "relu", "sinh", "cosh", "atan"];
    let positive = ["log", "sqrt", "log1p"].map(|f| format!("sum({f}(3 + x*y)) + x @ y"));
    let folds = ["sum", "mean", "norm", "max", "min", "logsumexp"].map(|f| format!("{f}((0.1 * x) * y) - sum(y^2)"));
    let others = [
        "sum(-(x * x)) + y @ x",
        "sum((x - y) * (x + y) / (3 + x))",
        "sum((0.1 * x) / (0.3 + (2 + y)))",
        "sum((2 + x)^y) - sum(0.3^x)",
        "sum((2 + x)^3 / (2 + y)^2)",
        "sum(max(x, y)) - sum(min(x, 0.1 * y))",
        "sum(x * sum(y)) / (2 + x[0])",
        "(x * 2) @ (y * 3) + x[0:3] @ y[1:4]",
        "sum(relu(x - y) * abs(x + y))",
    ];
    let z = Point::new(&[0.3, -0.2, 0.7, 0.1], &[-0.4, 0.9, 0.25, -0.6]);
    let objectives = each.map(|f| format!("sum({f}(x + y)) + sum({f}(x))"));
    for objective in objectives.into_iter().chain(positive).chain(folds).chain(others.map(String::from)) {
        let side = "dim = 4\nlower = -1\nupper = 1";
        let text = format!("objective = '{objective}'\n[min.x]\n{side}\n[max.y]\n{side}\n");
        let mut game = FormulaGame::from_toml(&text, &mut |_| Err("no files".into())).expect(&objective);
        let found = certify(&mut game, &z, 1.0);
        assert_eq!(found.proof, Proof::Rigorous, "{objective}");
        for gap in [found.x, found.y] {
            assert!(gap.upper - gap.lower <= 1e-12 * (1.0 + gap.upper), "{objective}: {gap:?}");
        }
    }
}
