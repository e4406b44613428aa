"""Points of JAX functions as pytrees: dictionaries, tuples and lists of arrays, flattened for the solver and rebuilt for the user."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._sets import Array, ConvexSet, Free, Product, real


def is_tree(v: Any) -> bool:
    """True for a container of arrays; numbers, arrays and nested lists of numbers are one array."""
    if isinstance(v, dict) or hasattr(v, "_fields"):
        return True
    return isinstance(v, (list, tuple)) and any(isinstance(part, dict) or getattr(part, "shape", ()) != () or is_tree(part) for part in v)


class Layout:
    """The structure of a pytree and the shapes of its arrays, in the order of JAX."""

    def __init__(self, tree: Any, name: str) -> None:
        from jax import tree_util

        self.name = name
        self.structure: Any
        leaves, self.structure = tree_util.tree_flatten(tree)
        if not leaves:
            raise ValueError(f"{name} is a pytree without arrays")
        parts = [real(leaf, f"{name}, array {place}") for place, leaf in enumerate(leaves)]
        self.shapes = [part.shape for part in parts]
        self.ends = np.cumsum([part.size for part in parts]).tolist()
        self.start: Array = np.concatenate([part.reshape(-1) for part in parts])

    def rebuild(self, v: Any) -> Any:
        """The pytree of a vector; of NumPy, or of JAX while it traces a function."""
        begins = [0, *self.ends[:-1]]
        parts = [v[begin:end].reshape(shape) for begin, end, shape in zip(begins, self.ends, self.shapes, strict=True)]
        return self.structure.unflatten(parts)

    def product(self, given: Any) -> Any:
        """The set of the vector: one set for all coordinates, or a pytree of sets as ``x0``, where None means all of space."""
        if given is None or isinstance(given, ConvexSet) or hasattr(given, "lb"):
            return given
        try:
            parts = self.structure.flatten_up_to(given)
        except ValueError as error:
            raise ValueError(f"{self.name[0]}_set does not have the structure of {self.name}: {error}") from None
        begins = [0, *self.ends[:-1]]
        sizes = [end - begin for begin, end in zip(begins, self.ends, strict=True)]
        return Product(*(_sized(part, size, self.name) for part, size in zip(parts, sizes, strict=True)))


def _sized(part: Any, size: int, name: str) -> ConvexSet:
    if part is None:
        return Free(size)
    if not isinstance(part, ConvexSet):
        raise TypeError(f"{name[0]}_set has a {type(part).__name__} for an array of {name}; give a set or None for each array")
    return part.sized(size)


class Flat(NamedTuple):
    """A game of arrays, and the layouts of those players whose points are pytrees."""

    f: Any
    x: Any
    y: Any
    x_set: Any
    y_set: Any
    layouts: tuple[Layout | None, Layout | None]

    def rebuild(self, player: int, v: Array) -> Any:
        """The point of a player as the user gave it."""
        layout = self.layouts[player]
        return v if layout is None else layout.rebuild(v)


def flattened(f: Any, x: Any, y: Any, x_set: Any, y_set: Any, names: tuple[str, str] = ("x0", "y0")) -> Flat:
    """Replaces pytrees by vectors. Without pytrees everything is returned unchanged."""
    trees = is_tree(x), is_tree(y)
    if not any(trees):
        return Flat(f, x, y, x_set, y_set, (None, None))
    over = getattr(f, "over", None)
    if over is None:
        name, kind = (names[0], x) if trees[0] else (names[1], y)
        raise TypeError(f"{name} is a {type(kind).__name__} of arrays; pytrees need a function of JAX: standoff.from_jax(f)")
    first = Layout(x, names[0]) if trees[0] else None
    second = Layout(y, names[1]) if trees[1] else None
    return Flat(
        over(first, second),
        x if first is None else first.start,
        y if second is None else second.start,
        x_set if first is None else first.product(x_set),
        y_set if second is None else second.product(y_set),
        (first, second),
    )
