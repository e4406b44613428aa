"""``RobustClassifier``: networks of images that stand their ground, attacks on them, and proofs."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._network import NetworkClassifier, State, encode, number_of, side
from ._progress import Telling
from ._result import Certificate, Result
from ._weights import as_tensors

from sklearn.utils import column_or_1d  # isort: skip  (after _network, which words its absence)
from sklearn.utils.multiclass import check_classification_targets  # isort: skip
from sklearn.utils.validation import check_is_fitted, validate_data  # isort: skip

Sides = tuple[int, int, int]


class RobustClassifier(NetworkClassifier):
    """A network of images that is trained against changes of up to ``eps`` in every pixel.

    Images are ``N x 784`` or ``N x 1 x 28 x 28`` (or of any other size that the model takes): numbers from 0 to 1, or bytes
    from 0 to 255. The same ``random_state`` gives the same bits as ``standoff robust`` from that seed.

    Parameters
    ----------
    model : {"lenet", "fair-cnn", "mlp", "logistic"}
    method : {"paper", "madry", "trades", "ibp", "natural"}
        What stands for the inner maximum: the largest loss of targeted attacks, one attack, the divergence under attack, a
        bound that no attack can exceed (then ``certify`` has something to prove), or no attack.
    eps : float
        How far every pixel may move, from 0 to 1.
    attack_steps, step_size : int, float or None
        Steps of the attack in training, and their size; a quarter of eps if None.
    targets : int or str
        How many targets ``paper`` follows to the end (at most all other classes), or ``"all"``, or ``"proven"``.
    lam, beta, kappa : float
        The regulariser of ``paper``, the weight of the divergence in ``trades``, what the plain loss counts in ``ibp``.
    warmup, ramp : float
        Epochs before eps grows, and in which it grows.
    epochs, learning_rate : float
        Passes over the data, and the rate of Adam: a tenth of it in the last third.
    schedule : list of (epochs, rate) or None
        Stages, instead of the two above.
    batch_size : int
        Images per step.
    measured : int
        How many of the first training images ``certificate_`` is of.
    random_state, n_jobs, verbose
        As in ``FairClassifier``.

    Attributes
    ----------
    classes_, n_features_in_, n_iter_ : as everywhere in scikit-learn
    certificate_, loss_ : of the frozen game on the measured images
    standing_ : (images that stand under the attack of training, or are bounded to, of how many)

    >>> import numpy as np
    >>> from standoff import RobustClassifier
    >>> X = np.repeat([[0.1, 0.1, 0.9, 0.9], [0.9, 0.9, 0.1, 0.1]], 20, axis=0)
    >>> y = np.repeat([0, 1], 20)
    >>> network = RobustClassifier("logistic", "ibp", eps=0.1, epochs=60, learning_rate=0.03, batch_size=20, ramp=10,
    ...                            random_state=0).fit(X, y)
    >>> network.score(X, y), network.certify(X, y).accuracy, network.attack(X, y, 0.1, ["pgd10"]).accuracy
    (1.0, 1.0, 1.0)
    """

    def __init__(
        self,
        model: str = "lenet",
        method: str = "paper",
        *,
        eps: float = 0.3,
        attack_steps: int = 10,
        step_size: float | None = None,
        targets: int | str = 2,
        lam: float = 0.0,
        beta: float = 1.0,
        kappa: float = 0.5,
        warmup: float = 0.0,
        ramp: float = 1.0,
        epochs: float = 3.0,
        learning_rate: float = 1e-3,
        schedule: list[tuple[float, float]] | None = None,
        batch_size: int = 128,
        measured: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.method = method
        self.eps = eps
        self.attack_steps = attack_steps
        self.step_size = step_size
        self.targets = targets
        self.lam = lam
        self.beta = beta
        self.kappa = kappa
        self.warmup = warmup
        self.ramp = ramp
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.measured = measured
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> RobustClassifier:
        """Train."""
        rows, sides = _images(X)
        rows, y = validate_data(self, rows, y, dtype=np.float32, order="C")
        _check_pixels(rows)
        check_classification_targets(y)
        self.classes_, labels = encode(column_or_1d(y))
        options = self._options() | {"classes": len(self.classes_), "batch": min(int(self.batch_size), len(rows))}
        if isinstance(self.targets, int):
            options["targets"] = str(min(self.targets, len(self.classes_) - 1))
        with Telling(self.verbose, "loss") as bar:
            out = _core.robust_train(rows, labels, sides, options | {"tell": bar.tell})
        self.network_, self.parameters_ = out["network"], out["parameters"]
        self.certificate_, self.loss_ = Certificate(*out["gap"]), out["value"]
        self.standing_, self.n_iter_ = tuple(out["standing"]), out["steps"]
        return self

    def _options(self) -> dict[str, Any]:
        epochs, rate = float(self.epochs), float(self.learning_rate)
        stages = [(epochs * 2 / 3, rate), (epochs / 3, rate / 10)] if self.schedule is None else self.schedule
        return {
            "model": self.model,
            "method": self.method,
            "eps": float(self.eps),
            "steps": int(self.attack_steps),
            "step_size": 0.0 if self.step_size is None else float(self.step_size),
            "targets": str(self.targets),
            "lam": float(self.lam),
            "beta": float(self.beta),
            "kappa": float(self.kappa),
            "warmup": float(self.warmup),
            "ramp": float(self.ramp),
            "schedule": [(float(length), float(at)) for length, at in stages],
            "seed": self._seed(),
            "threads": self._threads(),
            "measured": int(self.measured),
        }

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = validate_data(self, _images(X)[0], dtype=np.float32, order="C", reset=False)
        return rows

    def _bench(self, X: ArrayLike, y: ArrayLike | None) -> dict[str, Any]:
        check_is_fitted(self)
        rows = self._rows(X)
        _check_pixels(rows)
        if y is None:
            labels = self._logits(X).argmax(axis=1).astype(np.uint16)
        else:
            labels = number_of(column_or_1d(y), self.classes_)
        if len(labels) != len(rows):
            raise ValueError(f"X has {len(rows)} images, y has shape ({len(labels)},)")
        return {"images": rows, "labels": labels, "network": self.network_, "parameters": self.parameters_}

    def attack(
        self,
        X: ArrayLike,
        y: ArrayLike,
        eps: float | None = None,
        attacks: list[str] | None = None,
        protocol: str = "standard",
        *,
        norm: str | None = None,
        grid: str | None = None,
        chain: bool = False,
        seed: int = 0,
    ) -> Result:
        """Attack images and count what stands: ``accuracy`` is an upper bound of the robust accuracy.

        ``protocol`` is ``"standard"`` (strong attacks, every fallen image verified) or ``"paper"`` (as published: FGSM and
        PGD-40, images cut to 256 levels); ``attacks`` replaces its attacks, by the names of ``standoff attack``: ``"fgsm"``,
        ``"pgd40"``, ``"pgd100x10"``, ``"apgd-ce"``, ``"apgd-t50x9"``, ``"square1000"``, ... ``norm`` is ``"linf"`` or ``"l2"``;
        ``grid`` says how images are stored: ``"float"``, ``"truncate"``, ``"round"``, ``"search"``. With ``chain`` each attack
        tries only what stands and is not proven to.

        The result has ``natural_accuracy``, ``accuracy``, ``attacks`` (what each leaves), ``stands`` and ``fallen_to`` of every
        image, ``images`` (the worst found, in the shape of X), ``margins`` and ``warnings``, reasons to doubt it, which are
        warned of too. Ctrl-C raises.
        """
        if protocol not in ("standard", "paper"):
            raise ValueError(f"protocol is {protocol!r}; give 'standard' or 'paper'")
        bench = self._bench(X, y)
        wish = {
            "eps": float(self.eps if eps is None else eps),
            "paper": protocol == "paper",
            "attacks": None if attacks is None else [str(a) for a in attacks],
            "norm": norm,
            "grid": grid,
            "chain": bool(chain),
            "seed": int(seed),
            "threads": self._threads(),
        }
        with Telling(self.verbose, "standing") as bar:
            out = _core.robust_attack(bench, wish | {"tell": bar.tell})
        for doubt in out["warnings"]:
            warnings.warn(doubt, stacklevel=2)
        n = len(bench["labels"])
        rows = [row | {"accuracy": row["left"] / n} for row in out["attacks"]]
        return Result(
            accuracy=float(out["stands"].mean()),
            natural_accuracy=float(out["natural"].mean()),
            attacks=rows,
            stands=out["stands"],
            fallen_to=np.array(out["fallen_to"], dtype=object),
            margins=out["margins"],
            images=out["images"].reshape(np.shape(X)),
            warnings=list(out["warnings"]),
        )

    def certify(self, X: ArrayLike, y: ArrayLike | None = None, eps: float | None = None) -> Result:
        """Prove which images no change of at most ``eps`` in every pixel can turn: a lower bound of the robust accuracy.

        Without ``y`` the network's own answers are proven. The result has ``accuracy``, ``certified`` of every image, and
        ``margins``, proven upper bounds of every class's logit over the label's.
        """
        eps = float(self.eps if eps is None else eps)
        if not 0 <= eps <= 1:
            raise ValueError(f"eps is {eps}: want a number from 0 to 1")
        certified, margins = _core.robust_certify(self._bench(X, y), eps, self._threads())
        return Result(accuracy=float(certified.mean()), certified=certified, margins=margins.reshape(len(certified), -1))

    def _metadata(self) -> dict[str, str]:
        names = [str(c) for c in self.classes_]
        if any("," in name for name in names):
            raise ValueError(f"the names of classes are saved with commas between them: {names} have some inside")
        return {"standoff.scale": "unit", "standoff.classes": ",".join(names)}

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: str | None = None, shape: Sides = (1, 28, 28)
    ) -> RobustClassifier:
        """A network of images that ``save``, ``standoff robust``, ``standoff fair`` or PyTorch wrote.

        A file that does not describe its network is recognised by its tensors, or read as ``model``, for images of ``shape``.
        """
        return cls._of(_core.network_recognise(Path(path), shape, model), None)

    @classmethod
    def from_state_dict(
        cls, state: State, classes: ArrayLike | None = None, model: str | None = None, shape: Sides = (1, 28, 28)
    ) -> RobustClassifier:
        """A network from PyTorch's parameters, recognised by their shapes, or read as ``model``, for images of ``shape``."""
        return cls._of(_core.network_recognise(as_tensors(state), shape, model), classes)

    @classmethod
    def _of(cls, loaded: tuple[str, NDArray[np.float32], dict[str, str]], classes: ArrayLike | None) -> RobustClassifier:
        network, parameters, metadata = loaded
        sides, outputs = _core.network_ends(network)
        presets = ("lenet", "fair-cnn", "mlp", "logistic")
        known = [name for name in presets if _described(name, sides, outputs) == network]
        new = cls(model=known[0] if known else "lenet")
        new.network_, new.parameters_ = network, parameters
        new.n_features_in_ = sides[0] * sides[1] * sides[2]
        names = metadata.get("standoff.classes")
        if classes is None:
            classes = np.arange(outputs) if names is None else _numbers(names.split(","))
        new.classes_ = np.asarray(classes)
        if len(new.classes_) > outputs:
            raise ValueError(f"there are {len(new.classes_)} classes, the network has {outputs} outputs")
        return new


def _described(name: str, sides: Sides, outputs: int) -> str | None:
    try:
        return _core.network_preset(name, sides, outputs)
    except ValueError:  # the images are too small for it
        return None


def _numbers(names: list[str]) -> NDArray[Any]:
    """Names that are all whole numbers, as MNIST's are, as numbers."""
    names = [name.strip() for name in names]
    if all(name.isascii() and name.isdigit() for name in names):
        return np.array([int(name) for name in names])
    return np.array(names)


def _images(X: Any) -> tuple[Any, Sides]:
    """One image in each row, and its channels, height and width. Bytes become numbers from 0 to 1."""
    if hasattr(X, "iloc"):  # a table keeps the names of its columns
        n = X.shape[1]
        edge = side(n)
        return X, (n, 1, 1) if edge is None else (1, edge, edge)
    X = np.asarray(X)
    if X.dtype == np.uint8:
        X = X.astype(np.float32) / np.float32(255)
    if X.ndim == 4:
        sides = (X.shape[1], X.shape[2], X.shape[3])
    elif X.ndim == 3:
        sides = (1, X.shape[1], X.shape[2])
    elif X.ndim == 2:
        edge = side(X.shape[1])
        sides = (X.shape[1], 1, 1) if edge is None else (1, edge, edge)
    else:
        raise ValueError(f"X has shape {X.shape}; give images as (N, 784), (N, 28, 28) or (N, 1, 28, 28)")
    return X.reshape(len(X), -1), sides


def _check_pixels(rows: NDArray[np.float32]) -> None:
    if rows.size and not (rows.min() >= 0 and rows.max() <= 1):
        low, high = float(rows.min()), float(rows.max())
        raise ValueError(f"pixels are from {low:g} to {high:g}, want 0 to 1: divide by 255, or give bytes (uint8)")
