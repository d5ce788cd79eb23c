"""How noise is noticed, and what runs under it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from .._typing import Array
from ..search.base import Indices, Reason
from ..search.cma_es import CMAES, CMAESSettings
from ..search.diagonal_es import DiagonalES, DiagonalESSettings
from ..settings import Settings, setting, whole
from ..state import SHARED, Stateful
from .plan import NoisePlan

# Values at the last means whose median tells what a search has reached, and how many it takes: one may be luck.
_RECENT, _TELLING = 20, 5
_NORMAL = NormalDist()


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
    middle: float = math.nan  # the lowest value, and lowest and median of the first values
    before: float = math.nan  # the median of the first values, then the last repeated value
    known: bool = True  # whether the lowest point has repeated its value, or there is none
    recent: list[float] = field(default_factory=list)  # the last values: noise is compared with their spread
    repeating: float | None = None  # the value of the point that is being evaluated again; None: there is none
    due: float = 0.0  # evaluations before the next repetition
    differed: bool = False  # whether a value was not repeated
    strikes: int = 0  # how often noise was more than the gain, less how often not
    on_trial: bool = False  # whether the value of ``u`` is to be told by many evaluations
    sent: int = 0  # those handed out
    trial: list[float] = field(default_factory=list)  # their values
    trial_value: float = math.nan  # what they tell
    trial_error: float = math.nan  # the standard error of that

    @property
    def noisy(self) -> bool:
        """Whether noise was found that matters."""
        return self.strikes >= self.settings.strikes

    def due_now(self, used: int, telling: bool) -> int:
        """How many evaluations of ``u`` are due; ``telling`` is whether recent values tell a spread."""
        s = self.settings
        if self.on_trial:
            return s.trials - self.sent
        idle = self.noisy or self.known or self.repeating is not None or math.isnan(self.first)
        return int(not idle and used >= self.due and telling and len(self.recent) >= s.enough)

    def repeat(self, k: int, used: int) -> Array:
        """``u``, k times."""
        if self.on_trial:
            self.sent += k
        elif k:
            self.repeating, self.due = self.y, used * (self.settings.often if self.differed else self.settings.rarely)
        return np.tile(self.u, (k, 1))

    def look(self, u: Array, y: Array, window: int) -> None:
        """Values of a search: keep the lowest, and the last ones."""
        good = np.isfinite(y)
        if self.noisy or not good.any():
            return
        self.recent = [*self.recent, *y[good].tolist()][-window:]
        i = int(np.nanargmin(y))
        if not self.y <= y[i]:
            self.u, self.y, self.known = u[i].copy(), float(y[i]), False
        if math.isnan(self.first) and len(self.recent) >= window:
            self.first, self.middle = self.y, float(np.median(self.recent))
            self.before = self.middle

    def judge(self, again: float) -> None:
        """A value of ``u`` has come again."""
        s = self.settings
        if self.on_trial:
            self.trial.append(again)
            if len(self.trial) == s.trials:
                good = [y for y in self.trial if math.isfinite(y)]
                self.trial_value = float(np.quantile(good, s.surely)) if good else math.nan
                self.trial_error = _error(good, s.surely)
                self.on_trial = False
            return
        y, self.repeating = self.repeating, None
        if y is None or not math.isfinite(again) or len(self.recent) < s.enough:
            return
        low, high = np.quantile(self.recent, [0.25, 0.75])
        apart = abs(again - y)
        if apart <= s.rounding * max(abs(again), abs(y)):
            self.known = self.y == y  # else another point is the lowest meanwhile
            self.strikes = max(self.strikes - 1, 0)
            self.before = again
            return
        self.differed, gain, in_all = True, self.before - again, self.middle - again
        if apart > max(s.matters * (high - low), s.negligible * in_all):
            self.strikes = max(self.strikes + (1 if apart > gain else -1), 0)  # by luck, noise looks like gain
        self.before = again

    def try_best(self, start: Array) -> Array:
        """Where to begin under noise: the lowest point if it is, by its last value, below all of the first ones.

        Else the luckiest point is as good as any, and it is the start. Many evaluations will tell its value.
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
    width: int = 1  # evaluations in flight
    asked: int = 0
    mean_due: bool = True  # whether the mean is to be evaluated: once in each batch
    open: dict[str, list[int]] = field(default_factory=dict)  # which search asked, and its index there; -1: its mean
    ended_error: float = math.nan  # the standard error of ``ended_value``

    @classmethod
    def begun(
        cls, rng: np.random.Generator, plan: NoisePlan, place: Array, gained: bool, width: int = 1
    ) -> NoisyEvolution:
        """From a place; the closer around it if it has gained."""
        sigma, size = plan.near if gained else plan.sigma, max(plan.size, width // 2)
        return cls(rng, plan, size, _evolution(rng, plan, place, sigma, size, width), place, width=width)

    @property
    def value(self) -> float:
        """About the value that the current search has reached; NaN at first."""
        return float(np.nanmedian(self.at_means)) if self.at_means else math.nan

    @property
    def error(self) -> float:
        """The standard error of that value; NaN if there are too few."""
        return _error(self.at_means, 0.5)

    @property
    def leads(self) -> bool:
        """Whether the current search is, as far as is known, below all before it."""
        if math.isnan(self.ended_value):
            return bool(self.at_means)
        return len(self.at_means) >= _TELLING and self.value < self.ended_value

    def natural(self) -> int:
        """The mean if that is due, and the rest of the batch."""
        return self.mean_due + self.search.natural()

    def propose(self, k: int) -> Array:
        """The mean and samples."""
        u = np.empty((0, self.search.n))
        if self.mean_due and k > 0:
            u, self.mean_due = self.search.mean[None].copy(), False
            self._sent([-1])
        if k > len(u):
            samples = self.search.propose(k - len(u))
            self._sent(range(self.search.asked - len(samples), self.search.asked))
            u = np.vstack([u, samples])
        return u

    def _sent(self, indices: Iterable[int]) -> None:
        for index in indices:
            self.open[str(self.asked)] = [self.ended, index]
            self.asked += 1

    def learn(self, u: Array, y: Array, indices: Indices) -> None:
        """Learn from answers, and begin the next search if this one is over."""
        asked = [self.open.pop(str(number)) for number in indices]
        mine = [row for row, (search, _) in enumerate(asked) if search == self.ended]
        rows = [row for row in mine if asked[row][1] >= 0]
        for row in mine:
            if asked[row][1] < 0 and math.isfinite(y[row]):
                self.at_means = [*self.at_means, float(y[row])][-_RECENT:]
        if rows:
            before = self.search.iterations
            self.search.learn(u[rows], y[rows], np.array([asked[row][1] for row in rows]))
            self.mean_due = self.mean_due or self.search.iterations > before
        if self.search.done is not None:
            self._next(self.search)

    def _next(self, p: CMAES | DiagonalES) -> None:
        if self.leads:
            self.ended_u, self.ended_value, self.ended_error = p.mean, self.value, self.error
        self.ended, plan = self.ended + 1, self.plan
        if p.done is Reason.STAGNANT:  # noise hides what is left to gain there: more points see more
            self.size *= 2
            self._begin(p.mean, min(4 * p.radius, plan.sigma))
        elif p.done is Reason.FAILED:  # back to where values are, and closer
            self._begin(self.ended_u, p.sigma)
        else:
            self._begin(self.rng.uniform(-plan.cube, plan.cube, p.n), plan.sigma)

    def _begin(self, place: Array, sigma: float) -> None:
        self.search = _evolution(self.rng, self.plan, place, sigma, self.size, self.width)
        self.at_means, self.mean_due = [], True


def _error(values: Sequence[float] | Array, p: float) -> float:
    """The standard error of the p-quantile of values, taken for normal: s sqrt(p (1 - p) / k) / density there.

    Their standard deviation s is 1.4826 times the median distance from their median (Rousseeuw and Croux 1993).
    """
    y = np.array(values)
    y = y[np.isfinite(y)]
    if len(y) < _TELLING:
        return math.nan
    density = _NORMAL.pdf(_NORMAL.inv_cdf(p))
    return float(1.4826 * np.median(np.abs(y - np.median(y))) * math.sqrt(p * (1 - p) / len(y)) / density)


def _evolution(
    rng: np.random.Generator, plan: NoisePlan, place: Array, sigma: float, size: int, width: int
) -> CMAES | DiagonalES:
    if plan.search == "cma-es":
        return CMAES(rng, place, CMAESSettings(sigma=sigma, size=size, noisy=True), width=width)
    settings = DiagonalESSettings(sigma=sigma, size=size, noisy=True, pace=plan.pace)
    return DiagonalES(rng, place, settings, width=width)
