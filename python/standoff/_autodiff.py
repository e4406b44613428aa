"""Gradients from JAX and PyTorch, which are imported only when one of these functions is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._sets import Array
from ._trees import Layout


class Differentiable:
    """A function of (x, y) with its gradients: the argument ``f`` of ``solve``, ``certify`` or ``verify``."""

    with_value = True  # gradients come as (value, gradient)

    def __init__(self, value: Callable[..., Any], grad_x: Callable[..., Any], grad_y: Callable[..., Any]) -> None:
        self._value, self.grad_x, self.grad_y = value, grad_x, grad_y

    def __call__(self, x: Array, y: Array) -> float:
        return float(self._value(x, y))


class FromJax(Differentiable):
    """A function written with ``jax.numpy``; its arguments may be pytrees."""

    def __init__(self, f: Callable[[Any, Any], Any], jit: bool) -> None:
        import jax

        compiled = jax.jit if jit else (lambda function: function)
        value = compiled(f)
        gradients = [compiled(jax.value_and_grad(f, argnums=k)) for k in (0, 1)]

        def along(k: int) -> Callable[[Array, Array], tuple[Array, Array]]:
            def gradient(x: Array, y: Array) -> tuple[Array, Array]:
                v, g = gradients[k](x, y)
                return np.asarray(v), np.asarray(g)  # the dtype shows the precision

            return gradient

        super().__init__(lambda x, y: float(value(x, y)), along(0), along(1))
        self._function, self._jit = f, jit

    def over(self, x: Layout | None, y: Layout | None) -> FromJax:
        """The same function of vectors, for the players whose points are pytrees."""
        f = self._function

        def of_vectors(u: Any, v: Any) -> Any:
            return f(u if x is None else x.rebuild(u), v if y is None else y.rebuild(v))

        return FromJax(of_vectors, self._jit)


def from_jax(f: Callable[[Any, Any], Any], jit: bool = True) -> Differentiable:
    """``f`` written with ``jax.numpy``, with its gradients.

    ``x0`` and ``y0`` may then be pytrees: dictionaries, tuples or lists of arrays, also nested. ``f`` receives them, and the result has
    them. The sets are pytrees of sets in the same structure (None for all of space), or one set for all coordinates.

    JAX computes in float32 until ``jax.config.update("jax_enable_x64", True)``, which must be called first. Without it
    the run warns, adds an estimate of the rounding errors to the bounds, and ends at the rounding limit.
    """
    return FromJax(f, jit)


def from_torch(f: Callable[[Any, Any], Any]) -> Differentiable:
    """``f`` written with ``torch``, of two float64 tensors on the CPU, with its gradients.

    A model with float32 weights is recognised by the dtype of its value; convert it with ``model.double()`` for float64.
    """
    import torch

    def tensors(x: Array, y: Array) -> list[Any]:
        # A copy: torch has no read-only memory, and the solver reuses the array.
        return [torch.from_numpy(np.array(v)) for v in (x, y)]

    def value(x: Array, y: Array) -> float:
        with torch.no_grad():
            return float(f(*tensors(x, y)))

    def along(k: int) -> Callable[[Array, Array], tuple[Array, Array]]:
        def gradient(x: Array, y: Array) -> tuple[Array, Array]:
            at = tensors(x, y)
            at[k].requires_grad_(True)
            with torch.enable_grad():
                v = f(*at)
                # If f does not depend on this player, its gradient is 0.
                (g,) = torch.autograd.grad(v, at[k], allow_unused=True) if v.requires_grad else (None,)
            # A float32 model has float64 gradients here; the dtype of its value shows the precision.
            return v.detach().numpy(), np.zeros(at[k].shape) if g is None else g.numpy()

        return gradient

    return Differentiable(value, along(0), along(1))
