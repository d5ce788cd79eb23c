"""Trust region: descent along a learned gradient, in a metric that is earned by evaluations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..learning.models.least_change import LeastChange
from ..learning.samplers import mirrored_offsets
from ..learning.steps import ball_step, box_step, length
from ..learning.trust import TrustSettings, rounding_metric
from ..learning.values import in_units
from ..settings import FACTOR, Settings, or_none, setting, whole
from .base import BatchSearch, Reason, default_batch


@dataclass(frozen=True, kw_only=True)
class TrustRegionSettings(Settings):
    """Constants of ``TrustRegion``."""

    radius: float = setting(0.2, "the first radius", "ours")
    m: int | None = setting(None, "points in a batch; None: 4 + 3 ln n", "Hansen 2016, eq. 48", or_none(whole(2)))
    smallest: float = setting(1e-9, "the search has converged when the radius is below this", "ours")
    condition: float = setting(1e8, "curvatures above the flattest are divided out to this ratio at most", "ours")
    first_flat: float = setting(1.0, "share of the directions that the metric leaves as they are, at first", "ours")
    last_flat: float = setting(0.35, "the same, at last", "ours", FACTOR)
    ramp: float = setting(3.0, "evaluations by n^2 in which that share would fall from 1 to 0", "ours")
    remembered: int = setting(4, "samples that are remembered, by the number in a fit", "ours", whole(1))


@dataclass(init=False, eq=False, repr=False)
class TrustRegion(BatchSearch):
    """From a point down to a local minimum.

    Each batch is a candidate, the model's minimum within the trust region, and samples around it on random
    orthonormal directions of length ``delta``. The trust region follows the quality of the prediction (Conn, Gould,
    Toint 2000). It is a ball in a metric that shortens the steep directions of H; since little of H is known at
    first, only the few steepest are shortened then, and more the more evaluations there are.
    """

    settings_class, scale_setting, batch_setting = TrustRegionSettings, "radius", "m"
    settings: TrustRegionSettings
    delta: float  # the radius
    model: LeastChange
    A: Array
    inverse: Array  # the metric: u = centre + delta A z
    u: Array
    y: Array  # samples, oldest first
    directions: Array  # orthonormal directions not used yet
    ratio: float = 0.0  # actual over predicted gain of the last candidate
    predicted: float = 0.0
    reach: float = 0.0  # length of the last step over the radius, in the metric

    def _begin(self, start: Array) -> None:
        n = self.n
        self.delta, self.model = self.settings.radius, LeastChange(np.zeros((n, n)))
        self.A, self.inverse = np.eye(n), np.eye(n)
        self.u, self.y, self.directions = np.empty((0, n)), np.empty(0), np.empty((0, n))

    def _derive(self) -> None:
        self._m = self.settings.m or default_batch(self.n)
        self._trust = TrustSettings()

    @property
    def radius(self) -> float:
        """The trust region's."""
        return self.delta

    def _propose(self) -> Array:
        """The candidate and samples; at first the start and n samples, enough for a gradient."""
        if len(self.y) == 0:
            return np.vstack([self.best_u, self._samples(self.best_u, self.n)])
        step = self._step()
        # After a good prediction the samples surround the candidate, else the point it came from.
        middle = self.best_u + step if self.ratio > self._trust.fair else self.best_u
        return np.vstack([np.clip(self.best_u + step, -1, 1), self._samples(middle, self._m - 1)])

    def _samples(self, middle: Array, count: int) -> Array:
        while len(self.directions) < count:
            q, _ = np.linalg.qr(self.rng.standard_normal((self.n, self.n)))
            self.directions = np.vstack([self.directions, q])
        lengths = self.rng.choice([-self.delta, self.delta], (count, 1))
        if self.n == 1:  # there are but two directions: other places
            lengths *= self.rng.uniform(0.5, 1.0, (count, 1))
        offsets = self.directions[:count] * lengths @ self.A
        self.directions = self.directions[count:]
        return mirrored_offsets(middle, offsets)

    def _step(self) -> Array:
        A, inverse = self.delta * self.A, self.inverse / self.delta
        g, H = self.model.learn(self.u, self.y, self.best_u, self.best_y, A, inverse)
        z = ball_step(g, H, 1.0)
        step = A @ z
        if (np.abs(self.best_u + step) > 1).any():
            step = box_step(inverse.T @ g, self.model.H, self.best_u, float(np.linalg.norm(step)))
            z = inverse @ step
            # As long as the step without faces, but perhaps in a steep direction, where the region is narrow.
            size = length(z)
            if size > 1:
                step, z = step / size, z / size
        self.predicted = -float(g @ z + 0.5 * z @ H @ z)
        self.reach = float(np.linalg.norm(z))
        return step

    def _learn(self, u: Array, y: Array) -> None:
        first = len(self.y) == 0
        good = np.isfinite(y)
        if first and not good.any():
            self.done = Reason.FAILED
            return
        if not first:  # a failed candidate is a bad one
            gain = -float(in_units(y[:1] - self.best_y, self.model.exponent)[0])
            self.ratio = self._trust.ratio(gain, self.predicted)
            self.delta = self._trust.radius(self.delta, self.ratio, self.reach)
        size = self.settings.remembered * self.model.settings.count(self.n)
        self.u, self.y = np.vstack([self.u, u[good]])[-size:], np.concatenate([self.y, y[good]])[-size:]
        self._note_best(u, y)
        if not first:
            self._earn_metric()
        if self.delta <= self.settings.smallest:
            self.done = Reason.CONVERGED

    def _earn_metric(self) -> None:
        s = self.settings
        curvature, V = np.linalg.eigh(self.model.H)
        share = max(s.last_flat, s.first_flat - self.used / (s.ramp * self.n**2))
        flat = float(np.quantile(np.abs(curvature), share))
        self.A, self.inverse = rounding_metric(curvature, V, flat, s.condition)
