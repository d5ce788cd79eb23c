"""Indirect Gradient Learning: the paper's algorithm 1, the rival of EGL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..learning.models import Model, value_model
from .egl import GradientLearning
from .egl_settings import IGLSettings


@dataclass(init=False, eq=False, repr=False)
class IndirectGradientLearning(GradientLearning):
    """Learns the values with a network and steps along its parametric gradient; all else is as in EGL."""

    settings_class = IGLSettings
    settings: IGLSettings

    def _make_model(self, rng: np.random.Generator) -> Model:
        return value_model(self.settings, self.n, rng, self.settings.region != "linear")
