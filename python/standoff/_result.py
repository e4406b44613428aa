"""What a run hands back: a dictionary with attributes, as scipy's results are, and the certificate in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Certificate(NamedTuple):
    """Bounds on what either player could still gain to first order by a feasible step of length ``radius``.

    No step gains more than ``x_upper`` and ``y_upper``; some step gains ``x_lower`` and ``y_lower``. NaN means that nothing is
    known: the point is outside its set, or something was not finite.

    ``proof`` is ``"rigorous"`` if the bounds account for every rounding error: then they are proven. It is ``"as-computed"`` if
    they hold for the gradients as your functions computed them (plus ``grad_error``, if you stated one). ``outside`` has upper
    bounds of the distances of x and y from their sets: 0 inside, NaN where that was not measured.

    >>> c = Certificate(0.0, 1e-4, 0.0, 2e-4, 1.0)
    >>> c.epsilon
    0.0002
    >>> c.proves(1e-3), c.proves(1e-4)
    (True, False)
    """

    x_lower: float
    x_upper: float
    y_lower: float
    y_upper: float
    radius: float
    proof: str = "as-computed"
    outside: tuple[float, float] = (np.nan, np.nan)

    @property
    def epsilon(self) -> float:
        """The smallest eps for which the bounds say that the pair is an eps-first-order Nash equilibrium; NaN if anything was NaN."""
        return float(np.maximum(self.x_upper, self.y_upper))  # np.maximum keeps NaN, max() may drop it

    def proves(self, eps: float) -> bool:
        """Whether both upper bounds are at most ``eps``; never with a NaN. What that rests on is in ``proof``."""
        return self.x_upper <= eps and self.y_upper <= eps


class Record(NamedTuple):
    """One measurement of a run, as handed to ``callback``."""

    nit: int
    fun: float
    gap: Certificate
    nfev: int
    njev_x: int
    njev_y: int
    seconds: float


class Result(dict[str, Any]):
    """The result of a run; entries are attributes too.

    >>> r = Result(x=1.0, status="converged")
    >>> r.x, r["status"]
    (1.0, 'converged')
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a result has no {name!r}; it has: {', '.join(self)}") from None

    __setattr__ = dict.__setitem__  # type: ignore[assignment]
    __delattr__ = dict.__delitem__  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return [*dict.__dir__(self), *self]

    def __repr__(self) -> str:
        width = max((len(name) for name in self), default=0)
        return "\n".join(f"{name:>{width}}: {_shown(value, width + 2)}" for name, value in self.items())


def _shown(value: Any, indent: int) -> str:
    """One entry: arrays are shortened, traces are counted."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=6, threshold=12, edgeitems=4, max_line_width=100)
        return text.replace("\n", "\n" + " " * indent)
    if isinstance(value, Certificate):
        return f"X <= {value.x_upper:.3g}, Y <= {value.y_upper:.3g} (radius {value.radius:g}, {value.proof})"
    if isinstance(value, dict) and "nit" in value:
        return f"{len(value['nit'])} measurements of {', '.join(value)}"
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)
