"""Estimators for scikit-learn. Needs it; the rest of the package does not."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ImportError as error:  # pragma: no cover
    raise ImportError("FairClassifier needs scikit-learn 1.6 or newer: pip install scikit-learn") from error

from . import _core
from ._result import Certificate

MOST = 2**16 - 1  # classes and groups are counted in 16 bits


class FairClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is trained for its worst group: ``min over W, max over t, of sum t_g L_g(W)``.

    ``L_g`` is the mean cross-entropy of group g; the groups' weights ``t`` answer exactly. Features are taken as they
    are: put a ``StandardScaler`` before it. The same ``random_state`` gives the same bits on any number of threads.

    Parameters
    ----------
    model : {"logistic", "mlp"}
        Logistic regression, or one hidden layer of 100.
    method : str
        ``"minmax-reg"`` (the worst groups, held to the mean by ``lam``), ``"minmax"`` (the worst group alone),
        ``"normal"`` (the mean over all samples), ``"reweight"``, ``"group-dro"``, ``"tilted"``.
    lam : float
        The weight of the regulariser of ``minmax-reg``; 0 is ``minmax``.
    tilt, dro_rate : float
        Of ``tilted`` and ``group-dro``.
    learning_rate : float
        Of Adam; a tenth of it in the last quarter of the steps.
    max_iter : int
        How many steps are made: all of them.
    batch_size : int or None
        Samples per step, as many of each group; all of them if None.
    random_state : int, RandomState or None
        An int is the seed itself.
    n_jobs : int or None
        Threads: one if None, all there are if -1.

    Attributes
    ----------
    classes_, groups_ : what the labels and the sensitive features can be
    group_losses_, group_weights_ : the mean loss of each group on the training data, and what it counts
    certificate_ : Certificate
        How far the network and the weights are from being unable to gain, on all training data
    n_features_in_, feature_names_in_, n_iter_ : as everywhere in scikit-learn

    >>> import numpy as np
    >>> from standoff import FairClassifier
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> FairClassifier(random_state=0).fit(X, ["a", "a", "b", "b"], sensitive_features=[0, 1, 0, 1]).predict([[3.0]])
    array(['b'], dtype='<U1')
    """

    def __init__(
        self,
        model: str = "logistic",
        method: str = "minmax-reg",
        *,
        lam: float = 0.1,
        tilt: float = 1.0,
        dro_rate: float = 0.01,
        learning_rate: float = 0.03,
        max_iter: int = 800,
        batch_size: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.method = method
        self.lam = lam
        self.tilt = tilt
        self.dro_rate = dro_rate
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, sensitive_features: ArrayLike | None = None) -> FairClassifier:
        """Train. Groups are the distinct rows of ``sensitive_features``; those of ``y`` when absent."""
        if self.model not in ("logistic", "mlp"):
            raise ValueError(f"model is {self.model!r}; give 'logistic' or 'mlp'")
        X, y = validate_data(self, X, y, dtype=np.float32, order="C", accept_large_sparse=False)
        check_classification_targets(y)
        self.classes_, labels = np.unique(column_or_1d(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs at least 2 classes, the data has 1 class: {self.classes_[0]!r}")
        self.groups_, groups = _grouped(sensitive_features, y, X)
        for name, found in (("classes", self.classes_), ("groups", self.groups_)):
            if len(found) > MOST:
                raise ValueError(f"there are {len(found)} {name}, at most {MOST} are possible; is y continuous?")
        out = _core.fair_train(X, labels.astype(np.uint16), groups.astype(np.uint16), self._options())
        self.parameters_: NDArray[np.float32] = out["parameters"]
        self.group_losses_, self.group_weights_ = out["group_losses"], out["group_weights"]
        self.certificate_ = Certificate(*out["gap"])
        self.loss_, self.n_iter_ = out["value"], out["steps"]
        return self

    def _options(self) -> dict[str, Any]:
        steps = int(self.max_iter)
        if steps < 1:
            raise ValueError(f"max_iter = {self.max_iter} is not allowed: it must be at least 1")
        first = steps - steps // 4
        stages = [(first, float(self.learning_rate)), (steps - first, float(self.learning_rate) / 10)]
        seed = self.random_state
        if not isinstance(seed, numbers.Integral):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        return {
            "model": self.model,
            "method": self.method,
            "lam": float(self.lam),
            "tilt": float(self.tilt),
            "dro_rate": float(self.dro_rate),
            "stages": [stage for stage in stages if stage[0] > 0],
            "batch": 0 if self.batch_size is None else int(self.batch_size),
            "seed": int(seed),
            "threads": self._threads(),
            "classes": len(self.classes_),
            "groups": len(self.groups_),
        }

    def _threads(self) -> int:
        return 1 if self.n_jobs is None else 0 if self.n_jobs < 0 else int(self.n_jobs)

    def _logits(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        count = len(self.classes_)
        return _core.fair_logits(X, self.parameters_, self.model, count, self._threads()).reshape(-1, count).astype(float)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``."""
        logits = self._logits(X)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class; the first of equal ones."""
        most = self._logits(X).argmax(axis=1)
        return self.classes_[most]

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The parameters under PyTorch's names (``fc1.weight``, ...), as arrays that ``torch.from_numpy`` takes."""
        check_is_fitted(self)
        views = _core.fair_views(self.model, self.n_features_in_, len(self.classes_))
        return {name: self.parameters_[start:end].reshape(shape) for name, shape, start, end in views}


def _grouped(sensitive: ArrayLike | None, y: NDArray[Any], X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distinct groups, and the group of each sample."""
    if sensitive is None:
        return np.unique(y, return_inverse=True)
    sensitive = np.asarray(sensitive)
    if sensitive.dtype == object:
        sensitive = sensitive.astype(str)
    check_consistent_length(X, sensitive)
    if sensitive.ndim == 2 and sensitive.shape[1] == 1:
        sensitive = sensitive[:, 0]
    if sensitive.ndim not in (1, 2):
        raise ValueError(f"sensitive_features has shape {sensitive.shape}; give one entry, or one row, per sample")
    found, groups = np.unique(sensitive, return_inverse=True, axis=0)
    return found, np.asarray(groups).reshape(-1)
