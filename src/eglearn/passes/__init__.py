"""Passes: searches with a beginning and an end, and the schedule that lets them take turns."""

from __future__ import annotations

from .axes import Axes
from .base import Pass
from .covariance import Adaptation
from .descent import Descent
from .noise import NoisyAdaptation
from .schedule import Schedule

__all__ = ["Adaptation", "Axes", "Descent", "NoisyAdaptation", "Pass", "Schedule"]
