"""Who runs next, in many dimensions."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array, State
from ..search.active_subspace import POINTS, ActiveSubspace
from ..search.base import Search
from ..search.coordinate_search import CoordinateSearch
from ..search.diagonal_es import DiagonalES
from ..search.lbfgs import LBFGS
from ..search.subspace_trust_region import SubspaceTrustRegion
from ..search.trust_region import default_batch
from .turns import Turns

_KINDS: dict[str, type[Search]] = {
    kind.__name__: kind for kind in (SubspaceTrustRegion, LBFGS, CoordinateSearch, ActiveSubspace, DiagonalES)
}

# Evaluations by the dimension: of the first turn, which doubles in each round, the longest, and a subspace descent.
_FIRST_TURN, _TURN, _SUBSPACE = 1 / 8, 1, 2
# Turns in a row: so many times more in each round, up to that many.
_MORE, _IN_A_ROW = 4, 32
# Rounds after which neither grows.
_GROWING = 3
# How far ahead values are foreseen, evaluations by the dimension.
_AHEAD = 8
# The least share of the evaluations for the evolution.
_SHARE = 1 / 8
# The evolution's first step size, and the share of it to which it falls at least until the budget is used.
_SIGMA, _ZOOM = 0.4, 0.05
# The pace of the evolution is 1 with so many evaluations a dimension, and falls with their power: from 2 to a tenth. A
# slow one does not zoom in by itself, so that it is 1 if nobody knows how many there will be.
_FEW, _POWER, _PACES = 50, 2 / 3, (0.1, 2.0)
# The share of the budget that finding out whether coordinates interact may cost, and the multiple of that cost after
# which it is found out although the first descent goes on.
_TRIAL, _LATE = 0.05, 5
# The share of the budget that finding few directions that matter may cost.
_SLOPES = 0.25


def _geometric(q: float, k: float) -> float:
    """Sum of the first to the k-th power of q; k need not be whole."""
    return k if q == 1 else q * (1 - q**k) / (1 - q)


class Race(Turns):
    """Two searches take turns; the one that is expected to get lower goes on, up to 32 turns to one.

    What is expected: that the lowest value of a turn falls on for a while, from turn to turn by less, in the ratio of
    its last two falls. The evolution, whose samples are spread out still, is expected to fall by the spread of their
    values at least; as it may have had bad luck, it gets an eighth of the evaluations in any case.

    The *descents*: in a subspace from the start, then quasi-Newton steps from where that ended. Once, if the budget
    allows for it, line searches and quasi-Newton steps after them: when the first descent has ended, or is behind for
    long. Then again: from the best point if the other search found it, else from a random one. The *evolution*:
    adaptations of a distribution with independent coordinates, each with twice the population of the last.

    All of this costs time and memory linear in the dimension, an evaluation.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Turns.fields,
        *("turn", "turn_used", "lowest", "row", "rounds", "levels", "forecasts", "rates"),
        *("vain", "born", "straight", "descended", "doublings", "evolved"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, m: int | None = None, budget: int | None = None) -> None:
        super().__init__(rng, start, m, budget)
        self.doublings = 0
        self.passes: list[Search] = [SubspaceTrustRegion(rng, start, m=m), self._slopes() or self._evolution(start)]
        """The current descent and the current evolution."""
        self.born = 0
        """Evaluations of both before the current evolution."""
        self.turn, self.turn_used, self.lowest = 0, 0, math.inf
        """Whose turn it is, its evaluations, and a quarter of its lowest value."""
        self.row, self.rounds = 1, 0
        """Turns in a row, and how often both have had theirs, as long as it matters."""
        self.levels, self.forecasts = [math.inf, math.inf], [math.inf, math.inf]
        """Of each search: the least ``lowest`` of its turns, and what is foreseen, in quarters too."""
        self.rates = [0.0, 0.0]
        """Of each search: how much ``lowest`` fell in its last turn, an evaluation."""
        self.vain = 0
        """Turns of the evolution since its values fell."""
        self.evolved = 0
        """Evaluations of all turns of the evolution."""
        self.straight = False
        """Whether line searches have been tried."""
        self.descended = True
        """Whether a descent found the best point or has begun there."""

    @property
    def active(self) -> Search:
        """The pass that has its turn."""
        return self.passes[self.turn]

    def _after(self, y: Array, new: bool) -> None:
        p = self.active
        self.turn_used += len(y)
        if isinstance(p, DiagonalES):
            p.narrow(self._widest(self.used))
        if not self.failed:
            self.lowest = min(self.lowest, 0.25 * float(np.nanmin(y)))
        if new:
            self.descended = self.turn == 0
        if p.done is not None or (isinstance(p, SubspaceTrustRegion) and p.used >= _SUBSPACE * self.n):
            self.passes[self.turn] = self._next_evolution(p) if self.turn else self._next_descent(p)
        if self.turn_used >= min(_FIRST_TURN * 2**self.rounds, _TURN) * self.n and self.active.interruptible:
            self._end_turn(y)

    def note_foreign(self, u: Array, y: float) -> None:
        """A point from elsewhere: if it is the best, a descent begins there when the current one has ended."""
        if self._note(u, y):
            self.descended = False

    def _end_turn(self, y: Array) -> None:
        k, left = self.turn, math.inf if self.budget is None else self.budget - self.used
        fall = self.levels[k] - self.lowest
        fall = fall if 0 < fall < math.inf else 0.0  # infinite at first, and where all values of a turn failed
        self.levels[k] = min(self.levels[k], self.lowest)
        rate, before = fall / self.turn_used, self.rates[k]
        shrinks = rate / before if 0 < rate < before else 1.0
        ahead = min(_AHEAD * self.n, left)
        self.forecasts[k], self.rates[k] = self.levels[k] - fall * _geometric(shrinks, ahead / self.turn_used), rate
        if k == 1 and not self.failed:
            self.vain = 0 if fall > 0 else self.vain + 1
            # The samples come closer together, and what they cost falls with the squares of their distances.
            closer = self._widest(self.used + ahead) / self._widest(self.used)
            spread = float(np.nanmedian(0.25 * y)) - self.levels[k]
            self.forecasts[k] = min(
                self.forecasts[k], self.levels[k] - math.ldexp((1 - closer**2) * spread, -self.vain)
            )
        self.evolved += k * self.turn_used
        # A descent that stands still is stuck; the samples of an evolution only may have had bad luck.
        yields = k == 0 and (fall == 0 or self.evolved < _SHARE * self.used)
        goes_on = self.forecasts[k] <= self.forecasts[1 - k] and not yields
        if goes_on and self.row < min(_MORE**self.rounds, _IN_A_ROW):
            self.row += 1
        else:
            self.rounds = min(self.rounds + self.turn, _GROWING)
            self.turn, self.row = 1 - self.turn, 1
            if self.turn == 0 and not self.descended and self.used >= _LATE * CoordinateSearch.first_test(self.n):
                self.passes[0] = self._line_searches() or self.passes[0]
        self.turn_used, self.lowest = 0, math.inf

    def _slopes(self) -> ActiveSubspace | None:
        """From the start; None if it takes too much of the budget."""
        if self.budget is not None and POINTS * self.n > _SLOPES * self.budget:
            return None
        return ActiveSubspace(self.rng, self.start, _SIGMA)

    def _line_searches(self) -> CoordinateSearch | None:
        """From the best point; None if they have been tried, or take too much of the budget."""
        if self.straight or math.isnan(self.best_y):
            return None
        self.straight = True
        if self.budget is not None and CoordinateSearch.first_test(self.n) > _TRIAL * self.budget:
            return None
        return CoordinateSearch(self.rng, self.best_u, self.best_y)

    def _next_descent(self, p: Search) -> Search:
        if isinstance(p, SubspaceTrustRegion) and not math.isnan(p.best_y):
            return LBFGS(self.rng, p.best_u, p.best_y, self.m)
        if isinstance(p, LBFGS) and (lines := self._line_searches()):
            return lines
        if isinstance(p, CoordinateSearch) and p.done == "separable":
            return LBFGS(self.rng, p.best_u, p.best_y, self.m)
        self.restarts += 1
        if not self.descended or (self.failed and not math.isnan(self.best_y)):
            self.descended = True
            # As wide as the distribution, which mostly found the point.
            delta = min(max(self.passes[1].radius * math.sqrt(self.n), 1e-6), 0.2)
            return SubspaceTrustRegion(self.rng, self.best_u, delta, self.m)
        return SubspaceTrustRegion(self.rng, self.rng.uniform(-0.8, 0.8, self.n), m=self.m)

    def _next_evolution(self, p: Search) -> Search:
        if isinstance(p, DiagonalES) and p.done == "failed" and not math.isnan(self.best_y):  # closer, where values are
            return self._evolution(self.best_u, p.sigma, p)
        turn_used, self.turn_used, self.lowest, self.born = self.turn_used, 0, math.inf, self.used  # its turn begins
        if isinstance(p, ActiveSubspace):
            return self._evolution(self.start, metric=p)
        self.rates[1], self.vain = 0.0, 0  # more is expected of it until it has had turns in vain, too
        self.evolved += turn_used
        self.restarts += 1
        self.doublings += 1
        return self._evolution(self._place(self.rng.uniform(-0.8, 0.8, self.n)), metric=p)

    def _evolution(self, place: Array, sigma: float = _SIGMA, metric: Search | None = None) -> DiagonalES:
        size = default_batch(self.n) * 2**self.doublings
        pace = (_FEW * self.n / self.budget) ** _POWER if self.budget else 1.0
        pace = min(max(pace, _PACES[0]), _PACES[1])
        if isinstance(metric, ActiveSubspace | DiagonalES):
            return DiagonalES(
                self.rng, place, sigma, size, pace, directions=metric.directions, shortening=metric.shortening
            )
        return DiagonalES(self.rng, place, sigma, size, pace)

    def _widest(self, used: float) -> float:
        """The largest step size of the evolution after so many evaluations: it falls evenly to the budget's end."""
        if self.budget is None or self.budget <= self.born:
            return _SIGMA
        return _SIGMA * math.pow(_ZOOM, (used - self.born) / (self.budget - self.born))

    def state(self) -> State:
        """Everything that the future depends on, the generator apart."""
        return {
            **super().state(),
            "passes": [{"kind": type(p).__name__, "state": p.state()} for p in self.passes],
        }

    @classmethod
    def from_state(cls, rng: np.random.Generator, state: State) -> Race:
        """The race that ``state()`` described."""
        self = cls.__new__(cls)
        self._load(rng, state)
        self.passes = [_KINDS[p["kind"]].from_state(rng, p["state"]) for p in state["passes"]]
        return self
