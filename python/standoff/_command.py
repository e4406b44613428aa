"""The command ``standoff``, as ``pip install`` puts it on the path and as ``python -m standoff`` runs it."""

from __future__ import annotations

import sys

from . import _core


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit code."""
    return _core.command(["standoff", *sys.argv[1:]])
