"""The objective over groups, and its weights."""

from __future__ import annotations

from typing import Any

import torch

from ._answers import chi2_weights, cvar_weights, kl_weights, simplex_projection
from ._ranks import gathered, reduced, world

OVER_GROUPS = ("minmax-reg", "minmax", "group-dro", "tilted", "reweight", "normal")
OVER_SAMPLES = ("cvar", "chi2", "kl")
METHODS = OVER_GROUPS + OVER_SAMPLES


class GroupMinMax(torch.nn.Module):  # type: ignore[misc]
    """``max over t in the simplex of sum t_g L_g - lam/2 ||t||^2``, where ``L_g`` is the mean loss of group g in the batch.

    Call it with the loss of each sample and the group of each sample, from 0 to ``groups - 1``; call ``backward()`` on what it returns. The
    weights ``t`` are computed exactly, without a copy to the host, and kept in ``weights``. The gradient is that of ``sum t_g L_g``.

    - Overlapping groups: give a matrix with a row for each sample and a column for each group, True where the sample belongs to the group.
    - Groups that are missing from a batch have weight 0 in it. With ``momentum`` above 0 the weights come from running means of the group losses,
      for batches in which groups are small or missing.
    - Under ``DistributedDataParallel`` sums and counts are added over the ranks first, so that N ranks compute the objective of one process on the
      whole batch. Every rank must call it in every step, also with an empty batch.
    - ``reference_losses`` of the samples, if given, are subtracted (excess loss); means are taken within each group.
    - ``state_dict()`` has the weights and the running means.

    ``method`` is one of

    - over groups: ``"minmax-reg"`` (with ``lam``), ``"minmax"``, ``"group-dro"`` (exponentiated weights with ``rate``), ``"tilted"``
      (``softmax(tilt * L)``), ``"reweight"`` (equal weights), ``"normal"`` (shares of the samples);
    - over samples, whatever their group: ``"cvar"`` (the mean of the worst ``share``), ``"chi2"`` and ``"kl"`` (the largest mean over weights whose
      divergence from equal weights is at most ``radius``). Their ``weights`` are the sums over each group. Under several ranks all losses
      are gathered, and the host reads the largest batch size.
    """

    weights: Any
    means: Any

    def __init__(
        self,
        groups: int,
        lam: float = 0.1,
        method: str = "minmax-reg",
        *,
        rate: float = 0.01,
        tilt: float = 1.0,
        share: float = 0.5,
        radius: float = 1.0,
        momentum: float = 0.0,
    ) -> None:
        super().__init__()
        self.groups, self.lam, self.method, self.rate, self.tilt = groups, lam, method, rate, tilt
        self.share, self.radius, self.momentum = share, radius, momentum
        self._check_settings()
        self.register_buffer("weights", torch.full((groups,), 1.0 / groups))
        self.register_buffer("means", torch.full((groups,), float("nan")))

    def _check_settings(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method is {self.method!r}; give one of {', '.join(METHODS)}")
        if self.groups < 1:
            raise ValueError(f"groups = {self.groups} is not allowed: give at least 1")
        if not self.lam >= 0 or (self.method == "minmax-reg" and self.lam == 0):
            raise ValueError(f"lam = {self.lam} is not allowed: give a positive number, or method='minmax'")
        if not 0 < self.share <= 1:
            raise ValueError(f"share = {self.share} is not allowed: give a number above 0, at most 1")
        if not 0 <= self.radius < float("inf"):
            raise ValueError(f"radius = {self.radius} is not allowed: give 0 or a positive number")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum = {self.momentum} is not allowed: give a number from 0 to below 1")
        if self.momentum > 0 and self.method in OVER_SAMPLES:
            raise ValueError(f"momentum is for means of groups; method {self.method!r} weighs samples: leave momentum at 0")

    def forward(self, losses: Any, groups: Any, reference_losses: Any = None) -> Any:
        """The objective; its gradient is that of ``sum t_g L_g`` with the exact weights."""
        self._check(losses, groups, reference_losses)
        losses = losses if losses.dtype == torch.float64 else losses.float()  # sums of half precision lose the small groups
        if reference_losses is not None:
            losses = losses - reference_losses.detach().to(losses)
        return self._over_samples(losses, groups) if self.method in OVER_SAMPLES else self._over_groups(losses, groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}, lam={self.lam}, method={self.method!r}"

    def _over_groups(self, losses: Any, groups: Any) -> Any:
        sums, counts = totals(losses, groups, self.groups)
        total, count = reduced(sums.detach(), counts)
        present = count > 0
        divisor = torch.where(present, count, torch.ones_like(count))
        means = self._smoothed(total / divisor, present)
        weights = self._remember(self._chosen(means, present, count), count, total)
        # DistributedDataParallel takes the mean of the gradients over the ranks: the factor makes it their sum.
        own = world() * (weights * sums / divisor).sum()
        batch = torch.where(present, total / divisor, torch.where(torch.isinf(means), torch.zeros_like(means), means))
        value = (weights * batch).sum() - (0.5 * self.lam * (weights**2).sum() if self.method == "minmax-reg" else 0.0)
        value = torch.where(count.sum() > 0, value, torch.zeros_like(value))
        return own + (value - own).detach()

    def _over_samples(self, losses: Any, groups: Any) -> Any:
        everything, first = gathered(losses.detach())
        if self.method == "cvar":
            answer = cvar_weights(everything, self.share)
        else:
            answer = (chi2_weights if self.method == "chi2" else kl_weights)(everything, self.radius)
        weights = answer[first : first + len(losses)]
        of_groups, counts = totals(weights, groups, self.groups)
        of_groups, counts = reduced(of_groups, counts)
        self._remember(of_groups, counts, reduced(losses.detach().sum().reshape(1))[0])
        there = everything != float("-inf")
        value = torch.where(there, answer * everything, torch.zeros_like(answer)).sum()
        own = world() * (weights * losses).sum()
        return own + (value - own).detach()

    def _check(self, losses: Any, groups: Any, reference_losses: Any) -> None:
        overlapping = groups.dim() == 2 and groups.shape == (*losses.shape, self.groups)
        if losses.dim() != 1 or not (overlapping or groups.shape == losses.shape):
            raise ValueError(
                f"losses has shape {tuple(losses.shape)}, groups has shape {tuple(groups.shape)}; give one loss (reduction='none') and one "
                f"group for each sample, or a matrix with {self.groups} columns for groups that overlap"
            )
        if not losses.is_floating_point():
            raise TypeError(f"losses are {losses.dtype}; give floating-point numbers")
        if reference_losses is not None and reference_losses.shape != losses.shape:
            raise ValueError(f"reference_losses has shape {tuple(reference_losses.shape)}; give one for each of the {len(losses)} losses")
        if overlapping:
            return
        if groups.is_floating_point() or groups.dtype == torch.bool:
            raise TypeError(f"groups are {groups.dtype}; give whole numbers from 0 to {self.groups - 1}")
        if torch.compiler.is_compiling():
            # A check that needs no number on the host; `torch.compile` keeps it in the graph.
            torch._assert_async(((groups >= 0) & (groups < self.groups)).all(), f"groups: give whole numbers from 0 to {self.groups - 1}")
            return
        # On a GPU the index itself fails; reading it here would wait for the device.
        if groups.device.type == "cpu" and len(groups) and not (0 <= int(groups.min()) and int(groups.max()) < self.groups):
            raise ValueError(f"groups are from {int(groups.min())} to {int(groups.max())}; give whole numbers from 0 to {self.groups - 1}")

    def _smoothed(self, means: Any, present: Any) -> Any:
        """Means of the groups, running ones if ``momentum`` is set; -inf for a group that is not known."""
        unknown = torch.full_like(means, float("-inf"))
        if self.momentum == 0:
            return torch.where(present, means, unknown)
        before = self.means.to(means)
        moved = torch.where(torch.isnan(before), means, self.momentum * before + (1 - self.momentum) * means)
        moved = torch.where(present, moved, before)
        self.means = torch.where(present & ~torch.isfinite(moved), before, moved).detach()  # an overflow is not remembered
        return torch.where(torch.isnan(moved) & ~present, unknown, moved)

    def _chosen(self, means: Any, present: Any, count: Any) -> Any:
        """The weights that answer the group losses."""
        if self.method == "normal":
            return count / count.sum().clamp(min=1)
        if self.method == "reweight":
            return present.to(means) / present.sum().clamp(min=1)
        if self.method == "minmax":
            return torch.zeros_like(means).scatter(0, means.argmax().reshape(1), 1.0)
        if self.method == "minmax-reg":
            return simplex_projection(means / self.lam)
        if self.method == "tilted":
            return torch.softmax(self.tilt * means, 0)
        known = torch.where(means == float("-inf"), torch.zeros_like(means), means)
        moved = torch.log(self.weights.to(means)) + self.rate * known
        return torch.softmax(moved, 0)

    def _remember(self, weights: Any, count: Any, sums: Any) -> Any:
        """Keeps the weights of a batch that is not empty, unless a sum of losses is not finite: then a step that is skipped does no lasting harm."""
        before = self.weights.to(weights)
        weights = torch.where(count.sum() > 0, weights, before).detach()
        fine = torch.isfinite(weights).all() & torch.isfinite(sums).all()
        self.weights = torch.where(fine, weights, before)
        return weights

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # The buffers have the precision of the losses; loading must not round them.
        for name in ("weights", "means"):
            stored = state_dict.get(prefix + name)
            if stored is not None and stored.is_floating_point():
                setattr(self, name, getattr(self, name).to(stored.dtype))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def totals(losses: Any, groups: Any, count: int) -> tuple[Any, Any]:
    """The sum of the losses and the number of samples of each group; ``groups`` are ids or a matrix of membership."""
    if groups.dim() == 2:
        member = groups.to(losses)
        # Not a matrix product, which autocast computes in half precision.
        return (losses[:, None] * member).sum(0), member.sum(0)
    zeros = torch.zeros(count, device=losses.device, dtype=losses.dtype)
    return zeros.index_add(0, groups.long(), losses), zeros.index_add(0, groups.long(), torch.ones_like(losses))
