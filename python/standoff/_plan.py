"""``noise_plan``: batch sizes for noisy gradients in x, from the theorem in docs/measures.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core


def noise_plan(constants: Mapping[str, float], noise: float, eps: float = 1e-3) -> list[dict[str, Any]]:
    """Batch sizes M, iterations T and samples that make ``E X <= eps`` at an iteration drawn uniformly, and ``Y <= eps`` at each.

    ``constants`` are those of ``solve`` (``l11, l12, l22, delta_g, delta``, and ``mu`` or ``radius_y``); ``noise`` is the standard
    deviation of the gradient in x of one sample, of the whole vector. y answers with full gradients: exactly (``"exact"``), by an
    inner loop before the batch is drawn (``"unbiased"``), or anyhow (``"dependent"``). An algorithm that lacks a constant has a
    ``problem`` instead.

    >>> import standoff
    >>> rows = standoff.noise_plan({"l11": 1, "l12": 1, "l22": 1, "mu": 1, "delta_g": 1, "delta": 1}, noise=0.5, eps=0.1)
    >>> rows[0]["answer"], rows[0]["M"], rows[0]["T"]
    ('exact', 3600.0, 12800.0)
    """
    return _core.noise_plan({k.lower(): float(v) for k, v in constants.items()}, float(eps), float(noise))
