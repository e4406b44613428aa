"""``FairClassifier``: an estimator of scikit-learn that is trained for its worst group."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._network import NetworkClassifier, State, count, encode, number_of
from ._progress import ProgressReport
from ._result import Certificate
from ._weights import as_tensors

from sklearn.utils import column_or_1d  # isort: skip  (after _network, which words its absence)
from sklearn.utils.multiclass import check_classification_targets  # isort: skip
from sklearn.utils.validation import check_consistent_length, validate_data  # isort: skip

PREPROCESSING = "standoff.preprocessing"


class FairClassifier(NetworkClassifier):
    """A classifier that is trained for its worst group: ``min over W, max over t, of sum t_g L_g(W)``.

    ``L_g`` is the mean cross-entropy of group g; the best group weights ``t`` are computed exactly. Features are not scaled: put
    a ``StandardScaler`` before it. The same ``random_state`` gives the same bits on any number of threads, and the same as
    ``standoff fair`` with that seed.

    Parameters
    ----------
    model : {"logistic", "mlp"}
        Logistic regression, or one hidden layer of 100.
    method : str
        ``"minmax-reg"`` (the worst groups, regularised towards equal weights by ``lam``), ``"minmax"`` (the worst group),
        ``"normal"`` (the mean over all samples), ``"reweight"``, ``"group-dro"``, ``"tilted"``, ``"cvar"`` (the worst
        ``share`` of the samples; groups are ignored).
    lam : float
        The weight of the regulariser of ``minmax-reg``; with 0 it is ``minmax``.
    tilt, dro_rate, share : float
        Parameters of ``tilted``, ``group-dro`` and ``cvar``.
    learning_rate : float
        The learning rate of Adam; it is divided by 10 for the last quarter of the steps.
    max_iter : int
        The number of steps.
    schedule : list of (steps, rate) or None
        Stages, instead of ``learning_rate`` and ``max_iter``.
    batch_size : int or None
        Samples per step, the same number of each group; None for all samples.
    random_state : int, RandomState or None
        An int is the seed itself.
    n_jobs : int or None
        Threads: 1 if None, all cores if -1.
    folder : path or None
        The run folder, as of ``standoff fair --out``: configuration, metrics, TensorBoard events, checkpoints, the model and its
        results. ``standoff report`` shows it and ``standoff.read_run`` reads it. By default nothing is written.
    resume : bool
        Continue the run in ``folder``; begin one if there is none. Options and data must be those of the run.
    overwrite : bool
        Replace the run in ``folder``.
    save_every : float
        Seconds between two checkpoints in ``folder``.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    classes_, groups_ : the distinct labels and groups
    group_losses_, group_weights_ : the mean loss and the weight of each group on the training data
    certificate_ : Certificate
        Bounds of the gain that the network or the group weights could still make, on all training data
    eval_accuracy_ : array
        The accuracy of each group of ``eval_set``, if one was given
    n_features_in_, feature_names_in_, n_iter_ : as in all estimators of scikit-learn

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
        share: float = 0.5,
        learning_rate: float = 0.03,
        max_iter: int = 800,
        schedule: list[tuple[int, float]] | None = None,
        batch_size: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        overwrite: bool = False,
        save_every: float = 10.0,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.method = method
        self.lam = lam
        self.tilt = tilt
        self.dro_rate = dro_rate
        self.share = share
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.schedule = schedule
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.folder = folder
        self.resume = resume
        self.overwrite = overwrite
        self.save_every = save_every
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: ArrayLike, sensitive_features: ArrayLike | None = None, eval_set: tuple[Any, ...] | None = None
    ) -> FairClassifier:
        """Train. The groups are the distinct rows of ``sensitive_features``; by default the classes.

        ``eval_set`` is ``(X, y)`` or ``(X, y, sensitive_features)``: samples that are not trained on. Their accuracy is measured during
        training, for the run folder and ``eval_accuracy_``.

        Ctrl-C raises ``KeyboardInterrupt``; a run in a folder is saved first and can be continued with ``resume=True``.
        """
        if self.model not in ("logistic", "mlp"):
            raise ValueError(f"model is {self.model!r}; give 'logistic' or 'mlp'")
        rows, target = validate_data(self, X, y, dtype=np.float32, order="C", accept_large_sparse=False)
        check_classification_targets(target)
        self.classes_, labels = encode(column_or_1d(target))
        self.groups_, groups = _grouped(sensitive_features, target, rows)
        count(self.groups_, "groups")
        train = {"x": rows, "labels": labels, "groups": groups.astype(np.uint16)}
        test = None if eval_set is None else self._eval_rows(eval_set, sensitive_features is not None)
        vars(self).pop("preprocessing_", None)  # of a model that was loaded before
        options = self._options() | {"preprocessing": self._plain("label" if sensitive_features is None else "group")}
        with ProgressReport(self.verbose, "loss") as bar:
            out = _core.fair_train(train, test, options | {"progress": bar.callback})
        for text in out["warnings"]:
            warnings.warn(text, stacklevel=2)
        self.network_, self.parameters_ = out["network"], out["parameters"]
        self.group_losses_, self.group_weights_ = out["group_losses"], out["group_weights"]
        (x_lower, x_upper), (y_lower, y_upper) = out["gap"]
        self.certificate_ = Certificate(x_lower, x_upper, y_lower, y_upper, radius=1.0)
        self.loss_, self.n_iter_ = out["value"], out["steps"]
        if eval_set is not None:
            self.eval_accuracy_ = np.array([correct / total if total else np.nan for correct, total in out["test"]])
        return self

    def _eval_rows(self, eval_set: tuple[Any, ...], by_features: bool) -> dict[str, Any]:
        """The samples of ``eval_set``, with the classes and groups of training."""
        if len(eval_set) != (3 if by_features else 2):
            wanted = "(X, y, sensitive_features)" if by_features else "(X, y)"
            raise ValueError(f"eval_set has {len(eval_set)} parts; give {wanted}")
        rows, target = validate_data(self, eval_set[0], eval_set[1], dtype=np.float32, order="C", reset=False)
        labels = number_of(column_or_1d(target), self.classes_)
        found, groups = _grouped(eval_set[2] if by_features else None, target, rows)
        known = {str(group): place for place, group in enumerate(self.groups_.tolist())}
        try:
            places = np.array([known[str(group)] for group in found.tolist()], dtype=np.uint16)
        except KeyError as error:
            raise ValueError(f"eval_set has the group {error.args[0]}, which the training data does not have") from None
        return {"x": rows, "labels": labels, "groups": places[groups]}

    def _options(self) -> dict[str, Any]:
        steps = int(self.max_iter)
        if steps < 1:
            raise ValueError(f"max_iter = {self.max_iter} is not allowed: it must be at least 1")
        last = steps // 4
        stages = [(steps - last, self.learning_rate), (last, self.learning_rate / 10)] if self.schedule is None else self.schedule
        return {
            "model": self.model,
            "method": self.method,
            "lam": float(self.lam),
            "tilt": float(self.tilt),
            "dro_rate": float(self.dro_rate),
            "share": float(self.share),
            "stages": [(int(length), float(rate)) for length, rate in stages if length > 0],
            "batch": 0 if self.batch_size is None else int(self.batch_size),
            "seed": self._seed(),
            "threads": self._threads(),
            "classes": [str(name) for name in self.classes_],
            "groups": self._group_names(),
            "folder": self._folder(),
        }

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return rows

    def _group_names(self) -> list[str]:
        return [", ".join(map(str, np.atleast_1d(group))) for group in getattr(self, "groups_", self.classes_)]

    def _metadata(self) -> dict[str, str]:
        """The preprocessing of the table, if it is known; otherwise features are read from the columns of their names."""
        known = getattr(self, "preprocessing_", None)
        return {PREPROCESSING: self._plain("group") if known is None else known}

    def _plain(self, group: str) -> str:
        """The preprocessing of numeric features that are not scaled; ``group`` is the column of the groups."""
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        unscaled = {"kind": "numeric", "mean": 0.0, "deviation": 1.0, "missing": 0.0}
        return json.dumps({
            "label": "label",
            "classes": [str(c) for c in self.classes_],
            "groups": [group],
            "group_names": self._group_names(),
            "columns": [{"name": str(name)} | unscaled for name in names],
        })  # fmt: skip

    def save(self, path: str | os.PathLike[str], preprocessing: str | None = None) -> None:
        """Write a safetensors file that ``standoff predict``, ``load`` and PyTorch read.

        ``preprocessing`` is that of ``read_table`` if the features come from there. Otherwise ``standoff predict`` reads the
        features unscaled from the columns of their names (``x0``, ``x1``, ... if they have none).
        """
        if preprocessing is not None:
            self.preprocessing_ = preprocessing
        super().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FairClassifier:
        """Load a classifier of a table that ``save`` or ``standoff fair`` wrote.

        It predicts from features with the encoding of training: ``read_table(file, like=classifier)``.
        """
        network, parameters, metadata = _core.network_load(Path(path))
        if PREPROCESSING not in metadata:
            raise ValueError(f"{os.fspath(path)} is not a model of a table; RobustClassifier.load reads networks of images")
        return cls._of(network, parameters, None, metadata[PREPROCESSING])

    @classmethod
    def from_state_dict(cls, state: State, classes: ArrayLike | None = None) -> FairClassifier:
        """A classifier from parameters of PyTorch: one linear layer, or two with tanh between them.

        >>> import numpy as np
        >>> from standoff import FairClassifier
        >>> layer = {"weight": np.array([[1.0, 0.0], [0.0, 1.0]]), "bias": np.zeros(2)}
        >>> FairClassifier.from_state_dict(layer, classes=["left", "up"]).predict([[0.0, 2.0]])
        array(['up'], dtype='<U4')
        """
        tensors = as_tensors(state)
        layers = [v.shape for v in tensors.values() if v.ndim == 2]
        if not layers:
            shapes = {name: v.shape for name, v in tensors.items()}
            raise ValueError(f"the state has no matrix of weights: {shapes}")
        model = "logistic" if len(layers) == 1 else "mlp"
        network = _core.network_preset(model, (layers[0][1], 1, 1), layers[-1][0])
        if len(tensors) == 2 and set(tensors) == {"weight", "bias"}:  # torch.nn.Linear by itself
            tensors = {f"fc1.{name}": v for name, v in tensors.items()}
        return cls._of(network, _core.network_take(network, tensors), classes, None)

    @classmethod
    def _of(cls, network: str, parameters: NDArray[np.float32], classes: ArrayLike | None, known: str | None) -> FairClassifier:
        (width, _, _), outputs = _core.network_ends(network)
        new = cls(model="logistic" if len(_core.network_views(network)) == 2 else "mlp")
        new.network_, new.parameters_, new.n_features_in_ = network, parameters, width
        if known is not None:
            new.preprocessing_ = known
            table: Mapping[str, Any] = json.loads(known)
            classes = table["classes"]
            new.groups_ = np.array(table["group_names"])
        new.classes_ = np.arange(outputs) if classes is None else np.asarray(classes)
        if len(new.classes_) > outputs:
            raise ValueError(f"there are {len(new.classes_)} classes, the network has {outputs} outputs")
        return new


def _grouped(sensitive: ArrayLike | None, y: NDArray[Any], X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distinct groups, and the group of each sample."""
    if sensitive is None:
        return np.unique(y, return_inverse=True)
    sensitive = np.asarray(sensitive)
    check_consistent_length(X, sensitive)
    if any(map(_missing, sensitive.ravel())) if sensitive.dtype == object else _has_nan(sensitive):
        raise ValueError("sensitive_features has missing values (NaN): give those samples a group of their own, or leave them out")
    if sensitive.dtype == object:
        sensitive = sensitive.astype(str)
    if sensitive.ndim == 2 and sensitive.shape[1] == 1:
        sensitive = sensitive[:, 0]
    if sensitive.ndim not in (1, 2):
        raise ValueError(f"sensitive_features has shape {sensitive.shape}; give one entry, or one row, per sample")
    found, groups = np.unique(sensitive, return_inverse=True, axis=0)
    return found, np.asarray(groups).reshape(-1)


def _has_nan(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _missing(value: Any) -> bool:
    """True for the missing values of Python, NumPy and pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
