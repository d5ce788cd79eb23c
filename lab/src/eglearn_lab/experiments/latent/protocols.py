"""What a search of a latent space needs: four networks, given as functions of whole batches.

They are black boxes: the search calls them and reads NumPy arrays, nothing else. An image may be anything that the
generator returns and the other three understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._typing import Array


class Generator(Protocol):
    """G of the paper: latent points to images."""

    def __call__(self, z: Array, /) -> Any:
        """Images of the points (k, n), the first axis being k."""


class Critic(Protocol):
    """D of the paper: how poor an image is; positive for poor ones, negative for good ones."""

    def __call__(self, images: Any, /) -> Any:
        """Numbers (k,)."""


class AttributeClassifier(Protocol):
    """A of the paper: which attributes an image has."""

    def __call__(self, images: Any, /) -> Any:
        """Probabilities (k, attributes)."""


class LandmarkEstimator(Protocol):
    """L of the paper: where the landmarks of an image are."""

    def __call__(self, images: Any, /) -> Any:
        """Coordinates (k, numbers), in units of the image's side."""


@dataclass(frozen=True)
class Networks:
    """The four together."""

    generator: Generator
    critic: Critic
    attributes: AttributeClassifier
    landmarks: LandmarkEstimator


@dataclass(frozen=True)
class Target:
    """What is wanted of an image: all that a search is told of the target."""

    attributes: Any
    """Booleans (attributes,)."""
    landmarks: Array
    """Coordinates (numbers,), in the units of the estimator."""

    def __post_init__(self) -> None:
        wanted = np.asarray(self.attributes)
        if wanted.ndim != 1 or not np.isin(wanted, (0, 1)).all():
            raise ValueError(f"Target.attributes of shape {wanted.shape}: allowed is a row of booleans")
        where = np.asarray(self.landmarks)
        if where.ndim != 1 or not np.isfinite(where).all():
            raise ValueError(f"Target.landmarks of shape {where.shape}: allowed is a row of finite numbers")
