"""``FairRegressor``: linear regression that is trained for its worst group."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._groups import grouped, warn_of_groups
from ._linear import MIXING, LinearFit, LinearTask, fit_linear, margins, members_of, sample_weights, side_by_side
from ._progress import ProgressReport
from ._result import Certificate
from ._summary import show_proof, summary_of
from ._threads import threads_of

from sklearn.base import BaseEstimator, RegressorMixin  # isort: skip
from sklearn.utils.validation import check_is_fitted, validate_data  # isort: skip

FORMAT = "standoff-linear-regressor"
VERSION = 1
SMOOTHING = (1e-1, 1e-2, 1e-3, 1e-4)  # of the absolute loss, relative to the deviation of y


class FairRegressor(RegressorMixin, BaseEstimator):
    """Linear regression for the worst group: ``min over w, max over t, of sum t_g L_g(w) + |w|^2 / (2 C n)``.

    ``L_g`` is the mean loss of group g. The game is solved to a certificate, and with a penalty to a global optimality gap.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber"}
        Half the squared residual, the absolute residual, or half the square up to ``delta`` and linear beyond it. ``"squared"`` with
        ``method="normal"`` is ``Ridge(alpha=1/C)``.
    method : {"minmax", "minmax-reg", "normal", "reweight"}
        The worst group; the worst groups, held to equal weights by ``lam``; the mean over all samples; every group the same.
    C : float
        As in scikit-learn: the inverse of the penalty's strength; ``inf`` is no penalty. Intercepts have a millionth of the penalty.
    delta : float
        The residual where ``"huber"`` becomes linear.
    lam : float
        The weight of the regulariser of ``minmax-reg``, relative to the scale of the loss (the variance of y; its deviation if absolute).
    tol : float
        X, Y and the optimality gap to reach, relative to the scale of the loss.
    max_iter : int
        Limit of steps.
    fit_intercept, warm_start : bool
        As in scikit-learn.
    overlap : bool
        The columns of ``sensitive_features`` are groups side by side, which overlap, instead of their combinations.
    n_jobs : int or None
        Threads: 1 if None, all cores if -1 (1 inside a worker of joblib or multiprocessing). They do not change the result.
    verbose : bool
        Show a progress bar, and the optimality gap and the certificate behind it.

    Attributes
    ----------
    coef_, intercept_ : the model
    groups_, group_losses_, group_weights_ : the groups, their mean losses and their weights on the training data
    certificate_ : Certificate
        Bounds of the first-order gain of either player, in the units of the loss
    optimality_gap_ : float or None
        The objective is at most this above its minimum over all models; None without a penalty
    n_features_in_, feature_names_in_, n_iter_ : as in all estimators of scikit-learn

    >>> import numpy as np
    >>> from standoff import FairRegressor
    >>> y = [0.0, 1.0, 1.0, 1.0]
    >>> model = FairRegressor().fit(np.zeros((4, 1)), y, sensitive_features=[0, 1, 1, 1])
    >>> float(np.round(model.predict([[0.0]])[0], 4))
    0.5
    """

    def __init__(
        self,
        loss: str = "squared",
        method: str = "minmax",
        *,
        C: float = 1.0,
        delta: float = 1.0,
        lam: float = 0.1,
        tol: float = 1e-6,
        max_iter: int = 800,
        fit_intercept: bool = True,
        warm_start: bool = False,
        overlap: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.method = method
        self.C = C
        self.delta = delta
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.overlap = overlap
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(
        self, X: Any, y: ArrayLike, sensitive_features: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> FairRegressor:
        """Solve. The groups are the distinct rows of ``sensitive_features``; without it all samples are one group."""
        if self.loss not in ("squared", "absolute", "huber"):
            raise ValueError(f"loss is {self.loss!r}; give 'squared', 'absolute' or 'huber'")
        if self.method not in MIXING:
            raise ValueError(f"method is {self.method!r}; there are {', '.join(MIXING)}")
        if int(self.max_iter) < 1:
            raise ValueError(f"max_iter = {self.max_iter} is not allowed: it must be at least 1")
        start = self._start()
        types = (np.float64, np.float32)
        rows, target = validate_data(self, X, y, accept_sparse="csr", dtype=types, order="C", y_numeric=True)
        target = np.asarray(target, dtype=np.float64)
        weights = sample_weights(sample_weight, rows)
        centre = float(np.average(target, weights=weights)) if self.fit_intercept else 0.0
        with np.errstate(over="ignore"):
            scale = float(np.sqrt(np.average((target - centre) ** 2, weights=weights))) or 1.0
        if not scale < 1e150:
            raise ValueError(f"the standard deviation of y is {scale:.3g}; it must be below 1e150: change its unit")
        if sensitive_features is None:
            self.groups_, members = np.array(["all"]), [np.arange(rows.shape[0], dtype=np.uint32)]
        elif self.overlap:
            self.groups_, members = side_by_side(sensitive_features, rows, lambda s: grouped(s, target, rows), weights)
        else:
            found, groups = grouped(sensitive_features, target, rows)
            self.groups_, members = members_of(found, groups, weights)
        names = [", ".join(map(str, np.atleast_1d(group))) for group in self.groups_]
        warn_of_groups(names, [len(of) for of in members], True)
        # The loss of (y - centre) / scale, divided by its unit: the penalty of the absolute loss changes with it.
        unit = scale if self.loss == "absolute" else scale**2
        C = self.C * unit / scale**2
        with ProgressReport(self.verbose, "loss") as bar:
            task = LinearTask(
                rows, (target - centre) / scale, weights, members, self.loss, self.method, self.lam, C, self.tol,
                self.max_iter, threads_of(self.n_jobs), self.fit_intercept, bar.callback,
            )  # fmt: skip
            begin = None if start is None or len(start[0]) != rows.shape[1] else self._scaled(start, centre, scale)
            fitted = self._solve(task, scale, begin)
        self._keep(fitted, (centre, scale, unit))
        show_proof(self)
        return self

    def _solve(self, task: LinearTask, scale: float, start: NDArray[np.float64] | None) -> LinearFit:
        if self.loss != "absolute":
            if self.loss == "huber" and not self.delta > 0:
                raise ValueError(f"delta = {self.delta} is not allowed: it must be above 0")
            return fit_linear(task, self.delta / scale, start)
        steps = 0
        for delta in SMOOTHING:
            last = delta == SMOOTHING[-1]
            fitted = fit_linear(task if last else task._replace(tol=max(self.tol, delta / 10)), delta, start)
            start = np.concatenate([fitted.coef[0], fitted.intercept if self.fit_intercept else []])
            steps += fitted.iterations
        return fitted._replace(iterations=steps)

    def _keep(self, fitted: LinearFit, scales: tuple[float, float, float]) -> None:
        centre, scale, unit = scales
        self.coef_ = fitted.coef[0] * scale
        self.intercept_ = float(fitted.intercept[0] * scale + centre) if self.fit_intercept else 0.0
        self.group_losses_, self.group_weights_ = fitted.group_losses * unit, fitted.group_weights
        c = fitted.certificate
        x = unit / scale  # a coefficient is measured in scale
        self.certificate_ = Certificate(c.x_lower * x, c.x_upper * x, c.y_lower * unit, c.y_upper * unit, radius=1.0)
        self.optimality_gap_ = None if fitted.gap is None else fitted.gap * unit
        self.loss_, self.n_iter_ = fitted.value * unit, fitted.iterations

    def _start(self) -> tuple[NDArray[np.float64], float] | None:
        return (self.coef_, self.intercept_) if self.warm_start and hasattr(self, "coef_") else None

    def _scaled(self, start: tuple[NDArray[np.float64], float], centre: float, scale: float) -> NDArray[np.float64]:
        intercept = [(start[1] - centre) / scale] if self.fit_intercept else []
        return np.concatenate([start[0] / scale, intercept])

    def summary(self) -> str:
        """The optimality gap, the certificate, and the loss and weight of every group, as text."""
        check_is_fitted(self, "certificate_")
        return summary_of(self, [", ".join(map(str, np.atleast_1d(group))) for group in self.groups_])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predictions of the model."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return margins(rows, self.coef_, np.float64(self.intercept_))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON with a format and a version, which ``load`` of this and later versions reads."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        document = {
            "format": FORMAT,
            "version": VERSION,
            "parameters": self.get_params(),
            "coef": self.coef_.tolist(),
            "intercept": self.intercept_,
            "feature_names": None if names is None else [str(name) for name in names],
            "groups": [str(group) for group in self.groups_.tolist()],
            "group_losses": self.group_losses_.tolist(),
            "group_weights": self.group_weights_.tolist(),
            "optimality_gap": self.optimality_gap_,
        }
        Path(path).write_text(json.dumps(document))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FairRegressor:
        """Load a model that ``save`` wrote, by this version or an earlier one."""
        try:
            document = json.loads(Path(path).read_text())
        except (UnicodeDecodeError, json.JSONDecodeError):
            document = None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f"{os.fspath(path)} is not a FairRegressor that save() wrote")
        if not 1 <= int(document["version"]) <= VERSION:
            raise ValueError(f"{os.fspath(path)} has version {document['version']}, this package reads up to {VERSION}; update it")
        known = cls().get_params()
        new = cls(**{name: value for name, value in document["parameters"].items() if name in known})
        new.coef_ = np.array(document["coef"], dtype=np.float64)
        new.intercept_ = float(document["intercept"])
        new.n_features_in_ = len(new.coef_)
        if document["feature_names"] is not None:
            new.feature_names_in_ = np.array(document["feature_names"], dtype=object)
        new.groups_ = np.array(document["groups"])
        new.group_losses_ = np.array(document["group_losses"])
        new.group_weights_ = np.array(document["group_weights"])
        new.optimality_gap_ = document["optimality_gap"]
        return new
