"""The weights of `standoff.torch` and `standoff.jax` that answer losses: optimal by an independent solver, and equal in both."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from scipy.optimize import minimize  # noqa: E402

import standoff as so  # noqa: E402
from standoff.torch import chi2_weights, cvar_weights, kl_weights, simplex_projection  # noqa: E402

torch.set_num_threads(1)
ANSWERS = [(cvar_weights, 0.3), (chi2_weights, 0.4), (kl_weights, 0.3)]


def slack(function, t, size):
    """What is left of the constraint; 0 at its edge."""
    n = len(t)
    if function is cvar_weights:
        return 1 / (size * n) - t.max()
    if function is chi2_weights:
        return size - np.mean((n * t - 1) ** 2) / 2
    positive = t[t > 0]
    return size - np.sum(positive * np.log(n * positive))


def best(function, losses, size):
    """The largest `t @ losses` by SLSQP, which knows nothing of the formulas."""
    n = len(losses)
    cap = 1 / (size * n) if function is cvar_weights else 1.0
    rules = [{"type": "eq", "fun": lambda t: t.sum() - 1}]
    if function is not cvar_weights:
        rules.append({"type": "ineq", "fun": lambda t: slack(function, np.maximum(t, 1e-300), size)})
    found = minimize(lambda t: -t @ losses, np.full(n, 1 / n), bounds=[(0, min(cap, 1.0))] * n, constraints=rules, options={"ftol": 1e-13, "maxiter": 500})
    return -found.fun


def test_the_projection_is_that_of_the_solver():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7):
        for _ in range(20):
            v = rng.normal(size=n) * 10 ** rng.uniform(-2, 2)
            np.testing.assert_allclose(simplex_projection(torch.tensor(v)).numpy(), so.Simplex(n).project(v), atol=1e-12)


@pytest.mark.parametrize(("function", "size"), ANSWERS)
def test_weights_over_samples_are_feasible_and_as_good_as_an_independent_solver(function, size):
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 9):
        for scale in (1e-3, 1.0, 50.0):
            losses = rng.normal(size=n)
            t = function(torch.tensor(losses * scale), size).numpy()
            assert t.min() >= 0 and t.sum() == pytest.approx(1, abs=1e-12)
            assert slack(function, t, size) >= -1e-9 or 1 / (size * n) >= 1
            assert t @ losses >= best(function, losses, size) - 1e-6


@pytest.mark.parametrize(("function", "size"), ANSWERS)
def test_ties_missing_samples_and_extreme_radii(function, size):
    ties = function(torch.tensor([2.0, 2.0, 2.0, 2.0], dtype=torch.float64), size)
    assert ties.sum() == pytest.approx(1) and float((ties * 2).sum()) == pytest.approx(2)
    missing = function(torch.tensor([1.0, float("-inf"), 3.0, 2.0], dtype=torch.float64), size)
    there = function(torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64), size)
    np.testing.assert_allclose(missing[[0, 2, 3]], there, atol=1e-12)
    assert missing[1] == 0
    one = 1.0 if function is cvar_weights else 0.0
    np.testing.assert_allclose(function(torch.tensor([1.0, 5.0, 2.0], dtype=torch.float64), one), np.full(3, 1 / 3), atol=1e-6)
    all_of_it = 1e-3 if function is cvar_weights else 100.0
    np.testing.assert_allclose(function(torch.tensor([1.0, 5.0, 2.0], dtype=torch.float64), all_of_it), [0, 1, 0], atol=1e-9)
    assert torch.isnan(function(torch.tensor([1.0, float("nan")]), size)).all()
    assert torch.isnan(function(torch.tensor([1.0, float("inf")]), size)).all()
