"""``FairClassifier``: an estimator of scikit-learn that is trained for its worst group."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._equalise import check_classes, check_equalise, compared
from ._groups import grouped, warn_of_groups
from ._linear import MIXING, LinearTask, class_costs, fit_linear, members_of, sample_weights, side_by_side
from ._logistic import PREPROCESSING, LogisticNetwork
from ._network import State, encode, number_of
from ._paths import existing
from ._progress import ProgressReport
from ._result import Certificate
from ._summary import show_proof, summary_of
from ._weights import as_tensors

from sklearn.utils import column_or_1d  # isort: skip  (after _network, which words its absence)
from sklearn.utils.multiclass import check_classification_targets  # isort: skip
from sklearn.utils.validation import check_is_fitted, validate_data  # isort: skip


class FairClassifier(LogisticNetwork):
    """A classifier that is trained for its worst group: ``min over W, max over t, of sum t_g L_g(W)``.

    ``L_g`` is the mean cross-entropy of group g; the best group weights ``t`` are computed exactly. A logistic
    model is solved to a certificate, and with the penalty ``C`` to a global optimality gap. Features are not scaled: put
    a ``StandardScaler`` before it. The same ``random_state`` gives the same bits on any number of threads.

    Parameters
    ----------
    model : {"logistic", "mlp"} or path
        Logistic regression, one hidden layer of 100, or the file of a model (``net.toml``) that takes as many numbers as X has columns.
    method : str
        ``"minmax-reg"`` (the worst groups, regularised towards equal weights by ``lam``), ``"minmax"`` (the worst group),
        ``"normal"`` (the mean over all samples), ``"reweight"``, ``"group-dro"``, ``"tilted"``, ``"cvar"`` (the worst
        ``share`` of the samples; groups are ignored).
    lam : float
        The weight of the regulariser of ``minmax-reg``; with 0 it is ``minmax``.
    equalise : {"loss", "excess", "error", "fpr", "fnr"}
        What ``minmax-reg``, ``minmax``, ``group-dro`` and ``tilted`` compare between groups: the mean loss; the loss less that of the
        same model for the group alone; the mean of 1 less the probability of the label (trained by steps); the mean loss on samples of
        the first class (``"fpr"``) or the second (``"fnr"``), beside that of all samples: surrogates, which set no bound for the rates.
    tilt, dro_rate, share : float
        Parameters of ``tilted``, ``group-dro`` and ``cvar``.
    C : float
        As in scikit-learn: the inverse of the strength of an L2 penalty, ``|w|^2 / (2 C n)``; ``inf`` is no penalty. Intercepts have a
        millionth of the penalty. Used by ``solver="certificate"``.
    solver : {"auto", "certificate", "steps"}
        ``"certificate"`` solves a logistic model (methods ``minmax-reg``, ``minmax``, ``normal``, ``reweight``) until a certificate holds;
        ``"steps"`` makes ``max_iter`` steps of Adam; ``"auto"`` solves unless ``batch_size``, ``schedule`` or ``folder`` asks for steps.
    tol : float
        What ``"certificate"`` reaches: X, Y and, with a penalty, the optimality gap of the game with its regulariser.
    class_weight : dict, "balanced" or None
        As in scikit-learn: factors of the losses of each class. ``group_losses_`` include them.
    fit_intercept, warm_start : bool
        As in scikit-learn; for ``"certificate"``.
    overlap : bool
        The columns of ``sensitive_features`` are groups side by side, which overlap, instead of their combinations.
    by_label : bool
        Every group is crossed with the label: equal chances among those of one label.
    learning_rate : float
        The learning rate of Adam; it is divided by 10 for the last quarter of the steps.
    max_iter : int
        The number of steps; their limit for ``"certificate"``.
    schedule : list of (steps, rate) or None
        Stages, instead of ``learning_rate`` and ``max_iter``.
    batch_size : int or None
        Samples per step, the same number of each group; None for all samples.
    random_state : int, RandomState or None
        An int is the seed itself.
    n_jobs : int or None
        Threads: 1 if None, all cores if -1 (1 inside a worker of joblib or multiprocessing).
    folder : path or None
        The run folder, as of ``standoff fair --out``. ``standoff report`` shows it and ``standoff.read_run`` reads it. By default
        nothing is written.
    resume : bool
        Continue the run in ``folder``; begin one if there is none. Options and data must be those of the run.
    overwrite : bool
        Replace the run in ``folder``.
    save_every : float
        Seconds between two checkpoints in ``folder``.
    verbose : bool
        Show a progress bar, and the optimality gap and the certificate behind it.

    Attributes
    ----------
    classes_, groups_ : the distinct labels and groups
    coef_, intercept_ : the logistic model, as in scikit-learn
    optimality_gap_ : float or None
        The objective is at most this above its minimum over all models; None without a penalty or after steps
    group_losses_, group_weights_ : the quantity of ``equalise`` and the weight of each group on the training data; with ``"fpr"`` and
        ``"fnr"`` the mean loss of all samples has the rest of the weight
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
        model: str | os.PathLike[str] = "logistic",
        method: str = "minmax-reg",
        *,
        lam: float = 0.1,
        equalise: str = "loss",
        tilt: float = 1.0,
        dro_rate: float = 0.01,
        share: float = 0.5,
        C: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-6,
        class_weight: Any = None,
        fit_intercept: bool = True,
        warm_start: bool = False,
        overlap: bool = False,
        by_label: bool = False,
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
        self.equalise = equalise
        self.tilt = tilt
        self.dro_rate = dro_rate
        self.share = share
        self.C = C
        self.solver = solver
        self.tol = tol
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.overlap = overlap
        self.by_label = by_label
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
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FairClassifier:
        """Train. The groups are the distinct rows of ``sensitive_features``; by default the classes.

        ``eval_set`` is ``(X, y)`` or ``(X, y, sensitive_features)``: samples that are not trained on. Their accuracy is measured during
        training, for the run folder and ``eval_accuracy_``.

        Ctrl-C raises ``KeyboardInterrupt``; a run in a folder is saved first and can be continued with ``resume=True``. A warning is
        given if the classes are the groups because ``sensitive_features`` is absent, and for groups of one sample.
        """
        if self.model not in ("logistic", "mlp") and not str(self.model).endswith(".toml"):
            raise ValueError(f"model is {self.model!r}; give 'logistic', 'mlp' or the file of a model, such as 'net.toml'")
        if int(self.max_iter) < 1:
            raise ValueError(f"max_iter = {self.max_iter} is not allowed: it must be at least 1")
        check_equalise(self.equalise, self.method)
        self.__dict__.pop("preprocessing_", None)  # of a model that was loaded before
        if self._solves():
            self._fit_certificate(X, y, sensitive_features, sample_weight)
            if eval_set is not None:
                self._evaluate(eval_set, sensitive_features is not None)
            show_proof(self)
            return self
        asked = {"sample_weight": sample_weight is not None, "class_weight": self.class_weight is not None, "C": self.C != 1.0,
                 "overlap": self.overlap, "fit_intercept": not self.fit_intercept, "warm_start": self.warm_start}  # fmt: skip
        for name, wanted in asked.items():
            if wanted:
                known = f"a logistic model, one of {', '.join(MIXING)}, no folder, equalise other than 'error'"
                raise ValueError(f"{name} needs solver='certificate': {known}")
        self._fit_steps(X, y, sensitive_features, eval_set)
        show_proof(self)
        return self

    def _solves(self) -> bool:
        """True if the model is solved to a certificate."""
        if self.solver not in ("auto", "certificate", "steps"):
            raise ValueError(f"solver is {self.solver!r}; give 'auto', 'certificate' or 'steps'")
        stepped = self.batch_size is not None or self.schedule is not None or self.folder is not None or self.resume or self.overwrite
        possible = self.model == "logistic" and self.method in MIXING and not stepped and self.equalise != "error"
        if self.solver == "certificate" and self.equalise == "error":
            raise ValueError("equalise='error' is not convex, so solver='certificate' cannot solve it; use solver='steps' or 'auto'")
        if self.solver == "certificate" and not possible:
            raise ValueError(
                "solver='certificate' needs model='logistic', no batch_size, schedule or folder, and one of the methods "
                f"{', '.join(MIXING)}; use solver='steps'"
            )
        return possible and self.solver != "steps"

    def _fit_certificate(self, X: Any, y: ArrayLike, sensitive: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        self._seed()  # refuses a bad seed, although nothing here is random
        old = (self.coef_, self.intercept_) if self.warm_start and hasattr(self, "coef_") else None
        types = (np.float64, np.float32)
        rows, target = validate_data(self, X, y, accept_sparse="csr", dtype=types, order="C", accept_large_sparse=False)
        check_classification_targets(target)
        self.classes_, labels = encode(column_or_1d(target))
        check_classes(self.equalise, self.classes_)
        weights = sample_weights(sample_weight, rows)
        costs = class_costs(self.class_weight, self.classes_, labels, weights)
        if self.overlap and sensitive is not None:
            self.groups_, members = side_by_side(sensitive, rows, lambda s: grouped(s, target, rows, self.by_label), weights)
        else:
            self.groups_, members = members_of(*grouped(sensitive, target, rows, self.by_label), weights)
        self._warn([len(of) for of in members], sensitive is not None)
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        start = None
        if old is not None and old[0].shape == (outputs, rows.shape[1]):
            start = np.concatenate([old[0].ravel(), old[1] if self.fit_intercept else []])
        with ProgressReport(self.verbose, "loss") as bar:
            task = LinearTask(
                rows, labels.astype(np.float64), weights, members, "logistic", self.method, self.lam, self.C, self.tol,
                self.max_iter, self._threads(), self.fit_intercept, bar.callback, costs,
            )  # fmt: skip
            task = compared(task, self.equalise, self.classes_, self._group_names())
            fitted = fit_linear(task, len(self.classes_), start)
        # With errors of one kind, the mean loss has an entry of its own after the groups.
        count = len(members)
        self.group_losses_, self.group_weights_ = fitted.group_losses[:count], fitted.group_weights[:count]
        self.certificate_, self.optimality_gap_ = fitted.certificate, fitted.gap
        self.loss_, self.n_iter_ = fitted.value, fitted.iterations
        self._take_linear(fitted.coef, fitted.intercept)

    def _warn(self, sizes: list[int], given: bool) -> None:
        if self.method not in ("normal", "cvar"):
            warn_of_groups(self._group_names(), sizes, given or self.by_label)

    def summary(self) -> str:
        """The optimality gap, the certificate, and the loss and weight of every group, as text; for a model that ``fit`` made."""
        check_is_fitted(self, "certificate_")
        return summary_of(self, self._group_names())

    def _evaluate(self, eval_set: tuple[Any, ...], by_features: bool) -> None:
        if self.overlap:
            raise ValueError("eval_set does not know groups that overlap; predict and compare instead")
        test = self._eval_rows(eval_set, by_features)
        right = self.classes_[test["labels"]] == self.predict(eval_set[0])
        places = [right[test["groups"] == group] for group in range(len(self.groups_))]
        self.eval_accuracy_ = np.array([part.mean() if len(part) else np.nan for part in places])

    def _fit_steps(
        self, X: ArrayLike, y: ArrayLike, sensitive_features: ArrayLike | None, eval_set: tuple[Any, ...] | None
    ) -> None:
        rows, target = validate_data(self, X, y, dtype=np.float32, order="C", accept_large_sparse=False)
        check_classification_targets(target)
        self.classes_, labels = encode(column_or_1d(target))
        check_classes(self.equalise, self.classes_)
        self.groups_, groups = grouped(sensitive_features, target, rows, self.by_label)
        self._warn(np.bincount(groups).tolist(), sensitive_features is not None)
        train = {"x": rows, "labels": labels, "groups": groups.astype(np.uint16)}
        test = None if eval_set is None else self._eval_rows(eval_set, sensitive_features is not None)
        options = self._options() | {"preprocessing": self._plain("label" if sensitive_features is None else "group")}
        with ProgressReport(self.verbose, "loss") as bar:
            out = _core.fair_train(train, test, options | {"progress": bar.callback})
        for text in out["warnings"]:
            warnings.warn(text, stacklevel=3)
        self.network_, self.parameters_ = out["network"], out["parameters"]
        self._linear_of_network()
        self.group_losses_, self.group_weights_ = out["group_losses"], out["group_weights"]
        (x_lower, x_upper), (y_lower, y_upper) = out["gap"]
        self.certificate_ = Certificate(x_lower, x_upper, y_lower, y_upper, radius=1.0)
        self.loss_, self.n_iter_, self.optimality_gap_ = out["value"], out["steps"], None
        if eval_set is not None:
            self.eval_accuracy_ = np.array([correct / total if total else np.nan for correct, total in out["test"]])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        solved = self.solver != "steps" and self.method in MIXING and self.equalise != "error"
        tags.input_tags.sparse = self.model == "logistic" and solved
        return tags

    def _eval_rows(self, eval_set: tuple[Any, ...], by_features: bool) -> dict[str, Any]:
        """The samples of ``eval_set``, with the classes and groups of training."""
        if len(eval_set) != (3 if by_features else 2):
            wanted = "(X, y, sensitive_features)" if by_features else "(X, y)"
            raise ValueError(f"eval_set has {len(eval_set)} parts; give {wanted}")
        rows, target = validate_data(self, eval_set[0], eval_set[1], dtype=np.float32, order="C", reset=False)
        labels = number_of(column_or_1d(target), self.classes_)
        found, groups = grouped(eval_set[2] if by_features else None, target, rows, self.by_label)
        known = {str(group): place for place, group in enumerate(self.groups_.tolist())}
        try:
            places = np.array([known[str(group)] for group in found.tolist()], dtype=np.uint16)
        except KeyError as error:
            raise ValueError(f"eval_set has the group {error.args[0]}, which the training data does not have") from None
        return {"x": rows, "labels": labels, "groups": places[groups]}

    def _options(self) -> dict[str, Any]:
        steps = int(self.max_iter)
        last = steps // 4
        stages = [(steps - last, self.learning_rate), (last, self.learning_rate / 10)] if self.schedule is None else self.schedule
        return {
            "model": str(self.model),
            "method": self.method,
            "lam": float(self.lam),
            "equalise": self.equalise,
            "tilt": float(self.tilt),
            "dro_rate": float(self.dro_rate),
            "share": float(self.share),
            "stages": [(int(length), float(rate)) for length, rate in stages if length > 0],
            "batch": None if self.batch_size is None else int(self.batch_size),
            "seed": self._seed(),
            "threads": self._threads(),
            "classes": [str(name) for name in self.classes_],
            "groups": self._group_names(),
            "folder": self._folder(),
        }

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
        network, parameters, metadata = _core.network_load(existing(path))
        if PREPROCESSING not in metadata:
            raise ValueError(f"{os.fspath(path)} is not a model of a table; RobustClassifier.load reads networks of images")
        new = cls._of(network, parameters, None, metadata[PREPROCESSING])
        new._read_linear(metadata, os.fspath(path))
        return new

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
        new._linear_of_network()
        return new
