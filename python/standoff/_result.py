"""Results of runs: a dictionary whose entries are attributes too, as in SciPy, and the certificate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Certificate(NamedTuple):
    """Bounds of the first-order gain of either player by a feasible step of length at most ``radius``.

    No step gains more than ``x_upper`` and ``y_upper``; some step gains ``x_lower`` and ``y_lower``. NaN means unknown: the
    point is outside its set, or a number was not finite.

    ``proof`` is ``"rigorous"`` if the bounds include every rounding error, so that they are proven. It is ``"as-computed"`` if
    they hold for the gradients as your functions computed them (plus ``grad_error``, if you stated one). ``outside`` has upper
    bounds of the distances of x and y from their sets: 0 inside, NaN if not measured.

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
        """True if both upper bounds are at most ``eps``; False with a NaN. See ``proof`` for what the bounds assume."""
        return self.x_upper <= eps and self.y_upper <= eps


class Record(NamedTuple):
    """One measurement of a run: the argument of ``callback``."""

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
    """One entry as text: arrays are shortened, of traces only the length is shown."""
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
