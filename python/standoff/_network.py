"""The common part of both estimators: a network and its parameters, probabilities, files, run folders."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:  # pragma: no cover
    raise ImportError("the estimators need scikit-learn 1.6 or newer: pip install scikit-learn") from error

from . import _core
from ._threads import threads_of
from ._weights import as_tensors

MOST = 2**16 - 1  # classes and groups are counted in 16 bits

State = Mapping[str, Any]


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is a network: ``network_`` describes its layers, ``parameters_`` is one vector of all parameters."""

    classes_: NDArray[Any]
    network_: str
    parameters_: NDArray[np.float32]
    n_features_in_: int
    random_state: Any
    n_jobs: int | None
    folder: str | os.PathLike[str] | None
    resume: bool
    overwrite: bool
    save_every: float

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        """New samples, one in each row, checked for the width of the training data."""
        raise NotImplementedError

    def _metadata(self) -> dict[str, str]:
        """The metadata of a saved model."""
        raise NotImplementedError

    def _logits(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        logits = _core.network_logits(self._rows(X), self.network_, self.parameters_, self._threads())
        outputs = _core.network_ends(self.network_)[1]
        # Outputs beyond the number of classes are never predicted.
        return logits.reshape(-1, outputs)[:, : len(self.classes_)].astype(float)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``."""
        logits = self._logits(X)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class; the first of equal ones."""
        most = self._logits(X).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[most]
        return answers

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The parameters under PyTorch's names (``fc1.weight``, ...), as arrays that ``torch.from_numpy`` takes."""
        check_is_fitted(self)
        views = _core.network_views(self.network_)
        return {name: self.parameters_[start:end].reshape(shape) for name, shape, start, end in views}

    def load_state_dict(self, state: State) -> Any:
        """Take the parameters from arrays or tensors with PyTorch's names: the model's own, behind ``module.``, or numbered as
        in ``nn.Sequential``. The estimator must be fitted or loaded; ``from_state_dict`` makes a new one.
        """
        check_is_fitted(self)
        self.parameters_ = _core.network_take(self.network_, as_tensors(state))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file that the command, ``load`` and PyTorch read."""
        check_is_fitted(self)
        _core.network_save(Path(path), self.network_, self.parameters_, self._metadata())

    def _folder(self) -> dict[str, Any] | None:
        """The options of the run folder; None to train in memory."""
        if self.folder is None:
            if self.resume or self.overwrite:
                raise ValueError("resume and overwrite are about a run folder; name it with folder=...")
            return None
        if self.resume and self.overwrite:
            raise ValueError("resume continues the run in the folder, overwrite replaces it; give one of the two")
        return {
            "path": Path(self.folder),
            "resume": bool(self.resume),
            "overwrite": bool(self.overwrite),
            "save_every": float(self.save_every),
        }

    def _threads(self) -> int:
        return threads_of(self.n_jobs)

    def _seed(self) -> int:
        seed = self.random_state
        if isinstance(seed, numbers.Integral):
            if seed < 0:
                raise ValueError(f"random_state = {seed} is not allowed: a seed is at least 0")
            return int(seed)
        return int(check_random_state(seed).randint(np.iinfo(np.int32).max))


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint16]]:
    """The classes, and the index of the class of each label."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"a classifier needs at least 2 classes, the data has 1 class: {classes[0]!r}")
    count(classes, "classes")
    return classes, labels.astype(np.uint16)


def count(found: NDArray[Any], name: str) -> None:
    """Refuses more classes or groups than fit into 16 bits."""
    if len(found) > MOST:
        raise ValueError(f"there are {len(found)} {name}, at most {MOST} are possible; is y continuous?")


def number_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.uint16]:
    """The index of each label among known classes."""
    known = {value: place for place, value in enumerate(classes.tolist())}
    try:
        return np.array([known[value] for value in labels.tolist()], dtype=np.uint16)
    except KeyError as error:
        raise ValueError(f"y has the label {error.args[0]!r}, the classifier knows {classes.tolist()}") from None


