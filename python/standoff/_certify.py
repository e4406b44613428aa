"""``certify`` and ``verify``: the certificate of a point, and a check of a claim about it."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import ArrayLike

from . import _core
from ._precision import noted, stated
from ._result import Certificate, Result
from ._sets import Array, ConvexSet, flat
from ._trees import flattened
from ._solve import Function, Played, refuse_beside_game, start_array


def _game(
    f: Any,
    point: tuple[Array, Array],
    sets: tuple[ConvexSet | None, ConvexSet | None],
    gradients: tuple[Function | None, Function | None],
    with_value: bool | None,
) -> tuple[_core.Game, str]:
    """The compiled game, and where its gradients come from."""
    core = getattr(f, "_core_game", None)
    if core is not None:
        refuse_beside_game(*sets, *gradients, with_value)
        return core, getattr(f, "_gradients", "exact")
    game = Played(f, *point, *sets, *gradients, with_value, None)
    return game.core, game.gradients


def certify(
    f: Any,
    x: ArrayLike,
    y: ArrayLike,
    x_set: ConvexSet | None = None,
    y_set: ConvexSet | None = None,
    grad_x: Function | None = None,
    grad_y: Function | None = None,
    *,
    radius: float = 1.0,
    check_gradients: bool = False,
    with_value: bool | None = None,
    grad_error: float | None = None,
    mu_x: float | None = None,
) -> Result:
    """Certify a point: bound how much either player could still gain to first order.

    ``f``, the sets and the gradients are those of ``solve``; a ``Game`` has its own. The result has ``fun``, ``gap`` (a
    ``Certificate``), ``proof``, ``outside``, ``measures`` (as of ``solve``), ``gradients`` and ``warnings``. ``radius`` may be
    ``math.inf`` if both sets are bounded. The bounds of formula games are proven
    (``proof == "rigorous"``); those of functions hold for the gradients as computed, plus ``grad_error``, your bound of the distance
    of each computed gradient from the exact one. ``outside`` has the distances of x and y from their sets; a point that is outside,
    by more than rounding for a simplex or an affine set, has no gap: the bounds are NaN. With ``check_gradients`` up to 200
    coordinates of each gradient are compared with central differences, and ``disagreement`` is the largest found.

    >>> import standoff
    >>> r = standoff.certify(lambda x, y: x[0] * y[0], [0.25], [0.0], standoff.Box(-1, 1), standoff.Box(-1, 1),
    ...                      grad_x=lambda x, y: y, grad_y=lambda x, y: x)
    >>> r.gap.x_upper, round(r.gap.y_upper, 9), r.proof
    (0.0, 0.25, 'as-computed')
    """
    return _certified(f, x, y, x_set, y_set, grad_x, grad_y, radius, check_gradients, with_value, grad_error, mu_x)


def gap(
    f: Any,
    x: ArrayLike,
    y: ArrayLike,
    x_set: ConvexSet | None = None,
    y_set: ConvexSet | None = None,
    grad_x: Function | None = None,
    grad_y: Function | None = None,
    *,
    radius: float = 1.0,
    check_gradients: bool = False,
    with_value: bool | None = None,
    grad_error: float | None = None,
) -> Result:
    """The earlier name of ``certify``, which it calls.

    >>> import standoff
    >>> standoff.gap(standoff.zoo["bilinear"], [0.0], [0.0]).gap.epsilon
    0.0
    """
    return _certified(f, x, y, x_set, y_set, grad_x, grad_y, radius, check_gradients, with_value, grad_error)


def _certified(
    f: Any,
    x: ArrayLike,
    y: ArrayLike,
    x_set: ConvexSet | None,
    y_set: ConvexSet | None,
    grad_x: Function | None,
    grad_y: Function | None,
    radius: float,
    check_gradients: bool,
    with_value: bool | None,
    grad_error: float | None,
    mu_x: float | None = None,
) -> Result:
    f, x, y, x_set, y_set, _ = flattened(f, x, y, x_set, y_set, ("x", "y"))
    x, y = start_array(x, "x"), start_array(y, "y")
    core, gradients = _game(f, (x, y), (x_set, y_set), (grad_x, grad_y), with_value)
    request = {
        "radius": float(radius),
        "compare": bool(check_gradients),
        "mu_x": None if mu_x is None else float(mu_x),
        "grad_error": stated(grad_error),
    }
    raw = core.certify(flat(x), flat(y), request)
    c = Certificate(*raw["gap"])
    result = Result(fun=raw["fun"], gap=c, proof=c.proof, outside=c.outside, measures=raw["measures"], gradients=gradients)
    result["warnings"] = noted(core, grad_error, stacklevel=4)
    if raw["disagreement"] is not None:
        result["disagreement"] = raw["disagreement"]
    # NaN bounds of a point inside its sets have another cause.
    if c.epsilon != c.epsilon and not all(distance == 0 for distance in c.outside):
        warnings.warn(f"the point is outside its sets by {c.outside}: project it first", stacklevel=3)
    return result


def verify(
    f: Any,
    x: ArrayLike,
    y: ArrayLike,
    x_set: ConvexSet | None = None,
    y_set: ConvexSet | None = None,
    grad_x: Function | None = None,
    grad_y: Function | None = None,
    *,
    eps: float = 1e-3,
    radius: float = 1.0,
    fun: float | None = None,
    gap: Certificate | tuple[float, float] | None = None,
    with_value: bool | None = None,
    grad_error: float | None = None,
) -> Result:
    """Check the claim that neither player can gain more than ``eps`` at a point. Everything is computed again.

    ``fun`` and ``gap`` (a ``Certificate``, or the upper bounds of X and Y) are checked too if they are given. The gradients of
    functions are compared with central differences of ``f``. The result has ``verified``, ``reasons`` (every
    reason against the claim), ``fun``, ``gap``, ``proof``, ``outside``, ``at_kink``, ``disagreement``, ``eps``, ``gradients`` and ``warnings``.

    >>> import standoff
    >>> game = standoff.Game.from_toml('objective = "x*y - y^2"\\n[min.x]\\nlower = -1\\nupper = 1\\n[max.y]')
    >>> r = standoff.verify(game, [0.0], [0.0], eps=1e-9)
    >>> r.verified, r.proof
    (True, 'rigorous')
    >>> standoff.verify(game, [0.5], [0.0], eps=1e-9).reasons
    ['Y is proven to be at most 5.000000e-1 only, above eps = 0.000000001']
    """
    f, x, y, x_set, y_set, _ = flattened(f, x, y, x_set, y_set, ("x", "y"))
    x, y = start_array(x, "x"), start_array(y, "y")
    core, gradients = _game(f, (x, y), (x_set, y_set), (grad_x, grad_y), with_value)
    claimed = (gap.x_upper, gap.y_upper) if isinstance(gap, Certificate) else gap
    request = {"eps": float(eps), "radius": float(radius), "fun": fun, "gap": claimed, "grad_error": stated(grad_error)}
    raw = core.verify(flat(x), flat(y), request)
    c = Certificate(*raw["gap"])
    result = Result(raw, gap=c, proof=c.proof, outside=c.outside, eps=float(eps), gradients=gradients)
    result["warnings"] = noted(core, grad_error)
    return result
