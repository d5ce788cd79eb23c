"""Diagonal evolution strategy: adaptation of a normal distribution with independent coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..learning.recombination import Rates, expected_length, ranked, score_weights
from ..learning.samplers import folded
from ..learning.steps import length
from ..settings import BELOW_ONE, FLAG, FRACTION, Settings, or_none, setting, whole
from .base import Reason, SamplingSearch, default_batch, spread
from .stopping import reason_to_stop


@dataclass(frozen=True, kw_only=True)
class DiagonalESSettings(Settings):
    """Constants of ``DiagonalES``."""

    sigma: float = setting(0.4, "the first standard deviation", "ours: a fifth of the cube")
    size: int | None = setting(None, "points in a batch; None: 4 + 3 ln n", "Hansen 2016, eq. 48", or_none(whole(1)))
    pace: float = setting(0.5, "the mean's step, as a share of the weighted sum of the samples' steps", "ours")
    noisy: bool = setting(False, "medians, not best values, tell when to stop", "ours", FLAG)
    smallest: float = setting(1e-11, "standard deviations below this end the search", "ours")
    rate: float = setting(
        0.3, "rate of averaging the comparison of two points", "Hansen, Atamna, Auger 2014", BELOW_ONE
    )
    inertia: float = setting(0.5, "share of the mean's last step in its next one", "ours", FRACTION)


@dataclass(init=False, eq=False, repr=False)
class DiagonalES(SamplingSearch):
    """Adaptation of a mean, a step size and n variances in the cube; samples are mirrored at the faces.

    The mean moves along the mean-gradient of the ranks: the samples' steps weighted by all of their ranks, the worse
    half negatively, which in many dimensions tells as much again as the better half (Arnold 2006). These are averaged
    over batches: along a valley they add up, across it they cancel. The variances are those of CMA-ES with a diagonal
    covariance matrix (Ros and Hansen 2008): a batch costs n times its size, and they are learned n / 3 times as fast as
    a whole matrix. The step size is adapted by two points (Hansen, Atamna, Auger 2014): one sample lies ahead of the
    mean along its last step, one behind, and their ranks tell whether steps should be longer. The length of an
    evolution path, which CMA-ES uses, tells little where the values depend on a few directions only.
    """

    settings_class, scale_setting, batch_setting = DiagonalESSettings, "sigma", "size"
    settings: DiagonalESSettings
    mean: Array
    sigma: float
    variances: Array  # the covariance matrix is sigma^2 M diag(variances) M, where M shortens the directions
    path: Array
    shift: Array  # of the mean: its averaged and its last step
    history: list[float]  # the best values of the last batches, or their medians
    directions: Array
    shortening: float = 1.0  # orthonormal columns, and how long the distribution is along them, by what it would be
    longer: float = 0.0  # whether steps should be longer (up to 1) or shorter (to -1)
    paired: bool = False  # whether the batch has points to tell
    batches: int = 0

    def _begin(self, start: Array) -> None:
        n = self.n
        self.mean, self.sigma, self.variances = start.copy(), self.settings.sigma, np.ones(n)
        self.path, self.shift, self.history = np.zeros(n), np.zeros(n), []
        self.directions = np.empty((n, 0))

    def shorten(self, directions: Array, shortening: float) -> None:
        """Shorten the distribution along the directions, orthonormal columns (n, k), by that factor."""
        self.directions, self.shortening = directions, shortening

    def _derive(self) -> None:
        n = self.n
        self.size = self.settings.size or max(default_batch(n), self.width // 2)
        self._weights = score_weights(self.size)
        self._rates = Rates.of(n, self._weights[self._weights > 0], faster=(n + 2) / 3)
        self._expected = expected_length(n)

    @property
    def radius(self) -> float:
        """The largest standard deviation."""
        return self.sigma * math.sqrt(float(self.variances.max()))

    @property
    def favorite_u(self) -> Array | None:
        """The mean if values are noisy."""
        return self.mean if self.settings.noisy else None

    def hear(self, u: Array, y: Array) -> None:
        """At the beginning, the spread of points from elsewhere tells how far to look."""
        super().hear(u, y)
        if self.asked == 0:
            self.sigma = min(self.sigma, spread(u, y))

    def _scaled(self, steps: Array, factor: float) -> Array:
        """M applied to steps (k, n) or (n,), if the factor is ``shortening``; if it is its inverse, that of M."""
        return steps + ((factor - 1) * (steps @ self.directions)) @ self.directions.T

    @property
    def enough(self) -> int:
        """Points in a batch."""
        return self.size

    @property
    def leading(self) -> int:
        """The two points that tell whether steps should be longer."""
        return 2 * self.paired

    def _unfolded(self, k: int) -> Array:
        z = self.rng.standard_normal((k, self.n))
        u: Array = self.mean + self.sigma * self._scaled(np.sqrt(self.variances) * z, self.shortening)
        return u

    def _samples(self, k: int) -> Array:
        return folded(self._unfolded(k))

    def _propose(self) -> Array:
        """Samples of the distribution; the first two are ahead of the mean and behind it, as far as others are."""
        u = self._unfolded(self.size)
        ahead = length(self._scaled(self.shift, 1 / self.shortening) / np.sqrt(self.variances))
        self.paired = ahead > 0 and self.size > 2
        if self.paired:
            u[:2] = self.mean + np.outer([1, -1], self.shift * (self.sigma * self._expected / ahead))
        return folded(u)

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        s, good = self.settings, int(np.isfinite(y).sum())
        if good == 0:  # nothing was learned: back to what worked, and closer
            self.mean, self.sigma, self.shift = self.best_u.copy(), 0.5 * self.sigma, np.zeros(self.n)
            if math.isnan(self.best_y):
                self.done = Reason.FAILED
            elif self.radius < s.smallest:
                self.done = Reason.CONVERGED
            return
        order = ranked(y)
        self._adapt(u[order[:good]])
        if self.paired and np.isfinite(y[:2]).any():
            places = np.argsort(order, kind="stable")
            self.longer += s.rate * (float(places[1] - places[0]) / (len(y) - 1) - self.longer)
            self.sigma *= math.exp(self.longer / math.sqrt(self.n))
        why = reason_to_stop(self.history, y[order[:good]], self.batches, self.n / self.size, s.noisy)
        self.done = Reason.CONVERGED if self.radius < s.smallest else why

    def narrow(self, sigma: float) -> None:
        """The step size is that at most."""
        self.sigma = min(self.sigma, sigma)

    def _adapt(self, u: Array) -> None:
        """Move mean, path and variances; ``u`` are the points that did not fail, the best first."""
        weights = self._weights if len(u) == self.size else score_weights(len(u))
        steps = self._scaled(u - self.mean, 1 / self.shortening) / self.sigma
        if self.width > 1:  # samples of an earlier distribution must not blow up this one (Hansen 2011: injection)
            lengths = np.linalg.norm(steps / np.sqrt(self.variances), axis=1)
            steps *= np.minimum(1.0, (self._expected + 2) / np.maximum(lengths, 1e-300))[:, None]
        before, inertia, pace = self.mean, self.settings.inertia, self.settings.pace * self.sigma
        step = weights @ steps
        along = self._scaled(step, self.shortening)
        self.mean = np.clip(before + inertia * self.shift + (1 - inertia) * pace * along, -1, 1)
        self.shift = self.mean - before
        self.batches += 1
        # What a face cut off is no step. As long as a sample's own if all samples are equally good.
        mean_step = np.where(np.abs(self.mean) < 1, step, 0.0) / math.sqrt(float(weights @ weights))
        cc, c1, cmu = self._rates.cc, self._rates.c1, self._rates.cmu
        self.path = (1 - cc) * self.path + math.sqrt(cc * (2 - cc)) * mean_step
        better = np.maximum(weights, 0)
        self.variances = (1 - c1 - cmu) * self.variances + c1 * self.path**2 + cmu * (better @ steps**2)
