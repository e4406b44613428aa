"""``Network``: networks in ONNX files and modules of PyTorch, run, attacked and saved without PyTorch."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._html import table
from ._paths import existing


class Network:
    """A network of an ONNX file: call it for logits, give it to ``attack``, save it.

    >>> import numpy as np, standoff
    >>> network = standoff.Network.load("models/ibp-lenet.safetensors")
    >>> network.input_shape, network.outputs
    ((1, 28, 28), 10)
    >>> network(np.zeros((2, 1, 28, 28))).shape
    (2, 10)
    """

    def __init__(self, graph: _core.Graph) -> None:
        self._graph = graph

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Network:
        """Read an ONNX file, or a model saved by standoff. Pickles (``.pt``) are refused: they can run any code."""
        return cls(_core.Graph.load(existing(path)))

    @classmethod
    def from_bytes(cls, bytes: bytes) -> Network:
        """Read the bytes of an ONNX file."""
        return cls(_core.Graph.from_bytes(bytes))

    @classmethod
    def from_torch(cls, module: Any, example: Any) -> Network:
        """Convert a ``torch.nn.Module`` in evaluation mode; ``example`` is a batch of inputs, of which the shape counts.

        PyTorch exports it as ONNX (which needs the package ``onnx`` for some versions of PyTorch). An operator that is not supported is
        named, and so is a module whose outputs differ from those of the converted network.
        """
        import torch

        if getattr(module, "training", False):
            raise ValueError("the module is in training mode; call module.eval() first")
        given = (torch.as_tensor(np.asarray(example)) if not isinstance(example, torch.Tensor) else example)[:1]
        like = next(iter(module.parameters()), None)
        if like is not None:
            given = given.to(like.device, like.dtype)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "module.onnx"
            torch.onnx.export(module, (given,), str(file), dynamo=False)
            network = cls.load(file)
        with torch.no_grad():
            want = module(given).detach().to("cpu", torch.float64).numpy()
        got = network(given.detach().to("cpu", torch.float32).numpy())
        if network.softmax_left_out:
            logarithms = want if (want <= 0).all() else np.log(np.maximum(want, 1e-300))
            got, want = got - got[:, :1], logarithms - logarithms[:, :1]
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-3, atol=1e-3 * float(np.abs(want).max())):
            raise ValueError("the converted network gives other outputs than the module: does forward depend on values of its input?")
        return network

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of an input, without the batch."""
        return tuple(self._graph.input_dims[1:])

    @property
    def outputs(self) -> int:
        """Number of logits."""
        return self._graph.outputs

    @property
    def parameters(self) -> int:
        """Number of weights and offsets, with those of normalisations folded."""
        return self._graph.parameters

    @property
    def softmax_left_out(self) -> bool:
        """True if the file ends with a softmax, which the outputs leave out."""
        return self._graph.softmax_left_out

    def __call__(self, X: ArrayLike) -> NDArray[np.float64]:
        """The logits of inputs (n, ...)."""
        return self._graph.logits(self._rows(X))

    def bounds(
        self, lower: ArrayLike, upper: ArrayLike, method: str = "crown", steps: int = 20, float32: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Proven bounds of every logit over the inputs between ``lower`` and ``upper`` (arrays in the shape of an input).

        ``method`` is ``"interval"``, ``"crown"`` (backward linear bounds) or ``"alpha"`` (the same with slopes optimised in ``steps`` steps). The
        bounds hold for every result of float32 arithmetic, or with ``float32=False`` for real numbers only; rounding of their own is paid for.
        """
        low, high = (np.array(end, dtype=np.float64).reshape(-1) for end in (lower, upper))
        return self._graph.bounds(low, high, (str(method), int(steps)), bool(float32))

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        rows = np.asarray(X, dtype=np.float32)
        return np.ascontiguousarray(rows.reshape(len(rows), -1))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an ONNX file."""
        if Path(path).suffix != ".onnx":
            raise ValueError(f"networks are written as ONNX; name a file that ends with .onnx, not {str(path)!r}")
        Path(path).write_bytes(self._graph.to_bytes())

    def __repr__(self) -> str:
        heads = f"Network: input {self.input_shape}, {self.outputs} outputs, {self.parameters:,} parameters"
        return "\n".join([heads, *(f"{kind:<11} {size:>8}  {name}" for kind, size, name in self._graph.operations)])

    def _repr_html_(self) -> str:
        rows = [(kind, str(size), name) for kind, size, name in self._graph.operations]
        return table(rows, ("operation", "values", "name"), f"{self.parameters:,} parameters")
