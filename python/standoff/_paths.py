"""Paths of files that the extension reads."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def existing(path: str | os.PathLike[str]) -> Path:
    """The path, if something is there; else the error that ``open`` would raise, with the path in it."""
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return Path(path)
