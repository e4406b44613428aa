//! Meaning of expressions: precedence, functions, shapes, names.

use standoff::{Game, Need};

use crate::{read, value};

fn means(objective: &str, expected: f64) {
    let got = value(objective);
    assert!((got - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{objective} is {got}, not {expected}");
}

#[test]
fn precedence_is_that_of_python() {
    means("-2^2", -4.0);
    means("2^-1", 0.5);
    means("2^3^2", 512.0);
    means("-2^-2^0.5*0 + 1", 1.0);
    means("2**3**2", 512.0);
    means("-s^2 + 1", 0.75);
    means("(-2)^2", 4.0);
    means("(-2)^3", -8.0);
    means("7 - 2 - 1", 4.0);
    means("8 / 4 / 2", 1.0);
    means("8 / 4 * 2", 4.0);
    means("1 + 2 * 3 ^ 2", 19.0);
    means("--1 + +1 - -1", 3.0);
    means("2 * -3", -6.0);
    means("2 * u @ v", 2.8);
    means("-u @ v", -1.4);
    means("1e-3 + .5 + 5.", 5.501);
}

#[test]
fn constants_and_functions_have_their_values() {
    means("pi", std::f64::consts::PI);
    means("e", std::f64::consts::E);
    means("log(e) + sin(pi/2) + cos(0) + tan(0) + exp(0) + sqrt(4) + abs(-3)", 9.0);
    means("sigmoid(0) + tanh(0) + relu(-1) + relu(2) + square(3) + atan(0) + sinh(0) + cosh(0)", 12.5);
    means("softplus(0) - log(2) + log1p(0) + expm1(0)", 0.0);
    means("sum(u) + mean(u) + norm(3*c*0 + 2*k*c*0) + dot(u, c)", 6.0 + 2.0 - 1.5);
    means("norm(A[0, 0:2]*0 + 1)", 2f64.sqrt());
    means("max(u) + min(u) + max(1, 5, 3) + min(4, 2) + max(s)", 11.5);
    means("sum(max(u, 2)) + sum(min(u, 2))", 7.0 + 5.0);
    means("logsumexp(0*u) - log(3)", 0.0);
    means("sum(A) + mean(A) + max(A) + norm(-3)", 21.0 + 3.5 + 6.0 + 3.0);
}

#[test]
fn products_follow_the_shapes() {
    means("u @ v", 1.4);
    means("sum(A @ u)", 14.0 + 32.0);
    means("(A @ u)[1]", 32.0);
    means("sum(A[:, 0:2].T @ A[:, 2])", 3.0 * 3.0 + 6.0 * 9.0);
    means("(u @ B)[0]", 1.0 - 2.0 + 1.5);
    means("u @ B @ v", 0.05 + 0.2 * 9.0 + 0.3 * (2.0 + 2.0 - 6.0));
    means("(A @ B)[1, 2]", 8.0 + 5.0 - 12.0);
    means("(A @ A.T)[0, 1]", 32.0);
    means("(transpose(A) @ A)[2, 0]", 27.0);
    means("sum(A * A)", 91.0);
    means("sum(A * 2 + 1)", 48.0);
}

#[test]
fn indices_and_slices_are_those_of_numpy() {
    means("u[0] + 10*u[-1] + 100*u[1]", 231.0);
    means("A[1, 2] + 10*A[-1, -1] + 100*A[0, 0]", 166.0);
    means("sum(A[1])", 15.0);
    means("sum(u[1:])", 5.0);
    means("sum(u[:-1])", 3.0);
    means("sum(u[1:2])", 2.0);
    means("sum(A[:, 1])", 7.0);
    means("sum(A[0:1, 1:] * 10)", 50.0);
    means("A.T[2, 1]", 6.0);
}

#[test]
fn only_equal_subexpressions_are_shared() {
    means("u @ u + u @ v + v @ u + s*s + s*t + t*s + (s - t) + (t - s) + u[0] + u[1]", 14.0 + 2.8 + 0.25 - 2.0 + 3.0);
    means("sum(u[0:2]) + sum(u[1:3]) + s^3 + s^4 + 1/(1 + s) + 1/(1 + s)", 8.0 + 0.125 + 0.0625 + 4.0 / 3.0);
}

#[test]
fn an_objective_may_span_lines() {
    means("sum(u)\n  + sum(v)\n\t- t", 8.6);
}

#[test]
fn definitions_build_on_earlier_ones() {
    let text = "objective = 'sum(p * loss) - penalty'\n[min.w]\ndim = 2\n[max.p]\ndim = 2\nset = 'simplex'\n\
                [data]\nb = [1, -1]\n[define]\nmargin = 'b * w'\nloss = 'softplus(-margin)'\npenalty = '0.5 * (p @ p)'\n";
    let mut game = read(text).unwrap();
    game.fix(&[0.0, 0.0], Need::Values);
    assert!((game.value(&[0.5, 0.5]) - (2f64.ln() - 0.25)).abs() < 1e-15);
    assert_eq!(game.warnings(), [] as [String; 0]);
}

#[test]
fn names_may_be_greek() {
    let text = "objective = 'θ * α_1'\n[min.\"θ\"]\n[max.\"α_1\"]\n";
    let mut game = read(text).unwrap();
    game.fix(&[3.0], Need::Values);
    assert_eq!(game.value(&[2.0]), 6.0);
}

#[test]
fn functions_without_a_derivative_everywhere_are_warned_about_once_and_only_when_it_matters() {
    let text =
        "objective = 'abs(x) + abs(x*y) + norm(c) + relu(y)'\n[min.x]\n[max.y]\n[max.z]\n[data]\nc = [1, 2]\nd = 3\n";
    let game = read(text).unwrap();
    assert_eq!(
        game.warnings(),
        [
            "`abs` has no derivative where its argument is 0; there the certificate uses its one-sided slopes",
            "`relu` has no derivative where its argument is 0; there the certificate uses its one-sided slopes",
            "the objective does not depend on `z`",
            "`d` of [data] is not used",
        ]
    );
}

#[test]
fn a_constant_objective_is_a_game_with_zero_gradients() {
    let mut game = read("objective = '2 + 3'\n[min.x]\n[max.y]\n").unwrap();
    game.fix(&[1.0], Need::Gradients);
    let mut g = [9.0];
    assert_eq!((game.grad_x(&[1.0], &mut g), g), (5.0, [0.0]));
    assert_eq!((game.grad_y(&[1.0], &mut g), g), (5.0, [0.0]));
    assert_eq!(game.warnings().len(), 2);
}

#[test]
fn a_bare_variable_is_an_objective() {
    let mut game = read("objective = 'y'\n[min.x]\n[max.y]\n").unwrap();
    game.fix(&[1.0], Need::Gradients);
    let mut g = [9.0];
    assert_eq!((game.grad_x(&[4.0], &mut g), g), (4.0, [0.0]));
    assert_eq!((game.grad_y(&[4.0], &mut g), g), (4.0, [1.0]));
}

#[test]
fn the_parts_of_the_file_are_available() {
    let text = "name = 'saddle'\ndescription = 'x times y'\nobjective = 'sum(w) * y + b'\n[min.w]\ndim = 2\nstart = 3\n\
                [min.b]\nlower = 1\n[max.y]\n[constants]\nL11 = 0\nL12 = 1.5\nL22 = 2\nradius_y = 3\n";
    let game = read(text).unwrap();
    assert_eq!(
        (game.name(), game.description(), game.objective()),
        (Some("saddle"), Some("x times y"), "sum(w) * y + b")
    );
    let [w, b] = game.min_variables() else { panic!("two variables") };
    assert_eq!((w.name.as_str(), w.dim, w.range.clone()), ("w", Some(2), 0..2));
    assert_eq!((b.name.as_str(), b.dim, b.range.clone()), ("b", None, 2..3));
    assert_eq!(game.max_variables()[0].range, 0..1);
    assert_eq!(game.start().x, [3.0, 3.0, 1.0]);
    let constants = game.constants().unwrap();
    assert_eq!((constants.l12, constants.mu, constants.radius_y, constants.delta), (1.5, 0.0, Some(3.0), None));
    assert!(read("objective = 'x*y'\n[min.x]\n[max.y]\n").unwrap().constants().is_none());
}
