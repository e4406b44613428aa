"""Non-convex min-max games, ``min over x, max over y, of f(x, y)``, solved to a certificate.

``solve`` takes a function and a start, and returns a point with bounds of the first-order gain that either player could still make.
``certify`` computes these bounds for any point, and ``verify`` checks a claim about them. ``FairClassifier`` and ``RobustClassifier`` are
estimators of scikit-learn; ``evaluate`` attacks and certifies networks of images, and ``read_run`` reads run folders.

>>> import standoff
>>> standoff.solve(standoff.zoo["kink"], eps=1e-6).success
True
"""

from typing import TYPE_CHECKING, Any

from ._attack import attack
from ._autodiff import Differentiable, from_jax, from_torch
from ._certify import certify, gap, verify
from ._core import __version__
from ._data import read_images, read_table
from ._evaluate import evaluate
from ._game import Game, Zoo, zoo
from ._graph import Network
from ._plan import check, noise_plan, plan
from ._race import race
from ._result import Certificate, Record, Result
from ._sets import Affine, Ball, Box, ConvexSet, Free, Halfspace, L1Ball, Polyhedron, Product, Projected, Simplex
from ._runs import read_run
from ._solve import solve
from ._weights import load_safetensors, save_safetensors

if TYPE_CHECKING:
    from ._fair import FairClassifier
    from ._meta import FairMeta
    from ._regressor import FairRegressor
    from ._robust import RobustClassifier

__all__ = [
    "Affine", "Ball", "Box", "Certificate", "ConvexSet", "Differentiable", "FairClassifier", "FairMeta", "FairRegressor", "Free", "Game",
    "Halfspace", "L1Ball", "Network", "Polyhedron", "Product", "Projected", "Record", "Result", "RobustClassifier", "Simplex", "Zoo", "__version__",
    "attack", "certify", "check", "evaluate", "from_jax", "from_torch", "gap", "load_safetensors", "methods", "noise_plan", "plan", "race",
    "read_images", "read_run", "read_table", "save_safetensors", "solve", "verify", "zoo",
]  # fmt: skip


def methods() -> dict[str, str]:
    """Every method and its assumptions.

    >>> "auto" in methods()
    True
    """
    from . import _core

    return dict(_core.methods())


_LATER = {"FairClassifier": "_fair", "FairRegressor": "_regressor", "FairMeta": "_meta", "RobustClassifier": "_robust"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LATER:  # the import of scikit-learn takes a second
        return getattr(import_module(f"standoff.{_LATER[name]}"), name)
    if name in ("torch", "jax"):  # they import PyTorch and JAX
        return import_module(f"standoff.{name}")
    raise AttributeError(f"module 'standoff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
