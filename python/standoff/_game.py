"""Games as values: from the zoo, from files (neither calls Python during a run), or of your own functions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._result import Result
from ._threads import threads_of
from ._sets import Array, ConvexSet, flat
from ._trees import flattened

#: The largest game file, as for the command.
_MOST_BYTES = 8 << 20


def _text_of(path: Path) -> str:
    """The text of a game file. Devices and pipes are refused: reading them may never end."""
    if path.exists() and not path.is_file():
        raise ValueError(f"`{path}` is not a regular file, a game file was expected")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"`{path}` is larger than {_MOST_BYTES >> 20} MB; put large data into files beside the game")
    return path.read_text(encoding="utf-8")


class Game:
    """A game from a file (``Game.from_toml``, ``Game.from_file``), from the zoo (``standoff.zoo[name]``) or of your own functions
    (``Game.from_functions``). It can be solved, certified, verified, checked, planned and raced.

    >>> game = Game.from_toml('''
    ... objective = "x*y - y^2"
    ... [min.x]
    ... lower = -1
    ... upper = 1
    ... start = 0.5
    ... [max.y]
    ... set = "free"
    ... ''')
    >>> float(game([0.5], [2.0]))
    -3.0
    >>> game.solve(eps=1e-6).success
    True
    """

    def __init__(self, core: _core.Game) -> None:
        self._core_game = core
        self._text: tuple[str, Path] | None = None
        self._name: str | None = None
        self._gradients = "exact"
        self.x0: Array
        self.y0: Array
        self.x0, self.y0 = core.start or (np.zeros(core.dims[0]), np.zeros(core.dims[1]))

    @classmethod
    def from_toml(cls, text: str, folder: str | os.PathLike[str] = ".", threads: int | None = None) -> Game:
        """A game written as text (docs/formula.md); data files are read from ``folder``.

        A large game runs on ``threads`` threads, all cores if not given (one thread inside a worker of
        joblib). The number of threads does not change the result.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads = {threads} is not allowed: give a number from 1, or None for all cores")
        game = cls(_core.Game.toml(text, Path(folder), threads_of(threads or -1)))
        game._text = (text, Path(folder))
        return game

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], threads: int | None = None) -> Game:
        """A game file; data files are read from its folder. ``threads`` as in ``from_toml``."""
        path = Path(path)
        return cls.from_toml(_text_of(path), path.parent, threads)

    @classmethod
    def from_functions(
        cls,
        f: Any,
        x0: ArrayLike,
        y0: ArrayLike,
        x_set: ConvexSet | None = None,
        y_set: ConvexSet | None = None,
        grad_x: Any = None,
        grad_y: Any = None,
        *,
        linear_in_y: bool | None = None,
        with_value: bool | None = None,
        name: str | None = None,
    ) -> Game:
        """A game of your own functions; the arguments are those of ``standoff.solve``. Pytrees of JAX become vectors.

        >>> import standoff
        >>> game = Game.from_functions(lambda x, y: x[0] * y[0], [0.5], [0.5], standoff.Box(-1, 1), standoff.Box(-1, 1),
        ...                            grad_x=lambda x, y: y, grad_y=lambda x, y: x, name="bilinear")
        >>> standoff.race("extragradient", game, eps=1e-2).entries["ending"]
        ['converged']
        """
        from ._solve import Played, start_array

        f, x0, y0, x_set, y_set, _ = flattened(f, x0, y0, x_set, y_set)
        x, y = start_array(x0, "x0"), start_array(y0, "y0")
        played = Played(f, x, y, x_set, y_set, grad_x, grad_y, with_value, linear_in_y)
        game = cls(played.core)
        game.x0, game.y0, game._name, game._gradients = x, y, name, played.gradients
        return game

    @property
    def name(self) -> str | None:
        """The name of the game, if it has one."""
        return self._name or self._core_game.name

    @property
    def constants(self) -> dict[str, float | None] | None:
        """The constants that the game states, if any."""
        return self._core_game.constants

    @property
    def description(self) -> str | None:
        """A one-line description."""
        return self._core_game.description

    @property
    def warnings(self) -> list[str]:
        """Warnings about the game."""
        return self._core_game.warnings

    @property
    def answers(self) -> list[tuple[Array, Array]]:
        """Known equilibria; the first is the one expected from the start."""
        return self._core_game.answers

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """``f(x, y)``."""
        return self._core_game.evaluate(flat(x), flat(y))[0]

    def grad_x(self, x: ArrayLike, y: ArrayLike) -> Array:
        """The gradient in x."""
        return self._core_game.evaluate(flat(x), flat(y))[1]

    def grad_y(self, x: ArrayLike, y: ArrayLike) -> Array:
        """The gradient in y."""
        return self._core_game.evaluate(flat(x), flat(y))[2]

    def solve(self, x0: ArrayLike | None = None, y0: ArrayLike | None = None, **options: Any) -> Result:
        """As ``standoff.solve(game, x0, y0, **options)``."""
        from ._solve import solve

        return solve(self, x0, y0, **options)

    def gap(self, x: ArrayLike, y: ArrayLike, **options: Any) -> Result:
        """As ``standoff.gap(game, x, y, **options)``; the earlier name of ``certify``."""
        from ._certify import gap

        return gap(self, x, y, **options)

    def certify(self, x: ArrayLike, y: ArrayLike, **options: Any) -> Result:
        """As ``standoff.certify(game, x, y, **options)``."""
        from ._certify import certify

        return certify(self, x, y, **options)

    def verify(self, x: ArrayLike, y: ArrayLike, **options: Any) -> Result:
        """As ``standoff.verify(game, x, y, **options)``."""
        from ._certify import verify

        return verify(self, x, y, **options)

    def check(self, x: ArrayLike | None = None, y: ArrayLike | None = None, **options: Any) -> Result:
        """As ``standoff.check(game, x, y, **options)``."""
        from ._plan import check

        return check(self, x, y, **options)

    def plan(self, **options: Any) -> list[dict[str, Any]]:
        """As ``standoff.plan(game, **options)``."""
        from ._plan import plan

        return plan(self, **options)

    def __repr__(self) -> str:
        n, m = self._core_game.dims
        name = f"{self.name!r}, " if self.name else ""
        return f"<Game {name}x in R^{n}, y in R^{m}>"


class Zoo:
    """Games with known equilibria, by name.

    >>> from standoff import zoo
    >>> "kink" in zoo
    True
    >>> zoo["kink"]
    <Game 'kink', x in R^1, y in R^1>
    """

    def __getitem__(self, name: str) -> Game:
        try:
            return Game(_core.Game.zoo(name))
        except ValueError as error:
            raise KeyError(str(error)) from None

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def names(self) -> list[str]:
        """The names, in the order of the list."""
        return [name for name, _, _ in _core.zoo_entries()]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<18} {kind:<17} {summary}" for name, kind, summary in _core.zoo_entries())


zoo = Zoo()
