"""The last L batches: what the models learn from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._typing import Array
from ..state import Stateful
from .regions import LinearRegion


@dataclass(frozen=True)
class Samples:
    """Points and mapped values of several batches; only points of the same batch form pairs."""

    z: Array  # points (N, n), batch after batch
    v: Array  # mapped values (N,)
    sizes: tuple[int, ...]  # number of points in each batch, oldest first; each at least 2
    origin: Array  # the point (n,) around which gradients are wanted: the candidate

    def batches(self, values: Array) -> list[Array]:
        """The rows of ``values`` (N, ...) split into batches."""
        return np.split(values, np.cumsum(self.sizes)[:-1])

    def newest(self) -> Samples:
        """The last batch alone."""
        return self.last(1)

    def last(self, batches: int) -> Samples:
        """The last batches, so many or all."""
        if batches >= len(self.sizes):
            return self
        sizes = self.sizes[-batches:]
        k = sum(sizes)
        return Samples(self.z[-k:], self.v[-k:], sizes, self.origin)

    def padded(self) -> tuple[Array, Array, Array]:
        """Points (B, M, n) relative to their batch's mean, values (B, M) and weights (B, M): 1, or 0 for padding."""
        largest = max(self.sizes)
        inside = np.arange(largest) < np.array(self.sizes)[:, None]
        z, v = np.zeros((*inside.shape, self.z.shape[1])), np.zeros(inside.shape)
        z[inside], v[inside] = self.z, self.v
        weight = inside.astype(np.float64)
        mean = z.sum(axis=1, keepdims=True) / weight.sum(axis=1)[:, None, None]
        return (z - mean) * weight[..., None], v, weight


@dataclass
class Replay(Stateful):
    """Remembers the last ``capacity`` batches in the cube, and their images in the current region.

    >>> replay = Replay(capacity=2)
    >>> for y in (3.0, 2.0, 1.0):
    ...     replay.add(np.array([[0.0], [0.5]]), np.array([y, y]), LinearRegion.whole(1))
    >>> replay.y.tolist()
    [2.0, 2.0, 1.0, 1.0]
    """

    capacity: int
    u: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)  # points and values of each batch, oldest first

    def __post_init__(self) -> None:
        self._z: list[Array] = []

    def __len__(self) -> int:
        """Number of batches."""
        return len(self.values)

    @property
    def y(self) -> Array:
        """All values (N,), oldest first."""
        return np.concatenate(self.values) if self.values else np.empty(0)

    def add(self, u: Array, y: Array, region: LinearRegion) -> None:
        """Remember a batch; of its points, those inside the region. Fewer than two make no pair and are dropped."""
        inside = region.contains(u)
        if inside.sum() > 1:
            for kept, new in ((self.u, u[inside]), (self._z, region.to_z(u[inside])), (self.values, y[inside])):
                kept.append(new)
                del kept[: -self.capacity]

    def move_to(self, region: LinearRegion) -> None:
        """Express everything in a new region; points outside are dropped, since moving them would falsify slopes."""
        old = list(zip(self.u, self.values, strict=True))
        self.u, self._z, self.values = [], [], []
        for u, y in old:
            self.add(u, y, region)

    def samples(self, v: Array, origin: Array) -> Samples:
        """What the models see, given the mapped values ``v`` of ``self.y``."""
        return Samples(np.concatenate(self._z), v, tuple(map(len, self.values)), origin)

    def look(self, region: LinearRegion) -> None:
        """The images again, after a state was read."""
        self._z = [region.to_z(u) for u in self.u]
