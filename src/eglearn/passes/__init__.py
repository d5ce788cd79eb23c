"""Passes: searches with a beginning and an end, and who lets them take turns."""

from __future__ import annotations

from .axes import Axes
from .base import Pass
from .covariance import Adaptation
from .descent import Descent
from .race import Race
from .schedule import Schedule
from .secant import Secant
from .separable import Separable
from .slopes import Slopes
from .subspace import Subspace
from .watched import Watched

__all__ = [
    "Adaptation",
    "Axes",
    "Descent",
    "Pass",
    "Race",
    "Schedule",
    "Secant",
    "Separable",
    "Slopes",
    "Subspace",
    "Watched",
]
