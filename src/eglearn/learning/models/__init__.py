"""The models of the mean-gradient, and the registry that Settings.model names."""

from __future__ import annotations

import numpy as np

from ...settings import NETWORKS, Settings
from .base import CurvedFit, Fit, Model
from .closed_form import CLOSED_FORMS

__all__ = ["CurvedFit", "Fit", "Model", "make_model"]


def make_model(settings: Settings, n: int, rng: np.random.Generator, *, of_values: bool = False) -> Model:
    """The model that ``settings`` name, for dimension ``n``.

    Parameters
    ----------
    settings : Settings
    n : int
    rng : numpy.random.Generator
        Draws initial weights.
    of_values : bool
        Learn the values and differentiate (IGL) instead of learning the gradient (EGL).
    """
    if settings.model not in NETWORKS:
        if of_values:
            raise ValueError(
                f"IGL learns values with a network: Settings.model = {settings.model!r}, allowed is 'fc' or 'spline'"
            )
        return CLOSED_FORMS[settings.model](settings)
    try:
        from .networks import GradientNetwork, ValueNetwork
    except ImportError as error:
        raise ImportError(
            f"Settings.model = {settings.model!r} needs PyTorch: pip install 'eglearn[nn]', or choose 'affine'"
        ) from error
    return (ValueNetwork if of_values else GradientNetwork)(settings, n, rng)
