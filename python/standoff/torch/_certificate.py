"""X and Y of a model on all data of a loader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from .._result import Certificate
from ._answers import simplex_projection
from ._groups import totals
from ._ranks import reduced


def _moved(batch: Any, device: Any) -> Any:
    """Tensors of a batch on the device of the model, also inside tuples, lists and dictionaries."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device)
    if isinstance(batch, (tuple, list)):
        return type(batch)(_moved(part, device) for part in batch)
    if hasattr(batch, "items"):
        return {name: _moved(part, device) for name, part in batch.items()}
    return batch


def certificate(
    model: Any, loader: Iterable[tuple[Any, Any, Any]], loss: Callable[[Any, Any], Any], groups: int, lam: float = 0.0, radius: float = 1.0
) -> Certificate:
    """X and Y of ``min over W, max over t, of sum t_g L_g(W)`` on all data of ``loader``, at the weights t that answer W.

    ``loader`` gives ``(x, y, group)`` and is read twice, in the same order; ``loss(outputs, y)`` gives one loss per sample. X is the norm of the
    gradient in W times ``radius``; Y is the most that other weights gain by a step of length at most ``radius``, bounded by the whole simplex.
    Both hold for the gradients as PyTorch computes them (``as-computed``). The model is used in the mode (train or eval) that it is in: call
    ``model.eval()`` first if it has dropout or batch normalisation. Under several ranks each rank gives its own part of the data.
    """
    model = model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("the model has no parameter with requires_grad: there is nothing to certify")
    if not 0 < radius < float("inf"):
        raise ValueError(f"radius = {radius} is not allowed: give a positive number")
    device = parameters[0].device
    sums = torch.zeros(groups, device=device, dtype=torch.float64)
    counts = torch.zeros_like(sums)
    with torch.no_grad():
        for batch in loader:
            x, y, g = _moved(batch, device)
            for part, found in zip((sums, counts), totals(loss(model(x), y).to(sums), g, groups), strict=True):
                part += found
    sums, counts = reduced(sums, counts)
    if bool((counts == 0).any()):
        raise ValueError(f"the data has no sample of the groups {torch.nonzero(counts == 0).flatten().tolist()}")
    means = sums / counts
    weights = simplex_projection(means / lam) if lam > 0 else torch.nn.functional.one_hot(means.argmax(), groups).to(means)
    x_gap = radius * float(_gradient(model, parameters, loader, loss, weights / counts).norm())
    # The largest gain of weights over the simplex; the norm of the part of L that sums to zero bounds it for short steps.
    whole = float(means.max() - (weights * means).sum())
    short = radius * float((means - means.mean()).norm())
    y_gap = max(min(whole, short), 0.0) if whole == whole and short == short else float("nan")
    return Certificate(x_gap, x_gap, 0.0 if y_gap == y_gap else y_gap, y_gap, radius)


def _gradient(model: Any, parameters: list[Any], loader: Any, loss: Callable[[Any, Any], Any], shares: Any) -> Any:
    """The gradient of the weighted losses over all data and ranks, in float64."""
    gradient = torch.zeros(sum(p.numel() for p in parameters), device=shares.device, dtype=torch.float64)
    for batch in loader:
        x, y, g = _moved(batch, shares.device)
        losses = loss(model(x), y)
        own = g.to(shares) @ shares if g.dim() == 2 else shares[g.long()]
        found = torch.autograd.grad((own.to(losses) * losses).sum(), parameters, allow_unused=True)
        parts = [torch.zeros_like(p) if d is None else d for p, d in zip(parameters, found, strict=True)]
        gradient += torch.cat([d.reshape(-1) for d in parts]).to(gradient)
    return reduced(gradient)[0]
