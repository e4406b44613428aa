"""Groups of samples, from the features that define them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._network import count

from sklearn.utils.validation import check_consistent_length  # isort: skip  (after _network, which words its absence)


def grouped(
    sensitive: ArrayLike | None, y: NDArray[Any], X: NDArray[Any], by_label: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distinct groups, and the group of each sample; ``by_label`` crosses them with the label."""
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
    if by_label:
        sensitive = np.column_stack([sensitive.astype(str), np.asarray(y).astype(str)])
    found, groups = np.unique(sensitive, return_inverse=True, axis=0)
    count(found, "groups")
    return found, np.asarray(groups).reshape(-1)


def warn_of_groups(names: list[str], sizes: list[int], given: bool) -> None:
    """Warn of groups that were not chosen, and of groups that one sample decides."""
    if not given:
        text = "sensitive_features is absent, so the classes are the groups; give it, or by_label=True to say that this is meant"
        warnings.warn(text, stacklevel=4)
    single = [name for name, size in zip(names, sizes, strict=True) if size == 1]
    if single:
        more = f" and {len(single) - 3} more" if len(single) > 3 else ""
        text = f"groups of one sample: {'; '.join(single[:3])}{more}; one sample may decide the model, merge such groups"
        warnings.warn(text, stacklevel=4)


def _has_nan(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _missing(value: Any) -> bool:
    """True for the missing values of Python, NumPy and pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
