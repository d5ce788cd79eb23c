"""Trust region: descent along a learned gradient, in a metric that is earned by evaluations."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from .._typing import Array
from ..learning.models.least_change import LeastChange
from ..learning.samplers import mirrored_offsets
from ..learning.steps import ball_step, box_step, length
from ..learning.trust import TrustSettings, rounding_metric
from ..learning.values import in_units
from ..settings import BELOW_ONE, FACTOR, NOT_NEGATIVE, POSITIVE, Settings, or_none, setting, whole
from .base import Indices, Reason, Search, default_batch


@dataclass(frozen=True, kw_only=True)
class TrustRegionSettings(Settings):
    """Constants of ``TrustRegion``."""

    radius: float = setting(0.2, "the first radius", "ours")
    m: int | None = setting(
        None, "points for each step; None: one, and later 4 + 3 ln n", "Hansen 2016, eq. 48", or_none(whole(2))
    )
    early: float = setting(
        100.0, "evaluations by n in which each is chosen with all that is known", "ours", NOT_NEGATIVE
    )
    checks: float = setting(0.2, "samples by n, and one more, after a prediction that was not accurate, early", "ours")
    unchecked: float = setting(3.0, "evaluations by n before that, while H is a multiple of the identity", "ours")
    accurate: float = setting(0.7, "actual over predicted gain from which on a prediction is accurate,", "ours", FACTOR)
    too_good: float = setting(1.5, "... and beyond which it is not any more", "ours")
    isotropic: float = setting(1e4, "how much that multiple may vary, squared, against a unit change of H", "ours")
    later: float = setting(1.0, "the same, later", "ours", NOT_NEGATIVE)
    within: float = setting(2.0, "samples so many radii around count as near", "Powell 2009: 2 to 10")
    rounds: int = setting(2, "how often a fit is refined", "ours: sums of squares are exact quadratics", whole(0))
    fall: float = setting(0.1, "the radius falls to this share at most at once,", "ours", BELOW_ONE)
    pace: float = setting(1.0, "... and by so many powers of ten more within n evaluations", "ours", POSITIVE)
    patience: float = setting(2.0, "answers by n + width after which an open candidate is given up", "ours")
    smallest: float = setting(1e-9, "the search has converged when the radius is below this", "ours")
    come_true: float = setting(0.5, "actual over predicted gain from which on a prediction came true", "ours", FACTOR)
    judged: int = setting(20, "last candidates by which the function is taken for smooth,", "ours", whole(1))
    believed: float = setting(0.15, "... if so large a share of their predictions came true", "ours", FACTOR)
    vain: int = setting(10, "so many candidates in a row that gain nothing end it,", "ours", whole(1))
    hopeless: float = setting(1e-6, "... where the radius has fallen to this share meanwhile", "ours", BELOW_ONE)
    condition: float = setting(1e8, "curvatures above the flattest are divided out to this ratio at most", "ours")
    first_flat: float = setting(1.0, "share of the directions that the metric leaves as they are, at first", "ours")
    last_flat: float = setting(0.35, "the same, at last", "ours", FACTOR)
    ramp: float = setting(3.0, "evaluations by n^2 in which that share would fall from 1 to 0", "ours")
    quadratic: float = setting(
        0.08, "evaluations in flight by n^2 from which on a whole quadratic is fitted,", "ours: its cost per evaluation"
    )
    values: float = setting(1.5, "... to so many values by its unknowns", "ours: near 1, interpolation is at its worst")
    remembered: int = setting(4, "samples that are remembered, by the number in a fit", "ours", whole(1))


@dataclass(init=False, eq=False, repr=False)
class TrustRegion(Search):
    """From a point down to a local minimum.

    A candidate is the model's minimum within the trust region; samples are points at the radius around it or around
    the best point. At first there is a sample on each coordinate axis. Early, every evaluation is a candidate as long
    as predictions are accurate; after one that was not, there are samples. Later, and where many evaluations are in
    flight, samples go along with each candidate, and teach the more curvature the more there are.

    The trust region follows the quality of the prediction (Conn, Gould, Toint 2000), but does not shrink before there
    are enough samples near the best point (Powell 2009). It is a ball in a metric that shortens the steep directions
    of H; since little of H is known at first, only the few steepest are shortened then, and more the more evaluations
    there are.
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
    target: Array  # the last candidate
    open: list[int]  # indices of the points without an answer, oldest first,
    since: list[int]  # and the answers before each of them was asked for
    awaited: int = -1  # index of the open candidate; -1: none is open
    proposed_at: int = 0  # answers before it was proposed,
    base: float = 0.0
    """... the value that it is to fall below,"""
    predicted: float = 0.0
    """... by how much, in the model's unit,"""
    slope: float = 0.0
    """... the same without curvature,"""
    reach: float = 0.0
    """... and the length of its step over the radius, in the metric."""
    ratio: float = 0.0  # actual over predicted gain of the last candidate
    due: int = 0  # samples wanted before the next candidate
    heard: int = 0  # samples from elsewhere
    earned: int = 0  # evaluations from which H was learned elsewhere
    smooth: bool = False  # whether another search has found the function smooth
    blocked: bool = False  # whether it waits for a sample where there is none near
    kept: list[bool] = field(default_factory=list)  # whether the last predictions came true
    floor: float = 0.0  # the radius does not fall below this
    failed: int = 0  # candidates in a row that gained nothing,
    held: float = math.inf
    """... and the radius before the first of them."""

    def _begin(self, start: Array) -> None:
        n = self.n
        self.delta, self.model = self.settings.radius, LeastChange(np.zeros((n, n)))
        self.A, self.inverse, self.target = np.eye(n), np.eye(n), start.copy()
        self.u, self.y, self.directions = np.empty((0, n)), np.empty(0), np.eye(n)
        self.open, self.since, self.kept = [], [], []

    def take_over(self, H: Array, exponent: int, evaluations: int) -> None:
        """Begin with curvature that was learned elsewhere, for values in units of 2^exponent."""
        self.model.H, self.model.exponent, self.earned = H.copy(), exponent, evaluations
        self._earn_metric()

    def _derive(self) -> None:
        s, n = self.settings, self.n
        self._m = s.m or default_batch(n)
        self._checks = 1 + math.ceil(s.checks * n)
        self._trust = TrustSettings()
        # What a whole quadratic takes is as much as is of use in flight.
        unknowns = (n + 1) * (n + 2) // 2
        self._most = max(unknowns, self._m)
        self._count = self.model.settings.count(n)
        # Where so many are in flight that their number soon suffices for a whole quadratic, it is fitted to more values
        # than it has unknowns: with about as many, an interpolation is at its worst (double descent).
        if self.width > 1 and self.width >= s.quadratic * n * n:
            self._count = max(self._count, math.ceil(s.values * unknowns))

    @property
    def radius(self) -> float:
        """The trust region's."""
        return self.delta

    @property
    def predictable(self) -> bool | None:
        """Whether enough of the last predictions came true, as they do where the function is smooth."""
        s = self.settings
        if self.smooth:
            return True
        return sum(self.kept) >= s.believed * s.judged if len(self.kept) == s.judged else None

    @property
    def _early(self) -> bool:
        return self.settings.m is None and self.used <= self.settings.early * self.n

    @property
    def _unchecked(self) -> bool:
        return self.used + self.earned <= self.settings.unchecked * self.n

    def natural(self) -> int:
        """As many as are planned to be in flight; later a candidate with its samples."""
        group = self.width if self._early else max(self.width, self._m)
        return max(min(group, self._most) - self._in_flight, 0)

    @property
    def _in_flight(self) -> int:
        """Open points; one that is open after four times as many answers as there are in flight is lost."""
        return len(self.since) - bisect_left(self.since, self.used - 4 * self.width)

    def propose(self, k: int | None = None) -> Array:
        """The start, samples on the axes, then candidates and samples; it waits only if very many are open."""
        k = self.natural() if k is None else min(k, max(self._most - self._in_flight, 0))
        points = [self._point() for _ in range(k)]
        return np.array(points).reshape(len(points), self.n)

    def _point(self) -> Array:
        index, s = self.asked, self.settings
        self.asked += 1
        self.open.append(index)
        self.since.append(self.used)
        if index == 0 and math.isnan(self.best_y):
            return self.best_u.copy()
        if self.awaited >= 0 and self.used - self.proposed_at > s.patience * (self.n + self.width):
            self.awaited = -1
        if self.awaited >= 0:
            # After a good prediction the samples surround the candidate, else the point it came from.
            return self._sample(self.target if self.ratio > self._trust.fair else self.best_u)
        few = min(index, self.used) + self.heard <= self.n
        if self.due > 0 or few or len(self.y) == 0:
            self.due = max(self.due - 1, 0)
            return self._repair() if self.blocked else self._sample(self.best_u)
        step = self._step()
        if not self.predicted > 0:  # nothing to gain, as far as is known here: look closer
            self.delta *= self._trust.shrink
            return self._sample(self.best_u)
        self.awaited, self.proposed_at, self.base = index, self.used, self.best_y
        self.target = np.clip(self.best_u + step, -1, 1)
        return self.target.copy()

    def _sample(self, middle: Array) -> Array:
        if len(self.directions) == 0:
            self.directions, _ = np.linalg.qr(self.rng.standard_normal((self.n, self.n)))
        d, self.directions = self.directions[0], self.directions[1:]
        size = self.delta * (1.0 if self.asked <= self.n + 1 else self.rng.choice([-1.0, 1.0]))
        if self.n == 1:  # there are but two directions: other places
            size *= self.rng.uniform(0.5, 1.0)
        u: Array = mirrored_offsets(middle, size * (d @ self.A)[None])[0]
        return u

    def _repair(self) -> Array:
        """A sample in a direction that those near the best point cover least: two steps of inverse iteration."""
        self.blocked, z = False, self._near()
        G = z.T @ z
        G.flat[:: self.n + 1] += 1e-3 * max(float(np.trace(G)) / self.n, 1e-3)
        d = self.rng.standard_normal(self.n)
        for _ in range(2):
            d = np.asarray(np.linalg.solve(G, d), dtype=np.float64)
            d /= np.linalg.norm(d)
        u: Array = mirrored_offsets(self.best_u, self.delta * (d @ self.A)[None])[0]
        return u

    def _step(self) -> Array:
        s, A, inverse = self.settings, self.delta * self.A, self.inverse / self.delta
        z = (self.u - self.best_u) @ inverse.T
        distances = np.sqrt(np.einsum("ij,ij->i", z, z))
        # The unit of the fit is the radius, or more where few samples are that near.
        far = max(1.0, float(np.partition(distances, min(self.n + 1, len(z) - 1))[min(self.n + 1, len(z) - 1)]))
        isotropic = s.isotropic if self._unchecked else s.later
        g, H = self.model.learn(
            self.u, self.y, self.best_u, self.best_y, far * A, inverse / far,
            isotropic=isotropic, count=self._count, rounds=s.rounds,
        )  # fmt: skip
        g, H = g / far, H / far**2
        z = ball_step(g, H, 1.0)
        step = A @ z
        if (np.abs(self.best_u + step) > 1).any():
            step = box_step(inverse.T @ g, self.model.H, self.best_u, float(np.linalg.norm(step)))
            z = inverse @ step
            # As long as the step without faces, but perhaps in a steep direction, where the region is narrow.
            size = length(z)
            if size > 1:
                step, z = step / size, z / size
        self.slope, self.reach = -float(g @ z), float(np.linalg.norm(z))
        self.predicted = self.slope - 0.5 * float(z @ H @ z)
        return step

    def hear(self, u: Array, y: Array) -> None:
        """Points from elsewhere are samples, the lowest as if they were the newest."""
        super().hear(u, y)
        order, size = np.argsort(-y, kind="stable"), self.settings.remembered * self._count
        self.u, self.y = np.vstack([u[order], self.u])[-size:], np.concatenate([y[order], self.y])[-size:]
        self.heard += len(y)

    def learn(self, u: Array, y: Array, indices: Indices | None = None) -> None:
        """One answer after the other."""
        judged, s = False, self.settings
        for point, value, index in zip(u, y, self.open[: len(y)] if indices is None else indices.tolist(), strict=True):
            row = self.open.index(index)
            del self.open[row], self.since[row]
            self.used += 1
            if np.isfinite(value):
                size = s.remembered * self._count
                self.u, self.y = np.vstack([self.u, point])[-size:], np.append(self.y, value)[-size:]
                self._note_best(point[None], np.array([value]))
            if index == self.awaited:
                self.awaited, judged = -1, True
                self._judge(float(value), self.asked - 1 - index)
        self.iterations += 1
        # A few bad candidates in a row, as at a kink or a step, must not make the region so small that it sees no more.
        self.floor = max(self.floor * 10 ** (-s.pace * len(y) / self.n), s.fall * self.delta)
        self.delta = max(self.delta, self.floor)
        if judged:
            self._earn_metric()
        if self.used > self.n and len(self.y) == 0:
            self.done = Reason.FAILED
        elif judged and self.ratio < self._trust.bad and self._flat():
            self.done = Reason.FLAT
        elif not self.earned and self.failed >= s.vain and self.delta < s.hopeless * self.held:
            self.done = Reason.STAGNANT
        elif self.delta <= s.smallest:
            self.done = Reason.CONVERGED

    def _judge(self, value: float, samples: int) -> None:
        """Adapt the radius after a candidate; a failed one is a bad one. So many samples went along with it."""
        s, trust = self.settings, self._trust
        gain = -float(in_units(np.array([value - self.base]), self.model.exponent)[0])
        self.ratio = trust.ratio(gain, self.predicted)
        self.kept = [*self.kept, s.come_true < self.ratio < s.too_good][-s.judged :]
        if self.ratio >= trust.bad:
            self.failed = 0
        else:
            self.held = self.delta if self.failed == 0 else self.held
            self.failed += 1
        if not self._early:
            self.delta = trust.radius(self.delta, self.ratio, self.reach)
            self.due = max(self._m - 1 - samples, 0)
        elif self.ratio >= trust.bad:
            self.delta = trust.radius(self.delta, self.ratio, self.reach)
            accurate = s.accurate < self.ratio < s.too_good or self._unchecked
            self.due = 0 if accurate else max(self._checks - samples, 0)
        elif math.isfinite(value) and len(self._near()) < min(self.n + 1, 2 * self.n / 3 + 2):
            self.blocked, self.due = samples == 0, max(1 - samples, 0)
        else:
            self.delta = trust.cut(self.delta, self.reach, gain, self.slope)
            self.due = 0 if self._unchecked else max(self._checks - samples, 0)

    def slope_between(self) -> float:
        """The median slope from a sample to the best point; infinite where there is no other."""
        d = self.u - self.best_u
        distances = np.sqrt(np.einsum("ij,ij->i", d, d))
        far = distances > 0
        with np.errstate(over="ignore"):
            slopes = np.abs(self.y - self.best_y)[far] / distances[far]
        return float(np.median(slopes)) if far.any() else math.inf

    def _flat(self) -> bool:
        """Whether most samples near the best point have its very value: smaller steps would tell no more."""
        z = (self.u - self.best_u) @ (self.inverse.T / self.delta)
        distances = np.einsum("ij,ij->i", z, z)
        y = self.y[(distances > 0) & (distances < self.settings.within**2)]
        return len(y) >= max(3, self.n // 2) and 2 * int((y == self.best_y).sum()) > len(y)

    def _near(self) -> Array:
        """The samples near the best point, in the metric, by the radius."""
        z = (self.u - self.best_u) @ (self.inverse.T / self.delta)
        near: Array = z[np.einsum("ij,ij->i", z, z) < self.settings.within**2]
        return near

    def _earn_metric(self) -> None:
        s = self.settings
        curvature, V = np.linalg.eigh(self.model.H)
        share = max(s.last_flat, s.first_flat - (self.used + self.earned) / (s.ramp * self.n**2))
        flat = float(np.quantile(np.abs(curvature), share))
        self.A, self.inverse = rounding_metric(curvature, V, flat, s.condition)
