"""``attack``: the attacks of the package on any function of a batch, with gradients from PyTorch or JAX, or without gradients."""

from __future__ import annotations

import math
import operator
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._callables import Callee, Layout, callee_of
from ._evaluate import AttackResult, AttackResults, AttackRow, evaluate
from ._graph import Network
from ._progress import ProgressReport
from ._result import Result
from ._threads import threads_of

NORMS = {"inf": "linf", "linf": "linf", "l2": "l2", "2": "l2", "l1": "l1", "1": "l1"}


def attack(
    f: Any,
    X: Any,
    y: Any = None,
    eps: float | Iterable[float] = 0.3,
    *,
    norm: str = "linf",
    attacks: str | Iterable[str] = "standard",
    bounds: tuple[float, float] | None = (0.0, 1.0),
    framework: str | None = None,
    batch_size: int = 256,
    minimal: bool = False,
    grid: str | None = None,
    chain: bool = True,
    seed: int = 0,
    time_limit: float | None = None,
    n_jobs: int | None = -1,
    verbose: bool = False,
) -> Any:
    """Attack any function that maps a batch of inputs to logits, with the algorithms of ``standoff attack``.

    Gradients come from PyTorch or JAX, whichever ``f`` is written in, on the device of ``f``. A function without gradients (NumPy, a
    service) is attacked by random search. Every input that counts as broken is evaluated again alone, in the form in which it is stored
    (float32), and lies in the ball.

    Parameters
    ----------
    f : callable
        Maps inputs ``(n, ...)`` in the shape of X to logits ``(n, classes)``: a ``torch.nn.Module`` in evaluation mode, a function of
        tensors, a function of JAX arrays, or a function of NumPy arrays; or a ``Network``, or the path of an ONNX file. Another model file
        or a fitted ``RobustClassifier`` goes to ``evaluate``.
    X : array_like, torch.Tensor or jax.Array
        Inputs: images as (N, C, H, W), (N, H, W) or, for JAX, (N, H, W, C), or vectors (N, d). Bytes are divided by 255.
    y : array_like, optional
        Labels, 0 to classes - 1; by default the predictions of ``f``.
    eps : float or list of float
        The largest change: of an entry (``norm="linf"``), in Euclidean length (``"l2"``) or in sum (``"l1"``).
    norm : {"linf", "l2", "l1"}
    attacks : str or list of str
        ``"standard"``, ``"autoattack"`` (APGD-CE, APGD-T, FAB-T, Square with the published budgets), or names such as ``"apgd-ce"``,
        ``"fab"``, ``"square5000"``, ``"pgd40"`` (docs/attacks.md). Without gradients ``"standard"`` is square and random points.
    bounds : (float, float) or None
        The smallest and the largest value of an entry; None for no limits.
    framework : {"torch", "jax", "numpy"}, optional
        By default it follows from X and f.
    batch_size : int
        The largest number of inputs of a call of ``f``.
    minimal : bool
        Search the smallest change of each input instead, whatever its size: FAB first, then ``apgd-margin50`` in smaller and smaller balls
        (or the ``attacks`` that are given). The result has ``distances`` (0 for inputs that are misclassified, inf where none was found),
        ``images``, ``natural``, and ``accuracy``, the share of inputs whose change is larger than ``eps``, for every eps.
    grid, seed, time_limit, n_jobs, verbose
        As for ``evaluate``. Threads are not used: ``f`` is called from one thread.
    chain : bool
        Attack only inputs that no attack broke yet; otherwise each attack has figures of its own.

    Returns
    -------
    Result, or a list of them for a list of eps
        As of ``evaluate``, without proofs: ``lower`` is NaN and ``certified`` None.

    An exception of ``f`` ends the attack and is raised, Ctrl-C too. A function whose logits depend on the other inputs of the batch or on
    chance is refused.

    >>> import numpy as np, standoff
    >>> f = lambda x: np.stack([1 - x.sum(1), x.sum(1) - 1], axis=1)
    >>> r = standoff.attack(f, np.array([[0.2, 0.2], [0.4, 0.5]]), [0, 0], eps=0.1)
    >>> r.upper, r.survives.tolist()
    (0.5, [True, False])
    """
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".onnx"):
        f = Network.load(f)
    eps, seed = _eps(eps), _whole(seed, "seed", 0)
    attacks = attacks if isinstance(attacks, str) else [str(name) for name in attacks]
    if not attacks:
        raise ValueError("attacks has no names; give 'standard', 'autoattack', or names such as 'apgd-ce'")
    if _built_in(f):
        if minimal:
            return _smallest_of_images(f, X, _numpy(y), eps, norm, attacks, seed=seed, n_jobs=n_jobs, verbose=verbose)
        names = None if attacks == "standard" else [attacks] if isinstance(attacks, str) else attacks
        options: dict[str, Any] = {"attacks": names, "norm": _norm(norm), "grid": grid, "chain": chain, "seed": seed, "time_limit": time_limit}
        return evaluate(f, X, _numpy(y), eps, n_jobs=n_jobs, verbose=verbose, **options)
    several = isinstance(eps, list)
    rows, layout = Layout.of(X)
    limits = _limits(bounds, rows)
    called = callee_of(f, X, rows, layout, framework)
    data = {
        "images": rows,
        "labels": _labels(y, called, rows, batch_size),
        "sides": layout.sides,
        "outputs": called.outputs,
        "bounds": limits,
        "batch_size": _whole(batch_size, "batch_size", 1),
        "forward": called.forward,
        "backward": called.backward if called.differentiable else None,
    }
    if minimal:
        return _smallest(_core.smallest_of_function, data, layout.inputs, eps, norm, attacks, seed=seed, n_jobs=n_jobs, verbose=verbose)
    request = {
        "eps": eps if isinstance(eps, list) else [eps],
        "protocol": "standard",
        "attacks": _names(attacks, called),
        "norm": _norm(norm),
        "grid": grid,
        "chain": bool(chain),
        "seed": int(seed),
        "threads": threads_of(n_jobs),
        "time_limit": None if time_limit is None else float(time_limit),
    }
    with ProgressReport(verbose, "not broken") as bar:
        raw = _core.attack_function(data, request | {"progress": bar.callback})
    found = [_result(one, layout, called.notes) for one in raw]
    for text in dict.fromkeys(text for one in found for text in one["warnings"]):
        warnings.warn(text, stacklevel=2)
    return AttackResults(found) if several else found[0]


class SmallestResult(Result):
    """The smallest change found for each input; ``plot()`` draws accuracy against eps."""

    def __repr__(self) -> str:
        found = self["distances"][np.isfinite(self["distances"]) & self["natural"]]
        middle = f"median {np.median(found):.4g}" if found.size else "no change found"
        curve = ", ".join(f"{share:.2%} at {eps:g}" for eps, share in zip(self["eps"], self["accuracy"], strict=True))
        return f"smallest changes ({self['norm']}) of {len(self['natural'])} inputs: {middle}; accuracy {curve}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of inputs that no change of at most eps breaks; returns the axes of matplotlib."""
        from ._plot import plot_distances

        return plot_distances(self, ax)


def _smallest(
    search: Any, data: dict[str, Any], inputs: Any, eps: Any, norm: Any, attacks: Any, *, seed: int, n_jobs: int | None, verbose: bool
) -> SmallestResult:
    names = ["apgd-margin50"] if attacks == "standard" else [attacks] if isinstance(attacks, str) else list(attacks)
    chosen = np.atleast_1d(np.asarray(eps, dtype=float))
    options = {"norm": _norm(norm), "refine": [str(name) for name in names], "seed": int(seed), "threads": threads_of(n_jobs)}
    with ProgressReport(verbose, "inputs") as bar:
        raw = search(data, options | {"progress": bar.callback})
    distances = raw["distances"]
    return SmallestResult(
        natural=raw["natural"],
        distances=distances,
        images=inputs(raw["images"].reshape(len(distances), -1)),
        norm=_norm(norm),
        eps=chosen,
        accuracy=np.array([float(np.mean(distances > e)) for e in chosen]),
        forward=raw["forward"],
        gradients=raw["gradients"],
    )


def _smallest_of_images(f: Any, X: Any, y: Any, *given: Any, **options: Any) -> SmallestResult:
    from ._evaluate import _loaded, image_rows, labelled_images

    shape = np.shape(X)
    data = labelled_images(_loaded(f, image_rows(X)[1]), X, y)
    return _smallest(_core.smallest_of_images, data, lambda rows: rows.reshape(shape), *given, **options)


def _built_in(f: Any) -> bool:
    """True for what ``evaluate`` takes and no function is."""
    return isinstance(f, (str, os.PathLike, Mapping)) or hasattr(f, "network_")


def _numpy(values: Any) -> Any:
    """An array of NumPy from a tensor on any device."""
    if callable(getattr(values, "detach", None)):
        values = values.detach().cpu()
    return None if values is None else np.asarray(values)


def _norm(name: Any) -> str:
    key = str(name).lower()
    if key not in NORMS:
        raise ValueError(f"unknown norm {name!r}; there are 'linf', 'l2', 'l1'")
    return NORMS[key]


def _eps(eps: Any) -> float | list[float]:
    """A number, or a list of numbers, none below 0."""
    given = np.asarray(_numpy(eps), dtype=float)
    if given.size == 0 or given.ndim > 1 or not (given >= 0).all():
        raise ValueError(f"eps = {eps!r} is not allowed: want a number from 0, or a list of them")
    return float(given) if given.ndim == 0 else [float(e) for e in given]


def _whole(number: Any, name: str, least: int) -> int:
    try:
        whole = operator.index(number)
    except TypeError:
        whole = least - 1
    if whole < least:
        raise ValueError(f"{name} = {number!r} is not allowed: want a whole number from {least}")
    return whole


def _limits(bounds: Any, rows: NDArray[np.float32]) -> tuple[float, float] | None:
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"entry {j} of input {i} of X is {rows[i, j]}; give finite numbers")
    if bounds is None:
        return None
    if np.shape(bounds) != (2,):
        raise ValueError(f"bounds = {bounds!r} is not allowed: want two numbers in order, or None")
    low, high = (float(end) for end in bounds)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"bounds = {bounds!r} is not allowed: want two numbers in order, or None")
    if rows.size and not (rows.min() >= np.float32(low) and rows.max() <= np.float32(high)):
        least, most = float(rows.min()), float(rows.max())
        raise ValueError(f"entries of X are from {least:g} to {most:g}, bounds are {low:g} to {high:g}: scale X, or give other bounds")
    return low, high


def _labels(y: Any, called: Callee, rows: NDArray[np.float32], batch_size: int) -> NDArray[np.uint16]:
    """The labels, or the predictions of the function."""
    if y is None:
        size = _whole(batch_size, "batch_size", 1)
        parts = [called.forward(rows[i : i + size], False).argmax(1) for i in range(0, len(rows), size)]
        return np.concatenate([np.zeros(0, int), *parts]).astype(np.uint16)
    labels = _numpy(y)
    if labels.ndim != 1 or len(labels) != len(rows):
        raise ValueError(f"X has {len(rows)} inputs, y has shape {labels.shape}; want one label for each")
    if labels.size and not np.issubdtype(labels.dtype, np.integer):
        if labels.dtype.kind not in "fb" or not np.array_equal(labels, np.trunc(labels)):
            raise ValueError(f"y has dtype {labels.dtype}; labels are the numbers of logits, 0 to {called.outputs - 1}")
    wrong = np.flatnonzero((labels < 0) | (labels >= called.outputs))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(f"label {labels[i]} of input {i}: f gives {called.outputs} logits, so labels are 0 to {called.outputs - 1}")
    return labels.astype(np.uint16)


def _names(attacks: str | Iterable[str], called: Callee) -> list[str]:
    names = [attacks] if isinstance(attacks, str) else [str(name) for name in attacks]
    if names == ["standard"] and not called.differentiable:
        return ["square5000", "random100"]
    return [part for name in names for part in name.split(",")]


def _result(raw: dict[str, Any], layout: Layout, notes: list[str]) -> AttackResult:
    survives = raw["survives"]
    return AttackResult(
        eps=raw["eps"],
        natural_accuracy=float(raw["natural"].mean()),
        lower=math.nan,
        upper=float(survives.mean()),
        undecided=int(survives.sum()),
        attacks=[AttackRow(row) for row in raw["attacks"]],
        natural=raw["natural"],
        certified=None,
        survives=survives,
        broken_by=np.array(raw["broken_by"], dtype=object),
        predictions=raw["predictions"],
        margins=raw["margins"],
        images=layout.inputs(raw["images"].reshape(len(survives), -1)),
        masking=raw["masking"],
        warnings=[*notes, *raw["warnings"]],
        interrupted=raw["interrupted"],
    )
