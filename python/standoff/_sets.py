"""Closed convex sets, the domains of the players, with their projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core

Array = NDArray[np.float64]


def real(v: ArrayLike, name: str = "the array") -> Array:
    """An array of float64; a copy only if needed. Complex numbers are refused: NumPy would drop their imaginary parts."""
    given = np.asarray(v)
    if given.dtype.kind == "c":
        raise TypeError(f"{name} is complex ({given.dtype}): real numbers are needed; split it into real and imaginary parts")
    return np.asarray(given, dtype=np.float64)


def flat(v: ArrayLike, name: str = "the array") -> Array:
    """The entries in C order as contiguous float64; a copy only if needed."""
    return np.ascontiguousarray(real(v, name)).reshape(-1)


def _matrix(a: ArrayLike, name: str) -> Array:
    a = np.ascontiguousarray(real(a, name))
    if a.ndim != 2:
        raise ValueError(f"{name} has shape {a.shape}, a matrix of shape (rows, columns) is needed")
    return a


class ConvexSet:
    """Base class of all sets."""

    _set: _core.Set

    def __init__(self, made: _core.Set, **shown: Any) -> None:
        self._set = made
        self._shown = shown

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self._set.dim

    def project(self, v: ArrayLike, out: Array | None = None) -> Array:
        """The point of the set nearest to ``v``, in the shape of ``v``.

        ``out`` receives it if given, a contiguous float64 array; ``out=v`` projects in place and copies nothing.

        >>> Simplex(3).project([0.5, 0.5, 3.0])
        array([0., 0., 1.])
        """
        v = real(v, "v")
        fitted = self.sized(v.size)
        fitted._check(v)
        if out is None:
            out = np.array(v, order="C")
        elif not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.c_contiguous):
            raise ValueError("out must be a contiguous array of float64")
        elif out.shape != v.shape:
            raise ValueError(f"out has shape {out.shape}, v has shape {v.shape}")
        elif out is not v:
            out[...] = v
        fitted._set.project(out.reshape(-1))
        return out

    def distance(self, v: ArrayLike) -> float:
        """The distance of ``v`` from the set; NaN if ``v`` has a NaN."""
        v = real(v, "v")
        fitted = self.sized(v.size)
        fitted._check(v)
        return fitted._set.distance(flat(v))

    def sized(self, n: int) -> ConvexSet:
        """The set for n coordinates: a ``Box`` whose sides are numbers stretches, every other set is returned unchanged."""
        return self

    def contains(self, v: ArrayLike, tolerance: float = 1e-9) -> bool:
        """True if ``v`` is within ``tolerance`` of the set; False with a NaN."""
        return self.distance(v) <= tolerance

    def centre(self) -> Array:
        """A starting point: the centre if there is one, otherwise the projection of 0."""
        return self._set.centre()

    def diameter(self) -> float:
        """An upper bound on the distance between two points of the set."""
        return self._set.diameter()

    def _check(self, v: NDArray[Any]) -> None:
        if v.size != self.dim:
            raise ValueError(f"v has shape {v.shape}, the set has shape ({self.dim},)")

    def __repr__(self) -> str:
        with np.printoptions(threshold=8, edgeitems=2, precision=6):
            inside = ", ".join(f"{name}={value}" if name else str(value) for name, value in self._shown.items())
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self._arguments))

    _arguments: tuple[Any, ...] = ()


def fitted(given: Any, v: Array, name: str) -> ConvexSet:
    """The set of the player ``name`` for points such as ``v``: a set, None, or bounds as in ``scipy.optimize``."""
    if given is None:
        return Free(v.size)
    chosen = given if isinstance(given, ConvexSet) else _bounded(given, v.size, name)
    chosen = chosen.sized(v.size)
    if chosen.dim != v.size:
        raise ValueError(f"{name} has shape {v.shape}, but {name[0]}_set has shape ({chosen.dim},)")
    return chosen


def _bounded(given: Any, n: int, name: str) -> ConvexSet:
    """A box of ``scipy.optimize.Bounds``, or of pairs ``[(lower, upper), ...]``; None is an infinite side."""
    if hasattr(given, "lb") and hasattr(given, "ub"):
        lower, upper = real(given.lb, "lb"), real(given.ub, "ub")
        if lower.size == upper.size == 1:  # scipy stretches both a number and an array with one entry
            return Box(lower.reshape(()), upper.reshape(()))
        return Box(lower, upper)
    pairs = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise TypeError(
            f"{name[0]}_set is a {type(given).__name__}; give a set such as standoff.Box(lower, upper), "
            "pairs [(lower, upper), ...] or scipy.optimize.Bounds"
        )
    if len(pairs) != n:
        raise ValueError(f"{name[0]}_set has {len(pairs)} pairs of bounds, {name} has {n} entries; give one pair per entry")
    lowest = [-np.inf if low is None else low for low, _ in pairs]
    highest = [np.inf if high is None else high for _, high in pairs]
    return Box(lowest, highest)


def _rebuild(kind: type[ConvexSet], arguments: tuple[Any, ...]) -> ConvexSet:
    return kind(*arguments)


class Free(ConvexSet):
    """All of ``R^n``."""

    def __init__(self, n: int) -> None:
        self._arguments = (n,)
        super().__init__(_core.Set.free(n), n=n)


class Box(ConvexSet):
    """``lower <= z <= upper``, coordinate by coordinate; sides may be infinite.

    A number applies to every coordinate. If both sides are numbers, the box has ``n`` coordinates; without ``n`` it takes the
    number of coordinates of the point that it is used with, and counts as one coordinate in a ``Product``.

    >>> Box(-1, 1).project([2.0, 0.5, -7.0])
    array([ 1. ,  0.5, -1. ])
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, n: int | None = None) -> None:
        lower, upper = real(lower, "lower"), real(upper, "upper")
        self._arguments = (lower, upper, n)
        self._stretches = n is None and lower.ndim == upper.ndim == 0
        if n is not None:
            _core.Set.limit("box", n)
        shape = () if n is None else (n,)
        try:
            low, high, _ = np.broadcast_arrays(np.atleast_1d(lower), upper, np.empty(shape))
        except ValueError:
            wanted = "" if n is None else f", n is {n}"
            raise ValueError(f"lower has shape {lower.shape}, upper has shape {upper.shape}{wanted}") from None
        if n is not None and low.size != n:
            raise ValueError(f"lower has shape {lower.shape}, upper has shape {upper.shape}, n is {n}")
        super().__init__(_core.Set.boxed(flat(low), flat(high)), lower=lower, upper=upper, **({} if n is None else {"n": n}))

    def sized(self, n: int) -> ConvexSet:
        """The same sides for n coordinates, if both are numbers and the box was made without ``n``."""
        return Box(self._arguments[0], self._arguments[1], n) if self._stretches and n != self.dim else self


class Ball(ConvexSet):
    """``||z - center|| <= radius``. The default centre is the origin of ``R^n``.

    >>> Ball(1.0, n=2).project([3.0, 4.0])
    array([0.6, 0.8])
    """

    def __init__(self, radius: float, center: ArrayLike | None = None, n: int | None = None) -> None:
        if center is None:
            if n is None:
                raise ValueError("give the centre, or n, the number of coordinates")
            _core.Set.limit("ball", n)
            center = np.zeros(n)
        middle = flat(center, "center")
        if n is not None and middle.size != n:
            raise ValueError(f"center has shape ({middle.size},), n is {n}")
        self._arguments = (radius, middle, n)
        super().__init__(_core.Set.ball(middle, radius), radius=radius, center=middle)


class L1Ball(ConvexSet):
    """``sum |z_i| <= radius`` in ``R^n``.

    >>> L1Ball(2, 1.0).project([2.0, 0.5])
    array([1., 0.])
    """

    def __init__(self, n: int, radius: float = 1.0) -> None:
        self._arguments = (n, radius)
        super().__init__(_core.Set.l1_ball(n, radius), n=n, radius=radius)


class Simplex(ConvexSet):
    """``z >= 0, sum z = scale`` in ``R^n``: weights, mixed strategies."""

    def __init__(self, n: int, scale: float = 1.0) -> None:
        self._arguments = (n, scale)
        super().__init__(_core.Set.simplex(n, scale), n=n, scale=scale)


class Halfspace(ConvexSet):
    """``<a, z> <= b``.

    >>> Halfspace([1.0, 1.0], 1.0).project([1.0, 1.0])
    array([0.5, 0.5])
    """

    def __init__(self, a: ArrayLike, b: float) -> None:
        normal = flat(a, "a")
        self._arguments = (normal, b)
        super().__init__(_core.Set.halfspace(normal, b), a=normal, b=b)


class Affine(ConvexSet):
    """``A z = b``. Redundant equations are allowed, contradictory ones are not.

    >>> Affine([[1.0, 1.0]], [1.0]).project([0.0, 0.0])
    array([0.5, 0.5])
    """

    def __init__(self, A: ArrayLike, b: ArrayLike) -> None:
        a, rhs = _matrix(A, "A"), flat(b, "b")
        self._arguments = (a, rhs)
        _one_per_row(a, rhs)
        super().__init__(_core.Set.affine(a, rhs), A=a, b=rhs)


class Polyhedron(ConvexSet):
    """``A z <= b``.

    >>> corner = Polyhedron([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    >>> corner.contains([1.0, 1.0]), corner.contains([1.0, 1.1])
    (True, False)
    """

    def __init__(self, A: ArrayLike, b: ArrayLike) -> None:
        a, rhs = _matrix(A, "A"), flat(b, "b")
        self._arguments = (a, rhs)
        _one_per_row(a, rhs)
        super().__init__(_core.Set.polyhedron(a, rhs), A=a, b=rhs)


def _one_per_row(a: Array, b: Array) -> None:
    if a.shape[0] != b.size:
        raise ValueError(f"A has shape {a.shape}, b has shape {b.shape}; give one entry of b per row of A")


class Product(ConvexSet):
    """Several sets, their coordinates one after the other.

    >>> Product(Simplex(2), Box(0, 1)).project([2.0, 0.0, 5.0])
    array([1., 0., 1.])
    """

    def __init__(self, *parts: ConvexSet) -> None:
        for part in parts:
            if not isinstance(part, ConvexSet):
                raise TypeError(f"a product is made of sets, got {type(part).__name__}")
        self._arguments = parts
        self.parts = parts
        super().__init__(_core.Set.product([part._set for part in parts]), **{"": ", ".join(map(repr, parts))})


class Projected(ConvexSet):
    """A closed convex set of your own: ``project(v)`` returns the point of the set nearest to ``v``, an array of n numbers.

    Its certificate is bracketed by projections, which is looser than the closed forms of the sets above, and holds as computed.
    ``diameter`` bounds the distance between two points, for methods that need it. ``accuracy`` bounds the distance of
    ``project(v)`` from the nearest point, for a projection that is itself the result of an iteration; the bounds of certificates
    are increased accordingly. The default is the attribute ``project.accuracy``, or 0. A function that does not
    return the nearest point of a convex set raises ``ValueError`` when a point is certified.

    >>> import numpy as np
    >>> cone = Projected(2, lambda v: np.maximum(v, 0.0))
    >>> cone.project([1.0, -1.0])
    array([1., 0.])
    """

    def __init__(
        self, n: int, project: Callable[[Array], ArrayLike], diameter: float = np.inf, accuracy: float | None = None
    ) -> None:
        if not callable(project):
            raise TypeError(f"project is a {type(project).__name__}, a function of an array is needed")
        if accuracy is None:
            accuracy = float(getattr(project, "accuracy", 0.0))
        self._arguments = (n, project, diameter, accuracy)
        super().__init__(_core.Set.custom(n, project, float(diameter), float(accuracy)), n=n, project=project)
