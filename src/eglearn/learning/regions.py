"""The input map h_j: from a trust region Omega_j inside the cube to coordinates z around its centre.

Two kinds (paper sec. 4.3, app. D). ``TanhRegion`` is the paper's: u = mu + sigma tanh(z), so every z lies
inside the region, but near a face tanh saturates and the face itself is never reached. ``LinearRegion`` is
u = mu + sigma z, projected onto the region; the projected point is the one evaluated and learned from, so
faces and corners are reached exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._typing import Array, Mask
from ..state import Stateful

# tanh(z) = +-1 exactly has no preimage. Cutting at 2^-42 from the face moves a point by less than 1e-12 of the
# region and keeps |z| below 15, where tanh still has a slope that float64 resolves.
_FACE = 1.0 - 2.0**-42


@dataclass(frozen=True)
class LinearRegion(Stateful):
    """u = mu + sigma z, projected onto the region.

    >>> LinearRegion.whole(2).to_u(np.array([0.5, 3.0])).tolist()
    [0.5, 1.0]
    """

    mu: Array
    sigma: Array  # centre (n,) and half-widths (n,) of the region, in the cube

    @classmethod
    def whole(cls, n: int) -> Self:
        """The cube itself, Omega_0."""
        return cls(np.zeros(n), np.ones(n))

    def shrunk(self, centre: Array, factor: float) -> Self:
        """The region with each side times ``factor``, centred at ``centre`` and shifted to stay in the cube."""
        sigma = self.sigma * factor
        return type(self)(np.clip(centre, sigma - 1.0, 1.0 - sigma), sigma)

    def contains(self, u: Array) -> Mask:
        """Which of the points (k, n) lie in the region (k,)."""
        # A point on a face may be off by the rounding of mu +- sigma: two units in the last place of 1.
        return np.asarray((np.abs(u - self.mu) <= self.sigma + 2 * np.spacing(1.0)).all(axis=-1))

    def to_z(self, u: Array) -> Array:
        """Points (..., n) of the cube to z; of those outside the region, the z of the nearest point inside."""
        return np.clip((u - self.mu) / self.sigma, -1.0, 1.0)

    def to_u(self, z: Array) -> Array:
        """Any z (..., n) to a point of the region."""
        return np.clip(self.mu + self.sigma * z, self.mu - self.sigma, self.mu + self.sigma).clip(-1.0, 1.0)

    def pull_back(self, gradient: Array, z: Array) -> Array:
        """A gradient with respect to z, at ``z``, as a gradient with respect to u: times dz/du = 1 / sigma."""
        return gradient / self.sigma


@dataclass(frozen=True)
class TanhRegion(LinearRegion):
    """u = mu + sigma tanh(z): the paper's map.

    >>> region = TanhRegion.whole(1).shrunk(np.array([0.95]), 0.5)
    >>> region.mu.tolist(), region.sigma.tolist()  # shifted so that it stays inside the cube
    ([0.5], [0.5])
    """

    def to_z(self, u: Array) -> Array:
        """Linear to [-1, 1], then arctanh."""
        return np.arctanh(np.clip(super().to_z(u), -_FACE, _FACE))

    def to_u(self, z: Array) -> Array:
        """tanh, then linear."""
        return super().to_u(np.tanh(z))

    def pull_back(self, gradient: Array, z: Array) -> Array:
        """Gradient times dz/du = cosh(z)^2 / sigma (paper app. D, h' = a)."""
        return np.asarray(gradient * np.cosh(z) ** 2 / self.sigma)


REGIONS = {"tanh": TanhRegion, "linear": LinearRegion}
