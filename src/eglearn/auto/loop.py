"""The loop over lanes: who asks for the next points, and who learns from the answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
from numpy.random import Generator

from .._typing import Array
from ..search.base import Indices, Search
from ..state import Stateful
from .lanes import Board, Lane, RestartPlan, Restarts, Role
from .plan import Plan
from .policies import Policy

# A point has no answer while so many times the width came after it: it may never have one. Durations rarely differ so.
_PATIENCE = 50


@dataclass
class Asked(Stateful):
    """Who asked for an open point."""

    lane: int
    search: int  # the number of its search among those of the lane
    index: int  # that of the point in the search
    since: int  # answers of all searches before it was asked for
    u: Array


@dataclass
class Loop(Stateful):
    """A search of the cube by lanes. It has no end.

    The lane that has its turn asks for points first. While it waits for answers, or has as many points in flight as are
    of use, lanes beside it ask for the others; each of these is a restart of its own.
    """

    board: Board
    lanes: list[Lane]
    policy: Policy
    beside: list[RestartPlan]
    width: int = 1
    planned: int = 0  # lanes that the policy knows; the others run beside them
    searches: list[int] = field(default_factory=list)  # of each lane: how many it has begun
    values: list[list[float]] = field(default_factory=list)  # of each lane: those since its search has learned
    asked: int = 0
    open: dict[str, Asked] = field(default_factory=dict)  # by the number of the point

    @classmethod
    def begun(cls, rng: Generator, start: Array, plan: Plan, budget: int | None, width: int = 1) -> Loop:
        """The loop that a plan describes, from ``start``."""
        loop = cls(
            Board(rng, start, budget, start, width=width),
            plan.make_lanes(),
            plan.make_policy(),
            list(plan.beside),
            width,
        )
        loop.policy.begin(loop.board, loop.lanes)
        loop.planned = len(loop.lanes)
        loop._track()
        return loop

    def _derive(self) -> None:
        self._seen: list[Search | None] = [lane.search for lane in self.lanes]
        self._in_flight = Counter((a.lane, a.search) for a in self.open.values())

    def __post_init__(self) -> None:
        self._seen, self._in_flight = [], Counter()

    def _track(self) -> None:
        """Count the searches that lanes have begun, so that answers to an earlier one are recognised."""
        for k, lane in enumerate(self.lanes):
            if k == len(self._seen):
                self._seen.append(None)
                self.searches.append(0)
                self.values.append([])
            if lane.search is not self._seen[k]:
                self._seen[k], self.values[k] = lane.search, []
                self.searches[k] += 1

    @property
    def used(self) -> int:
        """Answers so far."""
        return self.board.used

    @property
    def lane(self) -> Lane:
        """The lane that has its turn."""
        return self.lanes[self.policy.turn]

    @property
    def search(self) -> Search:
        """Its search."""
        return self.lane.running

    def natural(self) -> int:
        """What the lane that has its turn would propose."""
        return self.search.natural()

    def propose(self, k: int | None = None) -> Array:
        """Points of the lane that has its turn, then of the others."""
        k = self.natural() if k is None else k
        turn = self.policy.turn
        # Many are of less and less use to one search: beyond twice the dimension it has half of the width at most.
        most = max(2 * self.board.n, self.width // 2) - self._in_flight[turn, self.searches[turn]]
        parts = [self._from(turn, k if self.width == 1 else min(k, most))]
        for lane in range(self.planned, len(self.lanes)):
            parts.append(self._from(lane, k - sum(map(len, parts))))
        while (missing := k - sum(map(len, parts))) > 0 and self.width > 1 and self.beside:
            parts.append(self._from(self._begin_beside(), missing))
        return np.vstack(parts)

    def _from(self, lane: int, k: int) -> Array:
        if k > 0 and self.width > 1 and not self.lanes[lane].running.natural():
            self._give_up(lane)
        search = self.lanes[lane].running
        u = search.propose(k) if k > 0 else np.empty((0, self.board.n))
        for index, point in zip(range(search.asked - len(u), search.asked), u, strict=True):
            self.open[str(self.asked)] = Asked(lane, self.searches[lane], index, self.board.used, point)
            self.asked += 1
        self._in_flight[lane, self.searches[lane]] += len(u)
        return u

    def _give_up(self, lane: int) -> None:
        """The search waits: points that have been open for very long are taken as failed, and heard if they come."""
        oldest, search = self.board.used - _PATIENCE * self.width, self.searches[lane]
        old = takewhile(lambda a: a.since < oldest, self.open.values())
        lost = [a for a in old if a.lane == lane and a.search == search]
        if lost:
            for a in lost:
                a.search = -1
            self._in_flight[lane, search] -= len(lost)
            u, indices = np.array([a.u for a in lost]), np.array([a.index for a in lost])
            self._learn(lane, u, np.full(len(lost), np.nan), indices)

    def _begin_beside(self) -> int:
        """One more lane beside the planned ones: a restart of the kind that runs least."""
        running = [lane.role for lane in self.lanes[self.planned :]]
        plan = min(self.beside, key=lambda p: running.count(p.role))
        self.lanes.append(Restarts(plan, plan.role))
        self.lanes[-1].begin(self.board)
        self._track()
        return len(self.lanes) - 1

    def learn(self, u: Array, y: Array, indices: Indices | None = None) -> None:
        """Hand answers to the searches that asked; where one has learned, the policy chooses who goes on."""
        numbers = [int(i) for i in (list(self.open)[: len(y)] if indices is None else indices)]
        asked = [self.open.pop(str(number)) for number in numbers]
        self._in_flight.subtract((a.lane, a.search) for a in asked)
        self.board.used += len(y)
        self.board.heard(y)
        for k in dict.fromkeys(a.lane for a in asked):
            rows = [row for row, a in enumerate(asked) if a.lane == k]
            current = [row for row in rows if asked[row].search == self.searches[k]]
            self._note(u[rows], y[rows], self.lanes[k])
            if current:
                self._learn(k, u[current], y[current], np.array([asked[row].index for row in current]))

    def _learn(self, k: int, u: Array, y: Array, indices: Indices) -> None:
        lane, search = self.lanes[k], self.lanes[k].running
        before = search.iterations
        if search.done is None:
            search.learn(u, y, indices)
        self.values[k].extend(y.tolist())
        if search.iterations == before:
            return
        values, self.values[k] = np.array(self.values[k]), []
        lane.learned(self.board)
        if k == self.policy.turn:
            self.policy.after(self.board, self.lanes[: self.planned], values)
        elif k >= self.planned and lane.over(self.board) and not lane.follow(self.board):
            self.board.restarts += 1
            lane.begin(self.board)
        self._track()

    def _note(self, u: Array, y: Array, by: Lane | None) -> None:
        if np.isfinite(y).any():
            i = int(np.nanargmin(y))
            if self.board.note(u[i], float(y[i])):
                beside = by in self.lanes[self.planned :]
                for lane in self.lanes:
                    lane.noticed(None if beside else by)

    def hear(self, u: Array, y: Array) -> None:
        """Points from elsewhere: the first descent learns from them; if one is the best, another will begin there."""
        for lane in self.lanes:
            if lane.role is Role.FIRST and lane.search is not None and lane.search.done is None:
                lane.heard(u, y)
        self._track()
        self._note(u, y, None)
