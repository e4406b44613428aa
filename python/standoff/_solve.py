"""``solve``: a point and its certificate for a game of functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._precision import noted, stated
from ._progress import Progress
from ._result import Certificate, Record, Result, Solution
from ._sets import Array, ConvexSet, fitted, flat, real
from ._trees import flattened

Function = Callable[[Array, Array], Any]

DIFFERENCES = "central differences"


def start_array(v: ArrayLike, name: str) -> Array:
    """A contiguous array of float64 with at least one axis; a copy only if needed."""
    v = np.atleast_1d(np.ascontiguousarray(real(v, name)))
    if v.size == 0:
        raise ValueError(f"{name} has shape {v.shape}: it has no entries")
    return v


class Played:
    """A compiled game of functions, with its sets and the source of its gradients."""

    def __init__(
        self,
        f: Function,
        x: Array,
        y: Array,
        x_set: ConvexSet | None,
        y_set: ConvexSet | None,
        grad_x: Function | None,
        grad_y: Function | None,
        with_value: bool | None,
        linear_in_y: bool | None,
        resample: Callable[[int | None], Any] | None = None,
    ) -> None:
        for name, function in [("f", f), ("grad_x", grad_x), ("grad_y", grad_y)]:
            if function is not None and not callable(function):
                raise TypeError(f"{name} is a {type(function).__name__}, a function of (x, y) is needed")
        if grad_x is None and grad_y is None and hasattr(f, "grad_x") and hasattr(f, "grad_y"):
            grad_x, grad_y = f.grad_x, f.grad_y
            if with_value is None:
                with_value = bool(getattr(f, "with_value", False))
        self.sets = (fitted(x_set, x, "x0"), fitted(y_set, y, "y0"))
        missing = [name for name, given in [("grad_x", grad_x), ("grad_y", grad_y)] if given is None]
        self.gradients = f"{DIFFERENCES} for {' and '.join(missing)}" if missing else "given"
        made = (self.sets[0]._set, self.sets[1]._set)
        self.core = _core.Game.functions(
            f, grad_x, grad_y, made, (x.shape, y.shape), bool(with_value), bool(linear_in_y), resample
        )


def options(
    method: str,
    eps: float,
    *,
    radius: float = 1.0,
    mu_x: float | None = None,
    curvature: int | None = None,
    max_grads: float = 1_000_000,
    max_iters: float | None = None,
    time_limit: float | None = None,
    check_every: int = 1,
    mode: str = "certificate",
    params: Mapping[str, float] | None = None,
    constants: Mapping[str, float] | str | None = None,
    seed: int = 0,
    grad_error: float | None = None,
    callback: Callable[[Record], Any] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Checks the options of a run and converts them for the compiled half."""
    if mode not in ("certificate", "theory"):
        raise ValueError(f"mode is {mode!r}; give 'certificate' or 'theory'")
    estimate = constants == "estimate"
    if isinstance(constants, str) and not estimate:
        raise ValueError(f"constants is {constants!r}; give 'estimate', or a dictionary such as {{'l11': 2.0}}")
    given = {k.lower(): float(v) for k, v in constants.items()} if isinstance(constants, Mapping) else {}
    return {
        "method": method,
        "eps": float(eps),
        "radius": float(radius),
        "mu_x": None if mu_x is None else float(mu_x),
        "curvature": None if curvature is None else _count(curvature, "curvature"),
        "max_grads": _count(max_grads, "max_grads"),
        "max_iters": None if max_iters is None else _count(max_iters, "max_iters"),
        "time_limit": None if time_limit is None else float(time_limit),
        "check_every": _count(check_every, "check_every"),
        "grad_error": stated(grad_error),
        "theory": mode == "theory",
        "params": {k: float(v) for k, v in (params or {}).items()},
        "constants": given,
        "estimate": estimate,
        "seed": _count(seed, "seed"),
        "callback": _listener(callback, progress, float(eps)),
    }


def _count(value: float, name: str) -> int:
    if not value >= 0 or value != int(value):
        raise ValueError(f"{name} = {value} is not allowed: it must be a whole number, at least 0")
    return int(value)


def _listener(callback: Callable[[Record], Any] | None, progress: Progress | None, eps: float) -> Callable[..., bool] | None:
    """The function that the compiled half calls after each measurement."""
    if callback is None and progress is None:
        return None
    worst = lowest = math.nan

    def listen(nit: int, fun: float, gap: tuple[Any, ...], calls: tuple[int, int, int], seconds: float) -> bool:
        nonlocal worst, lowest
        record = Record(nit, fun, Certificate(*gap), *calls, seconds)
        if progress is not None:
            now = record.gap.epsilon
            worst = now if math.isnan(worst) else worst
            lowest = lowest if lowest <= now else now
            grads = record.njev_x + record.njev_y
            text = f"iteration {nit}  f = {fun:.6g}  gap <= {now:.3g}  {grads} gradients"
            progress.show(_way(worst, lowest, eps), text)
        return bool(callback(record)) if callback is not None else False

    return listen


def _way(worst: float, lowest: float, eps: float) -> float:
    """The share of the way from the first gap to eps, in orders of magnitude."""
    if not lowest > eps:
        return 1.0 if lowest <= eps else 0.0
    if not (worst > lowest and eps > 0):
        return 0.0
    return math.log(worst / lowest) / math.log(worst / eps)


def finish(raw: dict[str, Any], shapes: tuple[tuple[int, ...], tuple[int, ...]], **more: Any) -> Result:
    """The result from the dictionary of the compiled half."""
    result = Solution(raw)
    result["x"], result["y"] = raw["x"].reshape(shapes[0]), raw["y"].reshape(shapes[1])
    result["gap"] = Certificate(*raw["gap"])
    result["proof"] = result["gap"].proof
    result["python_calls"] = dict(zip(("f", "grad_x", "grad_y"), raw["python_calls"], strict=True))
    result.update(more)
    differences = more.get("gradients", "")
    if differences.startswith(DIFFERENCES):
        result["message"] += f" (gradients by {differences}: the certificate has their accuracy)"
    if result["status"] == "rounding-limit":
        result["message"] += f" (the smallest eps that can be certified at this point is {result['gap'].epsilon:.3g})"
    seen = raw["curvature"]
    if seen is not None and seen["found"]:
        result["message"] += f" (warning: {seen['sentence']})"
    result["trace"] = result.pop("trace")  # shown last
    return result


def solve(
    f: Any,
    x0: ArrayLike | None = None,
    y0: ArrayLike | None = None,
    x_set: ConvexSet | None = None,
    y_set: ConvexSet | None = None,
    grad_x: Function | None = None,
    grad_y: Function | None = None,
    method: str = "auto",
    eps: float = 1e-3,
    *,
    max_grads: float = 1_000_000,
    max_iters: float | None = None,
    time_limit: float | None = None,
    radius: float = 1.0,
    mu_x: float | None = None,
    curvature: int | None = None,
    callback: Callable[[Record], Any] | None = None,
    constants: Mapping[str, float] | str | None = None,
    params: Mapping[str, float] | None = None,
    mode: str = "certificate",
    check_every: int = 1,
    seed: int = 0,
    linear_in_y: bool | None = None,
    resample: Callable[[int | None], Any] | None = None,
    with_value: bool | None = None,
    grad_error: float | None = None,
    verbose: bool = False,
) -> Result:
    """Solve ``min over x, max over y, of f(x, y)`` to a certificate.

    Parameters
    ----------
    f : callable or Game
        ``f(x, y)``, a number. ``x`` and ``y`` have the shapes of ``x0`` and ``y0`` and are read-only. A ``Game`` has
        its own sets and start.
    x0, y0 : array_like, or pytrees with ``from_jax``
        The start; it is projected onto the sets first.
    x_set, y_set : ConvexSet, list of (lower, upper) or scipy.optimize.Bounds, optional
        The domains of the players; all of space by default. ``Box(-1, 1)`` applies to every coordinate.
    grad_x, grad_y : callable, optional
        The gradients, in the shapes of ``x0`` and ``y0``. Without them central differences of ``f`` are used, and the
        result says so. Objects made by ``from_jax`` and ``from_torch`` have theirs.
    method : str
        ``"auto"`` needs no constants; ``standoff.methods()`` lists the others and their assumptions.
    eps : float
        The run ends when the certificate shows that neither player gains more than this by a first-order step of length ``radius``.
    radius : float
        The longest step that counts as a gain; ``math.inf`` for steps of any length inside bounded sets.
    mu_x : float, optional
        States that ``f`` is strongly convex in ``x`` with this modulus; ``measures["duality_gap"]`` then needs no radius.
    curvature : int, optional
        Budget in gradients of the curvature check after the run, 0 for no check. By default a few gradients after a converged run,
        and none if gradients are computed by differences.
    max_grads, max_iters, time_limit
        Most gradients of both players together, most outer iterations, most seconds.
    callback : callable, optional
        ``callback(record)`` after each measurement; returning something true, or raising ``StopIteration``, ends the run.
    constants : dict or "estimate", optional
        For the methods that need them: ``l11, l12, l22, mu, ...``; ``"estimate"`` samples them, with ``seed``.
    params : dict, optional
        The method's own parameters.
    linear_in_y : bool, optional
        States that ``f`` is linear in ``y``; the inner problem is then solved exactly.
    resample : callable, optional
        ``resample(step)`` moves your functions to mini-batch number ``step``, ``resample(None)`` back to all data, which is the initial state. It
        is called before each iteration and around each measurement, so the certificate is always of all data. Methods that need
        exact gradients refuse such a game.
    with_value : bool, optional
        ``grad_x`` and ``grad_y`` return ``(f, gradient)``; ``f`` is then not called for the value.
    grad_error : float, optional
        Your bound of the distance of each computed gradient from the exact one. It is not checked; it is added to the bounds of
        the certificate. Functions that return float32 get an estimate of it if you give none. Formula games bound their own errors.
    verbose : bool
        Show a progress bar: a line on stderr, a display in a notebook.

    Returns
    -------
    Result
        ``x, y, fun, success, status, message, gap, proof, warnings, nfev, njev_x, njev_y, nit, seconds, gradients,
        measures, curvature, trace``. ``measures`` has the normal-cone residuals ``residual_x`` and ``residual_y`` as ``(norm,
        slack)``, ``duality_gap`` and ``moreau`` (None without a bound; ``holds_if`` has their assumptions). ``curvature`` is
        the result of the curvature check, or None (docs/measures.md). Counts are those of the method; ``python_calls`` counts all calls
        of your functions, also for measuring.

    Ctrl-C ends the run with the best point so far and ``status == "interrupted"``. An exception in your function ends it
    and is raised unchanged.

    >>> import numpy as np, standoff
    >>> r = standoff.solve(
    ...     lambda x, y: y[0] * (x[0] - 1) ** 2 + y[1] * (np.sin(3 * x[0]) + 1),
    ...     [0.0], [0.5, 0.5], standoff.Box(-2, 2), standoff.Simplex(2),
    ...     grad_x=lambda x, y: [2 * y[0] * (x[0] - 1) + 3 * y[1] * np.cos(3 * x[0])],
    ...     grad_y=lambda x, y: [(x[0] - 1) ** 2, np.sin(3 * x[0]) + 1],
    ...     linear_in_y=True, eps=1e-6)
    >>> r.success, bool(r.gap.epsilon <= 1e-6)
    (True, True)
    """
    progress = Progress() if verbose else None
    chosen = options(
        method, eps, radius=radius, mu_x=mu_x, curvature=curvature, max_grads=max_grads, max_iters=max_iters, time_limit=time_limit,
        check_every=check_every, mode=mode, params=params, constants=constants, seed=seed, grad_error=grad_error,
        callback=callback, progress=progress,
    )  # fmt: skip
    core = getattr(f, "_core_game", None)
    if core is not None:
        refuse_beside_game(x_set, y_set, grad_x, grad_y, linear_in_y, with_value, resample)
        x, y = start_array(f.x0 if x0 is None else x0, "x0"), start_array(f.y0 if y0 is None else y0, "y0")
        raw = _played(core, x, y, chosen, progress)
        return finish(raw, (x.shape, y.shape), gradients=getattr(f, "_gradients", "exact"), warnings=noted(core, grad_error))
    if isinstance(f, str):
        raise TypeError("f is text: give a function of x and y, or a game (Game.from_toml, Game.from_file, zoo)")
    if x0 is None or y0 is None:
        raise TypeError("x0 and y0 are missing: give the start")
    flat_game = flattened(f, x0, y0, x_set, y_set)
    x, y = start_array(flat_game.x, "x0"), start_array(flat_game.y, "y0")
    game = Played(flat_game.f, x, y, flat_game.x_set, flat_game.y_set, grad_x, grad_y, with_value, linear_in_y, resample)
    raw = _played(game.core, x, y, chosen, progress)
    result = finish(raw, (x.shape, y.shape), gradients=game.gradients, warnings=noted(game.core, grad_error))
    result["x"], result["y"] = flat_game.rebuild(0, result["x"]), flat_game.rebuild(1, result["y"])
    return result


def _played(core: _core.Game, x: Array, y: Array, chosen: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
    try:
        return core.solve(flat(x), flat(y), chosen)
    finally:
        if progress is not None:
            progress.close()


def refuse_beside_game(*given: Any) -> None:
    if any(g is not None for g in given):
        raise TypeError("a Game has its own sets and gradients; give functions instead of a Game to choose others")
