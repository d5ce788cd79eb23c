"""Adaptation of a normal distribution with independent coordinates, for many dimensions."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from .._typing import Array
from ..learning.steps import length
from .base import Search
from .stopping import reason_to_stop
from .trust_region import default_batch

# Standard deviations below this end the pass.
_SMALLEST = 1e-11
# The rate at which the comparison of two points is averaged (Hansen, Atamna, Auger 2014).
_RATE = 0.3
# The share of the mean's last step in its next one.
_INERTIA = 0.5


def recombination(size: int) -> Array:
    """Weights of sorted samples, best first: about the expected order statistics of a normal distribution.

    The positive ones sum to 1, the negative ones to -1. These are optimal for many dimensions (Arnold 2006); formulas
    for the statistics: Blom (1958).

    >>> recombination(4).round(2)
    array([ 0.78,  0.22, -0.22, -0.78])
    """
    if size == 1:
        return np.ones(1)
    expected: Array = ndtri((size - np.arange(size) - 0.375) / (size + 0.25))
    weights: Array = expected / expected[expected > 0].sum()
    return weights


class DiagonalES(Search):
    """Adaptation of a mean, a step size and n variances in the cube; samples are mirrored at the faces.

    The mean moves along the mean-gradient of the ranks: the samples' steps weighted by all of their ranks, the worse
    half negatively, which in many dimensions tells as much again as the better half (Arnold 2006). These are averaged
    over batches: along a valley they add up, across it they cancel. The variances are those of CMA-ES with a diagonal
    covariance matrix (Ros and Hansen 2008): a batch costs n times its size, and they are learned n / 3 times as fast as
    a whole matrix. The step size is adapted by two points (Hansen, Atamna, Auger 2014): one sample lies ahead of the
    mean along its last step, one behind, and their ranks tell whether steps should be longer. The length of an
    evolution path, which CMA-ES uses, tells little where the values depend on a few directions only.

    Parameters
    ----------
    rng, start
        See ``Search``.
    sigma : float
        The first standard deviation.
    size : int or None
        Points in a batch; None: the usual number.
    pace : float
        Length of the mean's steps. With shorter ones the mean forgets ripples of the values, and takes longer.
    noisy : bool
        Whether medians, in place of the best values, tell when to stop.
    directions : (n, k) or None
        Orthonormal columns along which the distribution is shorter; None: there are none.
    shortening : float
        How long it is there, by what it would be.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Search.fields,
        *("mean", "sigma", "size", "pace", "noisy", "variances", "path", "shift", "longer", "paired"),
        *("batches", "history", "directions", "shortening"),
    )

    def __init__(
        self,
        rng: np.random.Generator,
        start: Array,
        sigma: float = 0.4,
        size: int | None = None,
        pace: float = 0.5,
        noisy: bool = False,
        directions: Array | None = None,
        shortening: float = 1.0,
    ) -> None:
        super().__init__(rng, start)
        n = self.n
        self.directions = np.empty((n, 0)) if directions is None else directions
        self.shortening = shortening
        self.pace, self.noisy = pace, noisy
        self.mean, self.sigma = start.copy(), sigma
        self.size = size if size is not None else default_batch(n)
        self.variances = np.ones(n)
        """The covariance matrix is sigma^2 M diag(variances) M, where M shortens the directions."""
        self.path, self.shift = np.zeros(n), np.zeros(n)
        """Of the mean: its averaged and its last step."""
        self.longer, self.paired = 0.0, False
        """Whether steps should be longer (up to 1) or shorter (to -1), and whether the batch has points to tell."""
        self.batches = 0
        self.history: list[float] = []
        """The best values of the last batches, or their medians."""
        self._derive()

    def _derive(self) -> None:
        """Rates (Hansen 2016, the tutorial's table 1; those of the variances as in Ros and Hansen)."""
        n = self.n
        self._weights = recombination(self.size)
        mu_eff = 1 / float(np.sum(self._weights[self._weights > 0] ** 2))
        self._cc = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n)
        faster = (n + 2) / 3
        self._c1 = min(1.0, faster * 2 / ((n + 1.3) ** 2 + mu_eff))
        self._cmu = min(1 - self._c1, faster * 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) ** 2 + mu_eff))
        self._expected = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))

    @property
    def radius(self) -> float:
        """The largest standard deviation."""
        return self.sigma * math.sqrt(float(self.variances.max()))

    def _shorter(self, steps: Array) -> Array:
        """M applied to steps (k, n) or (n,)."""
        return self._scaled(steps, self.shortening)

    def _longer(self, steps: Array) -> Array:
        """The inverse of M applied to them."""
        return self._scaled(steps, 1 / self.shortening)

    def _scaled(self, steps: Array, factor: float) -> Array:
        scaled: Array = steps + ((factor - 1) * (steps @ self.directions)) @ self.directions.T
        return scaled

    def propose(self) -> Array:
        """Samples of the distribution; the first two are ahead of the mean and behind it, as far as others are."""
        z = self.rng.standard_normal((self.size, self.n))
        u = self.mean + self.sigma * self._shorter(np.sqrt(self.variances) * z)
        ahead = length(self._longer(self.shift) / np.sqrt(self.variances))
        self.paired = ahead > 0 and self.size > 2
        if self.paired:
            u[:2] = self.mean + np.outer([1, -1], self.shift * (self.sigma * self._expected / ahead))
        inside: Array = np.clip(np.where(np.abs(u) > 1, 2 * np.sign(u) - u, u), -1, 1)
        return inside

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        good = int(np.isfinite(y).sum())
        if good == 0:  # nothing was learned: back to what worked, and closer
            self.mean, self.sigma, self.shift = self.best_u.copy(), 0.5 * self.sigma, np.zeros(self.n)
            if math.isnan(self.best_y):
                self.done = "failed"
            elif self.radius < _SMALLEST:
                self.done = "converged"
            return
        if len(y) < self.size:  # the budget is at its end, and nothing follows
            return
        order = np.argsort(y, kind="stable")  # failed ones, NaN, are the last
        self._adapt(u[order[:good]])
        if self.paired and np.isfinite(y[:2]).any():
            places = np.argsort(order, kind="stable")
            self.longer += _RATE * (float(places[1] - places[0]) / (self.size - 1) - self.longer)
            self.sigma *= math.exp(self.longer / math.sqrt(self.n))
        if self.radius < _SMALLEST:
            self.done = "converged"
        else:
            self.done = reason_to_stop(self.history, y[order[:good]], self.batches, self.n / self.size, self.noisy)

    def narrow(self, sigma: float) -> None:
        """The step size is that at most."""
        self.sigma = min(self.sigma, sigma)

    def _adapt(self, u: Array) -> None:
        """Move mean, path and variances; ``u`` are the points that did not fail, the best first."""
        weights = self._weights if len(u) == self.size else recombination(len(u))
        steps = self._longer(u - self.mean) / self.sigma
        before, pace = self.mean, self.pace * self.sigma
        step = weights @ steps
        self.mean = np.clip(before + _INERTIA * self.shift + (1 - _INERTIA) * pace * self._shorter(step), -1, 1)
        self.shift = self.mean - before
        self.batches += 1
        # What a face cut off is no step. As long as a sample's own if all samples are equally good.
        mean_step = np.where(np.abs(self.mean) < 1, step, 0.0) / math.sqrt(float(weights @ weights))
        cc, c1, cmu = self._cc, self._c1, self._cmu
        self.path = (1 - cc) * self.path + math.sqrt(cc * (2 - cc)) * mean_step
        better = np.maximum(weights, 0)
        self.variances = (1 - c1 - cmu) * self.variances + c1 * self.path**2 + cmu * (better @ steps**2)
