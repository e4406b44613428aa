"""Before a game is solved: ``check`` its gradients and constants; ``plan`` and ``noise_plan`` list the schedules of the theorems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from . import _core
from ._game import Game
from ._result import Result
from ._sets import flat


def check(game: Game, x: ArrayLike | None = None, y: ArrayLike | None = None, *, seed: int = 0) -> Result:
    """Compare a game's gradients with central differences, and estimate its constants by sampling around a point.

    Without ``x`` and ``y`` the point is the game's start. The result has ``success`` (the gradients agree), ``disagreement`` (the largest
    relative error in x and in y), ``constants`` (estimates, not bounds) and ``method`` (the method that fits these constants).

    >>> import standoff
    >>> standoff.check(standoff.zoo["trap"]).success
    True
    """
    x, y = game.x0 if x is None else x, game.y0 if y is None else y
    return Result(**game._core_game.check(flat(x), flat(y), int(seed)))


def plan(
    game: Game | None = None,
    *,
    eps: float = 1e-3,
    radius: float = 1.0,
    constants: dict[str, float] | None = None,
    estimate: bool = False,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """The schedules of the theorems for the constants of a game: a row for each algorithm and statement, as ``standoff plan`` prints.

    The constants are those that the game states or, with ``estimate``, sampled ones; ``constants`` replaces some of them. A row has ``T``, ``K``, ``N``,
    ``lambda``, steps and gradient counts, or a ``problem``.

    >>> import standoff
    >>> rows = standoff.plan(standoff.zoo["trap"], eps=1e-2, constants={"delta_g": 80, "delta": 100})
    >>> [row["statement"] for row in rows if row["algorithm"] == "1" and "T" in row]
    ['printed', 'corrected', 'tightened']
    """
    known: dict[str, float | None] = {}
    if game is not None:
        known = check(game, seed=seed).constants if estimate else (game.constants or {})
    every = {name: value for name, value in known.items() if value is not None} | dict(constants or {})
    if not every:
        raise ValueError("no constants: the game states none; use estimate=True, or give constants")
    return _core.plan({name: float(value) for name, value in every.items()}, float(eps), float(radius))


def noise_plan(constants: Mapping[str, float], noise: float, eps: float = 1e-3, radius: float = 1.0) -> list[dict[str, Any]]:
    """Batch sizes M, iterations T and samples that make ``E X <= eps`` at an iteration drawn uniformly, and ``Y <= eps`` at each.

    ``constants`` are those of ``solve`` (``l11, l12, l22, delta_g, delta``, and ``mu`` or ``radius_y``); ``noise`` is the standard
    deviation of the gradient in x of one sample, of the whole vector. y answers with full gradients: exactly (``"exact"``), by an
    inner loop before the batch is drawn (``"unbiased"``), or by any inner loop (``"dependent"``). An algorithm that lacks a constant has a
    ``problem`` instead.

    >>> import standoff
    >>> rows = standoff.noise_plan({"l11": 1, "l12": 1, "l22": 1, "mu": 1, "delta_g": 1, "delta": 1}, noise=0.5, eps=0.1)
    >>> rows[0]["answer"], rows[0]["M"], rows[0]["T"]
    ('exact', 3600.0, 12800.0)
    """
    return _core.noise_plan({k.lower(): float(v) for k, v in constants.items()}, float(eps), float(radius), float(noise))
