"""Line searches along all coordinates at once, for functions that are sums over coordinates."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array
from ..learning.models.least_change import differences, exponent_of
from .base import NUMBERS, Search

# Points of the first grid and of a whole profile, a coordinate.
_GRID, _PROFILE = 10, 100
# Points a coordinate between two tests.
_EVERY = 30
# Combined gain over the sum of single gains, from which on a function counts as separable; if there is no gain, the
# loss must be the sum of the losses to this share.
_SEPARABLE, _ADDITIVE = 0.5, 0.01
# An interval is not worth a point when it is this short.
_SHORTEST = 1e-9
# What a next point must gain: this share of the profile's median above its best.
_GAIN = 1e-3


class CoordinateSearch(Search):
    """Profiles of the function along each coordinate through one point, refined globally.

    The next point of a profile halves the interval that would need the least curvature to hold a value below the
    best (STEP: Swarzberg, Seront, Bersini 1994). After the grid, and now and then, the point with the best value of
    each coordinate is tried. If it gains less than half of what the profiles gain one by one, the coordinates may
    interact in small groups: they are moved one at a time, greatest gain first, and stay if that helps. If this too
    gains less than half, the pass ends. A start that is the best on all profiles tells nothing; then the second best
    places are combined, and losses must add up.

    Parameters
    ----------
    rng, start
        See ``Search``.
    value : float
        The value at the start; it must be known.
    trusted : bool
        The function was separable elsewhere: a start that is the best on all profiles needs no proof.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Search.fields,
        *("trusted", "centre", "value", "points", "values", "ratio", "testing", "waiting", "moved", "moved_y"),
        *("places", "found"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, value: float, trusted: bool = False) -> None:
        super().__init__(rng, start, value)
        self.trusted = trusted
        self.centre, self.value = start.copy(), value
        self.points, self.values = start[:, None].copy(), np.full((self.n, 1), value)
        """(n, k): the profiles, sorted along the rows."""
        self.ratio = math.nan
        """Combined gain (or loss) over the sum of single ones at the last test."""
        self.places, self.found = np.empty((self.n, 0)), np.empty(0)
        """(n, k): the next points of the profiles, and the values of the first of them, row by row."""
        self.testing = False
        """Whether the next batch is a combined point."""
        self.waiting: list[int] = []
        """Coordinates still to be moved one at a time."""
        self.moved, self.moved_y = self.centre, value
        """The point with the coordinates that stay moved, and its value."""

    @property
    def interruptible(self) -> bool:
        """Never: values along profiles do not tell what all of them gain together."""
        return False

    @staticmethod
    def first_test(n: int) -> int:
        """Evaluations until it is known whether the function is separable."""
        return _GRID * n + 1

    @staticmethod
    def whole(n: int) -> int:
        """Evaluations of whole profiles."""
        return _PROFILE * n

    @property
    def adds_up(self) -> bool:
        """Whether gains add up, as far as is known: a sum over coordinates, not coordinates that interact little."""
        return not abs(self.ratio - 1) > _ADDITIVE

    @property
    def radius(self) -> float:
        """The whole cube."""
        return 1.0

    def propose(self) -> Array:
        """The combined point, or new points on each profile: at first the grid, then at least four points in all."""
        if self.testing:
            best = self._combined()[0]
            if self.waiting:
                best = np.where(np.arange(self.n) == self.waiting[0], best, self.moved)
            return best[None]
        if not len(self.found):
            self.places = self._new_places()
        rows = np.arange(len(self.found), self.places.size)[: max(1, NUMBERS // self.n)]
        u = np.tile(self.centre, (len(rows), 1))
        u[np.arange(len(rows)), rows // self.places.shape[1]] = self.places.flat[rows]
        return u

    def _new_places(self) -> Array:
        """(n, k)"""
        if self.points.shape[1] == 1:
            return np.tile(np.linspace(-1, 1, _GRID), (self.n, 1))
        count = min(math.ceil(4 / self.n), _PROFILE + 1 - self.points.shape[1])
        left = np.argsort(self._needed_curvature(), axis=1, kind="stable")[:, :count]
        middle: Array = 0.5 * np.take_along_axis(self.points, left, 1)
        return middle + 0.5 * np.take_along_axis(self.points, left + 1, 1)

    def _combined(self) -> tuple[Array, Array]:
        """The point of the best places of all profiles, and their values."""
        values = self.values
        if not (values < self.value).any():
            values = np.where(self.points == self.centre[:, None], np.inf, values)
        best = np.argmin(values, axis=1)[:, None]
        return np.take_along_axis(self.points, best, 1)[:, 0], np.take_along_axis(self.values, best, 1)[:, 0]

    def _needed_curvature(self) -> Array:
        """(n, k - 1): of a parabola through both ends of the interval that dips below the best by the least gain."""
        gaps = self._gaps()
        rounding = np.ldexp(np.abs(self.values).max(axis=1) * np.finfo(float).eps, -self._exponent())
        least = np.maximum(_GAIN * np.median(gaps, axis=1), rounding)[:, None]
        least[least == 0] = 1.0  # all values are 0: only the widths count
        roots = np.sqrt(gaps + least)
        width = np.diff(self.points, axis=1)
        needed = ((roots[:, :-1] + roots[:, 1:]) / np.maximum(width, _SHORTEST)) ** 2
        return np.where(width < _SHORTEST, np.inf, needed)

    def _exponent(self) -> int:
        return exponent_of(self.values * 0.25 - self.value * 0.25)

    def _gaps(self) -> Array:
        """(n, k): values above the best of their profile, in units of the largest."""
        scaled = differences(self.values, self.value, self._exponent())
        gaps: Array = scaled - scaled.min(axis=1, keepdims=True)
        return gaps

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        if self.testing:
            self._judge(y)
            return
        # As they were evaluated, rounding included.
        count = self.places.shape[1]
        rows = np.arange(len(self.found), len(self.found) + len(y))
        self.places.flat[rows] = u[np.arange(len(y)), rows // count]
        self.found = np.append(self.found, y)
        if len(self.found) < self.places.size:  # more parts follow, or the budget is at its end
            return
        y, self.found = self.found, np.empty(0)
        if not np.isfinite(y).any():
            self.done = "failed"
            return
        # A failed point stands as the worst one known: nothing is expected near it.
        y = np.where(np.isfinite(y), y, np.nanmax(np.append(y, self.values.max()))).reshape(self.n, count)
        points, values = np.hstack([self.points, self.places]), np.hstack([self.values, y])
        order = np.argsort(points, axis=1, kind="stable")
        before = self.points.shape[1] - 1
        self.points, self.values = np.take_along_axis(points, order, 1), np.take_along_axis(values, order, 1)
        after = before + count
        self.testing = before == 0 or after >= _PROFILE or after // _EVERY > before // _EVERY

    def _judge(self, combined: Array) -> None:
        exponent = self._exponent()
        singles = differences(self._combined()[1], self.value, exponent)
        single = float(np.sum(singles))
        one_at_a_time = bool(self.waiting)
        if one_at_a_time:
            self._move(combined)
            if self.waiting:
                return
            combined = np.array([self.moved_y])
        together = float(differences(combined, self.value, exponent)[0])
        self.ratio = together / single if single != 0 and not math.isnan(together) else 0.0
        if single < 0 and self.ratio < _SEPARABLE and not one_at_a_time:
            self.waiting = [int(j) for j in np.argsort(singles, kind="stable") if singles[j] < 0]
            self.moved, self.moved_y = self.centre, self.value
            return
        self.testing = False
        if not self._is_separable(single):
            self.done = "not separable"
        elif self.points.shape[1] > _PROFILE:
            self.done = "separable"

    def _is_separable(self, single: float) -> bool:
        if single < 0:
            return self.ratio >= _SEPARABLE
        return single > 0 and (self.trusted or self.adds_up)

    def _move(self, tried: Array) -> None:
        """Keep the first waiting coordinate's move if it helped."""
        j = self.waiting.pop(0)
        if tried[0] < self.moved_y:
            self.moved, self.moved_y = self.moved.copy(), float(tried[0])
            self.moved[j] = self._combined()[0][j]
