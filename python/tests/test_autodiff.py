"""Gradients from PyTorch and JAX, where they are installed: the zoo's counts again."""

import numpy as np
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


def test_points_of_jax_may_be_pytrees():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def f(x, y):
        losses = jax.numpy.stack([((x["w"] - 1) ** 2).sum() + x["b"][0] ** 2, (x["w"] ** 2).sum() + (x["b"][0] - 1) ** 2])
        return losses @ y

    tree = so.from_jax(f)
    x0, sets = {"w": np.zeros((2, 2)), "b": (np.array(3.0),)}, {"w": so.Box(-1, 1), "b": (None,)}
    r = so.solve(tree, x0, [0.5, 0.5], sets, so.Simplex(2), linear_in_y=True, eps=1e-8)
    assert r.success and set(r.x) == {"w", "b"} and r.x["w"].shape == (2, 2) and r.x["b"][0].shape == ()
    np.testing.assert_allclose(r.x["w"], 0.5, atol=1e-6)  # by symmetry the two losses are equal in the middle
    np.testing.assert_allclose(r.x["b"][0], 0.5, atol=1e-6)
    assert so.verify(tree, r.x, r.y, sets, so.Simplex(2), eps=1e-6).verified
    assert so.certify(tree, r.x, r.y, sets, so.Simplex(2)).gap.epsilon < 1e-6
    with pytest.raises(ValueError, match="structure of x0"):
        so.solve(tree, x0, [0.5, 0.5], {"w": None}, so.Simplex(2))
    with pytest.raises(TypeError, match="from_jax"):
        so.solve(lambda x, y: 0.0, x0, [0.5, 0.5])
