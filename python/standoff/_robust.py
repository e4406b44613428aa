"""``RobustClassifier``: networks of images trained against small changes of their input, with attacks and proofs."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._network import NetworkClassifier, State, encode, number_of
from ._evaluate import attacked, check_pixels, image_rows, labelled_images
from ._paths import existing
from ._progress import ProgressReport
from ._result import Certificate, Result
from ._weights import as_tensors

from sklearn.utils import column_or_1d  # isort: skip  (after _network, which words its absence)
from sklearn.utils.multiclass import check_classification_targets  # isort: skip
from sklearn.utils.validation import validate_data  # isort: skip

Sides = tuple[int, int, int]


class RobustClassifier(NetworkClassifier):
    """A network of images that is trained against changes of up to ``eps`` in every pixel.

    Images have shape ``(N, 784)`` or ``(N, 1, 28, 28)``, or another size that the model accepts: numbers from 0 to 1, or uint8
    from 0 to 255. The same ``random_state`` gives the same bits as ``standoff robust`` with that seed.

    Parameters
    ----------
    model : {"lenet", "fair-cnn", "mlp", "logistic"} or path
        A preset, or the file of a model (``net.toml``).
    method : {"paper", "madry", "trades", "ibp", "crown-ibp", "natural"}
        The approximation of the inner maximum: the largest loss of targeted attacks, one untargeted attack, the divergence under
        attack, an interval bound that no attack can exceed (such networks can be certified), the same mixed with a tighter bound by
        backward linear relaxation (for chains of convolutions, dense layers, ``relu``, ``leaky_relu`` and ``ramp``), or no attack.
    eps : float
        The largest change of a pixel, from 0 to 1.
    attack_steps, step_size : int, float or None
        The number of steps of the attack in training, and their size (default: a quarter of eps).
    targets : int or str
        The number of target classes that ``paper`` attacks with all steps (at most all other classes), or ``"all"``, or ``"proven"``.
    lam, beta, kappa : float
        The regulariser of ``paper``, the weight of the divergence in ``trades``, the final weight of the clean loss in ``ibp`` and
        ``crown-ibp``.
    crown : (float, float)
        The share of the tighter bound in ``crown-ibp``, from 0 to 1: before eps grows, and at its full size.
    warmup, ramp : float
        Epochs with eps = 0, and epochs in which eps grows to its value.
    ramp_from : float
        The eps that it grows from.
    epochs, learning_rate : float
        Passes over the data, and the learning rate of Adam; it is divided by 10 for the last third.
    schedule : list of (epochs, rate) or None
        Stages, instead of ``epochs`` and ``learning_rate``.
    batch_size : int
        Images per step.
    measured : int
        The number of training images, the first ones, on which ``certificate_`` is measured.
    random_state, n_jobs, folder, resume, overwrite, save_every, verbose
        As in ``FairClassifier``; a run folder is one of ``standoff robust --out``.

    Attributes
    ----------
    classes_, n_features_in_, n_iter_ : as in all estimators of scikit-learn
    certificate_, loss_ : certificate and value of the frozen game on the measured images
    standing_ : (correct, total): measured images that are classified correctly under the attack of training (``ibp`` and ``crown-ibp``: proven)

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
        model: str | os.PathLike[str] = "lenet",
        method: str = "paper",
        *,
        eps: float = 0.3,
        attack_steps: int = 10,
        step_size: float | None = None,
        targets: int | str = 2,
        lam: float = 0.0,
        beta: float = 1.0,
        kappa: float = 0.5,
        crown: tuple[float, float] = (1.0, 0.0),
        warmup: float = 0.0,
        ramp: float = 1.0,
        ramp_from: float = 0.0,
        epochs: float = 3.0,
        learning_rate: float = 1e-3,
        schedule: list[tuple[float, float]] | None = None,
        batch_size: int = 128,
        measured: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        overwrite: bool = False,
        save_every: float = 10.0,
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
        self.crown = crown
        self.warmup = warmup
        self.ramp = ramp
        self.ramp_from = ramp_from
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.measured = measured
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.folder = folder
        self.resume = resume
        self.overwrite = overwrite
        self.save_every = save_every
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, eval_set: tuple[Any, Any] | None = None) -> RobustClassifier:
        """Train.

        ``eval_set`` is ``(X, y)``, images that are not trained on. Their accuracy is measured during training; at the end the first
        1,000 of them are attacked and certified. Both are for the run folder.

        Ctrl-C raises ``KeyboardInterrupt``; a run in a folder is saved first and can be continued with ``resume=True``.
        """
        rows, sides = image_rows(X)
        rows, y = validate_data(self, rows, y, dtype=np.float32, order="C")
        check_pixels(rows)
        check_classification_targets(y)
        self.classes_, labels = encode(column_or_1d(y))
        options = self._options() | {"classes": self._names(), "batch": min(int(self.batch_size), len(rows))}
        if isinstance(self.targets, int):
            options["targets"] = str(min(self.targets, len(self.classes_) - 1))
        train = {"x": rows, "labels": labels, "sides": sides}
        test = None if eval_set is None else self._eval_rows(*eval_set) | {"sides": sides}
        with ProgressReport(self.verbose, "loss") as bar:
            out = _core.robust_train(train, test, options | {"progress": bar.callback})
        for text in out["warnings"]:
            warnings.warn(text, stacklevel=2)
        self.network_, self.parameters_ = out["network"], out["parameters"]
        (x_lower, x_upper), (y_lower, y_upper) = out["gap"]
        self.certificate_ = Certificate(x_lower, x_upper, y_lower, y_upper, radius=1.0, outside=(0.0, 0.0))
        self.loss_, self.standing_, self.n_iter_ = out["value"], tuple(out["standing"]), out["steps"]
        return self

    def _eval_rows(self, X: ArrayLike, y: ArrayLike) -> dict[str, Any]:
        rows, labels = validate_data(self, image_rows(X)[0], y, dtype=np.float32, order="C", reset=False)
        check_pixels(rows)
        return {"x": rows, "labels": number_of(column_or_1d(labels), self.classes_)}

    def _names(self) -> list[str]:
        return [str(name) for name in self.classes_]

    def _options(self) -> dict[str, Any]:
        epochs, rate = float(self.epochs), float(self.learning_rate)
        stages = [(epochs * 2 / 3, rate), (epochs / 3, rate / 10)] if self.schedule is None else self.schedule
        return {
            "model": str(self.model),
            "method": self.method,
            "eps": float(self.eps),
            "steps": int(self.attack_steps),
            "step_size": 0.0 if self.step_size is None else float(self.step_size),
            "targets": str(self.targets),
            "lam": float(self.lam),
            "beta": float(self.beta),
            "kappa": float(self.kappa),
            "crown": (float(self.crown[0]), float(self.crown[1])),
            "warmup": float(self.warmup),
            "ramp": float(self.ramp),
            "ramp_from": float(self.ramp_from),
            "schedule": [(float(length), float(at)) for length, at in stages],
            "seed": self._seed(),
            "threads": self._threads(),
            "measured": int(self.measured),
            "folder": self._folder(),
        }

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = validate_data(self, image_rows(X)[0], dtype=np.float32, order="C", reset=False)
        check_pixels(rows)
        return rows

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
        """Attack and certify images: ``standoff.evaluate`` for this classifier, whose options and result it has.

        ``eps`` defaults to that of training. ``accuracy`` in the result is another name of ``upper``, the share of images that no attack
        broke.
        """
        options = {"attacks": attacks, "protocol": protocol, "norm": norm, "grid": grid, "chain": chain, "seed": seed}
        eps = self.eps if eps is None else eps
        (found,) = attacked(self, X, y, [eps], options, n_jobs=self.n_jobs, verbose=self.verbose)
        for text in found["warnings"]:
            warnings.warn(text, stacklevel=2)
        found["accuracy"] = found["upper"]
        return found

    def certify(self, X: ArrayLike, y: ArrayLike | None = None, eps: float | None = None) -> Result:
        """Prove which images no change of at most ``eps`` in every pixel can turn: a lower bound of the robust accuracy.

        Without ``y`` the predictions of the network are proven. The result has ``accuracy``, ``certified`` of every image, and
        ``margins``, proven upper bounds of the logit of every class minus that of the label.
        """
        eps = float(self.eps if eps is None else eps)
        if not 0 <= eps <= 1:
            raise ValueError(f"eps is {eps}: want a number from 0 to 1")
        certified, margins = _core.certify_images(labelled_images(self, X, y), eps, self._threads())
        return Result(accuracy=float(certified.mean()), certified=certified, margins=margins.reshape(len(certified), -1))

    def _metadata(self) -> dict[str, str]:
        names = self._names()
        if any("," in name for name in names):
            raise ValueError(f"class names are saved as a list with commas, so they cannot contain commas: {names}")
        return {"standoff.scale": "unit", "standoff.classes": ",".join(names)}

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: str | None = None, shape: Sides = (1, 28, 28)
    ) -> RobustClassifier:
        """Load a network of images that ``save``, ``standoff robust``, ``standoff fair`` or PyTorch wrote.

        A file that does not describe its network is recognised by its tensors, or read as ``model``, for images of ``shape``.
        """
        return cls._of(_core.network_recognise(existing(path), shape, model), None)

    @classmethod
    def from_state_dict(
        cls, state: State, classes: ArrayLike | None = None, model: str | None = None, shape: Sides = (1, 28, 28)
    ) -> RobustClassifier:
        """A network from parameters of PyTorch, recognised by their shapes, or read as ``model``, for images of ``shape``."""
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
    except ValueError:  # the images are too small for this preset
        return None


def _numbers(names: list[str]) -> NDArray[Any]:
    """Class names as integers if all are integers, as of MNIST."""
    names = [name.strip() for name in names]
    if all(name.isascii() and name.isdigit() for name in names):
        return np.array([int(name) for name in names])
    return np.array(names)
