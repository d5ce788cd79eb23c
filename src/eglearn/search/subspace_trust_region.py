"""Descent along a gradient that is learned piece by piece, with curvature in the few directions that matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._typing import Array
from ..learning.models.least_change import LeastChange, LeastChangeSettings
from ..learning.samplers import mirrored_offsets
from ..learning.steps import ball_step, length, unit_rows
from ..learning.trust import TrustSettings, rounding_metric
from ..learning.values import exponent_of, in_units
from ..settings import FRACTION, Settings, or_none, setting, whole
from .base import BatchSearch, Reason, default_batch


@dataclass(frozen=True, kw_only=True)
class SubspaceTrustRegionSettings(Settings):
    """Constants of ``SubspaceTrustRegion``."""

    radius: float = setting(0.2, "the first radius", "ours")
    m: int | None = setting(None, "points in a batch; None: 4 + 3 ln n", "Hansen 2016, eq. 48", or_none(whole(2)))
    smallest: float = setting(1e-9, "the search has converged when the radius is below this", "ours")
    active: int = setting(20, "directions with a curvature of their own, at most", "ours", whole(1))
    inside: float = setting(1 / 3, "share of a batch that is sampled in them", "ours", FRACTION)
    every: int = setting(3, "batches between two changes of the directions", "ours", whole(1))
    condition: float = setting(1e8, "curvatures above that of the rest are divided out to this ratio at most", "ours")
    shrink: float = setting(0.75, "factor of a shrinking radius", "ours: a batch renews little of the gradient")
    far: float = setting(10.0, "samples farther outside the active directions, in radii, are left out", "ours")
    remembered: int = setting(3, "samples that are remembered, by the number in a fit", "ours", whole(1))


@dataclass(init=False, eq=False, repr=False)
class SubspaceTrustRegion(BatchSearch):
    """From a point downhill, with fewer evaluations than a gradient takes.

    The model is g . p + p_V . H p_V / 2 + c |p_W|^2 / 2, where p_V are the components of p in k active directions, the
    columns of V, and p_W is the rest. Each batch is a candidate, the model's minimum within the trust region; samples
    in the active directions, from which H and the gradient there are learned by least change (``LeastChange``); and
    samples on other orthonormal directions, each of which corrects the gradient along itself only. What was learned of
    the gradient before is carried along by the model. Where the rest of the gradient points, a new active direction
    begins, in place of the one with the least curvature.
    """

    settings_class, scale_setting, batch_setting = SubspaceTrustRegionSettings, "radius", "m"
    settings: SubspaceTrustRegionSettings
    delta: float
    V: Array
    H: Array  # the active directions, and the Hessian in them
    g: Array  # the gradient at the best point
    u: Array
    y: Array  # candidates and samples in the active directions, oldest first
    signs: Array
    order: npt.NDArray[np.int64]  # of the basis of directions: signs, and numbers of those not used yet
    middle: Array  # the point around which the batch is sampled
    at_candidate: bool = True  # whether that is the candidate
    inside: int = 0  # samples of the batch in the active directions
    c: float = 0.0  # the curvature of all other directions
    batches: int = 0
    exponent: int = 0  # unit of all values
    ratio: float = 0.0  # actual over predicted gain of the last candidate
    predicted: float = 0.0
    reach: float = 0.0  # length of its step over the radius

    def _begin(self, start: Array) -> None:
        n = self.n
        self.delta, self.middle = self.settings.radius, start.copy()
        self.V, self.H, self.g = np.empty((n, 0)), np.empty((0, 0)), np.zeros(n)
        self.u, self.y = np.empty((0, n)), np.empty(0)
        self.signs, self.order = np.ones(n), np.empty(0, dtype=np.int64)

    def _derive(self) -> None:
        self._m = self.settings.m or default_batch(self.n)
        self._trust = TrustSettings(shrink=self.settings.shrink)

    @property
    def radius(self) -> float:
        """The trust region's."""
        return self.delta

    def _propose(self) -> Array:
        """The candidate and samples around it, or, after a bad prediction, around the best point."""
        candidate = self._candidate() if self.batches else self.best_u
        self.inside = min(int(self.settings.inside * self._m), self.V.shape[1])
        self.at_candidate = self.batches == 0 or self.ratio > self._trust.fair
        self.middle = candidate if self.at_candidate else self.best_u
        count = self._m - 1 - self.inside if self.batches else 2 * self._m
        offsets = np.vstack([self._inner(self.inside), self._outer(count)])
        offsets *= self.rng.choice([-self.delta, self.delta], (len(offsets), 1))
        return np.vstack([candidate, mirrored_offsets(self.middle, offsets)])

    def _candidate(self) -> Array:
        """The model's minimum in the metric that shortens steep active directions, clipped to the cube."""
        A, _ = self._metric()
        inner = self.V.T @ self.g
        outer = self.g - self.V @ inner
        slope = length(outer)
        z = ball_step(np.append(A @ inner, slope), _bordered(A @ self.H @ A, self.c), self.delta)
        p = self.V @ (A @ z[:-1])
        if slope > 0:
            p += outer * (z[-1] / slope)
        candidate = np.asarray(np.clip(self.best_u + p, -1, 1))
        p = candidate - self.best_u
        self.predicted = -float(self.g @ p + 0.5 * p @ self._product(p))
        self.reach = length(z) / self.delta
        return candidate

    def _product(self, p: Array) -> Array:
        """The model's Hessian times p."""
        inner = self.V.T @ p
        return self.c * p + self.V @ (self.H @ inner - self.c * inner)

    def _metric(self) -> tuple[Array, Array]:
        """A and its inverse: active directions steeper than the rest are as much shorter as makes them equal."""
        curvature, E = np.linalg.eigh(self.H)
        flat = self.c if self.c > 0 or not len(E) else float(np.median(np.abs(curvature)))
        return rounding_metric(curvature, E, flat, self.settings.condition)

    def _inner(self, count: int) -> Array:
        """Random orthonormal active directions, in the metric."""
        if count == 0:
            return np.empty((0, self.n))
        q, A = np.linalg.qr(self.rng.standard_normal((self.V.shape[1], count)))[0], self._metric()[0]
        return np.asarray((self.V @ (A @ q)).T)

    def _outer(self, count: int) -> Array:
        """The next directions of a basis, without their active parts.

        The basis is that of the cosine transform with random signs: orthonormal, but without n^3 operations.
        """
        n = self.n
        if len(self.order) < count:
            self.signs, self.order = self.rng.choice([-1.0, 1.0], n), self.rng.permutation(n)
        chosen, self.order = self.order[:count], self.order[count:]
        q = np.cos(np.pi / n * np.outer(chosen, np.arange(n) + 0.5)) * (self.signs * math.sqrt(2 / n))
        return unit_rows(q - (q @ self.V) @ self.V.T)

    def _learn(self, u: Array, y: Array) -> None:
        first = self.batches == 0
        if first and math.isnan(y[0]):
            self.done = Reason.FAILED
            return
        value = float(y[0]) if first else self.best_y
        self._change_unit(y - value)
        v = in_units(y - value, self.exponent)
        if not first:
            self.ratio = self._trust.ratio(-float(v[0]), self.predicted)  # a failed candidate is a bad one
            self.delta = self._trust.radius(self.delta, self.ratio, self.reach)
        at_middle = float(v[0]) if self.at_candidate else 0.0
        if not math.isnan(at_middle):
            self._correct(u[1 + self.inside :] - self.middle, v[1 + self.inside :] - at_middle)
        before = self.best_u
        self._note_best(u, y)
        self.g = self.g + self._product(self.best_u - before)
        self.batches += 1
        kept, s = np.flatnonzero(np.isfinite(y[: 1 + self.inside])), self.settings
        size = s.remembered * LeastChangeSettings().count(s.active)
        self.u, self.y = np.vstack([self.u, u[kept]])[-size:], np.append(self.y, y[kept])[-size:]
        if first or self.batches % s.every == 0:
            self._change_directions()
        self._fit()
        if self.delta <= s.smallest:
            self.done = Reason.CONVERGED

    def _change_unit(self, v: Array) -> None:
        """Choose the unit such that the largest of the finite values is about 1."""
        v = v[np.isfinite(v)]
        if not v.any():
            return
        higher = exponent_of(v) - self.exponent
        self.exponent += higher
        self.g, self.H = in_units(self.g, higher), in_units(self.H, higher)
        self.predicted, self.c = in_units(np.array([self.predicted, self.c]), higher).tolist()
        if not (math.isfinite(self.c) and np.isfinite(self.g).all() and np.isfinite(self.H).all()):
            # What was learned from values beyond comparison with these is of no use for them.
            self.g, self.H = np.zeros_like(self.g), np.zeros_like(self.H)
            self.predicted = self.c = 0.0

    def _correct(self, z: Array, v: Array) -> None:
        """Correct c and the gradient by samples outside the active directions."""
        squares = np.einsum("ij,ij->i", z, z)
        good = np.isfinite(v) & (squares > 0)
        if not good.any():
            return
        z, v, squares = z[good], v[good], squares[good]
        g = self.g + self._product(self.middle - self.best_u)
        inner = z @ self.V
        residual = v - z @ g - 0.5 * np.einsum("ij,ij->i", inner @ self.H - self.c * inner, inner)
        # Directions have random signs: on average the slopes cancel, and what is left is the curvature.
        curvature = 2 * float(np.sum(residual * squares) / np.sum(squares**2))
        weight = min(1.0, 3 * len(v) / self.n) if self.batches else 1.0
        self.c = max(0.0, self.c + weight * (curvature - self.c))
        self.g = self.g + z.T @ (residual / squares - 0.5 * self.c)

    def _change_directions(self) -> None:
        """A new active direction along the rest of the gradient."""
        outer = self.g - self.V @ (self.V.T @ self.g)
        if not length(outer) > 0:
            return
        if self.V.shape[1] == min(self.settings.active, self.n):
            curvature, E = np.linalg.eigh(self.H)
            kept = np.sort(np.argsort(np.abs(curvature), kind="stable")[1:])
            self.V, self.H = self.V @ E[:, kept], np.diag(curvature[kept])
            outer = self.g - self.V @ (self.V.T @ self.g)
        outer /= length(outer)
        outer -= self.V @ (self.V.T @ outer)
        self.V, self.H = np.column_stack([self.V, outer / length(outer)]), _bordered(self.H, self.c)

    def _fit(self) -> None:
        """Learn H and the gradient in the active directions."""
        z = self.u - self.best_u
        inner = z @ self.V
        outer = z - inner @ self.V.T
        distances = np.einsum("ij,ij->i", outer, outer)
        near = distances < (self.settings.far * self.delta) ** 2
        slope = self.V.T @ self.g
        rest = outer @ self.g + 0.5 * self.c * distances
        v = in_units(self.y - self.best_y, self.exponent) - rest
        # The best point itself is the origin.
        samples, values = np.vstack([inner[near], np.zeros(len(slope))]), np.append(v[near], 0.0)
        A, inverse = self._metric()
        model = LeastChange(self.H)
        g, _ = model.learn(samples, values, np.zeros(len(slope)), 0.0, self.delta * A, inverse / self.delta)
        self.H = np.ldexp(model.H, model.exponent)
        self.g = self.g + self.V @ (np.ldexp(inverse.T @ g / self.delta, model.exponent) - slope)


def _bordered(H: Array, c: float) -> Array:
    """H with one more direction, of the curvature c."""
    bordered = np.pad(H, (0, 1))
    bordered[-1, -1] = c
    return bordered
