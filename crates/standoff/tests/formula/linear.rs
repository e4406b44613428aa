//! Detection of linearity in y from the expression.

use standoff::Game;

use crate::{around, read};

fn linear(objective: &str) -> bool {
    read(&around(objective)).unwrap_or_else(|e| panic!("{objective}: {e}")).linear_in_y()
}

#[test]
fn affine_objectives_are_recognised() {
    for objective in [
        "sum(v * sigmoid(u)) + 0.01*sum(u^2 / (1 + u^2))",
        "t*exp(s) - 3",
        "u @ B @ v + t/(1 + s^2)",
        "-mean(v) + v[0]*s + dot(v, u) + sum(A @ v)",
        "sum(max(u, 0) * v) + norm(u)*t + t^1",
        "sum((B @ v)[0:2]) + t^0*s + sum(B.T @ v)",
        "s^2 + sin(s)",
        "3",
    ] {
        assert!(linear(objective), "{objective}");
    }
}

#[test]
fn other_objectives_are_not_linear() {
    for objective in [
        "t^2",
        "t*t",
        "v @ v",
        "sum(v*v)",
        "v @ B @ v",
        "sin(t)",
        "abs(t)",
        "max(t, s)",
        "min(v)",
        "norm(v)",
        "s/t",
        "t/t",
        "2^t",
        "t^1.5",
        "logsumexp(v)",
        "sum(relu(v))",
        "square(t)",
        "t*mean(v)",
        "sum(v^3)",
        "t^-1",
    ] {
        assert!(!linear(objective), "{objective}");
    }
}
