"""The input map h_j: from a trust region Omega_j inside the cube to coordinates z around its centre.

Three kinds (paper sec. 4.3, app. D). ``TanhRegion`` is the paper's: u = mu + sigma tanh(z), so every z lies
inside the region, but near a face tanh saturates and the face itself is never reached. ``LinearRegion`` is
u = mu + sigma z, projected onto the region; the projected point is the one evaluated and learned from, so
faces and corners are reached exactly. ``ShapedRegion`` is linear, too, with axes that follow the curvature (``shape``).
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
# Of a region with another shape: how far outside, in half-widths, points are still learned from, and below which share
# of its length a ray is no longer worth shortening.
_WITHIN, _SHORT = 4.0, 0.2


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

    def moved(self, z: Array, step: Array) -> Array:
        """The point z + step (n,), or the nearest one of the region: through u and back."""
        return self.to_z(self.to_u(z + step))

    def around(self, z: Array, offsets: Array) -> Array:
        """The points z + offsets (k, n), in the cube."""
        return self.to_u(z + offsets)

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


@dataclass(frozen=True)
class ShapedRegion(LinearRegion):
    """u = mu + sigma A z, projected onto the cube: a region that is long where the function is flat.

    The determinant of A is 1, so that the volume is that of the linear region, unless that made it longer than the
    cube.

    >>> region = ShapedRegion.whole(2).shrunk(np.zeros(2), 0.25).shaped(np.diag([2.0, 1.0]))
    >>> region.axes.round(3).tolist()
    [[1.414, 0.0], [0.0, 0.707]]
    """

    axes: Array  # A (n, n)

    @classmethod
    def whole(cls, n: int) -> Self:
        """The cube itself."""
        return cls(np.zeros(n), np.ones(n), np.eye(n))

    def shrunk(self, centre: Array, factor: float) -> Self:
        """The region with each side times ``factor``, centred at ``centre``; it may reach out of the cube."""
        return type(self)(centre, self.sigma * factor, self.axes)

    def shaped(self, stretch: Array) -> Self:
        """The region with other axes: ``stretch`` (n, n) applies to z."""
        axes = self.axes @ stretch
        lengths = np.linalg.svd(axes, compute_uv=False)
        # At most half as long as the cube; in the beginning the longest axis is as long as it was.
        longest = max(0.5 / float(self.sigma[0]), 1.0)
        return type(self)(self.mu, self.sigma, axes * min(np.exp(-np.log(lengths).mean()), longest / lengths[0]))

    def contains(self, u: Array) -> Mask:
        """Which of the points are near the region: those of the last one, which had another shape, are of use."""
        return np.asarray((np.abs(self.to_z(u)) <= _WITHIN).all(axis=-1))

    def to_z(self, u: Array) -> Array:
        """Points (..., n) of the cube to z, also of those outside the region."""
        return np.asarray(np.linalg.solve(self.axes, np.atleast_2d((u - self.mu) / self.sigma).T).T.reshape(u.shape))

    def to_u(self, z: Array) -> Array:
        """Any z (..., n) to a point of the region and the cube."""
        return (self.mu + self.sigma * (np.clip(z, -1.0, 1.0) @ self.axes.T)).clip(-1.0, 1.0)

    def moved(self, z: Array, step: Array) -> Array:
        """The point z + step for a step along a gradient, downhill also at the faces of the cube.

        A face stops its coordinate. If the others moved on as they would without the face, that could lead uphill,
        since the shape couples them; so the slope of the coordinates that are held counts as none.
        """
        u, downhill = self.to_u(z), self.pull_back(step, z)
        free = (np.abs(u) < 1) | (np.sign(downhill) != np.sign(u))
        if not free.all():
            step = (self.sigma * np.where(free, downhill, 0.0)) @ self.axes
        ahead = u + np.where(free, self.sigma * (self.axes @ step), 0.0)
        return self.to_z(ahead.clip(-1.0, 1.0)).clip(-1.0, 1.0)

    def around(self, z: Array, offsets: Array) -> Array:
        """Points that would leave the cube come back along their ray: to clip them would move them in steep directions.

        Where the ray ends at once, as from a point on a face, they are clipped all the same.
        """
        start, rays = self.to_u(z), self.sigma * (offsets @ self.axes.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.min(np.where(rays != 0, (np.sign(rays) - start) / rays, np.inf), axis=-1, keepdims=True)
        return np.asarray(np.where(reach < _SHORT, start + rays, start + np.minimum(reach, 1.0) * rays).clip(-1.0, 1.0))

    def pull_back(self, gradient: Array, z: Array) -> Array:
        """A gradient with respect to z as one with respect to u: times (sigma A)^-T."""
        return np.asarray(
            np.linalg.solve(self.axes.T, np.atleast_2d(gradient).T).T.reshape(gradient.shape) / self.sigma
        )


REGIONS: dict[str, type[LinearRegion]] = {"tanh": TanhRegion, "linear": LinearRegion, "shaped": ShapedRegion}
