"""Min-max objectives for any PyTorch model, on one process or under ``DistributedDataParallel``, and their certificate.

PyTorch is imported by this module only::

    from standoff.torch import GroupMinMax, RobustMax, certificate

    objective = GroupMinMax(groups=3, lam=0.1)
    for x, y, g in loader:
        loss = objective(torch.nn.functional.cross_entropy(model(x), y, reduction="none"), g)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("standoff.torch needs PyTorch: pip install torch") from error

from ._answers import chi2_weights, cvar_weights, kl_weights, simplex_projection
from ._certificate import certificate
from ._groups import METHODS, GroupMinMax
from ._robust import RobustMax

__all__ = ["METHODS", "GroupMinMax", "RobustMax", "certificate", "chi2_weights", "cvar_weights", "kl_weights", "simplex_projection"]
