"""The input map h_j: from a trust region Omega_j inside the cube to coordinates z around its centre.

Two kinds (paper sec. 4.3, app. D). ``TanhRegion`` is the paper's: u = mu + sigma tanh(z), so every z lies
inside the region, but near a face tanh saturates and the face itself is never reached. ``LinearRegion`` is
u = mu + sigma z, projected onto the region; the projected point is the one evaluated and learned from, so
faces and corners are reached exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from .._typing import Array, Mask
from ..state import Stateful

# tanh(z) = +-1 exactly has no preimage. Cutting at 2^-42 from the face moves a point by less than 1e-12 of the
# region and keeps |z| below 15, where tanh still has a slope that float64 resolves.
_FACE = 1.0 - 2.0**-42


class InputMap(Protocol):
    """A bijection (up to projection) between the region and z coordinates; immutable."""

    @property
    def mu(self) -> Array:
        """Centre of the region, canonical coordinates (n,)."""

    @property
    def sigma(self) -> Array:
        """Half-width of the region in each coordinate (n,)."""

    def to_z(self, u: Array) -> Array:
        """Canonical points (..., n) of the region to z."""

    def to_u(self, z: Array) -> Array:
        """Any z (..., n) to a canonical point inside the region."""

    def pull_back(self, gradient: Array, z: Array) -> Array:
        """A gradient with respect to z at ``z`` as a gradient with respect to u."""

    def contains(self, u: Array) -> Mask:
        """Which of the canonical points (k, n) lie in the region (k,)."""

    def shrunk(self, centre: Array, factor: float) -> Self:
        """The region with each side times ``factor``, centred at ``centre`` and shifted to stay in the cube."""


@dataclass(frozen=True)
class _Region(Stateful):
    mu: Array
    sigma: Array

    @classmethod
    def whole(cls, n: int) -> Self:
        """The cube itself, Omega_0."""
        return cls(np.zeros(n), np.ones(n))

    def _normalised(self, u: Array) -> Array:
        return np.clip((u - self.mu) / self.sigma, -1.0, 1.0)

    def _absolute(self, s: Array) -> Array:
        return np.clip(self.mu + self.sigma * s, self.mu - self.sigma, self.mu + self.sigma).clip(-1.0, 1.0)

    def contains(self, u: Array) -> Mask:
        # A point on a face may be off by the rounding of mu +- sigma: two units in the last place of 1.
        inside = np.abs(u - self.mu) <= self.sigma + 2 * np.spacing(1.0)
        mask: Mask = inside.all(axis=-1)
        return mask

    def shrunk(self, centre: Array, factor: float) -> Self:
        sigma = self.sigma * factor
        return type(self)(np.clip(centre, sigma - 1.0, 1.0 - sigma), sigma)


@dataclass(frozen=True)
class TanhRegion(_Region):
    """u = mu + sigma tanh(z): the paper's map.

    Examples
    --------
    >>> import numpy as np
    >>> region = TanhRegion.whole(1).shrunk(np.array([0.95]), 0.5)
    >>> region.mu.tolist(), region.sigma.tolist()  # shifted so that it stays inside the cube
    ([0.5], [0.5])
    """

    def to_z(self, u: Array) -> Array:
        """Linear to [-1, 1], then arctanh."""
        return np.arctanh(np.clip(self._normalised(u), -_FACE, _FACE))

    def to_u(self, z: Array) -> Array:
        """tanh, then linear."""
        return self._absolute(np.tanh(z))

    def pull_back(self, gradient: Array, z: Array) -> Array:
        """Gradient times dz/du = cosh(z)^2 / sigma (paper app. D, h' = a)."""
        pulled: Array = gradient * np.cosh(z) ** 2 / self.sigma
        return pulled


@dataclass(frozen=True)
class LinearRegion(_Region):
    """u = mu + sigma z, projected onto the region.

    Examples
    --------
    >>> import numpy as np
    >>> LinearRegion.whole(2).to_u(np.array([0.5, 3.0])).tolist()
    [0.5, 1.0]
    """

    def to_z(self, u: Array) -> Array:
        """The linear map; of points outside the region, that of the nearest point inside."""
        return self._normalised(u)

    def to_u(self, z: Array) -> Array:
        """The nearest point of the region."""
        return self._absolute(z)

    def pull_back(self, gradient: Array, z: Array) -> Array:
        """Gradient times dz/du = 1 / sigma."""
        return gradient / self.sigma


REGIONS: dict[str, type[TanhRegion] | type[LinearRegion]] = {"tanh": TanhRegion, "linear": LinearRegion}
