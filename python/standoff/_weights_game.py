"""The game of group weights against a learner: a proximal bundle method whose subproblems are matrix games for the solver.

A learner that is given the group weights ``t`` returns a model with group losses ``L``. Whatever the learner, ``phi(t) = min over
models of t.L`` is concave, and each model bounds it from above by the plane ``t.L``. With the planes of the models so far,

    min over mixtures q, max over t in the simplex, of  t.(q L) - mu/2 |t - centre|^2

gives the next weights. A weight that raises the weighted loss by a tenth of what the planes promise becomes the new centre.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._sets import Simplex
from ._solve import solve

Vector = NDArray[np.float64]

ENOUGH = 0.1  # the share of the promised ascent that moves the centre
FIRST_STEP = 0.5  # the length of the first step of the weights
EPS = 1e-4  # the accuracy of a matrix game, relative to the spread of its losses


@dataclass
class WeightsGame:
    """The models so far, their group losses, and the state of the weights."""

    fit: Callable[[Vector], tuple[Any, Vector]]
    groups: int
    models: list[Any] = field(default_factory=list)
    rows: list[Vector] = field(default_factory=list)
    weights: list[Vector] = field(default_factory=list)
    reached: float = -np.inf
    worst: float = np.inf

    def play(self, rounds: int, tol: float) -> None:
        """Fits at most ``rounds`` models; ends when the worst group of the best mixture is within ``tol`` of ``reached``."""
        self.centre = np.full(self.groups, 1 / self.groups)
        self._learn(self.centre)
        self.at, self.reached = 0, float(self.centre @ self.rows[0])
        spread = float(np.linalg.norm(self.rows[0] - self.rows[0].mean()))
        mu = max(spread / FIRST_STEP, 1e-12)
        for _ in range(rounds - 1):
            self._mix()
            if self.worst - self.reached <= tol:
                return
            t, promised = self._next(mu)
            self._learn(t)
            value = float(t @ self.rows[-1])
            if value >= self.reached + ENOUGH * (promised - self.reached) and value > self.reached:
                self.centre, self.reached, self.at = t, value, len(self.models) - 1
                mu /= 2
            else:
                mu *= 1.5
        self._mix()

    def _learn(self, t: Vector) -> None:
        model, losses = self.fit(t)
        if not np.isfinite(losses).all():
            raise ValueError(f"the losses of the groups are {losses}: the estimator's predictions are not finite")
        self.models.append(model)
        self.rows.append(losses)
        self.weights.append(t)

    def _mix(self) -> None:
        """The mixture of the models so far with the smallest worst loss."""
        rows = np.array(self.rows)
        q, _ = matrix_game(rows, self.centre, 0.0)
        worst = float((q @ rows).max())
        single = rows.max(axis=1)
        if single.min() <= worst:  # the solver's mixture is accurate to EPS only
            q, worst = np.eye(len(rows))[int(single.argmin())], float(single.min())
        if worst < self.worst:
            self.mixture, self.worst = q, worst
        else:
            self.mixture = np.append(self.mixture, np.zeros(len(rows) - len(self.mixture)))

    def _next(self, mu: float) -> tuple[Vector, float]:
        """The next weights, and the weighted loss that the planes promise there."""
        rows = np.array(self.rows)
        _, t = matrix_game(rows, self.centre, mu)
        return t, float((rows @ t).min())


def matrix_game(rows: Vector, centre: Vector, mu: float) -> tuple[Vector, Vector]:
    """``min over q, max over t, of t.(q rows) - mu/2 |t - centre|^2``, both in their simplex, by ``solve``."""
    models, groups = rows.shape
    scale = float(rows.max() - rows.min())
    if models == 1 and mu == 0.0 or scale == 0.0:
        return np.full(models, 1 / models), np.eye(groups)[int(rows[0].argmax())] if mu == 0.0 else centre
    losses, pull = (rows - rows.min()) / scale, mu / scale
    found = solve(
        lambda q, t: float(q @ losses @ t - pull / 2 * ((t - centre) ** 2).sum()),
        np.full(models, 1 / models),
        centre,
        Simplex(models),
        Simplex(groups),
        lambda q, t: losses @ t,
        lambda q, t: q @ losses - pull * (t - centre),
        linear_in_y=mu == 0.0,
        eps=EPS,
        curvature=0,
        max_grads=20_000,
    )
    return simplex_point(found.x), simplex_point(found.y)


def simplex_point(v: Vector) -> Vector:
    """Removes rounding errors of a point of the simplex."""
    v = np.where(v > 1e-6, v, 0.0)
    return v / v.sum()
