"""Non-convex min-max games, ``min over x, max over y, of f(x, y)``, solved to a certificate.

``solve`` takes a function and two starts and hands back a point with bounds on how much either player could still gain to first
order; ``certify`` measures the same of any point, and ``verify`` checks a claim about it. Sets: ``Free``, ``Box``, ``Ball``, ``L1Ball``, ``Simplex``,
``Halfspace``, ``Affine``, ``Polyhedron``, ``Product``.

>>> import standoff
>>> standoff.solve(standoff.zoo["kink"], eps=1e-6).success
True
"""

from typing import TYPE_CHECKING, Any

from ._autodiff import Differentiable, from_jax, from_torch
from ._certify import certify, gap, verify
from ._core import __version__
from ._data import read_images, read_table
from ._game import Game, Zoo, zoo
from ._plan import check, noise_plan, plan
from ._race import race
from ._result import Certificate, Record, Result
from ._sets import Affine, Ball, Box, ConvexSet, Free, Halfspace, L1Ball, Polyhedron, Product, Projected, Simplex
from ._solve import solve
from ._weights import load_safetensors, save_safetensors

if TYPE_CHECKING:
    from ._fair import FairClassifier
    from ._robust import RobustClassifier

__all__ = [
    "Affine", "Ball", "Box", "Certificate", "ConvexSet", "Differentiable", "FairClassifier", "Free", "Game", "Halfspace",
    "L1Ball", "Polyhedron", "Product", "Projected", "Record", "Result", "RobustClassifier", "Simplex", "Zoo", "__version__",
    "certify", "check", "from_jax", "from_torch", "gap", "load_safetensors", "methods", "noise_plan", "plan", "race", "read_images", "read_table", "save_safetensors", "solve",
    "verify", "zoo",
]  # fmt: skip


def methods() -> dict[str, str]:
    """Every method, and what it assumes of a game.

    >>> "auto" in methods()
    True
    """
    from . import _core

    return dict(_core.methods())


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and need not be there.
    if name == "FairClassifier":
        from ._fair import FairClassifier

        return FairClassifier
    if name == "RobustClassifier":
        from ._robust import RobustClassifier

        return RobustClassifier
    raise AttributeError(f"module 'standoff' has no attribute {name!r}")
