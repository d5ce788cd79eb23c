"""Gaussian continuation: follow the minimum of the smoothed function while the smoothing falls, then descend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.random import Generator

from .._typing import Array
from ..learning.models.diagonal_affine import DiagonalAffine
from ..learning.output import OutputMap
from ..learning.samplers import folded
from ..learning.steps import length
from ..settings import BELOW_ONE, FACTOR, FRACTION, Settings, or_none, setting, whole
from .base import BatchSearch, Reason, default_batch
from .trust_region import TrustRegion, TrustRegionSettings

# Evaluations by the dimension that are planned with if there is no budget; numbers in the memory, at most.
_PER_N, _NUMBERS = 1_000, 1_000_000


class Phase(StrEnum):
    """What part of the plan is running."""

    ALONE = "alone"  # all the way from the start
    FIRST = "first"  # half of the way from the start
    OPPOSITE = "opposite"  # the same from the point opposite to where that led
    DEEPER = "deeper"  # the rest, in the better funnel


PROBES = (Phase.FIRST, Phase.OPPOSITE)


@dataclass(frozen=True, kw_only=True)
class GaussianContinuationSettings(Settings):
    """Constants of ``GaussianContinuation``."""

    radius: float = setting(0.35, "the first standard deviation of samples", "ours: a sixth of the cube")
    middle: float = setting(0.1, "that at which two funnels are compared", "ours", FACTOR)
    last: float = setting(0.03, "the last one", "ours", FACTOR)
    probe: float = setting(1 / 6, "share of the plan in which each of two funnels is found", "ours", BELOW_ONE)
    stay: float = setting(0.3, "last share of a probe, at an unchanged standard deviation", "ours", BELOW_ONE)
    per_n: int = setting(300, "with fewer planned evaluations by n there are no probes", "ours", whole(1))
    m: int | None = setting(None, "samples in a batch; None: by n and the plan", "ours", or_none(whole(2)))
    remembered: float = setting(0.25, "samples that are remembered, as a share of the plan", "ours", FACTOR)
    renewed: float = setting(0.03, "share of the memory that a batch renews", "ours: keeps fits cheap", FACTOR)
    near: float = setting(2.0, "samples are used up to this many usual distances from the centre", "ours")
    gain: float = setting(0.5, "share of the Newton step that is taken", "ours", FACTOR)
    longest: float = setting(0.7, "the longest step, in usual distances of samples", "ours")
    mixed: float = setting(0.5, "weight of the mean curvature in that of a coordinate", "ours", FRACTION)
    flattest: float = setting(0.3, "curvatures below this share of their mean are raised to it", "ours", BELOW_ONE)
    polish: float = setting(0.2, "share of the plan that is kept for the descent at the end, at most", "ours", FRACTION)


@dataclass(init=False, eq=False, repr=False)
class GaussianContinuation(BatchSearch):
    """From far above the ripples of a function down into one of its deepest valleys.

    The smoothed function E f(u + s z), z normal, has fewer minima the larger s is (Moré and Wu 1997). Its gradient at
    the centre is the mean-gradient of samples there: ripples are averaged out, and a long memory averages over more of
    them. The standard deviation s falls geometrically over the planned evaluations; the centre follows by damped
    Newton steps of a diagonal affine field, learned from mirrored samples and squashed values (the log-quantile map,
    anew for each fit). At last a trust region descends from the centre.

    A function may have several funnels. So with enough evaluations, s falls half of its way twice: from the start, and
    from the point opposite in the cube to where that has led. The search goes on in the funnel with the lower median
    of samples, which compares the funnels' floors; the best samples would compare luck in ripples.
    """

    settings_class, scale_setting, batch_setting = GaussianContinuationSettings, "radius", "m"
    settings: GaussianContinuationSettings
    planned: int  # evaluations from the beginning to the end
    phase: Phase
    begun: int  # evaluations before this phase
    found: Array  # where the first probe ended
    level: float  # and the median of samples there
    centre: Array
    field: DiagonalAffine
    u: Array
    y: Array  # samples, oldest first; NaN: failed
    descent: TrustRegion | None = None
    explained: float = math.nan  # squared correlation of the last batch's values with what was predicted

    def __init__(self, rng: Generator, start: Array, settings: Any = None, **rest: Any) -> None:
        self.planned = rest.get("budget") or _PER_N * len(start)
        super().__init__(rng, start, settings, **rest)

    def _begin(self, start: Array) -> None:
        n = self.n
        self.centre, self.field = start.copy(), DiagonalAffine(np.zeros(n), np.zeros(n))
        self.begun, self.found, self.level = 0, start.copy(), math.nan
        self.phase = Phase.FIRST if self.planned >= self.settings.per_n * n else Phase.ALONE
        self.u, self.y = np.empty((0, n)), np.empty(0)

    def _derive(self) -> None:
        s, n = self.settings, self.n
        self._memory = min(max(int(s.remembered * self.planned), 8 * n), _NUMBERS // n)
        self._m = s.m or max(default_batch(n), int(s.renewed * self._memory)) // 2 * 2
        self._probe = max(1, int(s.probe * self.planned))
        self._zoom = max(1, self.planned - min(int(s.polish * self.planned), 3 * n**2 + 100 * n))

    def _plan(self) -> tuple[float, float, int]:
        """First and last standard deviation of this phase, and its evaluations."""
        s = self.settings
        if self.phase in PROBES:
            first = s.radius if self.phase is Phase.FIRST else math.sqrt(s.radius * s.middle)
            return first, s.middle, self._probe
        return s.radius if self.phase is Phase.ALONE else s.middle, s.last, max(1, self._zoom - self.begun)

    @property
    def radius(self) -> float:
        """The standard deviation of samples now."""
        if self.descent is not None:
            return self.descent.radius
        first, last, count = self._plan()
        falls = count * (1 - self.settings.stay) if self.phase in PROBES else count
        return float(first * (last / first) ** min((self.used - self.begun) / falls, 1.0))

    @property
    def favorite_u(self) -> Array | None:
        """The centre, which is what the search knows of the minimum, until the descent begins."""
        return self.centre if self.descent is None else None

    @property
    def value_now(self) -> float:
        """The median of the newest samples."""
        if self.descent is not None:
            return self.best_y
        count = int(self.settings.stay * self._probe)
        newest = self.y[-max(count, self._m) :]
        return float(np.nanmedian(newest)) if np.isfinite(newest).any() else math.nan

    def hear(self, u: Array, y: Array) -> None:
        """Points from elsewhere are samples of the field, or of the descent."""
        super().hear(u, y)
        if self.descent is not None:
            self.descent.hear(u, y)
        self.u, self.y = np.vstack([self.u, u])[-self._memory :], np.append(self.y, y)[-self._memory :]

    def _propose(self) -> Array:
        """Mirrored samples around the centre."""
        if self.descent is not None:
            return self.descent.propose()
        z = self.rng.standard_normal((self._m // 2, self.n))
        return folded(self.centre + self.radius * np.concatenate([z, -z]))

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        if self.descent is not None:
            self.descent.learn(u, y)
            self.done = self.descent.done
            return
        if math.isnan(self.best_y):
            self.done = Reason.FAILED
            return
        s = self.radius
        if np.isfinite(y).any():
            self.explained = _correlation(self.field.predict((u - self.centre) / s), _mapped(y)) ** 2
        self.u = np.concatenate([self.u, u])[-self._memory :]
        self.y = np.concatenate([self.y, y])[-self._memory :]
        self._move(s)
        over = self.used - self.begun >= self._plan()[2]
        if over or self._has_returned(s):
            self._enter_next_phase(s)

    def _has_returned(self, s: float) -> bool:
        """Whether the way from the opposite point leads to the same funnel."""
        return self.phase is Phase.OPPOSITE and length(self.centre - self.found) < 0.5 * s * math.sqrt(self.n)

    def _enter_next_phase(self, s: float) -> None:
        self.begun = self.used
        if self.phase is Phase.FIRST:
            self.found, self.level = self.centre, self.value_now
            self.phase, self.centre = Phase.OPPOSITE, -self.centre
        elif self.phase is Phase.OPPOSITE:
            if not self.value_now < self.level:
                self.centre = self.found
            self.phase = Phase.DEEPER
        else:
            self.descent = TrustRegion(self.rng, self.centre, TrustRegionSettings(radius=s))

    def _move(self, s: float) -> None:
        """Learn the field around the centre and step along it."""
        p, n = self.settings, self.n
        z = (self.u - self.centre) / s
        near = np.einsum("ij,ij->i", z, z) <= p.near**2 * n
        if not np.isfinite(self.y[near]).any():
            self.centre = self.best_u.copy()
            return
        self.field = DiagonalAffine.fit(z[near], _mapped(self.y[near]), damping=float(n))
        b, h = self.field.b, self.field.h
        mean = max(float(h.mean()), 1e-3)
        curvature = np.maximum((1 - p.mixed) * h + p.mixed * mean, p.flattest * mean)
        step = -p.gain * b / curvature
        size, longest = length(step), p.longest * math.sqrt(n)
        if size > longest:
            step *= longest / size
        # The field moves along, so that it predicts the next batch.
        old = self.centre
        self.centre = np.clip(old + s * step, -1, 1)
        moved = (self.centre - old) / s
        self.field = DiagonalAffine(b + h * moved, h)

    def extend(self, more: int) -> None:
        """The plan grows."""
        self.planned += more
        self._derive()

    def progress(self) -> dict[str, float]:
        """With the share of the last values that was predicted."""
        return super().progress() | {"explained": self.explained}


def _mapped(y: Array) -> Array:
    """Squashed values (log-quantile); where an evaluation failed, the largest."""
    good = np.isfinite(y)
    output = OutputMap()
    output.update(y[good])
    v = output(y)
    v[~good] = v[good].max()
    return v


def _correlation(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = length(a) * length(b)
    return float(a @ b / size) if 0 < size < math.inf else 0.0
