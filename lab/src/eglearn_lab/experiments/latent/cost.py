"""The paper's cost of a latent point: attributes, landmarks and quality of the image it makes (app. G)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array
from .protocols import Networks, Target

WEIGHTS = (1.0, 100.0, 2.0)
"""Of attributes, landmarks and quality: lambda_a, lambda_l, lambda_g; table 2 calls the last lambda_d."""

_SURE = 1e-6  # probabilities are kept this far from 0 and 1: a classifier's certainty costs 14 at most


@dataclass(frozen=True)
class Terms:
    """The three terms of the cost of k points, weighted: arrays (k,)."""

    attributes: Array
    landmarks: Array
    quality: Array

    @property
    def total(self) -> Array:
        """Their sum, the cost."""
        return self.attributes + self.landmarks + self.quality


class LatentCost:
    """f_al(z) = lambda_a CE + lambda_l MSE + lambda_g tanh(D(G(z))), to be minimised.

    CE is the cross-entropy between the classifier's probabilities and the wanted attributes, in nats, the *mean* over
    the attributes; MSE is the mean squared difference of the landmark coordinates, in units of the *image's side*. The
    paper leaves both open; the authors' code has the mean, and the image's side as unit.

    Parameters
    ----------
    networks : Networks
        The black boxes.
    target : Target
        Wanted attributes and landmarks.
    weights : three numbers
        Of attributes, landmarks and quality.

    Examples
    --------
    A "generator" of two-pixel images, wanted dark with the landmark at 0.5:

    >>> networks = Networks(
    ...     generator=lambda z: z,
    ...     critic=lambda images: 0 * images[:, 0],
    ...     attributes=lambda images: 1 / (1 + np.exp(-images)),
    ...     landmarks=lambda images: images[:, :1],
    ... )
    >>> cost = LatentCost(networks, Target(np.array([False, False]), np.array([0.5])))
    >>> round(cost(np.array([0.5, -9.0])), 3)
    0.487
    """

    def __init__(self, networks: Networks, target: Target, weights: tuple[float, float, float] = WEIGHTS) -> None:
        self.networks, self.target = networks, target
        self.weights = tuple(float(weight) for weight in weights)
        if len(self.weights) != 3 or not np.isfinite(self.weights).all():
            raise ValueError(f"weights = {weights}: allowed are three finite numbers")

    def terms(self, z: Array) -> Terms:
        """The three terms at the points (k, n)."""
        images = self.networks.generator(np.atleast_2d(z))
        return self.terms_of_images(images)

    def terms_of_images(self, images: Any) -> Terms:
        """The three terms of images, wherever they come from."""
        on_attributes, on_landmarks, on_quality = self.weights
        chance = np.asarray(self.networks.attributes(images), dtype=float)
        where = np.asarray(self.networks.landmarks(images), dtype=float)
        poor = np.asarray(self.networks.critic(images), dtype=float)
        wanted = np.asarray(self.target.attributes, dtype=float)
        _check("attributes", chance, (len(chance), wanted.size))
        _check("landmarks", where, (len(chance), np.size(self.target.landmarks)))
        _check("critic", poor, (len(chance),))
        chance = np.clip(chance, _SURE, 1 - _SURE)
        entropy = -np.mean(wanted * np.log(chance) + (1 - wanted) * np.log1p(-chance), axis=1)
        distance = np.mean((where - self.target.landmarks) ** 2, axis=1)
        return Terms(on_attributes * entropy, on_landmarks * distance, on_quality * np.tanh(poor))

    def __call__(self, z: Array) -> Any:
        """The cost of a point (n,), a float, or of points (k, n), an array (k,)."""
        total = self.terms(z).total
        return float(total[0]) if np.ndim(z) == 1 else total


def _check(name: str, values: Array, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise ValueError(f"the network {name!r} returned shape {values.shape} where {shape} is needed: correct it")
