"""Who runs next."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array, State
from .axes import Axes
from .base import Pass
from .covariance import Adaptation
from .descent import Descent, default_batch
from .noise import NoisyAdaptation, Repeats

_KINDS: dict[str, type[Pass]] = {kind.__name__: kind for kind in (Descent, Axes, Adaptation, NoisyAdaptation)}

# Rounds of line searches, each followed by a short descent.
_ROUNDS = 3
# The first descent, as long as it gains, gets this share of all evaluations.
_SHARE = 1 / 3
_SIGMA = 0.4
# The share of the budget that finding out whether the coordinates interact may cost.
_TRIAL = 0.05


class Schedule:
    """The order of the passes.

    1. A descent from the start, for 9 n^2 + 100 n evaluations.
    2. Line searches from the best point, repeated with a short descent after each success.
    3. Restarts like those of BIPOP-CMA-ES (Hansen 2009): populations that double, against a regime of small passes
       with as many evaluations, in which descents from random points and adaptations of small populations alternate.
       Between them, the first descent goes on while it gains.

    Once noise is found that matters, all that ends, and adaptations of large populations follow one another.

    Parameters
    ----------
    rng : numpy.random.Generator
    start : (n,)
        In the cube.
    m : int or None
        Batch of the descents; None: by the dimension.
    budget : int or None
        Evaluations in all; None: very many. Line searches are tried only if the first test is cheap beside it.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *("start", "m", "budget", "used", "best_u", "best_y", "role", "limit", "round", "stale"),
        *("descent_open", "descent_before", "descent_used", "slice_used", "descending"),
        *("restarts", "doublings", "large", "small", "failed", "found"),
        *("size", "ended_u", "ended_value"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, m: int | None = None, budget: int | None = None) -> None:
        n = len(start)
        self.rng, self.start, self.m, self.budget = rng, start, m, budget
        self.used = 0
        self.best_u, self.best_y = start, math.nan
        self.role = "first"
        """The current pass: first, axes, polish (after axes), visit (of a foreign point), large, small or noisy."""
        self.limit = 9 * n * n + 100 * n
        """Evaluations of the current pass, at most; 0: no limit."""
        self.round, self.stale = 0, math.nan
        """Round of line searches, and the best value before it."""
        self.descent = Descent(rng, start, m=m)
        self.current: Pass = self.descent
        self.descending = True
        """Whether the first descent has its turn."""
        self.descent_open = True
        self.descent_before = math.nan
        """Its best value at the beginning of the turn."""
        self.descent_used = 0
        self.slice_used = 0
        """Evaluations of this turn."""
        self.restarts = self.doublings = self.large = self.small = 0
        self.failed = False
        """Whether the last batch failed as a whole: the next restart begins at the best point, where values are."""
        self.found = False
        """Whether the best point came from elsewhere: the next restart is a descent from there."""
        self.repeats = Repeats(start)
        self.size = NoisyAdaptation.usual_size(n, budget)
        """Points in a batch under noise."""
        self.ended_u, self.ended_value = start, math.nan
        """The mean of the best pass under noise that has ended, at first where it began, and about its value."""

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.start)

    @property
    def active(self) -> Pass:
        """The pass that has its turn."""
        return self.descent if self.descending else self.current

    @property
    def favorite(self) -> tuple[Array, float]:
        """What to recommend, and about its value: the best point, or under noise the mean of the best pass.

        That is never worse than the point where the search under noise began, as far as medians tell.
        """
        if not isinstance(self.current, NoisyAdaptation):
            return self.best_u, self.best_y
        value = self.current.value
        if math.isnan(self.ended_value) or value < self.ended_value:
            return self.current.mean, value
        return self.ended_u, self.ended_value

    def propose(self) -> Array:
        """The next batch."""
        return self.repeats.add(self.active.propose(), self.used)

    def learn(self, u: Array, y: Array) -> None:
        """Hand the batch to its pass, and let the next one have its turn if need be."""
        tried = self.repeats.on_trial
        u, y = self.repeats.take(u, y)
        if tried:
            self.ended_u, self.ended_value = self.repeats.u, self.repeats.y
        self.active.learn(u, y)
        self.used += len(y)
        self.slice_used += len(y)
        self.failed = not np.isfinite(y).any()
        if not self.failed:
            i = int(np.nanargmin(y))
            self.note(u[i], float(y[i]))
        if self.repeats.noisy and self.role != "noisy":
            self._begin_noisy()
        elif self.descending:
            self._after_descent(len(y))
        else:
            self._after_current()

    def note(self, u: Array, y: float) -> bool:
        """Keep the best point; whether this one is."""
        if self.best_y <= y:
            return False
        self.best_u, self.best_y = u.copy(), y
        return True

    def note_foreign(self, u: Array, y: float) -> None:
        """A point from elsewhere: if it is the best, a descent will begin there."""
        if self.note(u, y):
            self.found = True

    # --- turns --------------------------------------------------------------------------------------------------

    @property
    def _slice(self) -> int:
        """Evaluations of one turn."""
        return 4 * self.n**2 + 100 * self.n

    def _after_descent(self, count: int) -> None:
        self.descent_used += count
        over = self.descent.done is not None
        if not over and self.slice_used < (self.limit if self.role == "first" else self._slice):
            return
        self.descent_open = not over and not self.descent.best_y >= self.descent_before
        if self.role == "first":
            self._begin_axes()
        elif not self._descent_may_go_on():
            self.descending, self.slice_used = False, 0
        else:
            self._give_turn_to_descent()

    def _after_current(self) -> None:
        p = self.current
        if p.done is not None or (self.limit and p.used >= self.limit):
            self._finish()
        elif self.restarts and self.slice_used >= self._slice and self.role != "noisy":
            self.slice_used = 0
            if self._descent_may_go_on():
                self._give_turn_to_descent()

    def _descent_may_go_on(self) -> bool:
        return self.descent_open and self.descent_used < _SHARE * self.used

    def _give_turn_to_descent(self) -> None:
        self.descending, self.slice_used, self.descent_before = True, 0, self.descent.best_y

    def _begin(self, role: str, p: Pass, limit: int = 0) -> None:
        self.role, self.current, self.limit = role, p, limit
        self.descending, self.slice_used = False, 0

    # --- order --------------------------------------------------------------------------------------------------

    def _begin_axes(self) -> None:
        dear = self.budget is not None and Axes.first_test(self.n) > _TRIAL * self.budget
        if math.isnan(self.best_y) or self.round == _ROUNDS or dear:
            self._restart()
        else:
            self.round += 1
            self.stale = self.best_y
            self._begin("axes", Axes(self.rng, self.best_u, self.best_y))

    def _finish(self) -> None:
        """The current pass is over: account for it and begin the next."""
        p = self.current
        if self.role == "axes" and p.done == "separable" and self.best_y < self.stale:
            self._begin("polish", Descent(self.rng, self.best_u, 0.01, self.m), 100 * self.n)
        elif self.role == "polish":
            self._begin_axes()
        else:
            self.large += p.used * (self.role == "large")
            self.small += p.used * (self.role == "small")
            self._restart()

    def _restart(self) -> None:
        n, rng, usual = self.n, self.rng, default_batch(self.n)
        if self.role == "noisy":
            self._begin_noisy()
            return
        if self.found:
            self.found = False
            self._begin("visit", Descent(rng, self.best_u, 0.1, self.m), self._slice)
            return
        k, self.restarts = self.restarts, self.restarts + 1
        if k == 0:
            self._begin("small", Adaptation(rng, self._place(self.start), _SIGMA))
        elif self.large <= self.small:
            self.doublings += 1
            size = usual * 2**self.doublings
            self._begin("large", Adaptation(rng, self._place(rng.uniform(-0.8, 0.8, n)), _SIGMA, size))
        elif k % 2:
            delta = 0.1 * 10 ** (-1.5 * rng.random())
            descent = Descent(rng, self._place(rng.uniform(-1, 1, n)), delta, self.m)
            self._begin("small", descent, max(self.large - self.small, 20 * n))
        else:
            size = int(usual * (0.5 * 2**self.doublings) ** (rng.random() ** 2))
            sigma = _SIGMA * 10 ** (-2 * rng.random())
            adaptation = Adaptation(rng, self._place(rng.uniform(-0.8, 0.8, n)), sigma, size)
            self._begin("small", adaptation, max(self.large // 2, 500))

    def _begin_noisy(self) -> None:
        """The first or the next pass under noise."""
        p = self.current
        if not isinstance(p, NoisyAdaptation):
            place, sigma = self.repeats.try_best(self.start), _SIGMA
        else:
            if not self.ended_value <= p.value:
                self.ended_u, self.ended_value = p.mean, p.value
            self.restarts += 1
            if p.done == "stagnant":  # noise hides what is left to gain there: more points see more
                self.size *= 2
                place, sigma = p.mean, min(4 * p.radius, _SIGMA)
            else:
                place, sigma = self.rng.uniform(-0.8, 0.8, self.n), _SIGMA
        self._begin("noisy", NoisyAdaptation(self.rng, self._place(place), sigma, self.size))

    def _place(self, planned: Array) -> Array:
        """Where a restart begins: as planned, but after a failure at the best point."""
        return self.best_u if self.failed and not math.isnan(self.best_y) else planned

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Everything that the future depends on, the generator apart."""
        plain = {name: getattr(self, name) for name in self.fields}
        same = self.current is self.descent
        return {
            **{name: value.copy() if isinstance(value, np.ndarray) else value for name, value in plain.items()},
            "descent": self.descent.state(),
            "repeats": self.repeats.state(),
            "current": None if same else {"kind": type(self.current).__name__, "state": self.current.state()},
        }

    @classmethod
    def from_state(cls, rng: np.random.Generator, state: State) -> Schedule:
        """The schedule that ``state()`` described."""
        self = cls(rng, state["start"].copy(), state["m"])
        for name in cls.fields:
            value = state[name]
            setattr(self, name, value.copy() if isinstance(value, np.ndarray) else value)
        self.descent = Descent.from_state(rng, state["descent"])
        self.repeats.load_state(state["repeats"])
        self.current = self.descent
        if state["current"] is not None:
            self.current = _KINDS[state["current"]["kind"]].from_state(rng, state["current"]["state"])
        return self
