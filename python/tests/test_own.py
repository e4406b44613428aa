"""A game of Python functions is treated like a built-in one: raced, checked, planned, verified."""

import numpy as np
import pytest
import standoff


def curved(**more):
    """x y + x^2/2 - y^2/2 on two boxes; the equilibrium is the origin."""
    return standoff.Game.from_functions(
        lambda x, y: float(x @ y + 0.5 * x @ x - 0.5 * y @ y),
        [0.5, -0.5], [0.25, 0.5], standoff.Box([-1, -1], [1, 1]), standoff.Box([-2, -2], [2, 2]),
        grad_x=more.pop("grad_x", lambda x, y: y + x), grad_y=lambda x, y: x - y, **more,
    )  # fmt: skip


def test_a_game_of_functions_is_raced_beside_built_in_ones():
    r = standoff.race(["auto", "multistep", "fastnash"], [curved(name="mine"), "trap"], eps=[1e-1, 1e-3])
    rows = list(zip(r.entries["game"], r.entries["method"], r.entries["ending"], strict=True))
    assert len(rows) == 12 and {row[0] for row in rows} == {"mine", "trap"}
    assert all(ending == "converged" for game, _, ending in rows if game == "mine")
    alone = curved().solve(method="auto", eps=1e-3)
    mine = [g for game, m, g, e in zip(*(r.entries[c] for c in ("game", "method", "gradients", "eps")), strict=True)
            if (game, m, e) == ("mine", "auto", 1e-3)]  # fmt: skip
    assert mine == [alone.njev_x + alone.njev_y]


def test_threads_change_no_number_of_a_race_with_functions():
    one, three = (standoff.race(["auto", "gda"], curved(), eps=1e-2, n_jobs=n).entries for n in (1, 3))
    assert list(one["gradients"]) == list(three["gradients"]) and one["game"] == ["game 1", "game 1"]


def test_an_exception_in_a_function_ends_the_race_and_is_raised():
    def wrong(x, y):
        raise LookupError("no such gradient")

    with pytest.raises(LookupError, match="no such gradient"):
        standoff.race("auto", curved(grad_x=wrong), eps=1e-2)


def test_a_game_of_functions_is_checked_planned_certified_and_verified():
    game = curved(name="mine")
    report = game.check()
    assert report.success and max(report.disagreement) < 1e-6
    # f is quadratic: L11 = L12 = L22 = mu = 1.
    assert all(np.isclose(report.constants[name], 1.0, rtol=0.2) for name in ("l11", "l12", "l22", "mu"))
    rows = game.plan(eps=1e-2, estimate=True)
    assert len(rows) == 9 and any("T" in row for row in rows)
    with pytest.raises(ValueError, match="no constants"):
        game.plan()
    found = game.solve(eps=1e-6)
    assert found.success and found.gradients == "given"
    assert game.certify(found.x, found.y).gap.epsilon <= 1e-6
    assert game.verify(found.x, found.y, eps=1e-6).verified


def test_a_wrong_gradient_is_found_by_check():
    assert not curved(grad_x=lambda x, y: y - x).check().success


def test_plans_follow_the_radius_and_refuse_unknown_constants():
    constants = {"l11": 1, "l12": 1, "l22": 1, "mu": 1, "delta_g": 1, "delta": 1, "g_max": 2, "radius_x": 5, "radius_y": 5}
    steps = [standoff.plan(eps=1e-2, radius=r, constants=constants)[5]["T"] for r in (1, 2)]
    assert steps[1] > 7 * steps[0]
    with pytest.raises(ValueError, match="no constant `l13`"):
        standoff.plan(constants={"l13": 1.0})
