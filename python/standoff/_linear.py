"""Fair linear models, solved to a certificate: the part that ``FairClassifier`` and ``FairRegressor`` share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._network import count
from ._result import Certificate

from scipy import sparse  # isort: skip  (after _network, which words the absence of scikit-learn)
from sklearn.exceptions import ConvergenceWarning  # isort: skip
from sklearn.utils.class_weight import compute_class_weight  # isort: skip
from sklearn.utils.validation import _check_sample_weight, check_consistent_length  # isort: skip

MIXING = {"normal": "mean", "reweight": "equal", "minmax": "worst", "minmax-reg": "worst"}


class LinearFit(NamedTuple):
    """A solved linear model; ``coef`` has one row per output."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    group_losses: NDArray[np.float64]
    group_weights: NDArray[np.float64]
    certificate: Certificate
    gap: float | None
    value: float
    reason: str
    iterations: int


class LinearTask(NamedTuple):
    """The data of a fit and its options."""

    rows: Any
    targets: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    members: list[NDArray[np.uint32]]
    loss: str
    method: str
    lam: float
    C: float
    tol: float
    max_iter: int
    threads: int
    intercept: bool
    progress: Callable[[float, float], None] | None
    costs: list[float] | None = None  # of the classes
    offsets: list[float] | None = None  # subtracted from the losses of the groups


def fit_linear(task: LinearTask, parameter: float, start: NDArray[np.float64] | None) -> LinearFit:
    """Solve. ``parameter`` is the number of classes or the ``delta`` of the loss; ``start`` is the whole vector of parameters."""
    if not task.C > 0:
        raise ValueError(f"C = {task.C} is not allowed: it must be above 0; float('inf') is no penalty")
    if not task.tol > 0:
        raise ValueError(f"tol = {task.tol} is not allowed: it must be above 0")
    total = float(len(task.targets) if task.weights is None else task.weights.sum())
    width = task.rows.shape[1]
    options = {
        "loss": task.loss,
        "parameter": float(parameter),
        "mixing": MIXING[task.method],
        "lam": float(task.lam) if task.method == "minmax-reg" else 0.0,
        "mu": 1.0 / (task.C * total),
        "eps": float(task.tol),
        "max_iter": int(task.max_iter),
        "threads": task.threads,
        "intercept": task.intercept,
        "costs": task.costs,
        "offsets": task.offsets,
        "start": None if start is None else start.tolist(),
        "progress": task.progress,
    }
    data = {"x": core_rows(task.rows), "targets": task.targets, "weights": task.weights, "members": task.members}
    out = _core.linear_fit(data, options)
    outputs = len(out["x"]) // (width + int(task.intercept))
    (x_lower, x_upper), (y_lower, y_upper) = out["gap"]
    if out["reason"] != "converged":
        text = f"the linear model is not solved to tol = {task.tol} ({out['reason']}): {out['advice']}"
        warnings.warn(text, ConvergenceWarning, stacklevel=4)
    return LinearFit(
        out["x"][: outputs * width].reshape(outputs, width),
        out["x"][outputs * width :] if task.intercept else np.zeros(outputs),
        out["group_losses"] - (0.0 if task.offsets is None else np.array(task.offsets)),
        group_weights(task, out["y"]),
        Certificate(x_lower, x_upper, y_lower, y_upper, radius=1.0),
        out["optimality_gap"],
        out["value"],
        out["reason"],
        out["iterations"],
    )


def group_weights(task: LinearTask, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of each group in the sum of group losses that is minimised."""
    if task.method in ("minmax", "minmax-reg"):
        return y
    if task.method == "reweight":
        return np.full(len(task.members), 1.0 / len(task.members))
    sizes = [len(rows) if task.weights is None else task.weights[rows].sum() for rows in task.members]
    return np.array(sizes, dtype=float) / (len(task.targets) if task.weights is None else task.weights.sum())


def core_rows(rows: Any) -> Any:
    """Rows as the compiled half reads them, without a copy."""
    if not sparse.issparse(rows):
        return rows
    starts = rows.indptr.astype(np.int64, copy=False)
    return {"values": rows.data, "columns": rows.indices.astype(np.int32, copy=False), "starts": starts, "width": rows.shape[1]}


def margins(
    rows: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64] | np.float64
) -> NDArray[np.float64]:
    """One column per output; rows of single precision are widened a part at a time."""
    if sparse.issparse(rows) or rows.dtype == np.float64:
        return np.asarray(rows @ coef.T) + intercept
    out = np.empty((len(rows), *coef.shape[:-1]))
    for first in range(0, len(rows), 8192):
        out[first : first + 8192] = rows[first : first + 8192].astype(np.float64) @ coef.T
    out += intercept
    return out


def sample_weights(weights: ArrayLike | None, rows: Any) -> NDArray[np.float64] | None:
    """Checked weights; None if there are none."""
    if weights is None:
        return None
    checked: NDArray[np.float64] = _check_sample_weight(weights, rows, dtype=np.float64, ensure_non_negative=True)
    if not checked.sum() > 0:
        raise ValueError("sample_weight is zero everywhere: there is nothing to fit")
    return np.ascontiguousarray(checked)


def class_costs(class_weight: Any, classes: NDArray[Any], labels: NDArray[Any], weights: NDArray[np.float64] | None) -> list[float] | None:
    """The factor of the loss of each class, as in scikit-learn."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight is {class_weight!r}; give a dict of classes, 'balanced' or None")
        sizes = np.bincount(labels, weights=weights, minlength=len(classes)).astype(float)
        return [float(sizes.sum() / (len(classes) * size)) if size > 0 else 0.0 for size in sizes]
    return compute_class_weight(class_weight, classes=classes, y=classes[labels]).tolist()  # type: ignore[no-any-return]


def members_of(
    found: NDArray[Any], groups: NDArray[Any], weights: NDArray[np.float64] | None
) -> tuple[NDArray[Any], list[NDArray[np.uint32]]]:
    """The groups that have a sample with a weight, and the rows of each."""
    order = np.argsort(groups, kind="stable").astype(np.uint32)
    ends = np.cumsum(np.bincount(groups, minlength=len(found)))[:-1]
    members = [np.ascontiguousarray(rows) for rows in np.split(order, ends)]
    kept = [i for i, rows in enumerate(members) if len(rows) and (weights is None or weights[rows].sum() > 0)]
    return found[kept], [members[i] for i in kept]


def side_by_side(
    sensitive: ArrayLike, rows: Any, split: Callable[[Any], tuple[NDArray[Any], NDArray[Any]]], weights: NDArray[np.float64] | None
) -> tuple[NDArray[Any], list[NDArray[np.uint32]]]:
    """Groups that overlap: the values of every column of ``sensitive``, as ``column=value``."""
    names = [str(name) for name in getattr(sensitive, "columns", [])]
    columns = sensitive.iloc if names else np.asarray(sensitive)  # type: ignore[union-attr]
    if len(np.shape(sensitive)) != 2:
        raise ValueError("overlap=True needs sensitive_features with several columns")
    check_consistent_length(rows, sensitive)
    all_names: list[str] = []
    all_members: list[NDArray[np.uint32]] = []
    for place in range(np.shape(sensitive)[1]):
        found, groups = split(columns[:, place])
        found, members = members_of(found, groups, weights)
        title = names[place] if names else f"s{place}"
        all_names += [f"{title}=" + ", ".join(map(str, np.atleast_1d(value))) for value in found.tolist()]
        all_members += members
    names_found = np.array(all_names)
    count(names_found, "groups")
    return names_found, all_members
