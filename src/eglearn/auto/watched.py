"""A search that is watched for noise."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array, State
from ..learning.models.least_change import median
from ..search.base import Search
from ..search.cma_es import CMAES
from ..search.diagonal_es import DiagonalES
from ..search.trust_region import default_batch
from ..serialize import copied
from .noise import Repeats
from .race import Race
from .schedule import Schedule

# The first standard deviation under noise, and that in many dimensions around a point that has gained.
_SIGMA, _NEAR = 0.4, 0.1
# From so many dimensions on, what a model of all curvature costs, in evaluations and in time, is not worth it.
_MANY = 64
# Under noise, points in a batch for each dimension, in few dimensions and in many, and batches that the budget must pay
# for. In 20-D, under noise as large as the value: with 4 a dimension a covariance matrix wanders and the search may
# diverge, with 30 it takes too long. Variances alone take fewer: in 100 and 400-D, 4 is best under such noise, 1 or 2
# under less. The theory for a sphere asks for a number in proportion to the dimension (Arnold and Beyer 2002).
_FEW_NOISY, _MANY_NOISY, _BATCHES = 10, 4, 50
# Values at the last means whose median tells what a pass has reached, and how many it takes: one may be luck.
_RECENT, _TELLING = 20, 5


class Watched:
    """``Schedule``, or in many dimensions ``Race``, until noise is found that matters.

    Then adaptations of large populations follow one another: from where the search has come to, with twice the
    population where one stagnates, and from another place where one ends for another reason. They are led by ranks and
    medians: no single value decides anything. What is recommended is a mean, an average over thousands of samples,
    never a sample. The mean is evaluated with each batch, since samples do not tell its value: in many dimensions those
    of a wide distribution are far worse than their mean.

    While nothing is known that could lead anywhere, nothing but failures or but one value, random points of the whole
    cube are tried; the search begins at the best point as soon as there is one.

    Parameters
    ----------
    rng : numpy.random.Generator
    start : (n,)
        In the cube.
    m : int or None
        Batch of the descents; None: by the dimension.
    budget : int or None
        Evaluations in all; None: very many.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *("m", "budget", "used", "lost", "scouting", "level", "size", "at_means", "ended_u", "ended_value", "passes"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, m: int | None = None, budget: int | None = None) -> None:
        n = len(start)
        self.rng, self.m, self.budget = rng, m, budget
        self.lost = False
        """Whether nothing is known yet that could lead anywhere."""
        self.scouting = False
        """Whether the points of the current batch are random ones."""
        self.level = math.nan
        """The one value that is known by then."""
        self.search = _kind(n)(rng, start, m, budget)
        self.repeats = Repeats(start)
        self.noisy: CMAES | DiagonalES | None = None
        """The current pass under noise, if there is noise that matters."""
        self.at_means: list[float] = []
        """The last values at its means."""
        self.used = 0
        self.size = noisy_size(n, budget)
        """Points in a batch under noise."""
        self.passes = 0
        """Passes under noise that have ended."""
        self.ended_u, self.ended_value = start, math.nan
        """The mean of the best of them, at first where the first one began, and about its value."""

    @property
    def active(self) -> Search:
        """The pass that has its turn."""
        return self.search.active if self.noisy is None else self.noisy

    @property
    def restarts(self) -> int:
        """Restarts so far."""
        return self.search.restarts + self.passes

    @property
    def favorite(self) -> tuple[Array, float]:
        """What to recommend, and about its value: the best point, or under noise the mean of the best pass.

        That is never worse than the point where the search under noise began, as far as medians tell.
        """
        if self.noisy is None:
            return self.search.best_u, self.search.best_y
        if self._leads:
            return self.noisy.mean, self.value
        if math.isnan(self.ended_value):  # means fail, so does the start
            return self.search.best_u, math.nan
        return self.ended_u, self.ended_value

    @property
    def value(self) -> float:
        """About the value that the current pass under noise has reached; NaN at first."""
        return median(self.at_means) if self.at_means else math.nan

    @property
    def _leads(self) -> bool:
        """Whether the current pass under noise is, as far as is known, below all before it."""
        if math.isnan(self.ended_value):
            return bool(self.at_means)
        return len(self.at_means) >= _TELLING and self.value < self.ended_value

    def propose(self) -> Array:
        """The next batch."""
        self.scouting = self.lost
        if self.lost:
            n = len(self.ended_u)
            return self.rng.uniform(-1, 1, (default_batch(n), n))
        batch = self.search.propose() if self.noisy is None else np.vstack([self.noisy.mean, self.noisy.propose()])
        return self.repeats.add(batch, self.used, self.active.shows_spread)

    def learn(self, u: Array, y: Array) -> None:
        """Learn from the batch, and begin another pass if need be."""
        self.used += len(y)
        if self.scouting or self.used == len(y):
            # A point from elsewhere may have come meanwhile, where the search has begun then.
            self.lost = math.isnan(self.search.best_y) and self._leads_nowhere(u, y)
            if self.lost:
                return
        if self.scouting:
            self._end_scouting(u, y)
            return
        tried = self.repeats.on_trial
        u, y = self.repeats.take(u, y)
        if tried:
            self.ended_u, self.ended_value = self.repeats.u, self.repeats.y
        if self.noisy is None:
            self.search.learn(u, y)
            if self.repeats.noisy:
                place = self.repeats.try_best(self.search.start)
                gained = not np.array_equal(place, self.search.start)
                self._begin(place, _NEAR if gained and len(place) >= _MANY else _SIGMA)
        else:
            if math.isfinite(y[0]):
                self.at_means = [*self.at_means, float(y[0])][-_RECENT:]
            if len(y) > self.noisy.size:  # else the budget is at its end, and nothing follows
                self.noisy.learn(u[1:], y[1:])
            if self.noisy.done is not None:
                self._next(self.noisy)

    def extend(self, more: int) -> None:
        """There are so many more evaluations than it was planned for."""
        if self.budget is None or self.search.budget is None:  # very many already
            return
        self.search.budget += more
        self.budget += more

    def _leads_nowhere(self, u: Array, y: Array) -> bool:
        """Whether nothing is known, or several points and all have one value; where it was found first is kept."""
        good = np.isfinite(y)
        alone = math.isnan(self.level) and good.sum() == 1
        if math.isnan(self.level) and good.any():
            first = int(np.argmax(good))
            self.ended_u, self.level = u[first].copy(), float(y[first])
        return not alone and bool(np.all(y[good] == self.level))

    def _end_scouting(self, u: Array, y: Array) -> None:
        """Begin the search at the best point; it has begun already if that came from elsewhere."""
        if not np.isfinite(y).any():
            return
        lowest = int(np.nanargmin(y))
        if not math.isnan(self.search.best_y):
            self.search.note_foreign(u[lowest], float(y[lowest]))
        else:
            self._begin_search(self.ended_u if self.level <= y[lowest] else u[lowest])

    def _begin_search(self, place: Array) -> None:
        left = None if self.budget is None else self.budget - self.used
        self.search = _kind(len(place))(self.rng, place, self.m, left)

    def _next(self, p: CMAES | DiagonalES) -> None:
        if self._leads:
            self.ended_u, self.ended_value = p.mean, self.value
        self.passes += 1
        if p.done == "stagnant":  # noise hides what is left to gain there: more points see more
            self.size *= 2
            self._begin(p.mean, min(4 * p.radius, _SIGMA))
        elif p.done == "failed":  # back to where values are, and closer
            self._begin(self.ended_u, p.sigma)
        else:
            self._begin(self.rng.uniform(-0.8, 0.8, len(p.mean)), _SIGMA)

    def _begin(self, place: Array, sigma: float) -> None:
        if len(place) < _MANY:
            self.noisy = CMAES(self.rng, place, sigma, self.size, noisy=True)
        else:
            self.noisy = DiagonalES(self.rng, place, sigma, self.size, pace=1.0, noisy=True)
        self.at_means = []

    def note_foreign(self, u: Array, y: float) -> None:
        """A point from elsewhere; under noise it is left aside, since a single value tells little."""
        if self.lost:
            self._begin_search(u)
            self.lost = False
        self.search.note_foreign(u, y)

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Everything that the future depends on, the generator apart."""
        return {
            **{name: copied(getattr(self, name)) for name in self.fields},
            "search": self.search.state(),
            "repeats": self.repeats.state(),
            "noisy": None if self.noisy is None else self.noisy.state(),
        }

    @classmethod
    def from_state(cls, rng: np.random.Generator, state: State) -> Watched:
        """The search that ``state()`` described."""
        self = cls.__new__(cls)
        self.rng = rng
        for name in cls.fields:
            setattr(self, name, copied(state[name]))
        self.search = _kind(len(self.ended_u)).from_state(rng, state["search"])
        self.repeats = Repeats(self.ended_u)
        self.repeats.load_state(state["repeats"])
        under_noise = CMAES if len(self.ended_u) < _MANY else DiagonalES
        self.noisy = None if state["noisy"] is None else under_noise.from_state(rng, state["noisy"])
        return self


def _kind(n: int) -> type[Schedule] | type[Race]:
    return Schedule if n < _MANY else Race


def noisy_size(n: int, budget: int | None) -> int:
    """Points in a batch under noise."""
    size = n * (_FEW_NOISY if n < _MANY else _MANY_NOISY)
    return size if budget is None else max(min(size, budget // _BATCHES), default_batch(n))
