"""Data read as the command reads it: CSV tables, split and encoded, and IDX images."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._frames import table_source
from ._paths import existing
from ._result import Result

Names = str | Iterable[str] | None


def _list(names: Names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def read_table(
    table: Any,
    label: str | None = None,
    group: Names = None,
    *,
    features: Names = None,
    categorical: Names = None,
    test_split: float = 0.2,
    seed: int = 0,
    header: bool | None = None,
    skip_lines: int = 0,
    like: Any = None,
) -> Result:
    """Read a table as ``standoff fair`` does: numbers are standardised by the training rows, each category is a feature.

    Parameters
    ----------
    table : path or data frame
        A CSV file (plain or gzip), a Parquet file (needs pyarrow or polars), or a data frame of pandas, polars or Arrow. Columns of
        categories and truth values in a frame are categorical, whatever they look like.
    label, group, features, categorical
        Names of columns: the label to predict; the columns whose values make the groups (default: the label); the features (default:
        all but the label); numeric columns to be read as categories.
    test_split, seed
        The share of test rows, and the seed of the split.
    header : bool, optional
        True if the first row has names; detected by default.
    skip_lines : int
        The number of lines before the table in a CSV file.
    like : FairClassifier or str, optional
        Encode the rows by the preprocessing of this classifier, or by this ``preprocessing``; the other arguments are not needed then.

    Returns
    -------
    Result
        ``X``, ``y``, ``groups`` (indices into ``classes`` and ``group_names``), ``feature_names``,
        ``preprocessing`` for ``FairClassifier.save``, and ``test`` with its own ``X``, ``y`` and ``groups``.
    """
    source, words = table_source(table)
    if like is not None:
        known = like if isinstance(like, str) else getattr(like, "preprocessing_", None)
        if known is None:
            raise ValueError("this classifier has no preprocessing: it was not loaded from a model file of a table")
        raw = _core.table_prepare(source, known)
    elif label is None:
        raise TypeError("label is missing: name the column to predict")
    else:
        request = {
            "label": label,
            "group": _list(group),
            "features": _list(features),
            "categorical": [*_list(categorical), *(name for name in words if name != label)],
            "test": float(test_split),
            "seed": int(seed),
            "header": header,
            "skip_lines": int(skip_lines),
        }
        raw = _core.table_read(source, request)
        raw["test"] = Result(raw["test"])
    for text in raw.pop("warnings"):
        warnings.warn(text, stacklevel=2)
    return Result(raw)


def read_images(
    images: str | os.PathLike[str], labels: str | os.PathLike[str]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read a pair of IDX files, plain or gzip, such as MNIST: images ``(N, rows, columns)`` and labels, both uint8."""
    raw = _core.images_read(existing(images), existing(labels))
    return raw["X"], raw["y"]
