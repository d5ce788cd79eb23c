"""Adaptation of a normal distribution with independent coordinates, for many dimensions."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from .._typing import Array
from ..steps import length
from .base import Pass
from .descent import default_batch
from .stopping import reason_to_stop

# Standard deviations below this end the pass.
_SMALLEST = 1e-11


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


class Separable(Pass):
    """Adaptation of a mean, a step size and n variances in the cube; samples are mirrored at the faces.

    The mean moves along the mean-gradient of the ranks: the samples' steps weighted by all of their ranks, the worse
    half negatively, which in many dimensions tells as much again as the better half (Arnold 2006). The rest is CMA-ES
    with a diagonal covariance matrix (Ros and Hansen 2008): a batch costs n times its size, and the n variances are
    learned n / 3 times as fast as a whole matrix.

    Parameters
    ----------
    rng, start
        See ``Pass``.
    sigma : float
        The first standard deviation.
    size : int or None
        Points in a batch; None: the usual number.
    pace : float
        Length of the mean's steps. With shorter ones the mean forgets ripples of the values, and takes longer.
    noisy : bool
        Whether medians, in place of the best values, tell when to stop.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Pass.fields,
        *("mean", "sigma", "size", "pace", "noisy", "variances", "path_c", "path_s", "batches", "history"),
    )

    def __init__(
        self,
        rng: np.random.Generator,
        start: Array,
        sigma: float = 0.4,
        size: int | None = None,
        pace: float = 0.5,
        noisy: bool = False,
    ) -> None:
        super().__init__(rng, start)
        n = self.n
        self.pace, self.noisy = pace, noisy
        self.mean, self.sigma = start.copy(), sigma
        self.size = size if size is not None else default_batch(n)
        self.variances = np.ones(n)
        """The covariance matrix is sigma^2 diag(variances)."""
        self.path_c, self.path_s = np.zeros(n), np.zeros(n)
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
        of_mean = 1 / float(np.sum(self._weights**2))
        self._cs = (of_mean + 2) / (n + of_mean + 5)
        faster = (n + 2) / 3
        self._c1 = min(1.0, faster * 2 / ((n + 1.3) ** 2 + mu_eff))
        self._cmu = min(1 - self._c1, faster * 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) ** 2 + mu_eff))
        self._damping = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (n + 1)) - 1) + self._cs
        self._expected = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))

    @property
    def radius(self) -> float:
        """The largest standard deviation."""
        return self.sigma * math.sqrt(float(self.variances.max()))

    def propose(self) -> Array:
        """Samples of the distribution."""
        z = self.rng.standard_normal((self.size, self.n))
        u = self.mean + self.sigma * np.sqrt(self.variances) * z
        inside: Array = np.clip(np.where(np.abs(u) > 1, 2 * np.sign(u) - u, u), -1, 1)
        return inside

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        good = int(np.isfinite(y).sum())
        if good == 0:  # nothing was learned: back to what worked, and closer
            self.mean, self.sigma = self.best_u.copy(), 0.5 * self.sigma
            if math.isnan(self.best_y):
                self.done = "failed"
            elif self.radius < _SMALLEST:
                self.done = "converged"
            return
        if len(y) < self.size:  # the budget is at its end, and nothing follows
            return
        order = np.argsort(y, kind="stable")  # failed ones, NaN, are the last
        self._adapt(u[order[:good]])
        if self.radius < _SMALLEST:
            self.done = "converged"
        else:
            self.done = reason_to_stop(self.history, y[order[:good]], self.batches, self.n / self.size, self.noisy)

    def narrow(self, sigma: float) -> None:
        """The step size is that at most."""
        self.sigma = min(self.sigma, sigma)

    def _adapt(self, u: Array) -> None:
        """Move mean, paths, variances and sigma; ``u`` are the points that did not fail, the best first."""
        weights = self._weights if len(u) == self.size else recombination(len(u))
        steps = (u - self.mean) / self.sigma
        before, pace = self.mean, self.pace * self.sigma
        self.mean = np.clip(before + pace * (weights @ steps), -1, 1)
        # What a face cut off is no step. As long as a sample's own if all samples are equally good.
        mean_step = (self.mean - before) / (pace * math.sqrt(float(weights @ weights)))
        cs, cc, c1, cmu = self._cs, self._cc, self._c1, self._cmu
        white = mean_step / np.sqrt(self.variances)
        self.path_s = (1 - cs) * self.path_s + math.sqrt(cs * (2 - cs)) * white
        self.batches += 1
        speed = length(self.path_s) / self._expected
        steady = speed / math.sqrt(1 - (1 - cs) ** (2 * self.batches)) < 1.4 + 2 / (self.n + 1)
        self.path_c = (1 - cc) * self.path_c + steady * math.sqrt(cc * (2 - cc)) * mean_step
        keep = 1 - c1 - cmu + c1 * (1 - steady) * cc * (2 - cc)
        better = np.maximum(weights, 0)
        self.variances = keep * self.variances + c1 * self.path_c**2 + cmu * (better @ steps**2)
        self.sigma *= math.exp(min(1.0, cs / self._damping * (speed - 1)))
