"""The zoo from Python: the same games written by hand cost the same number of calls, to the last bit of the answer."""

import math

import numpy as np
import pytest

import standoff as so

BY_HAND = {
    "kink": dict(
        f=lambda x, y: 0.25 * math.cos(3 * x[0]) + y[0] * (x[0] - 0.5),
        grad_x=lambda x, y: y[0] - 0.75 * math.sin(3 * x[0]),
        grad_y=lambda x, y: x[0] - 0.5,
        x_set=so.Box(-2, 2), y_set=so.Box(-1, 1), linear_in_y=True,
    ),
    "trap": dict(
        f=lambda x, y: -0.5 * x[0] * x[0] + 1.2 * x[0] * y[0] - 0.1 * y[0] * y[0],
        grad_x=lambda x, y: 1.2 * y - x,
        grad_y=lambda x, y: 1.2 * x - 0.2 * y,
        x_set=so.Box(-5, 5), y_set=so.Box(-40, 40),
    ),
    "bilinear": dict(
        f=lambda x, y: x[0] * y[0], grad_x=lambda x, y: y, grad_y=lambda x, y: x,
        x_set=so.Box(-1, 1), y_set=so.Box(-1, 1), linear_in_y=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("eps", [1e-3, 1e-8])
@pytest.mark.parametrize("name", BY_HAND)
def test_a_game_written_in_python_costs_what_the_built_in_one_costs(name, eps):
    built_in = so.zoo[name]
    theirs = built_in.solve(eps=eps)
    ours = so.solve(x0=built_in.x0, y0=built_in.y0, eps=eps, **BY_HAND[name])
    assert theirs.success and ours.success
    for count in ("nfev", "njev_x", "njev_y", "nit"):
        assert ours[count] == theirs[count]
    assert ours.x == theirs.x and ours.y == theirs.y and ours.fun == theirs.fun and ours.gap == theirs.gap


@pytest.mark.parametrize("name", ["abs", "kink", "trap", "rps", "matrix-2x2", "bilinear", "dirac-gan"])
def test_known_answers_are_certified_and_found(name):
    game = so.zoo[name]
    x, y = game.answers[0]
    assert game.gap(x, y).gap.epsilon < 1e-9
    assert game.solve(eps=1e-6).success


def test_the_zoo_is_a_mapping_of_names():
    assert len(so.zoo) == len(list(so.zoo)) > 20 and "rps" in so.zoo and "unicorn" not in so.zoo
    assert "rock, paper, scissors" in repr(so.zoo)
    with pytest.raises(KeyError, match="did you mean `kink`"):
        so.zoo["kinks"]


def test_a_gap_is_of_the_point_that_was_given():
    box = so.Box(-1, 1)
    r = so.gap(lambda x, y: x[0] * y[0], [0.25], [-0.5], box, box, lambda x, y: y, lambda x, y: x, check_gradients=True)
    assert r.fun == -0.125
    # x gains by moving up, at most to its wall 0.75 away; y gains 0.25 on a step of length 1.
    assert r.gap.x_upper == pytest.approx(0.375) and r.gap.y_upper == pytest.approx(0.25)
    assert max(r.disagreement) < 1e-6
    wrong = so.gap(lambda x, y: x[0] * y[0], [0.25], [-0.5], box, box, lambda x, y: 2 * y, lambda x, y: x, check_gradients=True)
    assert wrong.disagreement[0] > 0.1


def test_a_point_outside_has_no_gap():
    box = so.Box(-1, 1)
    with pytest.warns(UserWarning, match="outside"):
        r = so.gap(lambda x, y: x[0] * y[0], [2.0], [0.0], box, box, lambda x, y: y, lambda x, y: x)
    assert np.isnan(r.gap.epsilon) and not r.gap.proves(1e9) and r.outside[0] == 1.0


def test_methods_are_listed():
    assert {"auto", "gda", "regularised", "multistep"} <= set(so.methods())
