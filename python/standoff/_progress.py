"""Progress bars: a line on stderr that is rewritten, or a display in a notebook."""

from __future__ import annotations

import html
import math
import sys
import time
from typing import Any

PAUSE = 0.2  # seconds between two updates
WIDTH = 24


def in_notebook() -> bool:
    """True in a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class Progress:
    """A progress bar, updated at most five times a second and once at the end."""

    def __init__(self) -> None:
        self._next = 0.0
        self._last: tuple[float, str] | None = None
        self._handle: Any = None
        self._notebook = in_notebook()

    def show(self, done: float, text: str) -> None:
        """``done`` is a share from 0 to 1; NaN counts as 0."""
        done = min(max(done, 0.0), 1.0) if math.isfinite(done) else 0.0
        self._last = (done, text)
        if time.monotonic() >= self._next:
            self._draw(done, text)

    def close(self) -> None:
        """Draw the last state and end the line."""
        if self._last is not None:
            self._draw(*self._last)
        if not self._notebook:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _draw(self, done: float, text: str) -> None:
        self._next = time.monotonic() + PAUSE
        if self._notebook:
            self._display(done, text)
            return
        full = round(done * WIDTH)
        line = f"[{'#' * full}{'.' * (WIDTH - full)}] {100 * done:3.0f} %  {text}"
        sys.stderr.write(f"\r{line:<90}")
        sys.stderr.flush()

    def _display(self, done: float, text: str) -> None:
        from IPython.display import HTML, display

        shown = HTML(f'<progress value="{done:.4f}" max="1"></progress> {100 * done:.0f} % {html.escape(text)}')
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)


class ProgressReport:
    """A progress bar for the compiled half, which calls ``callback(done, number)``; without ``verbose`` there is none."""

    def __init__(self, verbose: bool, name: str) -> None:
        self._bar = Progress() if verbose else None
        self._name = self._text = name

    @property
    def callback(self) -> Any:
        """The function that the compiled half calls, or None."""
        return self._show if self._bar is not None else None

    def _show(self, done: float, number: float) -> None:
        assert self._bar is not None
        self._text = self._name if math.isnan(number) else f"{self._name} {number:.6g}"
        self._bar.show(done, self._text)

    def __enter__(self) -> ProgressReport:
        if self._bar is not None:
            self._bar.show(0.0, self._name)
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.show(1.0, self._text)
            self._bar.close()
