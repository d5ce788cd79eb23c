"""The models of the mean-gradient, by the names that settings give them."""

from __future__ import annotations

import numpy as np

from .base import CurvedFit, Fit, Model
from .closed_form import CLOSED_FORMS
from .least_change import LeastChangeField
from .settings import NETWORKS, FieldSettings, NetworkSettings

__all__ = ["CurvedFit", "Fit", "Model", "gradient_model", "value_model"]


def gradient_model(settings: FieldSettings, n: int, rng: np.random.Generator, squash: bool = False) -> Model:
    """The model that ``settings`` name, for dimension ``n``; ``rng`` draws initial weights.

    With ``squash`` networks see tanh(z), the region's own coordinates, in place of z.
    """
    if settings.model in NETWORKS:
        _need_torch(settings.model)
        from .networks import GradientNetwork

        return GradientNetwork(settings, n, rng, squash)
    if settings.model == "least-change":
        return LeastChangeField(n)
    return CLOSED_FORMS[settings.model](settings)


def value_model(settings: NetworkSettings, n: int, rng: np.random.Generator, squash: bool = False) -> Model:
    """A network that learns the values and is differentiated (IGL), in place of one that learns the gradient."""
    _need_torch(getattr(settings, "model", "fc"))
    from .networks import ValueNetwork

    return ValueNetwork(settings, n, rng, squash)


def _need_torch(model: str) -> None:
    if model == "fc":
        return
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"model = {model!r} needs PyTorch: pip install 'eglearn[nn]', or choose 'fc' or a closed form like 'affine'"
        ) from error
