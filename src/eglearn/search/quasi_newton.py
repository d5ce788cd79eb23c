"""Quasi-Newton descent with gradients of differences, for smooth functions of few variables."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from .._typing import Array
from ..learning.steps import ball_step, box_step, length
from ..learning.values import exponent_of, in_units
from ..settings import Settings, setting, whole
from ..state import Stateful
from .base import Batch, BatchSearch, Reason
from .rounding import granularity

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, kw_only=True)
class QuasiNewtonSettings(Settings):
    """Constants of ``QuasiNewton``."""

    radius: float = setting(0.2, "the first length tried along the first gradient", "that of the trust region")
    nothing: int = setting(4, "first differences that end it if all are 0", "ours", whole(1))
    noise: float = setting(10.0, "... or if one is so many times as steep as usual slopes farther apart", "ours")
    kept: float = setting(
        0.5, "so much of what the last parabola promises must hold, or the step be as long as ``radius``", "ours"
    )
    kept_far: float = setting(0.1, "curvature sqrt(n) ``radius`` away must be so much of that nearby", "ours")
    rounding: float = setting(10.0, "errors of values, in units of the last place", "ours")
    coarse: float = setting(100.0, "values have few digits if they are multiples of so many such units", "ours")
    flattest: float = setting(1e-6, "curvatures of coordinates by the largest, at least", "ours")
    longest: float = setting(1e-3, "the longest difference", "ours")
    guess: float = setting(1e-3, "BFGS begins with so much of the curvature along the first step", "ours: too little")
    more: float = setting(1.3, "a shorter step is tried where a parabola promises so many times as much", "ours")
    trials: int = setting(8, "points along a path, at most", "ours", whole(1))
    smallest: float = setting(1e-13, "the shortest step", "ours: the resolution of the cube")


class Purpose(StrEnum):
    """What the next points are for."""

    START = "start"
    GRADIENT = "gradient"
    PATH = "path"
    PROBE = "probe"  # whether curvature is the same farther away


@dataclass
class Curvature(Stateful):
    """A matrix of curvatures, and the radius within which the last step along its path was best."""

    H: Array
    radius: float


@dataclass
class Path(Stateful):
    """Minima of one model within different radii: the best one so far, and where to look next."""

    radius: float
    longer: bool = False
    shorter: bool = False
    tried: int = 0
    step: Array = field(default_factory=lambda: np.empty(0))  # to the point that is open
    promised: float = 0.0  # gain that the last parabola promised it; 0: none did
    broken: bool = False  # whether it promised too much
    gain: float = 0.0
    at: float = 0.0
    reach: float = 0.0
    """Of the best point: its gain, radius and length."""


@dataclass(init=False, eq=False, repr=False)
class QuasiNewton(BatchSearch):
    """From a point down to a local minimum, a gradient for each step.

    A gradient takes n differences along the coordinates. They are so short that they tell the slope and nothing else:
    steep directions do not hide the others, and the change from gradient to gradient is the curvature along the step.
    Once no step gains any more, 2n differences to both sides take their place, whose error is far smaller.
    Two matrices collect it: symmetric rank one from zero, which knows no curvature but what was seen, and BFGS, which
    stays positive. The minima of both models within a few radii are tried, for one point costs little beside a
    gradient, and the best is the next step.

    Ripples and kinks end it, which a trust region with samples far apart looks through: where no parabola along the
    first step holds what it promises, or where curvature along a step is not there farther away.
    """

    settings_class, scale_setting = QuasiNewtonSettings, "radius"
    shows_spread = False  # differences are of neighbours
    settings: QuasiNewtonSettings
    x: Array
    value: float  # the iterate
    g: Array  # the gradient there
    seen: Curvature  # symmetric rank one
    convex: Curvature  # BFGS
    path: Path
    best_point: Array  # the best point of the paths from there,
    best_value: float
    """... its value,"""
    best_gain: float = 0.0
    """... and its gain, in the unit."""
    second: bool = False  # whether the path is that of the second matrix
    exponent: int = 0  # the unit of values is 2^exponent
    gradients: int = 0
    probe: int = 2  # the number of the gradient after which curvature is compared with that farther away
    last: Array | None = None  # the last step
    central: bool = False  # whether differences are taken to both sides: once no step gains any more
    purpose: Purpose = Purpose.START
    grain: float = 0.0  # what values near the last iterate are multiples of, if they have few digits
    usual: float = math.inf  # the usual slope between points farther apart, where it is known

    def _begin(self, start: Array) -> None:
        n, radius = self.n, self.settings.radius
        self.x, self.value, self.g = start.copy(), self.best_y, np.zeros(n)
        self.seen, self.convex = (Curvature(np.zeros((n, n)), radius) for _ in range(2))
        self.path, self.best_point, self.best_value = Path(radius), start.copy(), math.nan
        if not math.isnan(self.value):
            self.purpose = Purpose.GRADIENT

    @property
    def radius(self) -> float:
        """How far it looks along a path."""
        return self.path.radius

    def _propose(self) -> Array:
        if self.purpose is Purpose.START:
            return self.x[None].copy()
        if self.purpose is Purpose.GRADIENT:
            return self._neighbours()
        if self.purpose is Purpose.PROBE:
            assert self.last is not None
            ahead = self.last * (self.settings.radius * math.sqrt(self.n) / length(self.last))
            return np.asarray(np.clip(self.x + np.array([ahead, -ahead]), -1, 1))
        return np.asarray(np.clip(self.x + self.path.step, -1, 1))[None]

    def natural(self) -> int:
        """As many as are planned to be in flight, for the first differences may show that the others are of no use."""
        return min(super().natural(), self.width)

    def hear(self, u: Array, y: Array) -> None:
        """It begins at the best point."""
        super().hear(u, y)
        if self.asked == 0:
            self.batch = None
            self._begin(self.best_u)

    def _neighbours(self) -> Array:
        """One point beside the iterate on each coordinate, or two, to both sides unless there is a face."""
        h, x = self._differences(), self.x
        if not self.central:
            return np.asarray(x + np.diag(np.where(x + h > 1, -h, h)))
        near = np.where(x + h > 1, -h, h)
        far = np.where(x + h > 1, -2 * h, np.where(x - h < -1, 2 * h, -h))
        return np.vstack([x + np.diag(near), x + np.diag(far)])

    def _differences(self) -> Array:
        """How far apart points are, so that errors of values cost about as much as curvature, or third derivatives."""
        s = self.settings
        curvature = np.abs(np.diag(self.seen.H))
        most, errors = float(curvature.max()), s.rounding * _EPS
        if not most > 0:
            coarser = max(1.0, self.grain / _EPS / abs(self.value)) if self.value else 1.0
            return np.full(self.n, min(math.sqrt(errors * coarser), s.longest))
        # The size of a value that is exact to the last place; less so are remainders, and values with few digits.
        size = max(abs(self.value), self.grain / _EPS)
        with np.errstate(over="ignore"):
            size = float(in_units(np.array([size]), self.exponent)[0])
            scale = np.sqrt(size / np.maximum(curvature, s.flattest * most))  # a change of the size of the value
        return np.asarray(np.clip(scale * errors ** (1 / 3 if self.central else 1 / 2), s.smallest, s.longest))

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        if self.purpose is Purpose.START:
            self.value, self.purpose = float(y[0]), Purpose.GRADIENT
            if math.isnan(self.value):
                self.done = Reason.FAILED
        elif self.purpose is Purpose.GRADIENT:
            self._learn_gradient(u, y)
        elif self.purpose is Purpose.PROBE:
            self._learn_probe(u, y)
        else:
            self._learn_step(u[0], float(y[0]))

    def _complete(self, batch: Batch) -> bool:
        """Also where the first few differences tell nothing."""
        if super()._complete(batch):
            return True
        first = self.purpose is Purpose.GRADIENT and self.gradients == 0 and not batch.open.any()
        enough = first and batch.told.sum() >= self.settings.nothing
        return enough and self._tell_nothing(batch.u[batch.told], batch.y[batch.told])

    def _tell_nothing(self, u: Array, y: Array) -> bool:
        """Whether values have steps, are of lower precision, or noisy."""
        v, h = np.abs(y - self.value), np.abs(u - self.x).max(axis=1)
        return not v.any() or bool((v > self.settings.noise * self.usual * h).any())

    def _grain_of(self, y: Array) -> float:
        """What values are multiples of, where that is much more than a unit in the last place."""
        grain = granularity(np.append(y, self.value))
        return grain if grain > self.settings.coarse * _EPS * abs(self.value) else 0.0

    def _learn_gradient(self, u: Array, y: Array) -> None:
        v = y - self.value
        told_nothing = len(v) < self.n or not v.any() or (self.gradients == 0 and self._tell_nothing(u, y))
        finer, self.grain = self.grain, self._grain_of(y)
        if self.grain > finer and (told_nothing or np.median(np.abs(v)) < self.settings.coarse * self.grain):
            return  # they have fewer digits than was thought: once more, farther apart
        if told_nothing:
            self.done = Reason.FLAT
            return
        h = np.concatenate([np.diag(part) - self.x for part in np.split(u, len(u) // self.n)])
        if not (np.isfinite(v).all() and h.all()):
            self.done = Reason.FAILED
            return
        if self.gradients == 0:
            self.exponent = exponent_of(v)
        v = in_units(v, self.exponent)
        if self.central:  # the slope of the parabola through three points
            (a, b), (near, far) = np.split(h, 2), np.split(v, 2)
            g = (near * (b / a) - far * (a / b)) / (b - a)
        else:
            g = v / h - 0.5 * h * np.diag(self.seen.H)
        if self.last is not None:
            self._learn_curvature(self.last, g - self.g)
        self.g, self.gradients = g, self.gradients + 1
        self.best_gain = 0.0
        short = self.last is not None and length(self.last) < self.settings.radius
        if short and self.gradients >= self.probe:
            self.probe = 2 * self.gradients
            self.purpose = Purpose.PROBE
        else:
            self._begin_path(second=False)

    def _learn_probe(self, u: Array, y: Array) -> None:
        rises, steps = in_units(y - self.value, self.exponent), u - self.x
        expected = steps @ self.g + 0.5 * np.einsum("ij,ij->i", steps @ self.seen.H, steps)
        if rises.mean() < self.settings.kept_far * expected.mean():  # false if one has failed
            self.done = Reason.STAGNANT
        else:
            self._begin_path(second=False)

    def _learn_curvature(self, s: Array, change: Array) -> None:
        H, rest = self.seen.H, change - self.seen.H @ s
        along = float(rest @ s)
        if abs(along) > 1e-8 * length(rest) * length(s):  # Nocedal and Wright, eq. 6.26
            self.seen.H = H + np.outer(rest, rest) / along
        B, curvature = self.convex.H, float(change @ s)
        if not B.any():
            B = self.settings.guess * max(curvature, 0.0) / float(s @ s) * np.eye(self.n)
        Bs = B @ s
        known = float(s @ Bs)
        if curvature < 0.2 * known:  # damped (Powell 1978), so that B stays positive
            share = 0.8 * known / (known - curvature)
            change = share * change + (1 - share) * Bs
            curvature = float(change @ s)
        if known > 0 and curvature > 0:
            B = B - np.outer(Bs, Bs) / known + np.outer(change, change) / curvature
        self.convex.H = 0.5 * (B + B.T)

    @property
    def _model(self) -> Curvature:
        return self.convex if self.second else self.seen

    @property
    def _H(self) -> Array:
        """The model's curvature; with the second gradient BFGS as if it had begun with the curvature along the step."""
        H = self._model.H
        if not self.second or self.gradients > 2 or self.last is None:
            return H
        s = self.last / length(self.last)
        rest = (1 - self.settings.guess) * float(s @ H @ s)
        bowl: Array = H + rest * (np.eye(self.n) - np.outer(s, s))
        return bowl

    def _begin_path(self, second: bool) -> None:
        self.second, self.purpose = second, Purpose.PATH
        self.path = Path(self._model.radius)
        if not self._next_on_path():
            self._end_path()

    def _next_on_path(self) -> bool:
        """The minimum of the model within the radius; whether there is something to gain."""
        p, H = self.path, self._H
        step = ball_step(self.g, H, p.radius)
        if (np.abs(self.x + step) > 1).any():
            step = box_step(self.g, H, self.x, p.radius)
        p.step = step
        return float(self.g @ step + 0.5 * step @ H @ step) < 0 and length(step) > self.settings.smallest

    def _learn_step(self, u: Array, value: float) -> None:
        s, p = self.settings, self.path
        p.tried += 1
        gain = -float(in_units(np.array([value - self.value]), self.exponent)[0])
        gain = gain if math.isfinite(gain) else -math.inf
        reach, better = length(p.step), gain > p.gain
        if better:
            p.gain, p.at, p.reach = gain, p.radius, reach
        if gain > self.best_gain:
            self.best_gain, self.best_value, self.best_point = gain, value, u.copy()
        if p.promised > 0:
            p.broken = gain < s.kept * p.promised
        # A parabola with the slope at the iterate and the value at the end of the step has its minimum there:
        slope = -float(self.g @ p.step)
        bend = slope - gain
        share = slope / (2 * bend) if bend > 0 else math.inf
        whole_radius = reach > 0.9 * p.radius
        if share >= 0.9 or (p.longer and not better):
            farther = min(p.radius * min(max(share, 2.0), 10.0), math.sqrt(self.n))
            p.longer = better and not p.shorter and whole_radius and share > 1.1 and farther > p.radius
            p.radius = farther if p.longer else p.radius
            goes_on = p.longer
        else:
            p.promised = slope * share / 2
            goes_on = not p.promised < s.more * max(p.gain, self.best_gain)
            p.shorter, p.radius = True, min(p.radius, reach) * max(share, 0.1)
        if not (goes_on and p.tried < s.trials and self._next_on_path()):
            self._end_path()

    def _end_path(self) -> None:
        s, p = self.settings, self.path
        if p.gain > 0:
            self._model.radius = p.at if p.reach > 0.9 * p.at else max(p.reach, 0.5 * p.at)
        else:
            self._model.radius = p.radius
        if p.broken and self.gradients == 1 and p.reach < s.radius:
            self.done = Reason.STAGNANT
            return
        if not self.second and self.gradients > 1:
            self._begin_path(second=True)
            return
        self.purpose = Purpose.GRADIENT
        if self.best_gain > 0:
            self._move()
        elif not self.central and self.gradients > 1:  # the same iterate with better differences
            self.central, self.last = True, None
        else:
            self.done = Reason.CONVERGED

    def _move(self) -> None:
        self.last, self.x, self.value = self.best_point - self.x, self.best_point, self.best_value
        for model in (self.seen, self.convex):
            model.radius = max(model.radius, 0.5 * length(self.last))
