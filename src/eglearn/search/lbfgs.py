"""Quasi-Newton descent with gradients of differences, for smooth functions of many variables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from .._typing import Array, Mask
from ..learning.steps import length
from ..learning.values import exponent_of, in_units
from ..settings import NUMBERS, Settings, or_none, setting, whole
from .base import BatchSearch, Reason, default_batch
from .rounding import LEAST, MOST, POINTS, SPACINGS, diagonal, rounding

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, kw_only=True)
class LBFGSSettings(Settings):
    """Constants of ``LBFGS``."""

    m: int | None = setting(None, "most samples of a gradient in a batch; None: 4 + 3 ln n", "ours", or_none(whole(1)))
    pairs: int = setting(200, "pairs of steps and gradient changes in memory", "ours; L-BFGS-B: 10", whole(1))
    forward: float = setting(1 / 2, "step of forward differences, as a power of the rounding", "least error: the root")
    central: tuple[float, ...] = setting(
        (7 / 16, 5 / 16, 3 / 16), "steps of central differences, tried in this order", "least error: 1/3", NUMBERS
    )
    remeasure: float = setting(0.1, "rounding is measured again where values change by this factor", "ours")
    lengths: tuple[float, ...] = setting(
        (0.125, 0.5, 1.0, 2.0), "lengths tried along a quasi-Newton direction", "ours; its own is 1", NUMBERS
    )
    much_more: float = setting(1.5, "a longer one must gain so many times as much as its own", "ours")
    powers: tuple[float, ...] = setting((0.0, 1.0), "powers of the first matrix, a direction each", "ours", NUMBERS)
    first_lengths: tuple[float, ...] = setting(
        tuple(2.0**k for k in range(-17, -2, 2)), "lengths along the slope while nothing else is known",
        "ours: no far jump into a valley of another bend", NUMBERS,
    )  # fmt: skip
    shorter: tuple[float, ...] = setting(
        (2.0**-2, 2.0**-5, 2.0**-8, 2.0**-11), "where no length gained: these, by the shortest", "ours", NUMBERS
    )
    sufficient: float = setting(1e-4, "share of the linear prediction that a step must gain", "Armijo 1966")
    least_cosine: float = setting(1e-12, "between a step and the change of the gradient along it", "ours")


class Stage(StrEnum):
    """What the next batch of ``LBFGS`` is for."""

    ROUNDING = "rounding"
    GRADIENT = "gradient"
    PATH = "path"
    SHORTER = "shorter"  # shorter steps along the path


@dataclass(init=False, eq=False, repr=False)
class LBFGS(BatchSearch):
    """L-BFGS (Nocedal 1980) with a long memory, in the cube.

    How far apart the samples of a gradient are follows from the rounding of values, which is measured: first, when no
    step gained, and when values have another size. Objectives that compute in single precision are common.

    A gradient takes n evaluations or 2 n, so two directions and a few lengths along each are tried at no great cost.
    The directions differ by what is assumed of curvature that the memory does not know: the same everywhere, or that of
    each coordinate as far as the pairs tell it. A direction's own length is preferred, for quasi-Newton steps are
    better than exact line searches where valleys bend. Coordinates that the slope presses against a face are held
    there.
    """

    settings_class, batch_setting = LBFGSSettings, "m"
    shows_spread = False  # differences are of neighbours
    settings: LBFGSSettings
    x: Array
    value: float  # the iterate
    g: Array  # the gradient there
    S: Array
    Y: Array  # steps and changes of the gradient, oldest first
    offsets: Array
    values: Array  # of the gradient's samples so far
    exponent: int = 0  # the unit of the gradient's values
    rounding: float = LEAST
    measured: float = 0.0
    spacing: int = 0  # the rounding, the value where it was measured, and at which of the spacings
    level: int = 0  # which of the accuracies: 0 is forward differences, then central ones
    stage: Stage = Stage.ROUNDING
    begins: bool = True  # whether nothing was evaluated for the next step yet
    before: Array | None = None  # the iterate before, if its gradient is as accurate

    def _begin(self, start: Array) -> None:
        n = self.n
        self.x, self.value, self.g = start.copy(), self.best_y, np.zeros(n)
        self.S, self.Y = np.empty((0, n)), np.empty((0, n))
        self.offsets, self.values = np.empty(0), np.empty(0)

    def _derive(self) -> None:
        s = self.settings
        self._m = s.m or default_batch(self.n)
        self._powers_of_rounding = (s.forward, *s.central)
        self._own = s.lengths.index(1.0)

    @property
    def radius(self) -> float:
        """The step of the differences."""
        return float(self.rounding ** self._powers_of_rounding[self.level])

    @property
    def interruptible(self) -> bool:
        """Between steps: a gradient gains nothing before the step along it."""
        return self.begins and self.stage in (Stage.ROUNDING, Stage.GRADIENT)

    def _propose(self) -> Array:
        """Samples of the gradient, or points along the path."""
        if self.stage is Stage.ROUNDING:
            u = diagonal(self.rng, self.x, SPACINGS[self.spacing])
            return np.vstack([self.x, u]) if math.isnan(self.value) else u
        if self.stage is Stage.GRADIENT:
            return self._samples()
        s = self.settings
        lengths = np.array(s.lengths if len(self.S) else s.first_lengths)
        if self.stage is Stage.SHORTER:
            lengths = lengths[0] * np.array(s.shorter)
        steps = self._directions()[:, None, :] * lengths[:, None]
        return np.asarray(np.clip(self.x + steps.reshape(-1, self.n), -1, 1))

    def _samples(self) -> Array:
        """The next differences along coordinates; the second of a coordinate is opposite to the first, or beyond."""
        h = self.radius
        first = np.where(self.x + h > 1, -h, h)
        second = np.where(np.abs(self.x - first) > 1, 2 * first, -first)
        offsets = np.concatenate([first, second]) if self.level else first
        chosen = np.arange(len(self.values), min(len(self.values) + self._m, len(offsets)))
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
        scales = self._scale() ** np.array(self.settings.powers)[:, None]
        paths: Array = p * scales
        if len(usable):
            last = Y[usable[-1]]
            paths *= (products[usable[-1]] / (scales @ last**2))[:, None]
        for i in usable:
            paths += S[i] * (shares[i] - paths @ Y[i] / products[i])[:, None]
        return paths

    def _scale(self) -> Array:
        """Inverse curvatures of the coordinates, up to a factor: root mean squares of steps over those of changes."""
        weights = 1 / np.einsum("ij,ij->i", self.S, self.S)
        steps, changes = weights @ self.S**2, weights @ self.Y**2
        known = (steps > 0) & (changes > _EPS**2 * changes.max())
        ratio = np.divide(steps, changes, out=np.ones(self.n), where=known)
        ratio[~known] = np.median(ratio[known]) if known.any() else 1.0
        return np.asarray(np.sqrt(ratio))

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        self.begins = self.stage in (Stage.PATH, Stage.SHORTER)
        if self.stage is Stage.ROUNDING:
            self._learn_rounding(y)
        elif self.stage is Stage.GRADIENT:
            self._collect(u, y)
        else:
            self._move(u, y)

    def _learn_rounding(self, y: Array) -> None:
        if math.isnan(self.value):
            self.value, y = float(y[0]), y[1:]
            if math.isnan(self.value):
                self.done = Reason.FAILED
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
        self.measured, self.spacing, self.stage = self.value, max(self.spacing - 1, 0), Stage.GRADIENT

    def _collect(self, u: Array, y: Array) -> None:
        coordinates = np.arange(len(self.values), len(self.values) + len(y)) % self.n
        offsets = u[np.arange(len(y)), coordinates] - self.x[coordinates]
        self.offsets, self.values = np.append(self.offsets, offsets), np.append(self.values, y)
        if len(self.values) == self.n * (1 + (self.level > 0)):
            self._learn_gradient()
            self.offsets, self.values, self.stage = np.empty(0), np.empty(0), Stage.PATH

    def _learn_gradient(self) -> None:
        v = self.values - self.value
        exponent = exponent_of(np.where(np.isfinite(v), v, 0.0))
        # What overflows in the new unit tells nothing of such small differences.
        old, changes = (in_units(a, exponent - self.exponent) for a in (self.g, self.Y))
        known = np.isfinite(changes).all(axis=1)
        self.S, self.Y, self.exponent = self.S[known], changes[known], exponent
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = in_units(v, exponent) / self.offsets
            g = slopes[: self.n]
            if self.level:
                # Of the parabola through three values: slope = g + curvature * offset / 2 at both offsets.
                a, b, other = self.offsets[: self.n], self.offsets[self.n :], slopes[self.n :]
                g = np.where(np.isfinite(g) & np.isfinite(other), (g * b - other * a) / (b - a), g)
                g = np.where(np.isfinite(g), g, other)
        # A coordinate whose samples failed is left as it is.
        self.g = np.where(np.isfinite(g), g, 0.0)
        if self.before is not None and np.isfinite(old).all():
            s, change, pairs = self.x - self.before, self.g - old, self.settings.pairs
            if float(s @ change) > self.settings.least_cosine * length(s) * length(change):
                self.S, self.Y = np.vstack([self.S, s])[-pairs:], np.vstack([self.Y, change])[-pairs:]

    def _move(self, u: Array, y: Array) -> None:
        y = np.where(np.isfinite(y), y, np.inf)
        best = int(np.argmin(y))
        if self.stage is Stage.PATH and len(self.S) and (chosen := self._own_lengths(u, y)):
            best = min(chosen, key=lambda row: float(y[row]))
        if y[best] < self.value:
            self.before, self.x, self.value = self.x, u[best].copy(), float(y[best])
            small, large = sorted([abs(self.value), abs(self.measured)])
            self.stage = Stage.ROUNDING if small < self.settings.remeasure * large else Stage.GRADIENT
        elif self.stage is Stage.PATH:
            self.stage = Stage.SHORTER
        else:
            self._after_failure()

    def _own_lengths(self, u: Array, y: Array) -> list[int]:
        """Of each direction whose own length gains enough, the row of that length, or of the longer one."""
        s, chosen = self.settings, []
        for own in range(self._own, len(y), len(s.lengths)):
            change, further = in_units(np.append(y[own : own + 2], np.inf)[:2] - self.value, self.exponent)
            if change <= s.sufficient * min(float(self.g @ (u[own] - self.x)), 0.0) and y[own] < self.value:
                chosen.append(own + int(further < s.much_more * change))
        return chosen

    def _after_failure(self) -> None:
        """No length gained: another accuracy, and after the last one again from the finest, without the past."""
        if self.level + 1 < len(self._powers_of_rounding):
            self.level += 1
        elif len(self.S):  # something was gained since it was last forgotten
            self.level, self.S, self.Y = 1, self.S[:0], self.Y[:0]
        else:
            self.done = Reason.CONVERGED
        self.stage, self.before = Stage.ROUNDING, None
