"""Finding out whether few directions matter, and which: gradients at several points span them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._typing import Array
from ..learning.samplers import folded
from ..learning.steps import unit_rows
from ..learning.values import exponent_of, in_units
from ..settings import FACTOR, Settings, setting, whole
from .base import BATCH_NUMBERS, BatchSearch, Reason

Indices = npt.NDArray[np.intp]

# Deviations of gradients below that are rounding.
_SMALLEST = 1e-6


@dataclass(frozen=True, kw_only=True)
class ActiveSubspaceSettings(Settings):
    """Constants of ``ActiveSubspace``."""

    sigma: float = setting(0.4, "standard deviation of the points around the start", "ours: as of the evolution")
    points: int = setting(4, "points whose gradients are compared", "ours", whole(3))
    first: float = setting(1 / 4, "share of the coordinates on which they are compared first", "ours", FACTOR)
    few: float = setting(1 / 16, "few are so many directions by the dimension, or less", "ours", FACTOR)
    step: float = setting(0.1, "length of differences over sigma", "ours: as smooth as the evolution sees it")


def directions_in(g: Array) -> float:
    """About how many directions gradients (k, n) differ in, k above 2: up to n.

    If their deviations were spread evenly over d directions, those of k - 1 gradients would explain (k - 2) / d of the
    squares of another's. What they have in common, the way down, does not count.

    >>> rng = np.random.default_rng(0)
    >>> few, many = rng.standard_normal((6, 10)) @ rng.standard_normal((10, 500)), rng.standard_normal((6, 500))
    >>> directions_in(few) < 12, directions_in(many) > 200
    (True, True)
    """
    k, n = g.shape
    g = unit_rows(g)
    total = explained = 0.0
    for one in range(k):
        others = np.delete(g, one, axis=0)
        deviation = g[one] - others.mean(axis=0)
        total += float(deviation @ deviation)
        explained += float(np.sum((deviation @ _basis(others[1:] - others[0])) ** 2))
    if total <= k * _SMALLEST**2 or explained * n <= (k - 2) * total:
        return float(n)
    return float((k - 2) * total / explained)


def _basis(rows: Array) -> Array:
    """(n, k) orthonormal columns that span the rows."""
    return np.linalg.qr(rows.T)[0]


@dataclass(init=False, eq=False, repr=False)
class ActiveSubspace(BatchSearch):
    """Gradients at points of a distribution; it ends with the directions that they span, if these are few.

    Objectives of many variables often depend on few combinations of them, those that a network or a projection computes
    first. A distribution that is equally wide in all directions is then as wide as these few allow for, and far too
    narrow for the others. Four gradients on a quarter of the coordinates tell whether that is so. If it is, they are
    completed.
    """

    settings_class, scale_setting, shows_spread = ActiveSubspaceSettings, "sigma", False
    interruptible = False  # only its end tells anything
    settings: ActiveSubspaceSettings
    start: Array
    points: Array
    values: Array  # where gradients are measured, and the values there; none before the first batch
    g: Array  # the gradients, 0 where they are not known
    order: Indices  # of the coordinates
    known: int = 0  # how many slopes were measured, in the order of ``_next``
    exponent: int = 0  # the unit of values is 2^exponent

    def _derive(self) -> None:
        self._first = max(int(self.settings.first * self.n), 1)  # coordinates of the first comparison

    def _begin(self, start: Array) -> None:
        self.start, self.order = start.copy(), self.rng.permutation(self.n)
        self.points, self.values = np.empty((0, self.n)), np.empty(0)
        self.g = np.zeros((self.settings.points, self.n))

    @property
    def radius(self) -> float:
        """The standard deviation."""
        return float(self.settings.sigma)

    @property
    def directions(self) -> Array:
        """(n, k) orthonormal columns; none if many directions matter."""
        return _basis(unit_rows(self.g)) if self.done is Reason.FEW_DIRECTIONS else np.empty((self.n, 0))

    @property
    def shortening(self) -> float:
        """The standard deviation that a distribution should have along the directions, by that along others.

        Deviations of gradients are curvatures times those of points. With as much of their squares in d directions as
        there is in all, curvatures are sqrt(n / d) times as large there as they are on average; the distribution is
        round in the metric of the curvatures' roots.
        """
        return float((directions_in(self.g) / self.n) ** 0.25)

    def _next(self) -> tuple[Indices, Indices]:
        """Points and coordinates of the next slopes: some of all points, then the others, one point after the other."""
        first, rest, points = self._first, self.n - self._first, self.settings.points
        begin, since = self.known, self.known - points * first
        end = points * first if since < 0 else begin + rest - since % rest
        slopes = np.arange(begin, min(end, begin + max(1, BATCH_NUMBERS // self.n)))
        if since < 0:
            return slopes // first, self.order[slopes % first]
        return (slopes - points * first) // rest, self.order[first + (slopes - points * first) % rest]

    def _propose(self) -> Array:
        """Neighbours along coordinates; at first the points, too."""
        begins = len(self.values) == 0
        if begins:
            spread = self.rng.standard_normal((self.settings.points, self.n))
            self.points = folded(self.start + self.settings.sigma * spread)
        rows, along = self._next()
        neighbours, step = self.points[rows], self.settings.step * self.settings.sigma
        at = self.points[rows, along]
        neighbours[np.arange(len(rows)), along] = np.where(at + step > 1, at - step, at + step)
        return np.vstack([self.points, neighbours]) if begins else neighbours

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        rows, along = self._next()
        begins, points = len(self.values) == 0, self.settings.points
        if len(y) < len(rows) + begins * points:  # the budget is at its end, and nothing follows
            return
        if begins:
            self.values, u, y = y[:points], u[points:], y[points:]
        self._measure(u, y, rows, along)
        self.known += len(rows)
        if self.known == points * self._first:
            if not self._few(self.g[:, self.order[: self._first]]):
                self.done = Reason.MANY_DIRECTIONS
        elif self.known == points * self.n:
            self.done = Reason.FEW_DIRECTIONS if self._few(self.g) else Reason.MANY_DIRECTIONS

    def _few(self, g: Array) -> bool:
        return bool(g.any(axis=1).all()) and directions_in(g) <= self.settings.few * self.n

    def _measure(self, u: Array, y: Array, rows: Indices, along: Indices) -> None:
        """Slopes between points and their neighbours; 0 where one of them failed."""
        v = y - self.values[rows]
        if not self.g.any():
            self.exponent = exponent_of(v[np.isfinite(v)])
        steps = u[np.arange(len(rows)), along] - self.points[rows, along]
        with np.errstate(over="ignore"):
            slopes = in_units(v, self.exponent) / steps
        self.g[rows, along] = np.where(np.isfinite(slopes), slopes, 0.0)
