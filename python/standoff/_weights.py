"""Safetensors files and dictionaries of tensors with the names of PyTorch; PyTorch is not needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._paths import existing


def as_tensors(state: Mapping[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Contiguous float32 arrays by name, from arrays or from tensors of PyTorch."""
    if not isinstance(state, Mapping):
        raise TypeError(f"a dictionary of arrays by name is needed, got {type(state).__name__}")
    return {str(name): np.asarray(_plain(value), dtype=np.float32, order="C") for name, value in state.items()}


def _plain(value: Any) -> Any:
    detach = getattr(value, "detach", None)  # a tensor that requires gradients must be detached first
    return detach().cpu().numpy() if callable(detach) else value


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, NDArray[np.float32]]:
    """Every tensor of a file by name, as float32.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.safetensors"
    >>> save_safetensors({"fc1.bias": [1.0, 2.0]}, file)
    >>> load_safetensors(file)
    {'fc1.bias': array([1., 2.], dtype=float32)}
    """
    return _core.tensors_load(existing(path))[0]


def save_safetensors(
    tensors: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays by name, as float32. An old file is replaced only when the new one is complete."""
    _core.tensors_save(Path(path), as_tensors(tensors), dict(metadata or {}))
