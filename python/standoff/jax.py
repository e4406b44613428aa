"""The min-max objective over groups as pure functions of JAX, under ``jit``, ``grad``, ``vmap``, ``pmap`` and ``shard_map``.

JAX is imported by this module only::

    from standoff.jax import group_minmax, group_state

    def objective(params, state, x, y, g):
        return group_minmax(losses(params, x, y), g, state, lam=0.1)

    state = group_state(3)
    (value, state), gradient = jax.value_and_grad(objective, has_aux=True)(params, state, x, y, g)
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:  # pragma: no cover
    raise ImportError("standoff.jax needs JAX: pip install jax") from error

OVER_GROUPS = ("minmax-reg", "minmax", "group-dro", "tilted", "reweight", "normal")
OVER_SAMPLES = ("cvar", "chi2", "kl")
METHODS = OVER_GROUPS + OVER_SAMPLES

__all__ = ["METHODS", "GroupState", "chi2_weights", "cvar_weights", "group_minmax", "group_state", "kl_weights", "simplex_projection"]


class GroupState(NamedTuple):
    """The weights of the groups in the last step and the running means of their losses (NaN: not seen yet)."""

    weights: Any
    means: Any


def group_state(groups: int, dtype: Any = None) -> GroupState:
    """The state before the first step: equal weights, no running means."""
    if groups < 1:
        raise ValueError(f"groups = {groups} is not allowed: give at least 1")
    kind = jnp.zeros(0, dtype).dtype if dtype is None else dtype
    return GroupState(jnp.full(groups, 1.0 / groups, kind), jnp.full(groups, jnp.nan, kind))


def group_minmax(
    losses: Any,
    groups: Any,
    state: GroupState,
    *,
    lam: float = 0.1,
    method: str = "minmax-reg",
    rate: float = 0.01,
    tilt: float = 1.0,
    share: float = 0.5,
    radius: float = 1.0,
    momentum: float = 0.0,
    reference_losses: Any = None,
    axis_name: Any = None,
) -> tuple[Any, GroupState]:
    """``max over t in the simplex of sum t_g L_g - lam/2 ||t||^2`` and the new state; ``L_g`` is the mean loss of group g in the batch.

    The parameters and methods are those of ``standoff.torch.GroupMinMax``: ``groups`` are ids from 0 or, if groups overlap, a matrix with a row for
    each sample and a column for each group. The derivative is that of ``sum t_g L_g`` with the exact weights. Ids outside the range are refused;
    inside ``jit``, where values cannot be read, they make the value NaN.

    With ``axis_name`` (of ``pmap``, ``shard_map`` or ``vmap``) sums, counts and losses are combined over that axis, so that N devices compute the
    objective of the whole batch. Under ``pmap`` take ``jax.lax.pmean`` of the gradients. ``shard_map`` adds them itself if the parameters are
    replicated.
    """
    _check(losses, groups, state, method, lam, share, momentum)
    if losses.dtype != jnp.float64:
        losses = losses.astype(jnp.float32)
    if reference_losses is not None:
        losses = losses - jax.lax.stop_gradient(reference_losses)
    if groups.ndim == 1:
        losses = jnp.where(_inside(groups, len(state.weights)), losses, jnp.nan)
    if method in OVER_SAMPLES:
        return _over_samples(losses, groups, state, (method, share, radius), axis_name)
    sums, count = _totals(losses, groups, len(state.weights))
    if axis_name is not None:
        sums, count = jax.lax.psum((sums, count), axis_name)
    count = jax.lax.stop_gradient(count)
    present = count > 0
    means = sums / jnp.where(present, count, 1)
    state, known = _smoothed(state, jax.lax.stop_gradient(means), present, momentum)
    weights = _chosen(state, known, count, (method, lam, rate, tilt))
    weights = jnp.where(count.sum() > 0, weights, state.weights)
    batch = jnp.where(present, means, jnp.where(jnp.isinf(known), 0, known))
    value = _envelope(batch, weights)
    if method == "minmax-reg":
        value = value - 0.5 * lam * (weights**2).sum()
    return jnp.where(count.sum() > 0, value, 0.0), _remembered(state, weights)


@jax.custom_jvp
def _envelope(losses: Any, weights: Any) -> Any:
    """``sum t_i l_i``; by the envelope theorem the weights, which are the best ones, have no part in its derivative."""
    return (weights * losses).sum()


@_envelope.defjvp
def _envelope_jvp(primals: Any, tangents: Any) -> Any:
    losses, weights = primals
    return _envelope(losses, weights), (weights * tangents[0]).sum()


def _over_samples(losses: Any, groups: Any, state: GroupState, rule: Any, axis_name: Any) -> tuple[Any, GroupState]:
    method, share, radius = rule
    everything = losses if axis_name is None else jax.lax.all_gather(losses, axis_name, tiled=True)
    fixed = jax.lax.stop_gradient(everything)
    if fixed.size == 0:
        return losses.sum(), state
    weights = cvar_weights(fixed, share) if method == "cvar" else (chi2_weights if method == "chi2" else kl_weights)(fixed, radius)
    own = weights
    if axis_name is not None:
        own = jax.lax.dynamic_slice_in_dim(weights, jax.lax.axis_index(axis_name) * len(losses), len(losses))
    of_groups, _ = _totals(own, groups, len(state.weights))
    value = _envelope(losses, own)
    if axis_name is not None:
        of_groups, value = jax.lax.psum((of_groups, value), axis_name)
    return value, _remembered(state, of_groups)


def _check(losses: Any, groups: Any, state: GroupState, method: str, lam: float, share: float, momentum: float) -> None:
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; give one of {', '.join(METHODS)}")
    if losses.ndim != 1 or groups.shape not in (losses.shape, (*losses.shape, len(state.weights))):
        raise ValueError(
            f"losses has shape {losses.shape}, groups has shape {groups.shape}; give one loss and one group for each sample, or a matrix with "
            f"{len(state.weights)} columns for groups that overlap"
        )
    if groups.ndim == 1 and not jnp.issubdtype(groups.dtype, jnp.integer):
        raise TypeError(f"groups are {groups.dtype}; give whole numbers from 0 to {len(state.weights) - 1}")
    for name, number, allowed in (("lam", lam, "a positive number, or method='minmax'"), ("share", share, "a number above 0, at most 1")):
        if isinstance(number, (int, float)) and ((name == "lam" and method == "minmax-reg" and not number > 0) or (name == "share" and not 0 < number <= 1)):
            raise ValueError(f"{name} = {number} is not allowed: give {allowed}")
    if not (isinstance(momentum, (int, float)) and 0 <= momentum < 1):
        raise ValueError(f"momentum = {momentum} is not allowed: give a number from 0 to below 1")
    if momentum > 0 and method in OVER_SAMPLES:
        raise ValueError(f"momentum is for means of groups; method {method!r} weighs samples: leave momentum at 0")


def _inside(groups: Any, count: int) -> Any:
    """True if all ids are in the range; JAX would ignore or wrap others. Raises where the ids can be read."""
    inside = ((groups >= 0) & (groups < count)).all()
    if not isinstance(inside, jax.core.Tracer) and not bool(inside):
        raise ValueError(f"groups are from {int(groups.min())} to {int(groups.max())}; give whole numbers from 0 to {count - 1}")
    return inside


def _totals(losses: Any, groups: Any, count: int) -> tuple[Any, Any]:
    if groups.ndim == 2:
        member = groups.astype(losses.dtype)
        return losses @ member, member.sum(0)
    total = partial(jax.ops.segment_sum, segment_ids=groups, num_segments=count)
    return total(losses), total(jnp.ones_like(losses))


def _smoothed(state: GroupState, means: Any, present: Any, momentum: float) -> tuple[GroupState, Any]:
    """The state with new running means, and the means that the weights answer; -inf for a group that is not known."""
    if momentum == 0:
        return state, jnp.where(present, means, -jnp.inf)
    moved = jnp.where(jnp.isnan(state.means), means, momentum * state.means + (1 - momentum) * means)
    moved = jnp.where(present, moved, state.means)
    kept = jnp.where(present & ~jnp.isfinite(moved), state.means, moved).astype(state.means.dtype)
    return state._replace(means=kept), jnp.where(jnp.isnan(moved) & ~present, -jnp.inf, moved)


def _chosen(state: GroupState, means: Any, count: Any, rule: Any) -> Any:
    """The weights that answer the group losses."""
    method, lam, rate, tilt = rule
    if method == "normal":
        return count / jnp.maximum(count.sum(), 1)
    if method == "reweight":
        return (count > 0) / jnp.maximum((count > 0).sum(), 1)
    if method == "minmax":
        return jax.nn.one_hot(jnp.argmax(means), len(means), dtype=means.dtype)
    if method == "minmax-reg":
        return simplex_projection(means / lam)
    if method == "tilted":
        return jax.nn.softmax(tilt * means)
    return jax.nn.softmax(jnp.log(state.weights) + rate * jnp.where(jnp.isneginf(means), 0, means))


def _remembered(state: GroupState, weights: Any) -> GroupState:
    """The state with new weights, unless one is NaN."""
    kept = jnp.where(jnp.isfinite(weights).all(), weights, state.weights)
    return state._replace(weights=jax.lax.stop_gradient(kept).astype(state.weights.dtype))


def simplex_projection(v: Any) -> Any:
    """The point of the simplex nearest to the vector ``v``. Entries of -inf get weight 0."""
    ordered = -jnp.sort(-v)
    counts = jnp.arange(1, len(v) + 1, dtype=v.dtype)
    level = (jnp.cumsum(jnp.where(jnp.isneginf(ordered), 0, ordered)) - 1) / counts
    last = jnp.maximum((ordered > level).sum() - 1, 0)
    return jnp.maximum(v - level[last], 0)


def _kept(weights: Any, losses: Any) -> Any:
    bad = (jnp.isnan(losses) | jnp.isposinf(losses)).any()
    return jnp.where(bad, jnp.nan, jnp.where(jnp.isneginf(losses), 0, weights))


def cvar_weights(losses: Any, share: Any) -> Any:
    """``argmax sum t_i l_i`` over weights of at most ``1 / (share n)`` that sum to 1."""
    n = (~jnp.isneginf(losses)).sum()
    places = jnp.argsort(-losses, stable=True)
    cap = jnp.minimum(1 / (share * jnp.maximum(n, 1)), 1.0)
    taken = jnp.minimum(jnp.maximum(1 - cap * jnp.arange(len(losses), dtype=losses.dtype), 0), cap)
    return _kept(jnp.zeros_like(losses).at[places].set(taken.astype(losses.dtype)), losses)


def chi2_weights(losses: Any, radius: Any) -> Any:
    """``argmax sum t_i l_i`` over weights with ``mean((n t_i - 1)^2) / 2 <= radius`` that sum to 1. See ``standoff.torch.chi2_weights``."""
    there = ~jnp.isneginf(losses)
    n, level = there.sum(), 1 + 2 * radius
    places = jnp.argsort(-losses, stable=True)
    ordered = (losses - losses.max())[places]
    d = jnp.where(jnp.isfinite(ordered), ordered, 0)
    k = jnp.arange(1, len(losses) + 1, dtype=losses.dtype)
    first, second = jnp.cumsum(d), jnp.cumsum(d * d)
    s1, s2 = first - k * d, second - 2 * d * first + k * d * d
    ratio = jnp.where(s1 > 0, n * s2 / jnp.where(s1 > 0, s1 * s1, 1), jnp.inf)
    active = jnp.maximum((jnp.where(jnp.isfinite(ordered), ratio, 0) >= level).sum(), 1)
    mean = first[active - 1] / active
    variance = jnp.maximum(second[active - 1] / active - mean * mean, 0)
    room = jnp.maximum(n * (level - n / active) / active, 0)
    slope = jnp.where(variance > 0, jnp.sqrt(room / jnp.where(variance > 0, variance, 1)), 0)
    found = jnp.where(k <= active, jnp.maximum(n / active + slope * (d - mean), 0), 0)
    return _kept(jnp.zeros_like(losses).at[places].set((found / found.sum()).astype(losses.dtype)), losses)


def kl_weights(losses: Any, radius: Any) -> Any:
    """``argmax sum t_i l_i`` over weights with ``sum t_i log(n t_i) <= radius`` that sum to 1. See ``standoff.torch.kl_weights``."""
    there = ~jnp.isneginf(losses)
    d = jnp.where(there, losses - losses.max(), 0)
    spread = (-d).max()
    unit = d / jnp.where(spread > 0, spread, 1)
    steps = jnp.linspace(0, 1, 64, dtype=losses.dtype)

    def refine(_: int, bracket: Any) -> Any:
        low, high = bracket
        grid = low + (high - low) * steps
        logs = jax.nn.log_softmax(jnp.where(there, unit / jnp.exp(grid)[:, None], -jnp.inf), axis=1)
        divergence = jnp.where(there, jnp.exp(logs) * logs, 0).sum(1) + jnp.log(there.sum())
        first = jnp.minimum((divergence > radius).sum(), len(steps) - 1)
        return grid[jnp.maximum(first - 1, 0)], grid[first]

    # From values of the losses, so that the loop has the same axes before and after under shard_map.
    start = (spread * 0 - 30.0, spread * 0 + 15.0)
    _, high = jax.lax.fori_loop(0, 7, refine, start)
    return _kept(jax.nn.softmax(jnp.where(there, unit / jnp.exp(high), -jnp.inf)), losses)
