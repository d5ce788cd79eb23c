"""Line searches along all coordinates at once, for functions that are sums over coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..learning.values import exponent_of, in_units
from ..settings import FLAG, Settings, setting, whole
from .base import BATCH_NUMBERS, BatchSearch, Reason

# Differences below some units of the last place are rounding.
_ROUNDING = 4 * float(np.finfo(float).eps)


@dataclass(frozen=True, kw_only=True)
class CoordinateSearchSettings(Settings):
    """Constants of ``CoordinateSearch``."""

    trusted: bool = setting(
        False, "the function was separable elsewhere: a start that is best on all profiles needs no proof", "ours", FLAG
    )
    grid: int = setting(10, "points of the first grid, per coordinate", "ours", whole(2))
    profile: int = setting(100, "points of a whole profile", "ours", whole(3))
    every: int = setting(30, "points per coordinate between two tests", "ours", whole(1))
    separable: float = setting(0.5, "combined gain over the sum of single gains, at least, if separable", "ours")
    additive: float = setting(0.01, "how close to 1 that ratio is for a sum over coordinates", "ours")
    shortest: float = setting(1e-9, "an interval this short is not worth a point", "ours")
    gain: float = setting(1e-3, "what a point must gain: share of the profile's median above its best", "STEP 1994")
    worth: float = setting(
        1e-3, "combined gain over the sum of those medians: with less, the start is a minimum but for little", "ours"
    )

    def first_test(self, n: int) -> int:
        """Evaluations until it is known whether the function is separable."""
        return self.grid * n + 1

    def whole(self, n: int) -> int:
        """Evaluations of whole profiles."""
        return self.profile * n


@dataclass(init=False, eq=False, repr=False)
class CoordinateSearch(BatchSearch):
    """Profiles of the function along each coordinate through one point, refined globally.

    The next point of a profile halves the interval that would need the least curvature to hold a value below the
    best (STEP: Swarzberg, Seront, Bersini 1994). After the grid, and now and then, the point with the best value of
    each coordinate is tried. If it gains less than half of what the profiles gain one by one, the coordinates may
    interact in small groups: they are moved one at a time, greatest gain first, and stay if that helps. If this too
    gains less than half, the search ends. A start that is the best on all profiles tells nothing; then the second best
    places are combined, and losses must add up.
    """

    settings_class = CoordinateSearchSettings
    interruptible = False  # values along profiles do not tell what all of them gain together
    radius = 1.0  # the whole cube
    settings: CoordinateSearchSettings
    centre: Array
    value: float  # at the centre; NaN: not known, and it is evaluated first
    points: Array
    values: Array  # (n, k): the profiles, sorted along the rows
    places: Array
    found: Array  # (n, k): the next points of the profiles, and the values of the first of them, row by row
    waiting: list[int]  # coordinates still to be moved one at a time
    moved: Array
    moved_y: float  # the point with the coordinates that stay moved, and its value
    ratio: float = math.nan  # combined gain (or loss) over the sum of single ones at the last test
    testing: bool = False  # whether the next batch is a combined point

    def _begin(self, start: Array) -> None:
        self.centre, self.waiting = start.copy(), []
        self.places, self.found = np.empty((self.n, 0)), np.empty(0)
        self._begin_profiles(self.best_y)

    def _begin_profiles(self, value: float) -> None:
        self.value = self.moved_y = value
        self.points, self.values = self.centre[:, None].copy(), np.full((self.n, 1), value)
        self.moved = self.centre

    @property
    def adds_up(self) -> bool:
        """Whether gains add up, as far as is known: a sum over coordinates, not coordinates that interact little."""
        return not abs(self.ratio - 1) > self.settings.additive

    def _propose(self) -> Array:
        """The combined point, or new points on each profile: at first the grid, then at least four points in all."""
        if math.isnan(self.value):
            return self.centre[None]
        if self.testing:
            best = self._combined()[0]
            if self.waiting:
                best = np.where(np.arange(self.n) == self.waiting[0], best, self.moved)
            return best[None]
        if not len(self.found):
            self.places = self._new_places()
        rows = np.arange(len(self.found), self.places.size)[: max(1, BATCH_NUMBERS // self.n)]
        u = np.tile(self.centre, (len(rows), 1))
        u[np.arange(len(rows)), rows // self.places.shape[1]] = self.places.flat[rows]
        return u

    def _new_places(self) -> Array:
        if self.points.shape[1] == 1:
            return np.tile(np.linspace(-1, 1, self.settings.grid), (self.n, 1))
        count = min(math.ceil(4 / self.n), self.settings.profile + 1 - self.points.shape[1])
        left = np.argsort(self._needed_curvature(), axis=1, kind="stable")[:, :count]
        low, high = np.take_along_axis(self.points, left, 1), np.take_along_axis(self.points, left + 1, 1)
        return np.asarray(0.5 * low + 0.5 * high)

    def _combined(self) -> tuple[Array, Array]:
        """The point of the best places of all profiles, and their values."""
        values = self.values
        if not (values < self.value).any():
            values = np.where(self.points == self.centre[:, None], np.inf, values)
        best = np.argmin(values, axis=1)[:, None]
        return np.take_along_axis(self.points, best, 1)[:, 0], np.take_along_axis(self.values, best, 1)[:, 0]

    def _needed_curvature(self) -> Array:
        """(n, k - 1): of a parabola through both ends of the interval that dips below the best by the least gain."""
        s, exponent = self.settings, self._exponent()
        scaled = in_units(self.values - self.value, exponent)
        gaps = scaled - scaled.min(axis=1, keepdims=True)  # values above the best of their profile
        rounding = in_units(np.abs(self.values).max(axis=1) * _ROUNDING, exponent)
        least = np.maximum(s.gain * np.median(gaps, axis=1), rounding)[:, None]
        least[least == 0] = 1.0  # all values are 0: only the widths count
        roots = np.sqrt(gaps + least)
        width = np.diff(self.points, axis=1)
        needed = ((roots[:, :-1] + roots[:, 1:]) / np.maximum(width, s.shortest)) ** 2
        return np.where(width < s.shortest, np.inf, needed)

    def _exponent(self) -> int:
        return exponent_of(self.values - self.value)

    def _heights(self, exponent: int) -> float:
        """The sum of the profiles' medians above their best values, in the unit."""
        scaled = in_units(self.values - self.value, exponent)
        return float(np.sum(np.median(scaled, axis=1) - scaled.min(axis=1)))

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        if math.isnan(self.value):
            self._begin_profiles(float(y[0]))
            self.done = Reason.FAILED if math.isnan(self.value) else None
            return
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
            self.done = Reason.FAILED
            return
        # A failed point stands as the worst one known: nothing is expected near it.
        y = np.where(np.isfinite(y), y, np.nanmax(np.append(y, self.values.max()))).reshape(self.n, count)
        points, values = np.hstack([self.points, self.places]), np.hstack([self.values, y])
        order = np.argsort(points, axis=1, kind="stable")
        self.points, self.values = np.take_along_axis(points, order, 1), np.take_along_axis(values, order, 1)
        s, after = self.settings, self.points.shape[1] - 1
        before = after - count
        self.testing = before == 0 or after >= s.profile or after // s.every > before // s.every

    def _judge(self, combined: Array) -> None:
        exponent, (places, values) = self._exponent(), self._combined()
        singles = in_units(values - self.value, exponent)
        single = float(np.sum(singles))
        one_at_a_time = bool(self.waiting)
        if one_at_a_time:
            j = self.waiting.pop(0)
            if combined[0] < self.moved_y:  # the move helped, and stays
                self.moved, self.moved_y = self.moved.copy(), float(combined[0])
                self.moved[j] = places[j]
            if self.waiting:
                return
            combined = np.array([self.moved_y])
        together = float(in_units(combined - self.value, exponent)[0])
        self.ratio = together / single if single != 0 and not math.isnan(together) else 0.0
        if single < 0 and self.ratio < self.settings.separable and not one_at_a_time:
            self.waiting = [int(j) for j in np.argsort(singles, kind="stable") if singles[j] < 0]
            self.moved, self.moved_y = self.centre, self.value
            return
        self.testing, s = False, self.settings
        adds_up = self.ratio >= s.separable if single < 0 else single > 0 and (s.trusted or self.adds_up)
        in_vain = not s.trusted and single < 0 and -together < s.worth * self._heights(exponent)
        if not adds_up or in_vain:
            self.done = Reason.NOT_SEPARABLE
        elif self.points.shape[1] > s.profile:
            self.done = Reason.SEPARABLE
