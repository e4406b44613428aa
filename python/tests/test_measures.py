"""Measures beside X and Y, the look at curvature, batches and noise plans."""

import math

import numpy as np
import pytest

import standoff


def test_whole_sets_bound_the_duality_gap_of_a_matrix_game():
    r = standoff.solve(standoff.zoo["rps"], eps=1e-6, radius=math.inf)
    gap = r.measures["duality_gap"]
    assert r.success and gap["upper"] <= 2.1e-6 and gap["holds_if"] is None
    norm, slack = r.measures["residual_x"]
    assert r.gap.x_upper <= r.gap.radius * norm + slack + 1e-12


def test_an_infinite_radius_needs_bounded_sets():
    with pytest.raises(ValueError, match="radius = inf"):
        standoff.solve(lambda x, y: float(x @ y), [0.1], [0.1], grad_x=lambda x, y: y, grad_y=lambda x, y: x, radius=math.inf)


def test_a_start_that_is_stationary_by_symmetry_is_looked_at():
    game = standoff.Game.from_toml('objective = "x*y + y^2"\n[min.x]\n[max.y]')
    r = standoff.solve(game, [0.0], [0.0])
    assert r.success and r.nit == 0
    assert r.curvature["found"] and abs(r.curvature["y"]["curvature"] - 2) < 1e-6
    assert "y does not maximise" in r.message
    assert standoff.solve(game, [0.0], [0.0], curvature=0).curvature is None


def test_certify_has_measures_and_takes_a_modulus():
    game = standoff.Game.from_toml('objective = "x^2 + x*y - y^2"\n[min.x]\n[max.y]\nlower = -1\nupper = 1')
    r = standoff.certify(game, [0.1], [0.0], radius=2.5, mu_x=2.0)
    gap = r.measures["duality_gap"]
    assert "strongly convex in x" in gap["holds_if"] and gap["x"] == pytest.approx(0.01)


def test_batches_come_from_a_callback_and_the_certificate_is_of_all_data():
    data, seen = np.array([1.0, 2.0, 6.0]), []
    rows = slice(None)

    def resample(step):
        nonlocal rows
        seen.append(step)
        rows = slice(None) if step is None else slice(step % 3, step % 3 + 1)

    def play(method):
        return standoff.solve(
            lambda x, y: float(np.mean((x[0] - data[rows]) ** 2) - y[0] ** 2), [0.0], [0.5],
            grad_x=lambda x, y: [2 * np.mean(x[0] - data[rows])], grad_y=lambda x, y: [-2 * y[0]],
            method=method, eps=3.0, constants={"l11": 2, "l12": 0.1, "l22": 2, "mu": 2}, resample=resample, max_grads=2000)  # fmt: skip

    r = play("multistep")
    assert r.success and r.gap.x_upper == pytest.approx(abs(2 * (r.x[0] - 3.0)), abs=1e-9)
    assert None in seen and 0 in seen
    with pytest.raises(ValueError, match="draws batches"):
        play("auto")


def test_a_noise_plan_by_hand():
    rows = standoff.noise_plan({"l11": 1, "l12": 1, "l22": 1, "mu": 1, "delta_g": 1, "delta": 1}, noise=0.5, eps=0.1)
    assert [(r["answer"], r["M"]) for r in rows[:3]] == [("exact", 3600.0), ("unbiased", 7200.0), ("dependent", 14400.0)]
    assert rows[0]["samples"] == 3600.0 * 12800.0 and "problem" in rows[3]
