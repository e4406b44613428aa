"""Functions that compute in float32: recognised, warned about, and ended at the rounding limit."""

import warnings

import numpy as np
import pytest

import standoff as so

F = np.float32


def matrix_game(n):
    A = np.random.default_rng(1).standard_normal((n, n)).astype(F)
    return A, (
        lambda x, y: y.astype(F) @ (A @ x.astype(F)),
        np.full(n, 1 / n), np.full(n, 1 / n), so.Simplex(n), so.Simplex(n),
        lambda x, y: A.T @ y.astype(F), lambda x, y: A @ x.astype(F),
    )  # fmt: skip


def quietly(*game, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return so.solve(*game, **options)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("n", [3, 20, 100])
def test_a_float32_matrix_game_ends_at_the_rounding_limit(n, linear):
    A, game = matrix_game(n)
    r = quietly(*game, eps=1e-9, linear_in_y=linear, max_grads=100_000)
    assert r.status == "rounding-limit" and "concave" not in r.message
    assert r.njev_x + r.njev_y < 10_000
    # The bound holds for the matrix game itself, computed in float64.
    B = A.astype(float)
    exact = so.certify(lambda x, y: float(y @ B @ x), r.x, r.y, so.Simplex(n), so.Simplex(n), lambda x, y: B.T @ y, lambda x, y: B @ x)
    assert exact.gap.x_lower <= r.gap.x_upper and exact.gap.y_lower <= r.gap.y_upper


def test_float32_is_warned_about_once_and_in_the_result():
    _, game = matrix_game(3)
    with pytest.warns(UserWarning, match="float32") as caught:
        r = so.solve(*game, eps=1e-3, linear_in_y=True)
    assert r.success and len(caught) == 1 and caught[0].filename == __file__
    assert len(r.warnings) == 1 and "jax_enable_x64" in r.warnings[0] and "return float64" in r.warnings[0]
    for function in (so.certify, so.verify):
        with pytest.warns(UserWarning, match="float32") as caught:
            assert "float32" in function(game[0], r.x, r.y, *game[3:]).warnings[0]
        assert caught[0].filename == __file__


def test_float64_functions_are_not_warned_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r = so.solve(
            lambda x, y: np.float64(x @ x - y @ y), [1.0, 2.0], [1.0], grad_x=lambda x, y: list(2 * x), grad_y=lambda x, y: -2 * y
        )
    assert r.success and r.warnings == []


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_rounding_errors_are_in_the_bounds(dtype):
    """At the exact equilibrium of float64 the bounds are as large as the roundings of the coefficients."""
    size = {"float32": 6e-8, "float16": 5e-4}[dtype]
    c = np.array([1 / 3, 2 / 3])
    with pytest.warns(UserWarning, match=dtype):
        r = so.certify(
            lambda x, y: (c.astype(dtype) @ x.astype(dtype) - c.astype(dtype) @ y.astype(dtype)),
            [1.0, 0.0], [1.0, 0.0], so.Simplex(2), so.Simplex(2), lambda x, y: c.astype(dtype), lambda x, y: -c.astype(dtype),
        )  # fmt: skip
    assert 0.5 * size <= r.gap.epsilon <= 20 * size


def quadratic(c):
    def f(x, y):
        x, y = x.astype(F), y.astype(F)
        return F(c) * np.sum((x - F(1)) ** 2) + np.sum(x * y) - np.sum(y**2)

    return f, lambda x, y: 2 * F(c) * (x.astype(F) - F(1)) + y.astype(F), lambda x, y: x.astype(F) - 2 * y.astype(F)


@pytest.mark.parametrize("eps", [1e-4, 1e-9])
def test_a_gradient_that_vanishes_in_float32_has_an_error_all_the_same(eps):
    f, grad_x, grad_y = quadratic(1)
    r = quietly(f, [5.0, 5.0], [0.0, 0.0], grad_x=grad_x, grad_y=grad_y, eps=eps)
    assert r.status == ("converged" if eps > 1e-6 else "rounding-limit")
    assert r.njev_x + r.njev_y < 2_000
    exact = so.certify(lambda x, y: float(np.sum((x - 1) ** 2) + x @ y - y @ y), r.x, r.y,
                       grad_x=lambda x, y: 2 * (x - 1) + y, grad_y=lambda x, y: x - 2 * y)  # fmt: skip
    assert exact.gap.epsilon <= r.gap.epsilon


def test_a_steep_start_does_not_end_a_float32_run_early():
    f, grad_x, grad_y = quadratic(1e6)
    r = quietly(f, [1000.0, 1000.0], [0.0, 0.0], grad_x=grad_x, grad_y=grad_y, eps=10.0)
    assert r.success


def test_your_own_bound_replaces_the_estimate():
    _, game = matrix_game(3)
    assert quietly(*game, eps=1e-4, linear_in_y=True).success
    assert quietly(*game, eps=1e-4, linear_in_y=True, grad_error=1e-3).status == "rounding-limit"


def test_differences_of_float32_values_use_longer_steps():
    r = quietly(quadratic(1)[0], [5.0, 5.0], [0.0, 0.0], eps=0.2, max_grads=20_000)
    assert r.success
    np.testing.assert_allclose(r.x, 0.8, atol=0.1)


def test_a_projection_in_float32_is_a_projection_up_to_rounding():
    project = lambda v: np.clip(np.asarray(v, dtype=F), F(-0.3), F(0.7))  # noqa: E731
    r = so.solve(
        lambda x, y: float((x - 2) @ (x - 2) - y @ y), [0.1], [0.0], so.Projected(1, project), so.Box(-1, 1),
        grad_x=lambda x, y: 2 * (x - 2), grad_y=lambda x, y: -2 * y, eps=1e-3,
    )  # fmt: skip
    assert r.success and r.x[0] == pytest.approx(0.7)


def test_jax_as_it_comes_is_recognised():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    try:
        jax.config.update("jax_enable_x64", False)
        A = jax.numpy.asarray(np.random.default_rng(1).standard_normal((10, 10)))
        f = so.from_jax(lambda x, y: y @ (A @ x))
        start = (np.full(10, 0.1), np.full(10, 0.1), so.Simplex(10), so.Simplex(10))
        with pytest.warns(UserWarning, match="jax_enable_x64"):
            r = so.solve(f, *start, eps=1e-9, max_grads=100_000)
        assert r.status == "rounding-limit" and r.njev_x + r.njev_y < 20_000
    finally:
        jax.config.update("jax_enable_x64", before)


def test_a_float32_model_of_torch_is_recognised():
    torch = pytest.importorskip("torch")
    A = torch.randn(10, 10, generator=torch.Generator().manual_seed(1))
    f = so.from_torch(lambda x, y: y.float() @ (A @ x.float()))
    with pytest.warns(UserWarning, match="float32"):
        r = so.solve(f, np.full(10, 0.1), np.full(10, 0.1), so.Simplex(10), so.Simplex(10), eps=1e-9, max_grads=100_000)
    assert r.status == "rounding-limit"
