"""A search that is watched for noise."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array, State
from ..serialize import copied
from .base import Pass
from .descent import default_batch
from .noise import NoisyAdaptation, Repeats
from .race import Race
from .schedule import Schedule

_SIGMA = 0.4
# From so many dimensions on, what a model of all curvature costs, in evaluations and in time, is not worth it.
_MANY = 64


class Watched:
    """``Schedule``, or in many dimensions ``Race``, until noise is found that matters.

    Then adaptations of large populations follow one another: from where the search has come to, with twice the
    population where one stagnates, and from another place where one ends for another reason.

    While nothing but failures is known, random points of the whole cube are tried; the search begins at the best of
    the first that have values.

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

    fields: ClassVar[tuple[str, ...]] = ("m", "budget", "used", "lost", "size", "ended_u", "ended_value", "passes")

    def __init__(self, rng: np.random.Generator, start: Array, m: int | None = None, budget: int | None = None) -> None:
        n = len(start)
        self.rng, self.m, self.budget = rng, m, budget
        self.lost = False
        """Whether all evaluations so far have failed."""
        self.search = _kind(n)(rng, start, m, budget)
        self.repeats = Repeats(start)
        self.noisy: NoisyAdaptation | None = None
        """The current pass under noise, if there is noise that matters."""
        self.used = 0
        self.size = NoisyAdaptation.usual_size(n, budget)
        """Points in a batch under noise."""
        self.passes = 0
        """Passes under noise that have ended."""
        self.ended_u, self.ended_value = start, math.nan
        """The mean of the best of them, at first where the first one began, and about its value."""

    @property
    def active(self) -> Pass:
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
        value = self.noisy.value
        if math.isnan(self.ended_value) or value < self.ended_value:
            return self.noisy.mean, value
        return self.ended_u, self.ended_value

    def propose(self) -> Array:
        """The next batch."""
        if self.lost:
            n = len(self.ended_u)
            return self.rng.uniform(-1, 1, (default_batch(n), n))
        batch = self.search.propose() if self.noisy is None else self.noisy.propose()
        return self.repeats.add(batch, self.used)

    def learn(self, u: Array, y: Array) -> None:
        """Learn from the batch, and begin another pass if need be."""
        self.used += len(y)
        if not np.isfinite(y).any() and math.isnan(self.search.best_y):
            self.lost = True
            return
        if self.lost:
            self._begin_search(u[np.nanargmin(y)])
            return
        tried = self.repeats.on_trial
        u, y = self.repeats.take(u, y)
        if tried:
            self.ended_u, self.ended_value = self.repeats.u, self.repeats.y
        if self.noisy is None:
            self.search.learn(u, y)
            if self.repeats.noisy:
                self._begin(self.repeats.try_best(self.search.start), _SIGMA)
        else:
            self.noisy.learn(u, y)
            if self.noisy.done is not None:
                self._next(self.noisy)

    def _begin_search(self, place: Array) -> None:
        left = None if self.budget is None else self.budget - self.used
        self.search, self.lost = _kind(len(place))(self.rng, place, self.m, left), False

    def _next(self, p: NoisyAdaptation) -> None:
        if not math.isnan(p.value) and not self.ended_value <= p.value:
            self.ended_u, self.ended_value = p.mean, p.value
        self.passes += 1
        if p.done == "stagnant":  # noise hides what is left to gain there: more points see more
            self.size *= 2
            self._begin(p.mean, min(4 * p.radius, _SIGMA))
        elif p.done == "failed":  # back to where values are, and closer
            self._begin(self.ended_u, 0.5 * p.sigma)
        else:
            self._begin(self.rng.uniform(-0.8, 0.8, len(p.mean)), _SIGMA)

    def _begin(self, place: Array, sigma: float) -> None:
        self.noisy = NoisyAdaptation(self.rng, place, sigma, self.size)

    def note_foreign(self, u: Array, y: float) -> None:
        """A point from elsewhere."""
        if self.lost:
            self._begin_search(u)
        else:
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
        self.noisy = None if state["noisy"] is None else NoisyAdaptation.from_state(rng, state["noisy"])
        return self


def _kind(n: int) -> type[Schedule] | type[Race]:
    return Schedule if n < _MANY else Race
