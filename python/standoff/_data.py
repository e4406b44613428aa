"""Data as the command reads it: CSV tables, divided and prepared, and IDX images."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._result import Result

Names = str | Iterable[str] | None


def _list(names: Names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def read_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    group: Names = None,
    *,
    features: Names = None,
    categorical: Names = None,
    test_split: float = 0.2,
    seed: int = 0,
    header: bool | None = None,
    like: Any = None,
) -> Result:
    """A CSV file as ``standoff fair`` reads it: numbers standardised by the training rows, one feature per category.

    Parameters
    ----------
    label, group, features, categorical
        Columns: what to predict, whose values make the groups (those of the label if None), what to learn from (all but the
        label), what are categories though they look like numbers.
    test_split, seed
        The share of rows to judge by, and what decides which.
    header : bool, optional
        Whether the first row holds names; found out if None.
    like : FairClassifier or str, optional
        Prepare the rows as those of this classifier (or by this ``preprocessing``) were: everything else is known then.

    Returns
    -------
    Result
        ``X``, ``y``, ``groups`` (numbers that count in ``classes`` and ``group_names``), ``feature_names``,
        ``preprocessing`` for ``FairClassifier.save``, and ``test`` with ``X``, ``y`` and ``groups`` of its own. What one
        should know is warned of.
    """
    if like is not None:
        known = like if isinstance(like, str) else getattr(like, "preprocessing_", None)
        if known is None:
            raise ValueError("that classifier does not know how its features were prepared: it was not loaded from a file of a table")
        raw = _core.table_prepare(Path(path), known)
    elif label is None:
        raise TypeError("which column is to be predicted? Name it: label=...")
    else:
        wish = {
            "label": label,
            "group": _list(group),
            "features": _list(features),
            "categorical": _list(categorical),
            "test": float(test_split),
            "seed": int(seed),
            "header": header,
        }
        raw = _core.table_read(Path(path), wish)
        raw["test"] = Result(raw["test"])
    for text in raw.pop("warnings"):
        warnings.warn(text, stacklevel=2)
    return Result(raw)


def read_images(
    images: str | os.PathLike[str], labels: str | os.PathLike[str]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A pair of IDX files, plain or gzip, as MNIST comes: images ``(N, rows, columns)`` and labels, both bytes."""
    raw = _core.images_read(Path(images), Path(labels))
    return raw["X"], raw["y"]
