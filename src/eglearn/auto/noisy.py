"""The lane that runs under noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .._typing import Array
from ..search.base import Reason
from ..search.cma_es import CMAES, CMAESSettings
from ..search.diagonal_es import DiagonalES, DiagonalESSettings
from ..state import SHARED, Stateful
from .plan import NoisePlan

# Values at the last means whose median tells what a search has reached, and how many it takes: one may be luck.
_RECENT, _TELLING = 20, 5


@dataclass
class NoisyEvolution(Stateful):
    """Evolution strategies with large populations, one after another, led by ranks and medians.

    They go on from where the search has come to, with twice the population where one stagnates, and from another place
    where one ends for another reason. No single value decides anything. What is recommended is a mean, an average over
    thousands of samples, never a sample. The mean is evaluated with each batch, since samples do not tell its value: in
    many dimensions those of a wide distribution are far worse than their mean.
    """

    rng: np.random.Generator = field(metadata=SHARED)
    plan: NoisePlan
    size: int  # points in a batch
    search: CMAES | DiagonalES
    ended_u: Array
    ended_value: float = math.nan
    """The mean of the best search that has ended, at first where the first one began, and about its value."""
    at_means: list[float] = field(default_factory=list)  # the last values at the means of the current search
    ended: int = 0  # searches that have ended

    @classmethod
    def begun(cls, rng: np.random.Generator, plan: NoisePlan, place: Array, gained: bool) -> NoisyEvolution:
        """From a place; the closer around it if it has gained."""
        sigma = plan.near if gained else plan.sigma
        return cls(rng, plan, plan.size, _evolution(rng, plan, place, sigma, plan.size), place)

    @property
    def value(self) -> float:
        """About the value that the current search has reached; NaN at first."""
        return float(np.nanmedian(self.at_means)) if self.at_means else math.nan

    @property
    def leads(self) -> bool:
        """Whether the current search is, as far as is known, below all before it."""
        if math.isnan(self.ended_value):
            return bool(self.at_means)
        return len(self.at_means) >= _TELLING and self.value < self.ended_value

    def propose(self) -> Array:
        """The mean and samples."""
        return np.vstack([self.search.mean, self.search.propose()])

    def learn(self, u: Array, y: Array) -> None:
        """Learn from the batch, and begin the next search if this one is over."""
        if math.isfinite(y[0]):
            self.at_means = [*self.at_means, float(y[0])][-_RECENT:]
        if len(y) > self.search.size:  # else the budget is at its end, and nothing follows
            self.search.learn(u[1:], y[1:])
        if self.search.done is not None:
            self._next(self.search)

    def _next(self, p: CMAES | DiagonalES) -> None:
        if self.leads:
            self.ended_u, self.ended_value = p.mean, self.value
        self.ended += 1
        plan = self.plan
        if p.done is Reason.STAGNANT:  # noise hides what is left to gain there: more points see more
            self.size *= 2
            self._begin(p.mean, min(4 * p.radius, plan.sigma))
        elif p.done is Reason.FAILED:  # back to where values are, and closer
            self._begin(self.ended_u, p.sigma)
        else:
            self._begin(self.rng.uniform(-plan.cube, plan.cube, p.n), plan.sigma)

    def _begin(self, place: Array, sigma: float) -> None:
        self.search = _evolution(self.rng, self.plan, place, sigma, self.size)
        self.at_means = []


def _evolution(rng: np.random.Generator, plan: NoisePlan, place: Array, sigma: float, size: int) -> CMAES | DiagonalES:
    if plan.search == "cma-es":
        return CMAES(rng, place, CMAESSettings(sigma=sigma, size=size, noisy=True))
    return DiagonalES(rng, place, DiagonalESSettings(sigma=sigma, size=size, noisy=True, pace=plan.pace))
