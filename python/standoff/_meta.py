"""``FairMeta``: any estimator of scikit-learn that takes ``sample_weight``, trained for its worst group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils import check_random_state, get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight, check_consistent_length, check_is_fitted, has_fit_parameter, validate_data,
    )  # fmt: skip
except ImportError as error:  # pragma: no cover
    raise ImportError("the estimators need scikit-learn 1.6 or newer: pip install scikit-learn") from error

from ._groups import grouped, warn_of_groups
from ._weights_game import Vector, WeightsGame

LOSSES = {"classifier": ("log_loss", "brier", "zero_one"), "regressor": ("squared_error", "absolute_error")}
LEAST = 1e-6  # the least group weight of a fit
FLOOR = 1e-15  # probabilities are not smaller than this in the log-loss


def _is_classifier(self: FairMeta) -> bool:
    return bool(is_classifier(self._inner()))


class FairMeta(MetaEstimatorMixin, BaseEstimator):
    """Train any classifier or regressor for its worst group: ``min over mixtures of models, max over t, of sum t_g L_g``.

    ``L_g`` is the mean loss of group g on the training data. The group weights ``t`` are the maximising player, computed by ``solve``
    from the losses of the models so far; the estimator answers them with a fit by ``sample_weight``. Trees, linear models and all
    others that take ``sample_weight`` work.

    Parameters
    ----------
    estimator : estimator or None
        A classifier with ``predict_proba`` (not needed for ``loss="zero_one"``) or a regressor; ``LogisticRegression()`` if None.
    loss : str or None
        ``"log_loss"`` (default), ``"brier"`` or ``"zero_one"`` for classifiers; ``"squared_error"`` (default) or
        ``"absolute_error"`` for regressors.
    max_iter : int
        The largest number of fits.
    tol : float
        Stop when the worst group of the mixture is within ``tol`` of ``reached_``.
    keep : {"mixture", "last"}
        Predict by the mixture of the models, or by the single model that was fitted to the final weights.
    by_label : bool
        Cross the groups with the classes: every class of every group is a group.
    random_state : int, RandomState or None
        Sets the ``random_state`` of each copy of the estimator, if it has one.

    Attributes
    ----------
    estimators_, mixture_ : the models with a share in the mixture, and the shares
    groups_, group_weights_ : the distinct groups and their final weights
    group_losses_ : the loss of each group under the mixture
    worst_loss_ : float
        The largest of them. The mixture draws one of its models for each prediction; averaging their predictions, as ``predict``
        does, has at most this loss if the loss is convex (all but ``zero_one``).
    reached_ : float
        The best weighted loss that the estimator reached. No better model exists for these weights only if the estimator minimises
        its weighted loss exactly; for trees this is not so, and ``reached_`` is not a lower bound.
    n_iter_ : the number of fits

    >>> import numpy as np
    >>> from standoff import FairMeta
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> FairMeta().fit(X, ["a", "a", "b", "b"], sensitive_features=[0, 1, 0, 1]).predict([[3.0]])
    array(['b'], dtype='<U1')
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        loss: str | None = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        keep: str = "mixture",
        by_label: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol
        self.keep = keep
        self.by_label = by_label
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sensitive_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FairMeta:
        """Train. The groups are the distinct rows of ``sensitive_features``; by default the classes, or one group for a regressor."""
        kind = self._kind()
        samples, target = validate_data(
            self, X, y, accept_sparse="csr", dtype=None, ensure_all_finite=not get_tags(self._inner()).input_tags.allow_nan,
            y_numeric=kind == "regressor",
        )  # fmt: skip
        sizes = _check_sample_weight(sample_weight, samples, ensure_non_negative=True)
        if kind == "classifier":
            check_classification_targets(target)
            self.classes_ = np.unique(target[sizes > 0])
            if len(self.classes_) < 2:
                raise ValueError(f"a classifier needs at least 2 classes, the data has 1 class: {self.classes_}")
        self.groups_, group = self._grouped(sensitive_features, target, sizes)
        named = sensitive_features is not None or self.by_label or kind == "regressor"
        warn_of_groups([str(g) for g in self.groups_], np.bincount(group[group >= 0]).tolist(), named)
        game = WeightsGame(_Learner(self, samples, target, group, sizes), len(self.groups_))
        game.play(int(self.max_iter), float(self.tol))
        self._take(game)
        return self

    def _kind(self) -> str:
        inner = self._inner()
        kind = "classifier" if is_classifier(inner) else "regressor" if is_regressor(inner) else None
        if kind is None:
            raise TypeError(f"{inner!r} is neither a classifier nor a regressor")
        if not has_fit_parameter(inner, "sample_weight"):
            raise TypeError(f"{inner!r} does not take sample_weight in fit: the group weights cannot be given to it")
        if self.loss is not None and self.loss not in LOSSES[kind]:
            raise ValueError(f"loss is {self.loss!r}; for a {kind} give one of {', '.join(LOSSES[kind])}")
        if kind == "classifier" and self._loss(kind) != "zero_one" and not hasattr(inner, "predict_proba"):
            raise TypeError(f"{inner!r} has no predict_proba; give loss='zero_one', or wrap it in CalibratedClassifierCV")
        if self.keep not in ("mixture", "last"):
            raise ValueError(f"keep is {self.keep!r}; give 'mixture' or 'last'")
        if not (isinstance(self.max_iter, (int, np.integer)) and self.max_iter >= 1):
            raise ValueError(f"max_iter = {self.max_iter} is not allowed: it must be a whole number of at least 1")
        if not self.tol >= 0:
            raise ValueError(f"tol = {self.tol} is not allowed: it must be at least 0")
        if self.by_label and kind == "regressor":
            raise ValueError("by_label=True needs classes, and a regressor has none")
        return kind

    def _loss(self, kind: str) -> str:
        return LOSSES[kind][0] if self.loss is None else self.loss

    def _inner(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _grouped(
        self, sensitive: ArrayLike | None, y: NDArray[Any], sizes: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """The distinct groups of the samples with weight, and the group of each sample (-1 without weight)."""
        if sensitive is None:
            names = y if is_classifier(self._inner()) else np.zeros(len(y), dtype=int)
        else:
            check_consistent_length(y, sensitive)
            found, place = grouped(sensitive, y, y)
            names = place
            if self.by_label:
                place_of = np.unique(y, return_inverse=True)[1]
                names = place * (place_of.max() + 1) + place_of
        heavy = sizes > 0
        distinct, first, group = np.unique(names[heavy], return_index=True, return_inverse=True)
        all_groups = np.full(len(y), -1)
        all_groups[heavy] = group
        if sensitive is not None:
            of = np.flatnonzero(heavy)[first]
            parts = [np.atleast_1d(found[place[i]]).tolist() + ([y[i]] if self.by_label else []) for i in of]
            distinct = np.array([", ".join(map(str, part)) for part in parts])
        return distinct, all_groups

    def _take(self, game: WeightsGame) -> None:
        mixture = game.mixture if self.keep == "mixture" else np.eye(len(game.models))[game.at]
        kept = np.flatnonzero(mixture)
        self.estimators_ = [game.models[i] for i in kept]
        self.mixture_ = mixture[kept] / mixture[kept].sum()
        self.group_losses_ = mixture @ np.array(game.rows)
        self.worst_loss_ = float(self.group_losses_.max())
        self.group_weights_, self.reached_ = game.centre, game.reached
        self.n_iter_ = len(game.models)

    def _rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        finite = not get_tags(self._inner()).input_tags.allow_nan
        return validate_data(self, X, accept_sparse="csr", dtype=None, ensure_all_finite=finite, reset=False)

    @available_if(_is_classifier)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each class: the mean over the mixture."""
        rows = self._rows(X)
        return np.einsum("k,knc->nc", self.mixture_, np.array([self._shares(m, rows) for m in self.estimators_]))

    def _shares(self, model: Any, X: Any) -> NDArray[np.float64]:
        """The probabilities of one model; of a model without them, 1 for its prediction."""
        given = model.predict_proba(X) if self._loss("classifier") != "zero_one" and hasattr(model, "predict_proba") else None
        shares = np.zeros((X.shape[0], len(self.classes_)))
        if given is None:
            shares[np.arange(X.shape[0]), np.searchsorted(self.classes_, model.predict(X))] = 1.0
        else:
            shares[:, np.searchsorted(self.classes_, model.classes_)] = given
        return shares

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class, or the mean prediction of the mixture."""
        if is_classifier(self._inner()):
            most = self.predict_proba(X).argmax(axis=1)
            answers: NDArray[Any] = self.classes_[most]
            return answers
        rows = self._rows(X)
        means: NDArray[Any] = self.mixture_ @ np.array([model.predict(rows) for model in self.estimators_])
        return means

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy, or R^2 of a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if is_classifier(self._inner()) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
        tags.target_tags.required = True
        return tags


class _Learner:
    """Fits a copy of the estimator to group weights, and measures its group losses."""

    def __init__(self, meta: FairMeta, X: Any, y: NDArray[Any], group: NDArray[np.intp], sizes: NDArray[np.float64]) -> None:
        heavy = group >= 0
        self.meta, self.X, self.y, self.group, self.sizes = meta, X[heavy], y[heavy], group[heavy], sizes[heavy]
        self.totals = np.bincount(self.group, self.sizes)
        self.kind = "classifier" if is_classifier(meta._inner()) else "regressor"
        self.seed = meta.random_state
        if self.seed is not None:
            self.seed = int(check_random_state(self.seed).randint(np.iinfo(np.int32).max))

    def __call__(self, t: Vector) -> tuple[Any, Vector]:
        model = clone(self.meta._inner())
        if self.seed is not None and "random_state" in model.get_params():
            model.set_params(random_state=self.seed)
        # The weights sum to the size of the data, so that parameters such as C keep their meaning.
        t = np.maximum(t, LEAST)  # estimators differ in what they do with weights of 0
        scale = self.totals.sum() * t / t.sum() / self.totals
        model.fit(self.X, self.y, sample_weight=self.sizes * scale[self.group])
        losses = np.bincount(self.group, self.sizes * self._losses(model)) / self.totals
        return model, losses

    def _losses(self, model: Any) -> NDArray[np.float64]:
        loss = self.meta._loss(self.kind)
        if self.kind == "regressor":
            errors = np.asarray(model.predict(self.X)) - self.y
            return errors**2 if loss == "squared_error" else np.abs(errors)
        shares = self.meta._shares(model, self.X)
        place = np.searchsorted(self.meta.classes_, self.y)
        right = shares[np.arange(len(place)), place]
        if loss == "log_loss":
            return -np.log(np.maximum(right, FLOOR))
        hit = np.eye(len(self.meta.classes_))[place]
        return 1 - right if loss == "zero_one" else ((shares - hit) ** 2).sum(axis=1)
