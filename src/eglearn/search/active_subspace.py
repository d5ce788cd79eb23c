"""Finding out whether few directions matter, and which: gradients at several points span them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .._typing import Array
from ..learning.models.least_change import exponent_of
from .base import NUMBERS, Search

Indices = npt.NDArray[np.intp]

# Points whose gradients are compared, first on that share of the coordinates.
POINTS, _FIRST = 4, 1 / 4
# Few are so many directions by the dimension, or less.
_FEW = 1 / 16
# Differences of values are as far apart as that, by the standard deviation of the points.
_STEP = 0.1
# Deviations of gradients below that are rounding.
_SMALLEST = 1e-6


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
    g = _units(g)
    total = explained = 0.0
    for one in range(k):
        others = np.delete(g, one, axis=0)
        deviation = g[one] - others.mean(axis=0)
        total += float(deviation @ deviation)
        explained += float(np.sum((deviation @ _basis(others[1:] - others[0])) ** 2))
    if total <= k * _SMALLEST**2 or explained * n <= (k - 2) * total:
        return float(n)
    return float((k - 2) * total / explained)


def _units(g: Array) -> Array:
    size = np.sqrt(np.einsum("ij,ij->i", g, g))[:, None]
    units: Array = np.divide(g, size, out=np.zeros_like(g), where=size > 0)
    return units


def _basis(rows: Array) -> Array:
    """(n, k) orthonormal columns that span the rows."""
    basis: Array = np.linalg.qr(rows.T)[0]
    return basis


class ActiveSubspace(Search):
    """Gradients at points of a distribution; it ends with the directions that they span, if these are few.

    Objectives of many variables often depend on few combinations of them, those that a network or a projection computes
    first. A distribution that is equally wide in all directions is then as wide as these few allow for, and far too
    narrow for the others. Four gradients on a quarter of the coordinates tell whether that is so. If it is, they are
    completed.

    Parameters
    ----------
    rng, start
        See ``Search``.
    sigma : float
        Standard deviation of the points around the start.
    """

    shows_spread: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = (
        *Search.fields,
        *("start", "sigma", "points", "values", "g", "known", "order", "exponent"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, sigma: float) -> None:
        super().__init__(rng, start)
        self.start, self.sigma = start.copy(), sigma
        self.order = rng.permutation(self.n)
        """Of the coordinates."""
        self.points, self.values = np.empty((0, self.n)), np.empty(0)
        """Where gradients are measured, and the values there; none before the first batch."""
        self.g = np.zeros((POINTS, self.n))
        """The gradients, 0 where they are not known."""
        self.known = 0
        """How many slopes were measured, in the order of ``_next``."""
        self.exponent = 0
        """The unit of values is 2^exponent."""

    @property
    def radius(self) -> float:
        """The standard deviation."""
        return self.sigma

    @property
    def interruptible(self) -> bool:
        """Never: only its end tells anything."""
        return False

    @property
    def directions(self) -> Array:
        """(n, k) orthonormal columns; none if many directions matter."""
        return _basis(_units(self.g)) if self.done == "few" else np.empty((self.n, 0))

    @property
    def shortening(self) -> float:
        """The standard deviation that a distribution should have along the directions, by that along others.

        Deviations of gradients are curvatures times those of points. With as much of their squares in d directions as
        there is in all, curvatures are sqrt(n / d) times as large there as they are on average; the distribution is
        round in the metric of the curvatures' roots.
        """
        return float((directions_in(self.g) / self.n) ** 0.25)

    @property
    def _first(self) -> int:
        """Coordinates of the first comparison."""
        return max(int(_FIRST * self.n), 1)

    def _next(self) -> tuple[Indices, Indices]:
        """Points and coordinates of the next slopes: some of all points, then the others, one point after the other."""
        first, rest = self._first, self.n - self._first
        begin, since = self.known, self.known - POINTS * first
        end = POINTS * first if since < 0 else begin + rest - since % rest
        slopes = np.arange(begin, min(end, begin + max(1, NUMBERS // self.n)))
        if since < 0:
            return slopes // first, self.order[slopes % first]
        return (slopes - POINTS * first) // rest, self.order[first + (slopes - POINTS * first) % rest]

    def propose(self) -> Array:
        """Neighbours along coordinates; at first the points, too."""
        begins = len(self.values) == 0
        if begins:
            u = self.start + self.sigma * self.rng.standard_normal((POINTS, self.n))
            self.points = np.clip(np.where(np.abs(u) > 1, 2 * np.sign(u) - u, u), -1, 1)
        rows, along = self._next()
        neighbours, step = self.points[rows], _STEP * self.sigma
        at = self.points[rows, along]
        neighbours[np.arange(len(rows)), along] = np.where(at + step > 1, at - step, at + step)
        return np.vstack([self.points, neighbours]) if begins else neighbours

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        rows, along = self._next()
        begins = len(self.values) == 0
        if len(y) < len(rows) + begins * POINTS:  # the budget is at its end, and nothing follows
            return
        if begins:
            self.values, u, y = y[:POINTS], u[POINTS:], y[POINTS:]
        self._measure(u, y, rows, along)
        self.known += len(rows)
        if self.known == POINTS * self._first:
            if not self._few(self.g[:, self.order[: self._first]]):
                self.done = "many"
        elif self.known == POINTS * self.n:
            self.done = "few" if self._few(self.g) else "many"

    def _few(self, g: Array) -> bool:
        return bool(g.any(axis=1).all()) and directions_in(g) <= _FEW * self.n

    def _measure(self, u: Array, y: Array, rows: Indices, along: Indices) -> None:
        """ActiveSubspace between points and their neighbours; 0 where one of them failed."""
        quarters = y * 0.25 - self.values[rows] * 0.25  # a difference of huge values overflows
        if not self.g.any():
            self.exponent = exponent_of(quarters[np.isfinite(quarters)])
        steps = u[np.arange(len(rows)), along] - self.points[rows, along]
        with np.errstate(over="ignore"):
            slopes = np.ldexp(quarters, -self.exponent) / steps
        self.g[rows, along] = np.where(np.isfinite(slopes), slopes, 0.0)
