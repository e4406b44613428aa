"""Warnings about the precision of functions, and the gradient error that a user states."""

from __future__ import annotations

import math
import warnings

from . import _core

LOW_PRECISION = (
    "your functions return {dtype}: the certificate includes an estimate of the rounding errors of their gradients, and an eps below "
    "those cannot be reached. Compute in float64: with JAX call jax.config.update(\"jax_enable_x64\", True) before anything else, with "
    "PyTorch use model.double(), otherwise return float64"
)
UNUSED = "grad_error is not used: a formula game bounds the rounding errors of its gradients itself"


def stated(grad_error: float | None) -> float | None:
    """Checks the bound that a user states."""
    if grad_error is None:
        return None
    if not (grad_error >= 0 and math.isfinite(grad_error)):
        raise ValueError(f"grad_error = {grad_error} is not allowed: it must be zero or a positive number")
    return float(grad_error)


def noted(core: _core.Game, grad_error: float | None, stacklevel: int = 3) -> list[str]:
    """The warnings of a result: those of the game, and about the precision of its functions."""
    found = list(core.warnings)
    if grad_error is not None and core.encloses:
        found.append(UNUSED)
    if core.low_precision is not None:
        found.append(LOW_PRECISION.format(dtype=core.low_precision))
        warnings.warn(found[-1], stacklevel=stacklevel)
    return found
