"""``read_run``: the configuration, metrics and results of a run folder, made by Python or by the command."""

from __future__ import annotations

import csv
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._result import Result

Columns = dict[str, NDArray[Any]]


class RunFolder(Result):
    """The content of a run folder: ``repr`` shows the runs, ``plot()`` the trade-off of ``fair`` or the loss of ``robust``."""

    def __repr__(self) -> str:
        state = "finished" if self["finished"] else "not finished"
        runs = [f"  {run['name']}: {'finished' if run['finished'] else 'not finished'}" for run in self["runs"]]
        return "\n".join([f"<run folder of `standoff {self['kind']}`, {state}, {len(runs)} runs>", *runs[:20], *["  ..."][: len(runs) > 20]])

    def tradeoff(self) -> dict[str, tuple[float, float]]:
        """Of each method of ``fair``: the average accuracy of the groups and that of the worst, in percent, mean over its finished runs."""
        found: dict[str, list[tuple[float, float]]] = {}
        for run in self["runs"]:
            if self["kind"] == "fair" and run["result"] is not None:
                shares = [100 * part["correct"] / part["total"] for part in run["result"]["test"] if part["total"]]
                if shares:
                    name = run["name"].split("-seed-")[0]
                    found.setdefault(name, []).append((sum(shares) / len(shares), min(shares)))
        return {name: (float(np.mean([a for a, _ in all_])), float(np.mean([w for _, w in all_]))) for name, all_ in found.items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw with matplotlib; returns the axes. For ``fair`` the worst group against the average, for ``robust`` the loss."""
        from ._plot import plot_curve, plot_tradeoff

        if self["kind"] == "fair":
            points = self.tradeoff()
            if not points:
                raise ValueError("no finished run has test samples: there is no trade-off to draw")
            return plot_tradeoff(points, ax)
        metrics = self["runs"][0]["metrics"] if self["runs"] else {}
        if "value" not in metrics:
            raise ValueError(f"a run folder of `standoff {self['kind']}` without measurements has no picture; standoff report shows it")
        return plot_curve(metrics["step"], {"loss": metrics["value"]}, "step", ax)


def read_run(path: str | os.PathLike[str]) -> Result:
    """Read the folder of a training or of an evaluation under attack, finished or not.

    Returns
    -------
    Result
        ``kind``
            ``"fair"``, ``"robust"`` or ``"attack"``.
        ``config``
            The configuration of a training, a dictionary; None for ``attack``.
        ``manifest``
            Versions, settings and digests, a dictionary; None for folders of version 0.1.
        ``finished``
            True if the results of all runs are there.
        ``results``
            The content of ``results.json``, a dictionary; None as long as there is none.
        ``runs``
            A list with one entry for each method and seed of ``fair``, one entry for ``robust``, and none for ``attack``. Each has
            ``name``, ``folder``, ``finished``, ``model`` (the path of the trained model, or None), ``result`` (a dictionary, or None),
            ``metrics`` and ``epochs``: dictionaries of arrays with one row for each measurement and for each epoch
            (``pandas.DataFrame(run.epochs)``).

    >>> import tempfile, standoff
    >>> folder = tempfile.mkdtemp()
    >>> fair = standoff.FairClassifier(max_iter=60, random_state=0, folder=folder)
    >>> fair = fair.fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> r = standoff.read_run(folder)
    >>> r.kind, r.finished, r.config["schedule"]
    ('fair', True, [[45, 0.03], [15, 0.003]])
    >>> run = r.runs[0]
    >>> run.name, int(run.metrics["step"][-1]), run.metrics["losses"].shape
    ('minmax-reg-0.1-seed-0', 60, (13, 2))
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder `{folder}`")
    kind, config, manifest = _core.run_describe(folder)
    results = _json(folder / "results.json")
    if kind == "fair":
        runs = [_run(part, "result.json") for part in sorted(folder.glob("*-seed-*")) if part.is_dir()]
        finished = results is not None
    elif kind == "robust":
        runs = [_run(folder, "results.json")]
        finished = runs[0].finished
    else:
        runs, finished = [], results is not None and not results.get("interrupted", False)
    return RunFolder(
        kind=kind,
        config=None if config is None else json.loads(config),
        manifest=None if manifest is None else json.loads(manifest),
        finished=finished,
        results=results,
        runs=runs,
    )


def _run(folder: Path, result: str) -> Result:
    found, model = _json(folder / result), folder / "model.safetensors"
    return Result(
        name=folder.name,
        folder=folder,
        finished=found is not None,
        model=model if found is not None and model.is_file() else None,
        result=found,
        metrics=_metrics(folder / "metrics.jsonl"),
        epochs=_epochs(folder / "epochs.csv"),
    )


def _json(path: Path) -> Any:
    """The content of a JSON file; None if there is no such file."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"`{path}` is damaged: {error}") from None


def _metrics(path: Path) -> Columns:
    """The columns of a file with a JSON object in each line. A last line that is still being written is left out."""
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    rows = [_flat(json.loads(line)) for line in lines]
    return {name: _column([row.get(name) for row in rows]) for name in (rows[0] if rows else {})}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """``{"natural": {"correct": 3}}`` becomes ``{"natural_correct": 3}``."""
    parts: dict[str, Any] = {}
    for name, value in row.items():
        parts |= {f"{name}_{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    return parts


def _column(values: list[Any]) -> NDArray[Any]:
    return np.array([_number(value) for value in values])


def _number(value: Any) -> Any:
    """NaN and infinite numbers are null in JSON."""
    if isinstance(value, list):
        return [_number(v) for v in value]
    return math.nan if value is None else value


def _epochs(path: Path) -> Columns:
    """The columns of a CSV file of numbers."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    names, body = (rows[0], rows[1:]) if rows else ([], [])
    return {name: np.array([float(row[i]) if row[i] else math.nan for row in body]) for i, name in enumerate(names)}
