"""Descent along a learned gradient, in a metric that is earned by evaluations."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array
from ..learning.models.least_change import LeastChange, ball_step, box_step, differences, memory
from ..learning.steps import length
from .base import Search

# The pass has converged when its samples are this close to the candidate.
_SMALLEST = 1e-9
# Curvatures above the flattest are divided out at most to this ratio.
_CONDITION = 1e8
# The share of directions left as they are: at first, at last, and the evaluations by n^2 in which it would fall to 0.
_FIRST_QUANTILE, _LAST_QUANTILE, _RAMP = 1.0, 0.35, 3.0


def default_batch(n: int) -> int:
    """Points in a batch: little more than the logarithm of the dimension, as is usual for evolution strategies."""
    return 4 + int(3 * math.log(n))


class TrustRegion(Search):
    """From a point down to a local minimum.

    Each batch is a candidate, the model's minimum within the trust region, and samples around it on random
    orthonormal directions of length ``delta``. The trust region follows the quality of the prediction (Conn, Gould,
    Toint 2000). It is a ball in a metric that shortens the steep directions of H; since little of H is known at
    first, only the few steepest are shortened then, and more the more evaluations there are.

    Parameters
    ----------
    rng, start
        See ``Search``.
    delta : float
        The first radius.
    m : int or None
        Points in a batch; None: by the dimension.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Search.fields,
        *("delta", "m", "H", "exponent", "A", "inverse", "u", "y"),
        *("directions", "ratio", "predicted", "reach"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, delta: float = 0.2, m: int | None = None) -> None:
        super().__init__(rng, start)
        n = self.n
        self.delta = delta
        self.m = m if m is not None else default_batch(n)
        self.H, self.exponent = np.zeros((n, n)), 0
        self.A, self.inverse = np.eye(n), np.eye(n)
        """The metric: u = centre + delta A z."""
        self.u, self.y = np.empty((0, n)), np.empty(0)
        """Samples, oldest first."""
        self.directions = np.empty((0, n))
        """Orthonormal directions not used yet."""
        self.ratio = 0.0
        """Actual over predicted gain of the last candidate."""
        self.predicted = 0.0
        self.reach = 0.0
        """Length of the last step over the radius, in the metric."""

    @property
    def radius(self) -> float:
        """The trust region's."""
        return self.delta

    def propose(self) -> Array:
        """The candidate and samples; at first the start and n samples, enough for a gradient."""
        if len(self.y) == 0:
            return np.vstack([self.best_u, self._samples(self.best_u, self.n)])
        step = self._step()
        # After a good prediction the samples surround the candidate, else the point it came from.
        middle = self.best_u + step if self.ratio > 0.25 else self.best_u
        return np.vstack([np.clip(self.best_u + step, -1, 1), self._samples(middle, self.m - 1)])

    def _samples(self, middle: Array, count: int) -> Array:
        while len(self.directions) < count:
            q, _ = np.linalg.qr(self.rng.standard_normal((self.n, self.n)))
            self.directions = np.vstack([self.directions, q])
        lengths = self.rng.choice([-self.delta, self.delta], (count, 1))
        if self.n == 1:  # there are but two directions: other places
            lengths *= self.rng.uniform(0.5, 1.0, (count, 1))
        offsets = self.directions[:count] * lengths @ self.A
        self.directions = self.directions[count:]
        u = middle + offsets
        inside: Array = np.clip(np.where(np.abs(u) > 1, middle - offsets, u), -1, 1)  # mirrored at the faces
        return inside

    def _step(self) -> Array:
        model = LeastChange(self.H, self.exponent)
        A, inverse = self.delta * self.A, self.inverse / self.delta
        g, H = model.fit(self.u, self.y, self.best_u, self.best_y, A, inverse)
        self.H, self.exponent = model.H, model.exponent
        z = ball_step(g, H, 1.0)
        step = A @ z
        if (np.abs(self.best_u + step) > 1).any():
            step = box_step(inverse.T @ g, self.H, self.best_u, float(np.linalg.norm(step)))
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
            self.done = "failed"
            return
        if not first:
            self._judge(y[:1])
        size = 4 * memory(self.n)
        self.u, self.y = np.vstack([self.u, u[good]])[-size:], np.concatenate([self.y, y[good]])[-size:]
        self._note_best(u, y)
        if not first:
            self._earn_metric()
        if self.delta <= _SMALLEST:
            self.done = "converged"

    def _judge(self, candidate: Array) -> None:
        """Change the radius by how good the prediction was; a failed candidate is a bad one."""
        gain = -float(differences(candidate, self.best_y, self.exponent)[0])
        self.ratio = gain / self.predicted if self.predicted > 0 and not math.isnan(gain) else -1.0
        if self.ratio > 0.7 and self.reach > 0.9:
            self.delta = min(2 * self.delta, 1.0)
        elif self.ratio < 0.1:
            self.delta *= 0.5
        elif self.reach < 0.3:
            self.delta *= max(0.5, 2 * self.reach)

    def _earn_metric(self) -> None:
        curvature, V = np.linalg.eigh(self.H)
        steepness = np.abs(curvature)
        share = max(_LAST_QUANTILE, _FIRST_QUANTILE - self.used / (_RAMP * self.n**2))
        flat = float(np.quantile(steepness, share))
        if flat <= 0:
            self.A, self.inverse = np.eye(self.n), np.eye(self.n)
            return
        factor = np.sqrt(np.clip(steepness / flat, 1.0, _CONDITION))
        self.A, self.inverse = (V / factor) @ V.T, (V * factor) @ V.T
