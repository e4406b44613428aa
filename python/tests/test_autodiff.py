"""Gradients from PyTorch and JAX, where they are installed: the zoo's counts again."""

import pytest

import standoff as so

GAMES = {
    "kink": (lambda m: lambda x, y: (0.25 * m.cos(3 * x) + y * (x - 0.5))[0], so.Box(-2, 2), so.Box(-1, 1), True),
    "trap": (lambda m: lambda x, y: (-0.5 * x * x + 1.2 * x * y - 0.1 * y * y)[0], so.Box(-5, 5), so.Box(-40, 40), False),
    "bilinear": (lambda m: lambda x, y: (x * y)[0], so.Box(-1, 1), so.Box(-1, 1), True),
}


def same_counts(name, f):
    _, x_set, y_set, linear = GAMES[name]
    built_in = so.zoo[name]
    theirs = built_in.solve(eps=1e-6)
    ours = so.solve(f, built_in.x0, built_in.y0, x_set, y_set, linear_in_y=linear, eps=1e-6)
    assert ours.success and ours.gradients == "given"
    assert [ours[c] for c in ("nfev", "njev_x", "njev_y", "nit")] == [theirs[c] for c in ("nfev", "njev_x", "njev_y", "nit")]


@pytest.mark.parametrize("name", GAMES)
def test_torch_games_cost_what_the_built_in_ones_cost(name):
    torch = pytest.importorskip("torch")
    same_counts(name, so.from_torch(GAMES[name][0](torch)))


@pytest.mark.parametrize("name", GAMES)
def test_jax_games_cost_what_the_built_in_ones_cost(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    same_counts(name, so.from_jax(GAMES[name][0](jax.numpy)))
