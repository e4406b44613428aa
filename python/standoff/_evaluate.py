"""``evaluate``: the robust accuracy of a network of images, between attacks (upper bound) and proofs (lower bound)."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._deprecated import RenamedEntries
from ._html import table
from ._progress import ProgressReport
from ._result import Result
from ._threads import threads_of

Sides = tuple[int, int, int]


class AttackResult(Result, RenamedEntries):
    """The result of an evaluation: ``repr`` shows the bracket and the attacks, ``plot()`` broken images.

    The names of version 0.1 work too, with a warning.
    """

    renamed = {"stands": "survives", "fallen_to": "broken_by"}
    _heads = ("attack", "accuracy", "broken", "tried")

    def _title(self) -> str:
        proven = "" if math.isnan(self["lower"]) else f"at least {self['lower']:.2%} (proven) and "
        return (
            f"eps {self['eps']:g}: robust accuracy {proven}at most {self['upper']:.2%} (attacks); natural {self['natural_accuracy']:.2%}; "
            f"{len(self['natural'])} images, {self['undecided']} undecided"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        return [(row["name"], f"{row['accuracy']:.2%}", str(row["broken"]), str(row["tried"])) for row in self["attacks"]]

    def __repr__(self) -> str:
        rows = [self._heads, *self._rows()]
        width = max(len(row[0]) for row in rows)
        lines = [f"{name:<{width}}  {accuracy:>8}  {broken:>6}  {tried:>6}" for name, accuracy, broken, tried in rows]
        return "\n".join([self._title(), *lines, *(f"warning: {text}" for text in self["warnings"])])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(f'warning: {text}')}</p>" for text in self["warnings"])
        return table(self._rows(), self._heads, self._title()) + notes

    def plot(self, count: int = 8) -> Any:
        """Draw the first ``count`` images that an attack broke, with matplotlib; returns the figure."""
        from ._plot import plot_images

        return plot_images(self, count)


class AttackResults(list[AttackResult]):
    """The results of several eps: a list; ``plot()`` draws accuracy against eps."""

    def __repr__(self) -> str:
        return "\n".join(one._title() for one in self)

    def _repr_html_(self) -> str:
        rows = [(f"{one['eps']:g}", f"{one['lower']:.2%}", f"{one['upper']:.2%}", one["undecided"]) for one in self]
        return table(rows, ("eps", "proven", "not broken", "undecided images"), "Robust accuracy")

    def plot(self, ax: Any = None) -> Any:
        """Draw accuracy against eps, with matplotlib; returns the axes."""
        from ._plot import plot_accuracy

        return plot_accuracy(self, ax)


class AttackRow(RenamedEntries):
    """The figures of one attack, with the names of version 0.1."""

    renamed = {"fallen": "broken"}


def evaluate(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    eps: float | Iterable[float] = 0.3,
    *,
    protocol: str = "standard",
    attacks: Iterable[str] | None = None,
    norm: str | None = None,
    grid: str | None = None,
    chain: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    n_jobs: int | None = -1,
    verbose: bool = False,
) -> Any:
    """Evaluate a network of images under attack, as ``standoff attack`` does, with the same numbers.

    The result is a bracket: ``lower`` is the share of images that are proven to be classified correctly whatever the change,
    ``upper`` the share that no attack broke. The robust accuracy on these images lies between them.

    Parameters
    ----------
    model : RobustClassifier, path, state_dict or torch.nn.Module
        A fitted classifier; a model file (safetensors) or the run folder of a robust training; parameters of PyTorch, whose layers
        are recognised by their shapes.
    X, y : array_like
        Images as for ``RobustClassifier.fit``, and their labels. A network without class names has the labels 0, 1, 2, ...
    eps : float or list of float
        The largest change of a pixel (``norm="linf"``) or of the image (``norm="l2"``), for pixels from 0 to 1.
    protocol : {"standard", "paper"}
        ``"standard"``: strong attacks, every broken image verified. ``"paper"``: as published, FGSM and PGD-40 with images truncated
        to 256 levels.
    attacks : list of str, optional
        These attacks instead of those of the protocol: ``"fgsm"``, ``"pgd40"``, ``"pgd100x10"``, ``"apgd-ce"``, ``"apgd-t50x9"``,
        ``"square1000"``, ... (docs/attacks.md).
    norm : {"linf", "l2"}, optional
    grid : {"float", "truncate", "round", "search"}, optional
        The storage of attacked images: as floats, or on 256 levels.
    chain : bool
        Attack only images that are neither broken nor proven yet: faster, but attacks have no figures of their own.
    seed : int
        The seed of all random numbers.
    time_limit : float, optional
        Seconds after which attacks end; ``interrupted`` is then True.
    n_jobs : int or None
        Threads, -1 for all cores; they do not change the result.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    Result, or a list of them for a list of eps
        ``eps``, ``natural_accuracy``, ``lower``, ``upper``, ``undecided`` (images between the two); ``attacks``, a list of dictionaries
        with ``name``, ``accuracy``, ``left``, ``tried``, ``broken``, ``forward``, ``gradients``, ``seconds``; of every image ``natural``
        (classified correctly without an attack), ``certified``, ``survives``, ``broken_by`` (the first attack that broke it, or None),
        ``predictions``, ``margins`` and ``images`` (the worst image found, in the shape of X); ``masking`` (signs of gradient masking);
        ``warnings``, which are also issued; ``interrupted``.

    Ctrl-C raises ``KeyboardInterrupt``.

    >>> import numpy as np, standoff
    >>> X = np.repeat([[0.1, 0.1, 0.9, 0.9], [0.9, 0.9, 0.1, 0.1]], 20, axis=0)
    >>> y = np.repeat([0, 1], 20)
    >>> network = standoff.RobustClassifier("logistic", "ibp", eps=0.1, epochs=60, learning_rate=0.03, batch_size=20, ramp=10,
    ...                                     random_state=0).fit(X, y)
    >>> r = standoff.evaluate(network, X, y, eps=0.1, attacks=["pgd10"])
    >>> r.lower, r.upper, r.attacks[0]["name"]
    (1.0, 1.0, 'pgd10')
    """
    several = not isinstance(eps, (int, float))
    chosen = [float(e) for e in eps] if several else [float(eps)]  # type: ignore[union-attr,arg-type]
    network = _loaded(model, image_rows(X)[1])
    options = {"protocol": protocol, "attacks": attacks, "norm": norm, "grid": grid, "chain": chain, "seed": seed}
    found = attacked(network, X, y, chosen, options, time_limit=time_limit, n_jobs=n_jobs, verbose=verbose)
    for text in dict.fromkeys(text for one in found for text in one["warnings"]):
        warnings.warn(text, stacklevel=2)
    return AttackResults(found) if several else found[0]


def _loaded(model: Any, sides: Sides) -> Any:
    """The classifier of ``model``."""
    from ._network import NetworkClassifier
    from ._robust import RobustClassifier

    if isinstance(model, NetworkClassifier):
        return model
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        return RobustClassifier.load(path / "model.safetensors" if path.is_dir() else path, shape=sides)
    if isinstance(model, Mapping):
        return RobustClassifier.from_state_dict(model, shape=sides)
    if callable(getattr(model, "state_dict", None)):
        return RobustClassifier.from_state_dict(model.state_dict(), shape=sides)
    kind = type(model).__name__
    raise TypeError(f"model is a {kind}; give a RobustClassifier, the path of a model file, a state_dict or a torch.nn.Module")


def attacked(
    network: Any,
    X: ArrayLike,
    y: ArrayLike,
    eps: list[float],
    options: dict[str, Any],
    *,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[AttackResult]:
    """Evaluate a classifier at every eps."""
    data = labelled_images(network, X, y)
    names = options["attacks"]
    request = options | {
        "eps": [float(e) for e in eps],
        "attacks": None if names is None else [str(name) for name in names],
        "chain": bool(options["chain"]),
        "seed": int(options["seed"]),
        "threads": threads_of(n_jobs),
        "time_limit": None if time_limit is None else float(time_limit),
    }
    with ProgressReport(verbose, "not broken") as bar:
        raw = _core.evaluate(data, request | {"progress": bar.callback})
    return [_result(one, network, np.shape(X)) for one in raw]


def _result(raw: dict[str, Any], network: Any, shape: tuple[int, ...]) -> AttackResult:
    certified, survives = raw["certified"], raw["survives"]
    lower = math.nan if certified is None else float(certified.mean())
    classes = network.classes_
    known = raw["predictions"] < len(classes)
    return AttackResult(
        eps=raw["eps"],
        natural_accuracy=float(raw["natural"].mean()),
        lower=lower,
        upper=float(survives.mean()),
        undecided=int(survives.sum()) - (0 if certified is None else int((certified & survives).sum())),
        attacks=[AttackRow(row) for row in raw["attacks"]],
        natural=raw["natural"],
        certified=certified,
        survives=survives,
        broken_by=np.array(raw["broken_by"], dtype=object),
        predictions=classes[raw["predictions"]] if known.all() else raw["predictions"],
        margins=raw["margins"],
        images=raw["images"].reshape(shape),
        masking=raw["masking"],
        warnings=list(raw["warnings"]),
        interrupted=raw["interrupted"],
    )


def labelled_images(network: Any, X: ArrayLike, y: ArrayLike | None) -> dict[str, Any]:
    """Images and the outputs that a fitted classifier should give; without ``y``, the outputs that it gives."""
    from sklearn.utils import column_or_1d
    from sklearn.utils.validation import check_is_fitted

    from ._network import number_of

    check_is_fitted(network)
    rows = network._rows(X)
    check_pixels(rows)
    if y is None:
        labels = network._logits(X).argmax(axis=1).astype(np.uint16)
    else:
        labels = number_of(column_or_1d(y), network.classes_)
    if len(labels) != len(rows):
        raise ValueError(f"X has {len(rows)} images, y has shape ({len(labels)},)")
    classes = [str(name) for name in network.classes_]
    return {"images": rows, "labels": labels, "classes": classes, "network": network.network_, "parameters": network.parameters_}


def image_rows(X: Any) -> tuple[Any, Sides]:
    """One image in each row, and its channels, height and width. Bytes are divided by 255."""
    if hasattr(X, "iloc"):  # a data frame keeps the names of its columns
        return X, _sides_of(X.shape[1])
    X = np.asarray(X)
    if X.dtype == np.uint8:
        X = X.astype(np.float32) / np.float32(255)
    if X.ndim == 4:
        sides = (X.shape[1], X.shape[2], X.shape[3])
    elif X.ndim == 3:
        sides = (1, X.shape[1], X.shape[2])
    elif X.ndim == 2:
        sides = _sides_of(X.shape[1])
    else:
        raise ValueError(f"X has shape {X.shape}; give images as (N, 784), (N, 28, 28) or (N, 1, 28, 28)")
    return X.reshape(len(X), -1), sides


def _sides_of(n: int) -> Sides:
    """A square image of n pixels if n is a square number, otherwise a vector."""
    root = math.isqrt(n)
    return (1, root, root) if root * root == n else (n, 1, 1)


def check_pixels(rows: NDArray[np.float32]) -> None:
    """Refuses pixels outside 0 to 1."""
    if rows.size and not (rows.min() >= 0 and rows.max() <= 1):
        low, high = float(rows.min()), float(rows.max())
        raise ValueError(f"pixels are from {low:g} to {high:g}, want 0 to 1: divide by 255, or give bytes (uint8)")
