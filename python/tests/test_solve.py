"""Games with closed forms, solved through Python's functions."""

import math
import pickle

import numpy as np
import pytest

import standoff as so


def two_losses(x, y):
    return y[0] * (x[0] - 1) ** 2 + y[1] * (np.sin(3 * x[0]) + 1)


def two_losses_x(x, y):
    return [2 * y[0] * (x[0] - 1) + 3 * y[1] * np.cos(3 * x[0])]


def two_losses_y(x, y):
    return [(x[0] - 1) ** 2, np.sin(3 * x[0]) + 1]


def saddle(x, y):
    """Minimised at (1, 2) and maximised at (3, 4), whatever the other does."""
    return np.sum((x - [1, 2]) ** 2) - np.sum((y - [3, 4]) ** 2)


def test_a_quadratic_saddle_is_found_in_free_space():
    r = so.solve(
        saddle, [0.0, 0.0], [0.0, 0.0], grad_x=lambda x, y: 2 * (x - [1, 2]), grad_y=lambda x, y: -2 * (y - [3, 4]), eps=1e-8
    )
    assert r.success and r.status == "converged"
    np.testing.assert_allclose(r.x, [1, 2], atol=1e-7)
    np.testing.assert_allclose(r.y, [3, 4], atol=1e-7)
    assert r.fun == pytest.approx(0, abs=1e-12)
    assert r.gradients == "given"


def test_a_set_binds():
    r = so.solve(
        saddle, [0.0, 0.0], [0.0, 0.0], so.Box(0, 0.5, n=2), so.Ball(1.0, n=2),
        grad_x=lambda x, y: 2 * (x - [1, 2]), grad_y=lambda x, y: -2 * (y - [3, 4]), eps=1e-8,
    )  # fmt: skip
    assert r.success
    np.testing.assert_allclose(r.x, [0.5, 0.5], atol=1e-8)
    np.testing.assert_allclose(r.y, [0.6, 0.8], atol=1e-6)


def test_weights_balance_two_losses():
    r = so.solve(
        two_losses, [0.0], [0.5, 0.5], so.Box(-2, 2), so.Simplex(2), two_losses_x, two_losses_y, linear_in_y=True, eps=1e-6
    )
    assert r.success and r.gap.proves(1e-6)
    assert abs(math.sin(3 * r.x[0]) + 1 - (r.x[0] - 1) ** 2) < 1e-5 or r.y.max() > 1 - 1e-6


def test_without_gradients_the_result_says_so():
    r = so.solve(two_losses, [0.0], [0.5, 0.5], so.Box(-2, 2), so.Simplex(2), linear_in_y=True, eps=1e-5)
    exact = so.solve(two_losses, [0.0], [0.5, 0.5], so.Box(-2, 2), so.Simplex(2), two_losses_x, two_losses_y, linear_in_y=True, eps=1e-5)
    assert r.success and "central differences" in r.message and r.gradients == "central differences for grad_x and grad_y"
    np.testing.assert_allclose(r.x, exact.x, atol=1e-4)
    half = so.solve(two_losses, [0.0], [0.5, 0.5], so.Box(-2, 2), so.Simplex(2), two_losses_x, linear_in_y=True)
    assert half.gradients == "central differences for grad_y"


def test_differences_are_one_sided_at_the_edge_of_the_domain():
    def f(x, y):
        with np.errstate(invalid="ignore"):
            return float(x[0] - np.sqrt(y[0]) - y[0] ** 2)

    r = so.gap(f, [0.0], [0.0], so.Box(-1, 1), so.Box(0, 1))
    assert np.isfinite(r.gap.epsilon)


def test_shapes_and_scalars_come_back_as_they_went():
    def f(x, y):
        assert x.shape == (2, 3) and y.shape == (1,)
        return float(np.sum((x - 1) ** 2) - (y[0] - 2) ** 2)

    r = so.solve(f, np.zeros((2, 3)), 0.0, grad_x=lambda x, y: np.asfortranarray(2 * (x - 1)), grad_y=lambda x, y: -2 * (y[0] - 2))
    assert r.success and r.x.shape == (2, 3) and r.y.shape == (1,)
    np.testing.assert_allclose(r.x, 1, atol=1e-3)


def test_a_gradient_in_fortran_order_is_read_in_the_order_of_x():
    target = np.arange(6.0).reshape(2, 3)
    r = so.solve(
        lambda x, y: float(np.sum((x - target) ** 2) - y[0] ** 2), np.zeros((2, 3)), [1.0],
        grad_x=lambda x, y: np.asfortranarray(2 * (x - target)), grad_y=lambda x, y: -2 * y, eps=1e-6,
    )  # fmt: skip
    np.testing.assert_allclose(r.x, target, atol=1e-5)


def test_gradients_with_values_spare_the_function():
    r = so.solve(
        saddle, [0.0, 0.0], [0.0, 0.0], with_value=True,
        grad_x=lambda x, y: (saddle(x, y), 2 * (x - [1, 2])), grad_y=lambda x, y: (saddle(x, y), -2 * (y - [3, 4])),
    )  # fmt: skip
    assert r.success and r.python_calls["f"] <= r.nfev


def test_every_budget_ends_the_run_with_its_own_status():
    def run(**options):
        return so.solve(so.zoo["bilinear"], method="gda", eps=1e-9, constants={"l12": 1.0}, **options)

    assert run(max_iters=5).status == "max-iterations"
    assert run(max_grads=10).status == "oracle-limit"
    assert run(time_limit=0.05, max_grads=1e15, check_every=1000).status == "time-limit"
    assert not run(max_grads=10).success


def test_a_callback_sees_every_measurement_and_may_end_the_run():
    seen = []
    r = so.solve(so.zoo["kink"], eps=1e-6, callback=lambda record: seen.append(record))
    assert r.success and [s.nit for s in seen] == list(r.trace["nit"])
    assert seen[-1].gap.epsilon == pytest.approx(r.gap.epsilon, rel=1e-9)
    assert so.solve(so.zoo["kink"], eps=1e-6, callback=lambda record: record.nit >= 3).status == "observer"

    def enough(record):
        raise StopIteration

    assert so.solve(so.zoo["kink"], eps=1e-6, callback=enough).status == "observer"


def test_methods_with_constants_given_and_estimated():
    given = {"L11": 1.0, "L12": 1.2, "L22": 0.2, "mu": 0.2}
    start = ([1.0], [1.0], so.Box(-5, 5), so.Box(-40, 40))

    def f(x, y):
        return -0.5 * x[0] ** 2 + 1.2 * x[0] * y[0] - 0.1 * y[0] ** 2

    gradients = {"grad_x": lambda x, y: 1.2 * y - x, "grad_y": lambda x, y: 1.2 * x - 0.2 * y}
    assert so.solve(f, *start, **gradients, method="regularised", eps=0.05, constants=given).success
    assert so.solve(f, *start, **gradients, method="regularised", eps=0.05, constants="estimate", seed=3).success
    with pytest.raises(ValueError, match="needs the constants"):
        so.solve(f, *start, **gradients, method="regularised")
    with pytest.raises(ValueError, match="there is no constant `l13`"):
        so.solve(f, *start, **gradients, method="regularised", constants={"l13": 1})


def test_a_result_reads_well_and_pickles():
    r = so.solve(so.zoo["kink"])
    text = repr(r)
    assert "status: converged" in text and "X <= " in text and len(text.splitlines()) <= 8
    assert "status: converged" in r.details() and "measurements" in r.details()
    again = pickle.loads(pickle.dumps(r))
    assert again.x == r.x and again.gap == r.gap
    with pytest.raises(AttributeError, match="it has: x, y"):
        r.nonsense  # noqa: B018


def test_a_game_file_is_solved():
    game = so.Game.from_toml('objective = "x*y - y^2"\n[min.x]\nlower = -1\nupper = 1\nstart = 0.5\n[max.y]\nset = "free"\n')
    assert game.solve(eps=1e-6).success
    assert game([0.5], [2.0]) == -3.0 and game.grad_y([0.5], [2.0]) == [-3.5]
    with pytest.raises(ValueError, match="objective"):
        so.Game.from_toml("nonsense = 1")

