"""Functions of a batch as the attacks call them: rows of float32 in, logits in float64 out, and products with their Jacobian."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._graph import Network

Sides = tuple[int, int, int]
Rows = NDArray[np.float32]
Logits = NDArray[np.float64]

PROBE = 8  # inputs that are evaluated before an attack
# Differences of logits that rounding explains, relative to the largest logit.
ROUNDING = {"float64": 1e-9, "float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}


class Layout:
    """How rows of numbers become inputs of a function: the shape of an input, and its channels, height and width."""

    def __init__(self, shape: tuple[int, ...], channels_last: bool) -> None:
        self.shape, self.channels_last = shape, channels_last
        if len(shape) == 3:
            self.sides: Sides = (shape[2], shape[0], shape[1]) if channels_last else (shape[0], shape[1], shape[2])
        elif len(shape) == 2:
            self.sides = (1, shape[0], shape[1])
        elif len(shape) == 1 and math.isqrt(shape[0]) ** 2 == shape[0]:
            self.sides = (1, math.isqrt(shape[0]), math.isqrt(shape[0]))
        else:
            self.sides = (math.prod(shape), 1, 1)

    @classmethod
    def of(cls, X: Any) -> tuple[Rows, Layout]:
        """One input in each row, channels first; bytes are divided by 255."""
        jax = is_jax(X)
        if is_torch(X):
            X = X.detach().cpu()
            X = X.numpy() if str(X.dtype) != "torch.bfloat16" else X.float().numpy()
        X = np.asarray(X)
        if X.dtype == np.uint8:
            X = X.astype(np.float32) / np.float32(255)
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X has dtype {X.dtype}; give numbers")
        if X.ndim < 2:
            raise ValueError(f"X has shape {X.shape}; give inputs as (N, ...)")
        shape = tuple(int(n) for n in X.shape[1:])
        last = len(shape) == 3 and shape[2] in (1, 3, 4) and (jax or shape[0] not in (1, 3, 4))
        X = X.astype(np.float32)
        if last:
            X = X.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(X.reshape(len(X), math.prod(shape))), cls(shape, last)

    def inputs(self, rows: Rows) -> Rows:
        """Rows as inputs."""
        if not self.channels_last:
            return rows.reshape(len(rows), *self.shape)
        height, width, channels = self.shape
        return np.ascontiguousarray(rows.reshape(-1, channels, height, width).transpose(0, 2, 3, 1))

    def rows(self, inputs: Rows) -> Rows:
        """Inputs as rows."""
        if self.channels_last:
            inputs = inputs.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(inputs.reshape(len(inputs), -1), dtype=np.float32)


class Callee:
    """A function of NumPy arrays, which has no gradients."""

    differentiable = False
    precision = "float64"

    def __init__(self, f: Callable[..., Any], layout: Layout) -> None:
        self.f, self.layout = f, layout
        self.outputs = 0
        self.notes: list[str] = []

    def forward(self, rows: Rows, gradients: bool) -> Logits:
        """The logits; with ``gradients``, a call of ``backward`` follows."""
        # A copy: a function that changes its argument must not change the inputs that are attacked.
        return self.checked(np.asarray(self.f(self.layout.inputs(rows).copy())), len(rows))

    def backward(self, coefficients: Logits) -> Rows:
        """The gradients of the sums of the last logits, times these coefficients."""
        raise NotImplementedError

    def checked(self, logits: NDArray[Any], count: int) -> Logits:
        """The logits as the attacks want them."""
        if logits.ndim != 2 or len(logits) != count or (self.outputs and logits.shape[1] != self.outputs):
            want = self.outputs or "classes"
            raise ValueError(f"f returned an array of shape {logits.shape} for {count} inputs; want logits ({count}, {want})")
        if logits.dtype.kind not in "fiu":
            raise ValueError(f"f returned an array of dtype {logits.dtype}; want logits")
        return np.ascontiguousarray(logits, dtype=np.float64)


class TorchCallee(Callee):
    """A function of tensors of PyTorch, on the device and in the precision of its parameters or of X."""

    differentiable = True

    def __init__(self, f: Callable[..., Any], layout: Layout, X: Any) -> None:
        super().__init__(f, layout)
        import torch

        self.torch = torch
        self.device, self.dtype = torch.device("cpu"), torch.float32
        like = X if is_torch(X) and X.dtype.is_floating_point else next(iter(getattr(f, "parameters", list)()), None)
        if like is not None:
            self.device, self.dtype = like.device, like.dtype
        elif is_torch(X):
            self.device = X.device
        self.precision = str(self.dtype).removeprefix("torch.")
        self.kept: Any = None

    def forward(self, rows: Rows, gradients: bool) -> Logits:
        torch = self.torch
        x = torch.from_numpy(self.layout.inputs(rows)).to(self.device, self.dtype, copy=True)
        with torch.set_grad_enabled(gradients):
            z = self.f(x.requires_grad_() if gradients else x)
        if not is_torch(z):
            raise ValueError(f"f returned a {type(z).__name__}; want a tensor of logits")
        if z.is_complex():
            raise ValueError(f"f returned a tensor of dtype {z.dtype}; want logits")
        self.kept = (x, z) if gradients else None
        return self.checked(z.detach().to("cpu", torch.float64).numpy(), len(rows))

    def backward(self, coefficients: Logits) -> Rows:
        torch, (x, z) = self.torch, self.kept
        self.kept = None
        given = torch.from_numpy(coefficients).to(z.device, z.dtype)
        (g,) = torch.autograd.grad(z, x, given, allow_unused=True)
        if g is None:
            return np.zeros((len(coefficients), math.prod(self.layout.sides)), np.float32)
        return self.layout.rows(g.to("cpu", torch.float32).numpy())


class JaxCallee(Callee):
    """A function of JAX arrays, compiled if it can be."""

    differentiable = True

    def __init__(self, f: Callable[..., Any], layout: Layout, X: Any) -> None:
        super().__init__(f, layout)
        import jax

        self.jax = jax
        self.dtype = X.dtype if is_jax(X) and X.dtype.kind == "f" else np.dtype(np.float32)
        self.precision = str(self.dtype)
        self.kept: Any = None
        self.compile(True)

    def compile(self, jit: bool) -> None:
        """Compiles the function and its product with the Jacobian."""
        wrap = self.jax.jit if jit else (lambda function: function)
        self.value = wrap(self.f)
        self.vjp = wrap(lambda x: self.jax.vjp(self.f, x))
        self.pull = wrap(lambda pullback, given: pullback(given)[0])

    def forward(self, rows: Rows, gradients: bool) -> Logits:
        # Every size of a batch is compiled: sizes are powers of two.
        size = 1 << max(len(rows) - 1, 0).bit_length()
        padded = np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), 0)]) if size > len(rows) else rows
        x = self.jax.numpy.asarray(self.layout.inputs(padded).astype(self.dtype))
        if gradients:
            z, pullback = self.vjp(x)
            self.kept = (z, pullback)
        else:
            z = self.value(x)
        return self.checked(np.asarray(z, dtype=np.float64), size)[: len(rows)]

    def backward(self, coefficients: Logits) -> Rows:
        z, pullback = self.kept
        self.kept = None
        given = np.zeros(z.shape, z.dtype)
        given[: len(coefficients)] = coefficients
        g = np.asarray(self.pull(pullback, given), dtype=np.float32)
        return self.layout.rows(g[: len(coefficients)])


class NetworkCallee(Callee):
    """A network of the package."""

    differentiable = True
    precision = "float32"

    def __init__(self, f: Network, layout: Layout) -> None:
        super().__init__(f, layout)
        self.graph = f._graph

    def forward(self, rows: Rows, gradients: bool) -> Logits:
        return self.checked(self.graph.logits(rows), len(rows))

    def backward(self, coefficients: Logits) -> Rows:
        return self.graph.gradients(coefficients)


def is_torch(value: Any) -> bool:
    """True for a tensor of PyTorch, which is not imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_jax(value: Any) -> bool:
    """True for an array of JAX, which is not imported."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def callee_of(f: Any, X: Any, rows: Rows, layout: Layout, framework: str | None) -> Callee:
    """The function, called once and checked."""
    if not callable(f):
        raise TypeError(f"f is a {type(f).__name__}; give a function of a batch, a module, or the path of a model file")
    if not len(rows):
        raise ValueError("X has no inputs; give at least 1")
    called: Callee
    if isinstance(f, Network):
        if layout.channels_last:
            raise ValueError(f"X has inputs of shape {layout.shape}; the network wants channels first")
        called = NetworkCallee(f, layout)
        _probe(called, rows)
        return called
    kind = framework or _framework(f, X, rows, layout)
    if kind == "torch":
        called = TorchCallee(f, layout, X)
    elif kind == "jax":
        called = _jax(f, X, rows, layout)
    elif kind == "numpy":
        called = Callee(f, layout)
    else:
        raise ValueError(f"unknown framework {framework!r}; there are 'torch', 'jax', 'numpy'")
    _probe(called, rows)
    return called


def _framework(f: Any, X: Any, rows: Rows, layout: Layout) -> str:
    torch = sys.modules.get("torch")
    if is_torch(X) or (torch is not None and isinstance(f, torch.nn.Module)):
        return "torch"
    if is_jax(X):
        return "jax"
    # A function of JAX takes NumPy arrays too, and returns an array of JAX.
    if "jax" in sys.modules and is_jax(f(layout.inputs(rows[:1]).copy())):
        return "jax"
    return "numpy"


def _jax(f: Any, X: Any, rows: Rows, layout: Layout) -> Callee:
    called = JaxCallee(f, layout, X)
    untraceable = (TypeError, called.jax.errors.JAXTypeError)
    try:
        called.forward(rows[:1], True)
    except untraceable:  # cannot be compiled
        called.compile(False)
        try:
            called.forward(rows[:1], True)
        except untraceable:
            called.differentiable = False
            called.notes.append("JAX cannot differentiate f: attacks with gradients cannot be run")
    return called


def _probe(called: Callee, rows: Rows) -> None:
    """Finds the number of classes, and refuses functions whose logits depend on chance or on the other inputs of the batch."""
    some = rows[:PROBE]
    first = called.forward(some, called.differentiable)
    called.outputs = first.shape[1]
    if called.outputs < 2:
        raise ValueError("f gives 1 logit; an attack needs at least 2 classes (Network.bounds and verify-net bound one output)")
    if called.differentiable:
        if isinstance(called, TorchCallee) and not called.kept[1].requires_grad:
            called.differentiable = False
            called.notes.append("the logits of f have no gradients: attacks with gradients cannot be run")
        else:
            called.backward(np.zeros_like(first))
    if not np.isfinite(first).all():
        return  # the attack names the input
    if first.min() >= 0 and np.allclose(first.sum(1), 1, atol=1e-2):
        called.notes.append("f returns probabilities: their gradients vanish where they are near 0 or 1; return logits")
    tolerance = ROUNDING.get(called.precision, 1e-3) * max(1e-30, float(np.abs(first).max()))
    advice = "switch off dropout, batch statistics and other random layers (in PyTorch: model.eval()), and do not change the input in place"
    apart = float(np.abs(called.forward(some, False) - first).max())
    if not apart <= tolerance:
        raise ValueError(f"f gives different logits for the same inputs, by up to {apart:.3g}: {advice}")
    half = (len(some) + 1) // 2
    apart = float(np.abs(called.forward(some[:half], False) - first[:half]).max())
    if not apart <= tolerance:
        raise ValueError(f"f gives an input other logits in another batch, by up to {apart:.3g}: {advice}")
