"""Robust training around any module: the finite maximum of targeted attacks, Madry's attack and TRADES."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import cross_entropy, kl_div, log_softmax

from ._answers import simplex_projection

OBJECTIVES = ("paper", "madry", "trades")


class RobustMax(torch.nn.Module):  # type: ignore[misc]
    """The loss of a classifier on its worst images within ``eps`` in every pixel. ``model`` is any module that gives logits.

    Call it with images and labels; call ``backward()`` on what it returns::

        objective = RobustMax(model, eps=0.1)
        for x, y in loader:
            loss = objective(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    ``method`` is one of

    - ``"paper"``: ``max over t in the simplex of sum t_j CE(x_j) - lam/2 ||t||^2``. ``x_j`` is the image attacked towards label j: ``steps``
      steps that increase the margin ``z_j - z_y``. The image of its own label is the clean one. The maximum over the attacks is exact.
    - ``"madry"``: ``CE(x')``, attacked without a target from a random start.
    - ``"trades"``: ``CE(x) + beta KL(f(x) || f(x'))``, attacked on the divergence.

    ``targets`` is ``"all"`` or a number N: the N targets with the largest loss after a probe, one step to the edge towards every target. A probe can
    miss the maximum.

    Each step is ``step_size`` (default ``eps / 4``) times the sign of the gradient, projected on the box around the image and on ``bounds``.
    The defaults are those of ``standoff robust``, and gradients do not pass through the attack, as there. Attacks run in eval mode, so that running statistics of batch
    normalisation do not change; the loss uses the mode that the module is in. ``reduction="none"`` gives a loss for each image, for instance for
    ``GroupMinMax``. Under several ranks wrap the whole objective: ``DistributedDataParallel(RobustMax(model, eps))``. The result is as good as
    the attack; measure the trained network with other attacks.
    """

    def __init__(
        self,
        model: Any,
        eps: float,
        targets: str | int = "all",
        method: str = "paper",
        *,
        steps: int = 11,
        step_size: float | None = None,
        lam: float = 0.0,
        beta: float = 1.0,
        bounds: tuple[float, float] = (0.0, 1.0),
        reduction: str = "mean",
        generator: Any = None,
    ) -> None:
        super().__init__()
        if method not in OBJECTIVES:
            raise ValueError(f"method is {method!r}; give one of {', '.join(OBJECTIVES)}")
        if not (targets == "all" or (isinstance(targets, int) and targets >= 1)):
            raise ValueError(f"targets = {targets!r} is not allowed: give 'all' or a number from 1")
        if reduction not in ("mean", "none"):
            raise ValueError(f"reduction is {reduction!r}; give 'mean' or 'none'")
        size = eps / 4 if step_size is None else step_size
        for name, number in (("eps", eps), ("step_size", size), ("lam", lam), ("beta", beta)):
            if not 0 <= number < float("inf"):
                raise ValueError(f"{name} = {number} is not allowed: give 0 or a positive number")
        if steps < 0 or not bounds[0] < bounds[1]:
            raise ValueError(f"steps = {steps}, bounds = {bounds} are not allowed: give steps from 0 and bounds (low, high) with low < high")
        self.model, self.eps, self.targets, self.method = model, eps, targets, method
        self.steps, self.step_size, self.lam, self.beta = steps, size, lam, beta
        self.bounds, self.reduction, self.generator = bounds, reduction, generator

    def forward(self, x: Any, y: Any) -> Any:
        """The mean of the losses, or with ``reduction="none"`` the loss of each image."""
        losses = {"paper": self._paper, "madry": self._madry, "trades": self._trades}[self.method](x, y)
        return losses.mean() if self.reduction == "mean" else losses

    def attack(self, x: Any, y: Any) -> Any:
        """The attacked images of the method; of ``"paper"`` those with the largest loss."""
        with _eval(self.model):
            if self.method == "paper":
                images, losses = self._corners(x, y)
                best = losses.argmax(0)
                return images[best, torch.arange(len(x), device=x.device)]
            return self._attack_once(x, y)

    def _attack_once(self, x: Any, y: Any) -> Any:
        noise = 2 * torch.rand(x.shape, device=x.device, dtype=x.dtype, generator=self.generator) - 1
        if self.method == "madry":
            return self._climb(x, x + self.eps * noise, lambda z: cross_entropy(z, y, reduction="sum"))
        with torch.no_grad():
            clean = log_softmax(self.model(x), 1)
        # Within 0.001 of the image: at the image itself the divergence has no slope.
        return self._climb(x, x + min(self.eps, 0.001) * noise, lambda z: _divergence(clean, z).sum())

    def _paper(self, x: Any, y: Any) -> Any:
        with _eval(self.model):
            images, losses = self._corners(x, y)
        if self.lam == 0:
            best = losses.argmax(0)
            worst = images[best, torch.arange(len(x), device=x.device)]
            return cross_entropy(self.model(worst), y, reduction="none")
        count = len(images)
        logits = self.model(images.flatten(0, 1))
        found = cross_entropy(logits, y.repeat(count), reduction="none").reshape(count, len(x))
        weights = torch.vmap(simplex_projection, in_dims=1, out_dims=1)(found.detach() / self.lam)
        return (weights * found).sum(0) - (0.5 * self.lam * weights**2).sum(0)

    def _madry(self, x: Any, y: Any) -> Any:
        return cross_entropy(self.model(self.attack(x, y)), y, reduction="none")

    def _trades(self, x: Any, y: Any) -> Any:
        moved = self.attack(x, y)
        clean = self.model(x)
        return cross_entropy(clean, y, reduction="none") + self.beta * _divergence(log_softmax(clean, 1), self.model(moved))

    def _corners(self, x: Any, y: Any) -> tuple[Any, Any]:
        """The clean images and those attacked towards each target, ``[1 + targets, images, ...]``, and their losses."""
        with torch.no_grad():
            logits = self.model(x)
        if logits.dim() != 2:
            raise ValueError(f"the model gives outputs of shape {tuple(logits.shape)}; RobustMax needs logits (images, classes)")
        others = torch.arange(logits.shape[1] - 1, device=x.device)[:, None]
        labels = others + (others >= y)  # every label but the own one: [target, image]
        if isinstance(self.targets, int) and self.targets < len(labels):
            probes = torch.stack([self._losses(self._towards(x, y, label, 1, self.eps), y) for label in labels])
            labels = labels.gather(0, probes.topk(self.targets, 0).indices)
        images = torch.stack([x, *(self._towards(x, y, label, self.steps, self.step_size) for label in labels)])
        losses = torch.stack([cross_entropy(logits, y, reduction="none"), *(self._losses(moved, y) for moved in images[1:])])
        return images, losses

    def _losses(self, x: Any, y: Any) -> Any:
        with torch.no_grad():
            return cross_entropy(self.model(x), y, reduction="none")

    def _towards(self, x: Any, y: Any, label: Any, steps: int, size: float) -> Any:
        def margin(z: Any) -> Any:
            return (z.gather(1, label[:, None]) - z.gather(1, y[:, None])).sum()

        return self._climb(x, x, margin, steps, size)

    def _climb(self, x: Any, start: Any, objective: Any, steps: int | None = None, size: float | None = None) -> Any:
        """Sign steps that increase ``objective`` of the logits, inside the box around x."""
        low, high = (x - self.eps).clamp(*self.bounds), (x + self.eps).clamp(*self.bounds)
        moved = torch.minimum(torch.maximum(start, low), high).detach()
        for _ in range(self.steps if steps is None else steps):
            moved.requires_grad_(True)
            with torch.enable_grad():
                (slope,) = torch.autograd.grad(objective(self.model(moved)), moved)
            stepped = moved.detach() + (self.step_size if size is None else size) * slope.sign()
            moved = torch.minimum(torch.maximum(stepped, low), high)
        return moved.detach()


def _divergence(clean: Any, logits: Any) -> Any:
    """``KL(clean || softmax(logits))`` of each image; ``clean`` are logarithms."""
    return kl_div(log_softmax(logits, 1), clean, reduction="none", log_target=True).sum(1)


@contextmanager
def _eval(model: Any) -> Iterator[None]:
    """Every part of the model in eval mode; afterwards each has its own mode again."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode
