"""Sums and losses over the ranks of a process group; a single process exchanges nothing."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist


def world() -> int:
    """Number of ranks; 1 without a process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def reduced(*vectors: Any) -> list[Any]:
    """The sums over all ranks in one message; the vectors themselves in a single process."""
    if world() == 1:
        return list(vectors)
    together = torch.cat(vectors)
    dist.all_reduce(together)
    return list(torch.split(together, [len(v) for v in vectors]))


def gathered(losses: Any) -> tuple[Any, int]:
    """The losses of all ranks with -inf where a rank has fewer than another, and the place of the first one of this rank.

    With several ranks the host reads the largest batch size.
    """
    if world() == 1:
        return torch.cat([losses, losses.new_full((1,), float("-inf"))]), 0
    size = torch.tensor([len(losses) + 1], device=losses.device)
    dist.all_reduce(size, op=dist.ReduceOp.MAX)
    width = int(size)
    own = torch.cat([losses, losses.new_full((width - len(losses),), float("-inf"))])
    parts = [torch.empty_like(own) for _ in range(world())]
    dist.all_gather(parts, own)
    return torch.cat(parts), dist.get_rank() * width
