"""What ``FairClassifier`` makes equal between groups: losses, excess losses, errors, or the losses on rows of one class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._linear import LinearTask, fit_linear

EQUALISE = ("loss", "excess", "error", "fpr", "fnr")
CHOOSING = ("minmax", "minmax-reg", "group-dro", "tilted")


def check_equalise(equalise: str, method: str) -> None:
    """Refuses unknown names, and methods that compare nothing between groups."""
    if equalise not in EQUALISE:
        raise ValueError(f"equalise is {equalise!r}; give one of {', '.join(EQUALISE)}")
    if equalise != "loss" and method not in CHOOSING:
        chosen = f"a method that chooses the weights of the groups ({', '.join(CHOOSING)})"
        raise ValueError(f"equalise={equalise!r} needs {chosen}; method is {method!r}")


def check_classes(equalise: str, classes: NDArray[np.generic]) -> None:
    """Refuses rates of one kind where there are not two classes."""
    if equalise in ("fpr", "fnr") and len(classes) != 2:
        raise ValueError(f"equalise={equalise!r} needs two classes, the second is the positive one; y has {len(classes)}")


def compared(task: LinearTask, equalise: str, classes: NDArray[np.generic], names: list[str]) -> LinearTask:
    """The task with the losses that ``equalise`` compares; the groups keep their places."""
    if equalise == "excess":
        return task._replace(offsets=alone(task, len(classes)))
    if equalise in ("fpr", "fnr"):
        return task._replace(members=one_sided(task, equalise == "fnr", classes, names))
    return task


def alone(task: LinearTask, classes: int) -> list[float]:
    """The loss that each group has when the model is trained for it alone, with the same penalty."""
    total = _weight(task)
    losses = []
    for rows in task.members:
        own = task._replace(
            rows=task.rows[rows],
            targets=task.targets[rows],
            weights=None if task.weights is None else task.weights[rows],
            members=[np.arange(len(rows), dtype=np.uint32)],
            method="minmax",
            progress=None,
        )
        own = own._replace(C=task.C * total / _weight(own))
        losses.append(float(fit_linear(own, classes, None).group_losses[0]))
    return losses


def one_sided(task: LinearTask, positive: bool, classes: NDArray[np.generic], names: list[str]) -> list[NDArray[np.uint32]]:
    """Of each group the rows of one class, and one more group of all rows: its mean loss answers a model that predicts one class only."""
    wanted = task.targets == float(positive)
    if task.weights is not None:
        wanted &= task.weights > 0
    members = [np.ascontiguousarray(rows[wanted[rows]]) for rows in task.members]
    for name, rows in zip(names, members, strict=True):
        if not len(rows):
            said = classes[int(positive)]
            raise ValueError(f"group {name} has no sample of class {said}: it cannot have this error; leave it out or merge it")
    return [*members, np.arange(len(task.targets), dtype=np.uint32)]


def _weight(task: LinearTask) -> float:
    return float(len(task.targets) if task.weights is None else task.weights.sum())
