"""A network that may be a logistic model: ``coef_`` and ``intercept_`` in double precision beside its parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._linear import margins
from ._network import NetworkClassifier, State

from sklearn.utils.validation import check_is_fitted, validate_data  # isort: skip  (after _network, which words its absence)


PREPROCESSING = "standoff.preprocessing"
LINEAR = "standoff.linear"  # metadata of a linear model: its coefficients in double precision
LINEAR_VERSION = 1


class LogisticNetwork(NetworkClassifier):
    """Predicts by ``coef_`` and ``intercept_`` if it has them, else by the network."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    groups_: NDArray[Any]

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return rows

    def _group_names(self) -> list[str]:
        return [", ".join(map(str, np.atleast_1d(group))) for group in getattr(self, "groups_", self.classes_)]

    def _metadata(self) -> dict[str, str]:
        """The preprocessing of the table, if it is known; otherwise features are read from the columns of their names."""
        known = getattr(self, "preprocessing_", None)
        metadata = {PREPROCESSING: self._plain("group") if known is None else known}
        return metadata | self._linear_metadata()

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

    def _take_linear(self, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> None:
        """Keep a linear model, and the same as a network of single precision."""
        self.coef_, self.intercept_ = coef, intercept
        if len(coef) == 1:  # the network has an output for both classes
            coef, intercept = np.concatenate([-coef / 2, coef / 2]), np.concatenate([-intercept / 2, intercept / 2])
        self.network_ = _core.network_preset("logistic", (coef.shape[1], 1, 1), len(coef))
        tensors = {"fc1.weight": coef.astype(np.float32), "fc1.bias": intercept.astype(np.float32)}
        self.parameters_ = _core.network_take(self.network_, tensors)

    def _linear_of_network(self) -> None:
        """``coef_`` and ``intercept_`` of a logistic network."""
        self.__dict__.pop("coef_", None)
        self.__dict__.pop("intercept_", None)
        tensors = list(self.state_dict().values())
        if len(tensors) != 2:
            return
        weight, bias = (t[: len(self.classes_)].astype(np.float64) for t in tensors)
        if len(self.classes_) == 2:
            weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
        self.coef_, self.intercept_ = weight, bias

    def _linear_metadata(self) -> dict[str, str]:
        """The coefficients as text that keeps every bit."""
        if not hasattr(self, "coef_"):
            return {}
        linear = {"version": LINEAR_VERSION, "coef": self.coef_.tolist(), "intercept": self.intercept_.tolist()}
        return {LINEAR: json.dumps(linear | {"classes": self.classes_.tolist()})}

    def _read_linear(self, metadata: Mapping[str, str], path: str) -> None:
        """Take the coefficients of a file; files of version 0.1 have none."""
        if LINEAR not in metadata:
            return
        linear = json.loads(metadata[LINEAR])
        if not 1 <= int(linear["version"]) <= LINEAR_VERSION:
            known = f"this package reads up to {LINEAR_VERSION}; update it"
            raise ValueError(f"{path} has a linear model of version {linear['version']}, {known}")
        self.coef_, self.intercept_ = np.array(linear["coef"]), np.array(linear["intercept"])
        self.classes_ = np.array(linear["classes"])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Logits: one number per sample for two classes (above 0: the second class), else one column per class."""
        logits = self._logits(X)
        decision: NDArray[np.float64] = logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits
        return decision

    def load_state_dict(self, state: State) -> Any:
        """As of the base class; ``coef_`` and ``intercept_`` follow the parameters."""
        super().load_state_dict(state)
        self._linear_of_network()
        return self

    def _logits(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            return super()._logits(X)
        rows = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        logits = margins(rows, self.coef_, self.intercept_)
        return np.concatenate([np.zeros_like(logits), logits], axis=1) if len(self.classes_) == 2 else logits
