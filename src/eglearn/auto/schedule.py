"""Who runs next."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array, State
from ..search.base import Search
from ..search.cma_es import CMAES
from ..search.coordinate_search import CoordinateSearch
from ..search.trust_region import TrustRegion, default_batch
from .turns import Turns

_KINDS: dict[str, type[Search]] = {kind.__name__: kind for kind in (TrustRegion, CoordinateSearch, CMAES)}

# Rounds of line searches, each followed by a short descent.
_ROUNDS = 6
# The first descent, as long as it gains, gets this share of all evaluations.
_SHARE = 1 / 3
# First standard deviation of adaptations, and of the one after line searches.
_SIGMA, _FINE = 0.4, 0.003
# Shares of the evaluations: of the kind of restart that has found the best value, of the second, and of the third.
_RESTARTS, _SHARES = ("large", "small", "descent"), (8, 2, 1)
# A small restart or a descent ends if it would take so many times 20 n evaluations to reach the best value.
_FOREVER = 50
# The share of the budget that finding out whether the coordinates interact may cost, and that whole profiles may cost
# if they do, a little.
_TRIAL = 0.05


class Schedule(Turns):
    """The order of the passes.

    1. A descent from the start, for 9 n^2 + 100 n evaluations.
    2. Line searches from the best point, repeated with a short descent after each success.
    3. Restarts of three kinds: adaptations whose population doubles each time, adaptations with small populations and
       steps (both as in BIPOP-CMA-ES: Hansen 2009), and descents from random points. The kind that has found the best
       value gets most evaluations. Long ones are interrupted, where the first descent goes on while it gains.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Turns.fields,
        *("role", "limit", "round", "stale", "descent_open", "descent_before", "descent_used", "slice_used"),
        *("descending", "mark_used", "mark_value", "doublings", "spent", "reached", "longest", "exact", "found"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, m: int | None = None, budget: int | None = None) -> None:
        super().__init__(rng, start, m, budget)
        n = self.n
        self.role = "first"
        """The current pass: first, axes, polish (after axes), visit (a foreign point), start or a kind of restart."""
        self.limit = 9 * n * n + 100 * n
        """Evaluations of the current pass, at most; 0: no limit."""
        self.round, self.stale = 0, math.nan
        """Round of line searches, and the best value before it."""
        self.descent = TrustRegion(rng, start, m=m)
        self.current: Search = self.descent
        self.descending = True
        """Whether the first descent has its turn."""
        self.descent_open = True
        self.descent_before = math.nan
        """Its best value at the beginning of the turn."""
        self.descent_used = 0
        self.slice_used = 0
        """Evaluations of this turn."""
        self.mark_used, self.mark_value = 0, math.nan
        """Evaluations and value of the current pass when its pace was last looked at."""
        self.doublings = self.longest = 0
        """How often the large population doubled, and evaluations of the longest pass."""
        self.spent, self.reached = [0] * len(_RESTARTS), [-math.inf] * len(_RESTARTS)
        """Evaluations of each kind of restart, and the best value that it found; -inf: not tried, inf: none found."""
        self.exact = False
        """Whether the line searches found a sum over coordinates: its minimum is known but for the last digits."""
        self.found = False
        """Whether the best point came from elsewhere: the next restart is a descent from there."""

    @property
    def active(self) -> Search:
        """The pass that has its turn."""
        return self.descent if self.descending else self.current

    def _after(self, y: Array, new: bool) -> None:
        self.slice_used += len(y)
        if self.descending:
            self._after_descent(len(y))
        else:
            self._after_current()

    def note_foreign(self, u: Array, y: float) -> None:
        """A point from elsewhere: if it is the best, a descent will begin there."""
        if self._note(u, y):
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
        if p.done is not None or (self.limit and p.used >= self.limit) or self._is_hopeless(p) or self._is_dear(p):
            self._finish()
        elif self.restarts and self.slice_used >= self._slice:
            self.slice_used = 0
            if self._descent_may_go_on():
                self._give_turn_to_descent()

    def _is_dear(self, p: Search) -> bool:
        """Whether line searches cost too much for a function that is no sum over coordinates."""
        dear = self.budget is not None and CoordinateSearch.whole(self.n) > _TRIAL * self.budget
        return dear and isinstance(p, CoordinateSearch) and not p.adds_up

    def _is_hopeless(self, p: Search) -> bool:
        """Whether a small restart is so far above the best point that at its pace it would never get there."""
        if self.role not in ("small", "descent") or p.used - self.mark_used < 20 * self.n:
            return False
        gain, missing = self.mark_value * 0.25 - p.value_now * 0.25, p.value_now * 0.25 - self.best_y * 0.25
        self.mark_used, self.mark_value = p.used, p.value_now
        return _FOREVER * gain < missing  # false at the first look, when the gain is NaN

    def _descent_may_go_on(self) -> bool:
        return self.descent_open and self.descent_used < _SHARE * self.used

    def _give_turn_to_descent(self) -> None:
        self.descending, self.slice_used, self.descent_before = True, 0, self.descent.best_y

    def _begin(self, role: str, p: Search, limit: int = 0) -> None:
        self.role, self.current, self.limit = role, p, limit
        self.descending, self.slice_used = False, 0
        self.mark_used, self.mark_value = 0, math.nan

    # --- order --------------------------------------------------------------------------------------------------

    def _begin_axes(self) -> None:
        dear = self.budget is not None and CoordinateSearch.first_test(self.n) > _TRIAL * self.budget
        if math.isnan(self.best_y) or self.round == _ROUNDS or dear:
            self._restart()
        else:
            self.round += 1
            self.stale = self.best_y
            self._begin("axes", CoordinateSearch(self.rng, self.best_u, self.best_y, self.round > 1))

    def _finish(self) -> None:
        """The current pass is over: account for it and begin the next."""
        p = self.current
        if isinstance(p, CMAES) and p.done == "failed" and not math.isnan(self.best_y):  # closer, where values are
            if self.role in _RESTARTS:
                self._account(_RESTARTS.index(self.role), p)
            self._begin(self.role, CMAES(self.rng, self.best_u, p.sigma, p.size), self.limit)
            return
        if isinstance(p, CoordinateSearch):
            self.exact = p.done == "separable" and p.adds_up
        if self.role == "axes" and p.done == "separable" and self.best_y < self.stale:
            self._begin("polish", TrustRegion(self.rng, self.best_u, 0.01, self.m), 100 * self.n)
        elif self.role == "polish":
            self._begin_axes()
        else:
            if self.role in _RESTARTS:
                self._account(_RESTARTS.index(self.role), p)
            self.longest = max(self.longest, p.used)
            self._restart()

    def _account(self, kind: int, p: Search) -> None:
        before = math.inf if self.spent[kind] == 0 else self.reached[kind]
        self.spent[kind] += p.used
        self.reached[kind] = before if math.isnan(p.best_y) else min(before, p.best_y)

    def _next_kind(self) -> str:
        """The kind of restart that lags most behind its share."""
        share = np.empty(len(_RESTARTS))
        share[np.argsort(self.reached, kind="stable")] = _SHARES
        return _RESTARTS[int(np.argmin(self.spent / share))]

    def _restart(self) -> None:
        n, rng, usual = self.n, self.rng, default_batch(self.n)
        if self.found:
            self.found = False
            self._begin("visit", TrustRegion(rng, self.best_u, 0.1, self.m), self._slice)
            return
        first, self.restarts = self.restarts == 0, self.restarts + 1
        if first:
            where, sigma = (self.best_u, _FINE) if self.exact else (self.start, _SIGMA)
            self._begin("start", CMAES(rng, self._place(where), sigma))
            return
        role = self._next_kind()
        if role == "large":
            self.doublings += 1
            size = usual * 2**self.doublings
            self._begin(role, CMAES(rng, self._place(rng.uniform(-0.8, 0.8, n)), _SIGMA, size))
        elif role == "small":
            size = int(usual * (0.5 * 2**self.doublings) ** (rng.random() ** 2))
            sigma = _SIGMA * 10 ** (-2 * rng.random())
            adaptation = CMAES(rng, self._place(rng.uniform(-0.8, 0.8, n)), sigma, size)
            self._begin(role, adaptation, max(self.longest // 2, 500))
        else:
            delta = 0.1 * 10 ** (-1.5 * rng.random())
            descent = TrustRegion(rng, self._place(rng.uniform(-1, 1, n)), delta, self.m)
            self._begin(role, descent, max(self.longest // 2, 20 * n))

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Everything that the future depends on, the generator apart."""
        same = self.current is self.descent
        return {
            **super().state(),
            "descent": self.descent.state(),
            "current": None if same else {"kind": type(self.current).__name__, "state": self.current.state()},
        }

    @classmethod
    def from_state(cls, rng: np.random.Generator, state: State) -> Schedule:
        """The schedule that ``state()`` described."""
        self = cls(rng, state["start"].copy(), state["m"])
        self._load(rng, state)
        self.descent = TrustRegion.from_state(rng, state["descent"])
        self.current = self.descent
        if state["current"] is not None:
            self.current = _KINDS[state["current"]["kind"]].from_state(rng, state["current"]["state"])
        return self
