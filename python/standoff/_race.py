"""``race``: methods compared on the same games, accuracies and budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _core
from ._game import Game
from ._html import table
from ._progress import ProgressReport
from ._result import Result
from ._threads import threads_of
from ._sets import flat


class RaceResult(Result):
    """The result of a race. ``repr`` shows the standings, ``plot()`` the share of entries solved against gradients."""

    _heads = ("method", "solved", "won", "within twice the winner", "median ratio")

    def _rows(self) -> list[tuple[str, ...]]:
        def row(name: str, s: dict[str, Any]) -> tuple[str, ...]:
            ratio = "-" if s["ratio"] is None else f"{s['ratio']:.3g}"
            return (name, f"{s['solved']} of {s['entries']}", str(s["won"]), str(s["near"]), ratio)

        return [row(name, s) for name, s in self["standings"].items()]

    def __repr__(self) -> str:
        rows = [self._heads, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self._heads))]
        return "\n".join("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        return table(self._rows(), self._heads, "Race")

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of entries that each method has solved with so many gradients, with matplotlib; returns the axes."""
        from ._plot import plot_race

        return plot_race(self, ax)


def _several(names: Any) -> list[Any]:
    return [names] if isinstance(names, (str, Game)) else list(names)


def race(
    methods: str | Iterable[str] = "all",
    games: str | Game | Iterable[str | Game] | None = None,
    *,
    families: str | Iterable[str] = (),
    eps: float | Iterable[float] = (1e-1, 1e-2, 1e-3, 1e-4),
    max_grads: float = 1e5,
    noise: float = 0.0,
    seed: int = 0,
    n_jobs: int = -1,
    verbose: bool = False,
) -> Result:
    """Race methods as ``standoff race`` does. All numbers but the seconds are the same.

    Parameters
    ----------
    methods : names of ``standoff.methods()``, or ``"all"``
    games : names of the zoo, games from files, games of your own functions (``Game.from_functions``), or ``"all"``
        By default all games, or none if ``families`` are given.
    families : families of random games with their seeds, such as ``"flat:1-5"`` or ``"all:1-3"``
    eps, max_grads : the accuracies, and the budget of each entry in gradients
    noise : the standard deviation of seeded noise on every gradient in x
    n_jobs : threads, -1 for one per core; only the seconds depend on them

    Returns
    -------
    Result
        ``entries``, a dictionary of columns with a row for each game, method and accuracy (``pandas.DataFrame(r.entries)``):
        ``gradients`` is the number needed to certify ``eps`` if ``ending`` is ``"converged"``, otherwise the number used. ``standings``
        has for each method its ``entries``, ``solved``, ``won``, ``near`` (within twice the winner's gradients) and the median
        ``ratio`` to the winner (None if the median entry failed). ``curves`` are lists of (gradients, best gap by then) under
        (game, method).

    >>> r = race(["auto", "gda"], ["kink", "trap"], eps=1e-2)
    >>> r.standings["auto"]["solved"]
    2
    """
    found = "all" if games is None and not _several(families) else () if games is None else games
    named, files, own = [], [], []
    for number, game in enumerate(_several(found)):
        if not isinstance(game, Game):
            named.append(str(game))
        elif game._text is not None:
            files.append((game.name or f"game {number + 1}", *game._text))
        elif game._core_game.functions_of_python:
            own.append((game.name or f"game {number + 1}", game._core_game, flat(game.x0).tolist(), flat(game.y0).tolist()))
        elif game.name is not None:
            named.append(game.name)
    request = {
        "methods": _several(methods),
        "games": named,
        "families": _several(families),
        "files": files,
        "own": own,
        "eps": [float(e) for e in ([eps] if isinstance(eps, (int, float)) else eps)],
        "max_grads": int(max_grads),
        "noise": float(noise),
        "seed": int(seed),
        "threads": threads_of(n_jobs) if n_jobs else 0,
    }
    with ProgressReport(verbose, "racing") as bar:
        raw = _core.race(request | {"progress": bar.callback})
    names = ("entries", "solved", "won", "near", "ratio")
    standings = {method: dict(zip(names, counts, strict=True)) for method, counts in raw["standings"].items()}
    curves = {(game, method): curve for game, method, curve in raw["curves"]}
    return RaceResult(entries=raw["entries"], standings=standings, curves=curves)
