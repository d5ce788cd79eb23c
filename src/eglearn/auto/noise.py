"""How noise is noticed, and what runs under it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .._typing import Array
from ..search.base import Reason
from ..search.cma_es import CMAES, CMAESSettings
from ..search.diagonal_es import DiagonalES, DiagonalESSettings
from ..settings import Settings, setting, whole
from ..state import SHARED, Stateful
from .plan import NoisePlan

# Values at the last means whose median tells what a search has reached, and how many it takes: one may be luck.
_RECENT, _TELLING = 20, 5


@dataclass(frozen=True, kw_only=True)
class RepeatsSettings(Settings):
    """Constants of ``Repeats``."""

    matters: float = setting(0.01, "noise below this share of the spread of values in a batch does not matter", "ours")
    strikes: int = setting(3, "it matters once it is above the gain so many times more than not", "ours", whole(1))
    negligible: float = setting(1e-6, "noise below this share of all that was gained does not matter either", "ours")
    rarely: float = setting(2.0, "evaluations until the next repetition by those so far, if all were repeated", "ours")
    often: float = setting(1.25, "the same if one was not", "ours")
    rounding: float = setting(2.0**-48, "differences below this share of the values are sums in another order", "ours")
    enough: int = setting(4, "points of a batch that can tell a spread", "ours", whole(2))
    trials: int = setting(20, "evaluations of the point where the search under noise begins", "ours", whole(1))
    surely: float = setting(0.75, "quantile that stands for their value", "the median is below with 98 %: sign test")


@dataclass
class Repeats(Stateful):
    """Evaluates the lowest point again, now and then: a deterministic objective repeats itself.

    The lowest value is where noise shows best, since it is the luckiest one: also noise that strikes rarely is found
    there. The moments are twice as many evaluations apart each time, and a point that has repeated its value is left
    alone: a dozen evaluations in a run of a hundred thousand. Noise that is found does not matter at once: descents
    are quick, and bear noise of a few percent of the value.
    """

    u: Array
    settings: RepeatsSettings = field(default_factory=RepeatsSettings)
    y: float = math.nan
    first: float = math.nan
    middle: float = math.nan  # the lowest value, and lowest and median of the first batch
    before: float = math.nan  # the median of the first batch, then the last repeated value
    known: bool = True  # whether the lowest point has repeated its value, or there is none
    row: int = 0  # where in the current batch the repetition is; 0: there is none
    due: float = 0.0  # evaluations before the next repetition
    differed: bool = False  # whether a value was not repeated
    strikes: int = 0  # how often noise was more than the gain, less how often not
    on_trial: bool = False  # whether the next batch tells the value of ``u`` by many evaluations

    @property
    def noisy(self) -> bool:
        """Whether noise was found that matters."""
        return self.strikes >= self.settings.strikes

    def add(self, batch: Array, used: int, telling: bool = True) -> Array:
        """The batch, with the lowest point at its end if it is time and the batch can tell a spread."""
        self.row = 0
        if self.on_trial:
            self.row = len(batch)
            return np.vstack([batch, np.tile(self.u, (self.settings.trials, 1))])
        if self.noisy or self.known or used < self.due or len(batch) < self.settings.enough or not telling:
            return batch
        self.row, self.due = len(batch), used * (self.settings.often if self.differed else self.settings.rarely)
        return np.vstack([batch, self.u])

    def take(self, u: Array, y: Array) -> tuple[Array, Array]:
        """Judge the repetition; returns the batch without it."""
        own = slice(0, self.row if self.row else len(y))
        again = y[own.stop :]
        if self.on_trial:
            self.on_trial = False
            good = again[np.isfinite(again)]
            self.y = float(np.quantile(good, self.settings.surely)) if len(good) else math.nan
        elif len(again):
            self._judge(float(again[0]), y[own])
        u, y = u[own], y[own]
        if not self.noisy and np.isfinite(y).any():
            i = int(np.nanargmin(y))
            if not self.y <= y[i]:
                self.u, self.y, self.known = u[i].copy(), float(y[i]), False
            if math.isnan(self.first):
                self.first, self.middle = self.y, float(np.nanmedian(y))
                self.before = self.middle
        return u, y

    def _judge(self, again: float, others: Array) -> None:
        s, others = self.settings, others[np.isfinite(others)]
        if not math.isfinite(again) or len(others) < s.enough:
            return
        low, high = np.quantile(others, [0.25, 0.75])
        apart = abs(again - self.y)
        self.known = apart <= s.rounding * max(abs(again), abs(self.y))
        if self.known:
            self.strikes = max(self.strikes - 1, 0)
            self.before = again
            return
        self.differed, gain, in_all = True, self.before - again, self.middle - again
        if apart > max(s.matters * (high - low), s.negligible * in_all):
            self.strikes = max(self.strikes + (1 if apart > gain else -1), 0)  # by luck, noise looks like gain
        self.before = again

    def try_best(self, start: Array) -> Array:
        """Where to begin under noise: the lowest point if it is, by its last value, below all of the first batch.

        Else the luckiest point is as good as any, and it is the start. Its value is found with the next batch.
        """
        if not self.before < self.first:
            self.u = start
        self.on_trial = True
        return self.u


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
    ended_value: float = math.nan  # the mean of the best search that has ended, at first the place, and about its value
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
        self.ended, plan = self.ended + 1, self.plan
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
