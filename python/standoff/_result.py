"""Results of runs: a dictionary whose entries are attributes too, as in SciPy, and the certificate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._html import table


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

    def __repr__(self) -> str:
        return f"Certificate({self})"

    def __str__(self) -> str:
        return f"X <= {self.x_upper:.3g}, Y <= {self.y_upper:.3g} (radius {self.radius:g}, {self.proof})"

    def _repr_html_(self) -> str:
        rows = [
            ("X", f"{self.x_lower:.3g} to {self.x_upper:.3g}", "what min could still gain to first order"),
            ("Y", f"{self.y_lower:.3g} to {self.y_upper:.3g}", "what max could still gain to first order"),
            ("radius", f"{self.radius:g}", "the longest step that counts"),
            ("proof", self.proof, ""),
        ]
        return table(rows, caption="Certificate")


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

    def details(self) -> str:
        """Every entry as text, a line for each; long arrays are shortened."""
        width = max((len(name) for name in self), default=0)
        return "\n".join(f"{name:>{width}}: {_shown(value, width + 2)}" for name, value in self.items())

    def __repr__(self) -> str:
        return self.details()


class Solution(Result):
    """The result of ``solve``. ``repr`` shows the point and its certificate, ``details()`` every entry, ``plot()`` the run."""

    def _lines(self) -> list[tuple[str, str]]:
        calls = f"{self['njev_x'] + self['njev_y']} gradients, {self['nit']} iterations, {self['seconds']:.3g} s"
        return [
            ("status", f"{self['status']}: {self['message']}"),
            ("fun", _shown(self["fun"], 8)),
            ("x", _shown(self["x"], 8)),
            ("y", _shown(self["y"], 8)),
            ("gap", str(self["gap"])),
            ("calls", calls),
            *(("warning", text) for text in self.get("warnings", [])),
        ]

    def __repr__(self) -> str:
        return "\n".join(f"{name:>7}: {text}" for name, text in self._lines()) if "gap" in self else self.details()

    def _repr_html_(self) -> str:
        return table(self._lines(), caption="Solution")

    def plot(self, ax: Any = None) -> Any:
        """Draw X and Y against the gradients computed, with matplotlib; returns the axes."""
        from ._plot import plot_solution

        return plot_solution(self, ax)


def _shown(value: Any, indent: int) -> str:
    """One entry as text: arrays are shortened, of traces only the length is shown."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=6, threshold=12, edgeitems=4 if value.ndim < 3 else 1, max_line_width=100)
        return text.replace("\n", "\n" + " " * indent) if value.ndim < 3 else f"array of shape {value.shape}"
    if isinstance(value, Certificate):
        return str(value)
    if isinstance(value, dict) and "nit" in value:
        return f"{len(value['nit'])} measurements of {', '.join(value)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {_shown(part, indent)}" for name, part in value.items()) + "}"
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)
