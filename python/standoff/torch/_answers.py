"""The weights that answer given losses exactly: projections and divergence balls, on the device of the losses and without a copy to the host.

Entries of -inf mean "not there" and get weight 0. A NaN among the losses gives NaN.
"""

from __future__ import annotations

from typing import Any

import torch


def simplex_projection(v: Any) -> Any:
    """The point of the simplex nearest to the vector ``v``. Entries of -inf get weight 0. Stays on the device of ``v``."""
    ordered = torch.sort(v, descending=True).values
    counts = torch.arange(1, len(v) + 1, device=v.device, dtype=v.dtype)
    excess = torch.cumsum(torch.nan_to_num(ordered, nan=float("nan"), neginf=0.0), 0) - 1
    inside = ordered > excess / counts
    # `gather` instead of an index: an index that is a tensor on a GPU would be copied to the host.
    last = (inside.sum() - 1).clamp(min=0).reshape(1)
    return torch.clamp(v - (excess / counts).gather(0, last), min=0.0)


def _sorted(losses: Any) -> tuple[Any, Any, Any]:
    """The losses below their maximum in descending order, their places, and how many are there."""
    n = (losses != float("-inf")).sum().to(losses.dtype)
    shifted = losses - losses.max()  # all -inf gives NaN, which `_kept` removes
    ordered, places = torch.sort(shifted, descending=True, stable=True)
    return ordered, places, n


def _kept(weights: Any, losses: Any) -> Any:
    """Weight 0 for what is not there, NaN if a loss is NaN or infinite."""
    there = losses != float("-inf")
    bad = (torch.isnan(losses) | (losses == float("inf"))).any()
    weights = torch.where(there, weights, torch.zeros_like(weights))
    return torch.where(bad, torch.full_like(weights, float("nan")), weights)


def cvar_weights(losses: Any, share: float) -> Any:
    """``argmax sum t_i l_i`` over weights of at most ``1 / (share n)`` that sum to 1: the mean of the worst ``share`` of the samples."""
    ordered, places, n = _sorted(losses)
    cap = (1 / (share * n.clamp(min=1))).clamp(max=1.0)
    before = cap * torch.arange(len(losses), device=losses.device, dtype=losses.dtype)
    taken = torch.minimum((1 - before).clamp(min=0.0), cap)
    return _kept(torch.zeros_like(losses).scatter(0, places, taken), losses)


def chi2_weights(losses: Any, radius: float) -> Any:
    """``argmax sum t_i l_i`` over weights with ``mean((n t_i - 1)^2) / 2 <= radius`` that sum to 1.

    The answer is proportional to ``max(l_i - eta, 0)``. Among the sorted losses the ratio ``h(eta) = mean((l - eta)_+^2) / mean((l - eta)_+)^2``
    grows with eta, so the samples above eta are those where it is at least ``1 + 2 radius``.
    """
    ordered, places, n = _sorted(losses)
    level = 1 + 2 * radius
    d = torch.where(torch.isfinite(ordered), ordered, torch.zeros_like(ordered))
    k = torch.arange(1, len(losses) + 1, device=losses.device, dtype=losses.dtype)
    first, second = torch.cumsum(d, 0), torch.cumsum(d * d, 0)
    s1, s2 = first - k * d, second - 2 * d * first + k * d * d
    ratio = torch.where(s1 > 0, n * s2 / torch.where(s1 > 0, s1 * s1, torch.ones_like(s1)), torch.full_like(s1, float("inf")))
    ratio = torch.where(torch.isfinite(ordered), ratio, torch.zeros_like(ratio))
    active = (ratio >= level).sum().clamp(min=1)
    at = (active - 1).reshape(1)
    mean = first.gather(0, at) / active
    variance = (second.gather(0, at) / active - mean * mean).clamp(min=0.0)
    room = (n * (level - n / active) / active).clamp(min=0.0)
    slope = torch.where(variance > 0, torch.sqrt(room / torch.where(variance > 0, variance, torch.ones_like(variance))), torch.zeros_like(variance))
    found = torch.where(k <= active, (n / active + slope * (d - mean)).clamp(min=0.0), torch.zeros_like(d))
    found = found / found.sum()
    return _kept(torch.zeros_like(losses).scatter(0, places, found), losses)


def kl_weights(losses: Any, radius: float) -> Any:
    """``argmax sum t_i l_i`` over weights with ``sum t_i log(n t_i) <= radius`` that sum to 1: ``softmax(l / temperature)``.

    The divergence falls as the temperature grows. Its logarithm is found on a grid that is refined seven times, so nothing depends on a value
    that the host would have to read.
    """
    there = losses != float("-inf")
    n = there.sum().to(losses.dtype)
    d = torch.where(there, losses - losses.max(), torch.zeros_like(losses))
    spread = (-d).max()
    unit = d / torch.where(spread > 0, spread, torch.ones_like(spread))
    low, high = torch.full_like(n, -30.0).reshape(1), torch.full_like(n, 15.0).reshape(1)
    steps = torch.linspace(0, 1, 64, device=losses.device, dtype=losses.dtype)
    for _ in range(7):
        grid = low + (high - low) * steps
        scaled = torch.where(there, unit / torch.exp(grid)[:, None], torch.full_like(unit, float("-inf")))
        logs = torch.log_softmax(scaled, 1)
        terms = torch.where(there, torch.exp(logs) * logs, torch.zeros_like(logs))
        inside = terms.sum(1) + torch.log(n) <= radius
        first = (~inside).sum().clamp(max=len(steps) - 1).reshape(1)
        low, high = grid.gather(0, (first - 1).clamp(min=0)), grid.gather(0, first)
    logits = torch.where(there, unit / torch.exp(high), torch.full_like(unit, float("-inf")))
    return _kept(torch.softmax(logits, 0), losses)
