"""A fitted fair model as text: the certificate, the optimality gap, and the groups."""

from __future__ import annotations

import sys
from typing import Any

from ._result import Certificate


def proof_of(model: Any) -> str:
    """The optimality gap, if there is one, and the certificate."""
    gap, certificate = model.optimality_gap_, model.certificate_
    known = "" if gap is None else f"optimality gap {gap:.3g}: the objective is at most this above its minimum over all models\n"
    return known + (str(certificate) if isinstance(certificate, Certificate) else "")


def summary_of(model: Any, names: list[str]) -> str:
    """The proof, and the loss and the weight of every group."""
    width = max([5, *map(len, names)])
    rows = [f"{'group':<{width}}  {'loss':>10}  {'weight':>8}"]
    for name, loss, weight in zip(names, model.group_losses_, model.group_weights_, strict=True):
        rows.append(f"{name:<{width}}  {loss:>10.6g}  {weight:>8.4f}")
    title = f"{type(model).__name__}, method {model.method}, {model.n_iter_} steps"
    return "\n".join([title, proof_of(model), *rows])


def show_proof(model: Any) -> None:
    """Behind the progress bar of a verbose fit."""
    if model.verbose:
        sys.stderr.write(f"{proof_of(model)}\n")
