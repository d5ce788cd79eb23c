"""Quasi-Newton descent with gradients of differences, for smooth functions of many variables."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array, Mask
from ..learning.models.least_change import differences, exponent_of
from ..learning.steps import length
from .base import Search
from .rounding import LEAST, MOST, POINTS, SPACINGS, diagonal, rounding
from .trust_region import default_batch

_EPS = float(np.finfo(float).eps)

# Steps of the differences, as powers of the rounding, and whether they are central, tried in this order: the error is
# least near the root for forward differences, near the cubic root for central ones.
_ACCURACIES = ((1 / 2, False), (7 / 16, True), (5 / 16, True), (3 / 16, True))
_FINEST = 1  # of the central ones
# The rounding is measured again where the value is that share of what it was, or that was of the value.
_SMALLER = 0.1
# Pairs in memory.
_PAIRS = 200
# Lengths tried along each quasi-Newton direction; the third is its own. A longer one must gain so many times as much.
_LENGTHS = np.array([0.125, 0.5, 1.0, 2.0])
_OWN, _MUCH_MORE = 2, 1.5
# Directions: the diagonal matrix that the two loops begin with is taken to these powers.
_POWERS = (0.0, 1.0)
# Lengths along the slope, if nothing else is known, relative to half of the cube's edge: no far jump into a valley of
# another bend.
_FIRST_LENGTHS = 2.0 ** np.arange(-17, -2, 2)
# Where no length gained, these, relative to the shortest one, follow.
_SHORTER = 2.0 ** -np.array([2.0, 5.0, 8.0, 11.0])
# The least share of the linear prediction that the direction's own length must gain (Armijo).
_SUFFICIENT = 1e-4
# The least cosine between a step and the change of the gradient along it.
_LEAST_COSINE = 1e-12


class LBFGS(Search):
    """L-BFGS (Nocedal 1980) with a long memory, in the cube.

    How far apart the samples of a gradient are follows from the rounding of values, which is measured: first, when no
    step gained, and when values have another size. Objectives that compute in single precision are common.

    A gradient takes n evaluations or 2 n, so two directions and a few lengths along each are tried at no great cost.
    The directions differ by what is assumed of curvature that the memory does not know: the same everywhere, or that of
    each coordinate as far as the pairs tell it. A direction's own length is preferred, for quasi-Newton steps are
    better than exact line searches where valleys bend. Coordinates that the slope presses against a face are held
    there.

    Parameters
    ----------
    rng, start, value
        See ``Search``.
    m : int or None
        Samples of a gradient in a batch, at most; None: by the dimension.
    """

    shows_spread: ClassVar[bool] = False  # differences are of neighbours
    fields: ClassVar[tuple[str, ...]] = (
        *Search.fields,
        *("m", "x", "value", "g", "S", "Y", "exponent", "rounding", "measured", "spacing", "level", "stage"),
        *("begins", "before", "offsets", "values"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, value: float = math.nan, m: int | None = None) -> None:
        super().__init__(rng, start, value)
        n = self.n
        self.m = m if m is not None else default_batch(n)
        self.x, self.value = start.copy(), value
        """The iterate."""
        self.g, self.exponent = np.zeros(n), 0
        """The gradient there, for values as ``differences`` gives them, and their unit."""
        self.S, self.Y = np.empty((0, n)), np.empty((0, n))
        """Steps and changes of the gradient, oldest first."""
        self.rounding, self.measured, self.spacing = LEAST, 0.0, 0
        """The rounding, the value where it was measured, and at which of the spacings."""
        self.level = 0
        """Which of the accuracies."""
        self.stage = "rounding"
        """What the next batch is for: rounding, gradient, path, or shorter (steps along the path)."""
        self.begins = True
        """Whether nothing was evaluated for the next step yet."""
        self.before: Array | None = None
        """The iterate before, if its gradient is as accurate."""
        self.offsets, self.values = np.empty(0), np.empty(0)
        """Of the gradient's samples so far."""

    @property
    def radius(self) -> float:
        """The step of the differences."""
        return float(self.rounding ** _ACCURACIES[self.level][0])

    @property
    def interruptible(self) -> bool:
        """Between steps: a gradient gains nothing before the step along it."""
        return self.begins and self.stage in ("rounding", "gradient")

    def propose(self) -> Array:
        """Samples of the gradient, or points along the path."""
        if self.stage == "rounding":
            u = diagonal(self.rng, self.x, SPACINGS[self.spacing])
            return np.vstack([self.x, u]) if math.isnan(self.value) else u
        if self.stage == "gradient":
            return self._samples()
        lengths = _LENGTHS if len(self.S) else _FIRST_LENGTHS
        if self.stage == "shorter":
            lengths = lengths[0] * _SHORTER
        steps = self._directions()[:, None, :] * lengths[:, None]
        return np.clip(self.x + steps.reshape(-1, self.n), -1, 1)

    def _samples(self) -> Array:
        """The next differences along coordinates; the second of a coordinate is opposite to the first, or beyond."""
        h, central = self.radius, _ACCURACIES[self.level][1]
        first = np.where(self.x + h > 1, -h, h)
        second = np.where(np.abs(self.x - first) > 1, 2 * first, -first)
        offsets = np.concatenate([first, second]) if central else first
        chosen = np.arange(len(self.values), min(len(self.values) + self.m, len(offsets)))
        u = np.tile(self.x, (len(chosen), 1))
        u[np.arange(len(chosen)), chosen % self.n] += offsets[chosen]
        return u

    def _directions(self) -> Array:
        """(k, n): from the pairs, or if there are none along the slope."""
        free = ~((np.abs(self.x) >= 1) & (self.g * self.x < 0))
        slope = np.where(free, -self.g, 0.0)
        if len(self.S):
            with np.errstate(all="ignore"):
                paths = self._two_loops(slope, free)
            paths = paths[np.isfinite(paths).all(axis=1)]
            if len(paths):
                return paths
        top = float(np.max(np.abs(slope)))
        return (slope / top if top > 0 else slope)[None]

    def _two_loops(self, p: Array, free: Mask) -> Array:
        """L-BFGS's products of inverse Hessians and p, of the free coordinates only; not finite if it overflows."""
        S, Y = self.S * free, self.Y * free
        products = np.einsum("ij,ij->i", S, Y)
        usable = np.flatnonzero(products > 0)
        shares = np.zeros(len(S))
        for i in usable[::-1]:
            shares[i] = S[i] @ p / products[i]
            p = p - shares[i] * Y[i]
        scales = self._scale() ** np.array(_POWERS)[:, None]
        paths: Array = p * scales
        if len(usable):
            last = Y[usable[-1]]
            paths *= (products[usable[-1]] / (scales @ last**2))[:, None]
        for i in usable:
            paths += S[i] * (shares[i] - paths @ Y[i] / products[i])[:, None]
        return paths

    def _scale(self) -> Array:
        """The diagonal matrix that the two loops begin with, up to a factor: inverse curvatures of the coordinates.

        Along each coordinate, the root mean square of the steps over that of the changes.
        """
        weights = 1 / np.einsum("ij,ij->i", self.S, self.S)
        steps, changes = weights @ self.S**2, weights @ self.Y**2
        known = (steps > 0) & (changes > _EPS**2 * changes.max())
        ratio = np.divide(steps, changes, out=np.ones(self.n), where=known)
        ratio[~known] = np.median(ratio[known]) if known.any() else 1.0
        scale: Array = np.sqrt(ratio)
        return scale

    # --- learning -----------------------------------------------------------------------------------------------

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        self.begins = self.stage in ("path", "shorter")
        if self.stage == "rounding":
            self._learn_rounding(y)
        elif self.stage == "gradient":
            self._collect(u, y)
        else:
            self._move(u, y)

    def _learn_rounding(self, y: Array) -> None:
        if math.isnan(self.value):
            self.value, y = float(y[0]), y[1:]
            if math.isnan(self.value):
                self.done = "failed"
                return
        if len(y) < POINTS:  # the budget is at its end, and nothing follows
            return
        measured = rounding(self.value, y, self.n)
        if measured == 0 and self.spacing + 1 < len(SPACINGS):
            self.spacing += 1
            return
        if not math.isnan(measured):
            self.rounding = measured if measured > 0 else MOST
        # The next time from one finer: this may have been a plateau.
        self.measured, self.spacing, self.stage = self.value, max(self.spacing - 1, 0), "gradient"

    def _collect(self, u: Array, y: Array) -> None:
        coordinates = np.arange(len(self.values), len(self.values) + len(y)) % self.n
        offsets = u[np.arange(len(y)), coordinates] - self.x[coordinates]
        self.offsets, self.values = np.append(self.offsets, offsets), np.append(self.values, y)
        if len(self.values) == self.n * (1 + _ACCURACIES[self.level][1]):
            self._learn_gradient()
            self.offsets, self.values = np.empty(0), np.empty(0)
            self.stage = "path"

    def _learn_gradient(self) -> None:
        quarters = self.values * 0.25 - self.value * 0.25
        exponent = exponent_of(np.where(np.isfinite(quarters), quarters, 0.0))
        with np.errstate(over="ignore"):  # what overflows in the new unit tells nothing of such small differences
            old, changes = (np.ldexp(a, self.exponent - exponent) for a in (self.g, self.Y))
        known = np.isfinite(changes).all(axis=1)
        self.S, self.Y, self.exponent = self.S[known], changes[known], exponent
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = differences(self.values, self.value, exponent) / self.offsets
            g = slopes[: self.n]
            if _ACCURACIES[self.level][1]:
                # Of the parabola through three values: slope = g + curvature * offset / 2 at both offsets.
                a, b, other = self.offsets[: self.n], self.offsets[self.n :], slopes[self.n :]
                g = np.where(np.isfinite(g) & np.isfinite(other), (g * b - other * a) / (b - a), g)
                g = np.where(np.isfinite(g), g, other)
        # A coordinate whose samples failed is left as it is.
        self.g = np.where(np.isfinite(g), g, 0.0)
        if self.before is not None and np.isfinite(old).all():
            s, change = self.x - self.before, self.g - old
            if float(s @ change) > _LEAST_COSINE * length(s) * length(change):
                self.S, self.Y = np.vstack([self.S, s])[-_PAIRS:], np.vstack([self.Y, change])[-_PAIRS:]

    def _move(self, u: Array, y: Array) -> None:
        y = np.where(np.isfinite(y), y, np.inf)
        best = int(np.argmin(y))
        if self.stage == "path" and len(self.S) and (chosen := self._own_lengths(u, y)):
            best = min(chosen, key=lambda row: float(y[row]))
        if y[best] < self.value:
            self.before, self.x, self.value = self.x, u[best].copy(), float(y[best])
            small, large = sorted([abs(self.value), abs(self.measured)])
            self.stage = "rounding" if small < _SMALLER * large else "gradient"
        elif self.stage == "path":
            self.stage = "shorter"
        else:
            self._after_failure()

    def _own_lengths(self, u: Array, y: Array) -> list[int]:
        """Of each direction whose own length gains enough, the row of that length, or of the longer one."""
        chosen = []
        for own in range(_OWN, len(y), len(_LENGTHS)):
            change, further = differences(np.append(y[own : own + 2], np.inf)[:2], self.value, self.exponent)
            if change <= _SUFFICIENT * min(float(self.g @ (u[own] - self.x)), 0.0) and y[own] < self.value:
                chosen.append(own + int(further < _MUCH_MORE * change))
        return chosen

    def _after_failure(self) -> None:
        """No length gained: another accuracy, and after the last one again from the finest, without the past."""
        if self.level + 1 < len(_ACCURACIES):
            self.level, self.stage, self.before = self.level + 1, "rounding", None
        elif len(self.S):  # something was gained since it was last forgotten
            self.S, self.Y = self.S[:0], self.Y[:0]
            self.level, self.stage, self.before = _FINEST, "rounding", None
        else:
            self.done = "converged"
