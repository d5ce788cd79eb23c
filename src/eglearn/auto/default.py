"""The default: a planned loop over lanes, that scouts for a first value and is watched for noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from .._typing import Array
from ..search.base import BatchSearch, Search, default_batch
from ..settings import Settings, or_none, setting, whole
from ..state import Stateful
from .lanes import Board, Lane
from .noise import NoisyEvolution, Repeats
from .plan import Plan
from .plan import plan as planned
from .policies import Policy


@dataclass
class Loop(Stateful):
    """A search of the cube by lanes, of which one has its turn at a time. It has no end."""

    board: Board
    lanes: list[Lane]
    policy: Policy

    @classmethod
    def planned(cls, rng: Generator, start: Array, plan: Plan, budget: int | None) -> Loop:
        """The loop that a plan describes, from ``start``."""
        loop = cls(Board(rng, start, budget, start), plan.make_lanes(), plan.make_policy())
        loop.policy.begin(loop.board, loop.lanes)
        return loop

    @property
    def lane(self) -> Lane:
        """The lane that has its turn."""
        return self.lanes[self.policy.turn]

    @property
    def search(self) -> Search:
        """Its search."""
        return self.lane.running

    def propose(self) -> Array:
        """The next batch."""
        return self.search.propose()

    def learn(self, u: Array, y: Array) -> None:
        """Hand the batch to its search, and let the policy choose who goes on."""
        board, lane = self.board, self.lane
        self.search.learn(u, y)
        board.used += len(y)
        board.failed = not np.isfinite(y).any()
        if not board.failed:
            i = int(np.nanargmin(y))
            if board.note(u[i], float(y[i])):
                for other in self.lanes:
                    other.noticed(lane)
        lane.learned(board)
        self.policy.after(board, self.lanes, y)

    def hear(self, u: Array, y: float) -> None:
        """A point from elsewhere: if it is the best, a descent will begin there."""
        if self.board.note(u, y):
            for lane in self.lanes:
                lane.noticed(None)


@dataclass
class Scout(Stateful):
    """While nothing is known but failures, or but one value, random points of the whole cube are tried."""

    u: Array  # where the one value that is known was found first, at first the start
    level: float = math.nan  # that value
    lost: bool = False  # whether nothing is known yet that could lead anywhere
    scouting: bool = False  # whether the points of the current batch are random ones

    def look(self, u: Array, y: Array) -> bool:
        """Whether this leads nowhere: nothing is known, or several points and all have one value."""
        good = np.isfinite(y)
        alone = math.isnan(self.level) and good.sum() == 1
        if math.isnan(self.level) and good.any():
            first = int(np.argmax(good))
            self.u, self.level = u[first].copy(), float(y[first])
        return not alone and bool(np.all(y[good] == self.level))

    def best(self, u: Array, y: Array) -> Array:
        """The place to begin at: the best of these points, or the one known before."""
        lowest = int(np.nanargmin(y))
        return self.u if self.level <= y[lowest] else u[lowest]


@dataclass(frozen=True, kw_only=True)
class AutoSettings(Settings):
    """Settings of ``AutoEGL``.

    Examples
    --------
    >>> AutoSettings(m=4).m
    4
    """

    m: int | None = setting(
        None, "points per batch of the descents; None: 4 + 3 ln n", "Hansen 2016, eq. 48", or_none(whole(2))
    )
    plan: Plan | None = None  # for experiments: replaces ``eglearn.auto.plan.plan(n, budget)``


@dataclass(init=False, eq=False, repr=False)
class Auto(BatchSearch):
    """Lanes as planned, until noise is found that matters; then evolution strategies with large populations."""

    settings_class = AutoSettings
    plan: Plan
    budget: int | None
    loop: Loop
    scout: Scout
    repeats: Repeats
    noisy: NoisyEvolution | None = None  # what runs under noise, if there is noise that matters

    def __init__(
        self, rng: Generator, start: Array, settings: Any = None, *, budget: int | None = None, **rest: Any
    ) -> None:
        self.budget = budget
        super().__init__(rng, start, settings, **rest)

    def _begin(self, start: Array) -> None:
        self.plan = self.settings.plan or planned(self.n, self.budget, self.settings.m)
        self.scout, self.repeats = Scout(start), Repeats(start)
        self._begin_at(start)

    def _begin_at(self, place: Array) -> None:
        left = None if self.budget is None else self.budget - self.used
        self.loop = Loop.planned(self.rng, place, self.plan, left)

    @property
    def active(self) -> Search:
        """The search that has its turn."""
        return self.loop.search if self.noisy is None else self.noisy.search

    @property
    def radius(self) -> float:
        """That of the active search."""
        return self.active.radius

    @property
    def restarts(self) -> int:
        """Restarts so far."""
        return self.loop.board.restarts + (0 if self.noisy is None else self.noisy.ended)

    @property
    def favorite(self) -> tuple[Array, float]:
        """What to recommend, and about its value: the best point, or under noise the mean of the best search.

        That is never worse than the point where the search under noise began, as far as medians tell.
        """
        board, noisy = self.loop.board, self.noisy
        if noisy is None:
            return board.best_u, board.best_y
        if noisy.leads:
            return noisy.search.mean, noisy.value
        if math.isnan(noisy.ended_value):  # means fail, so does the start
            return board.best_u, math.nan
        return noisy.ended_u, noisy.ended_value

    @property
    def favorite_u(self) -> Array | None:
        """See ``favorite``."""
        return self.favorite[0] if self.noisy is not None else None

    def _propose(self) -> Array:
        """Now and then with the lowest point again."""
        self.scout.scouting = self.scout.lost
        if self.scout.lost:
            return self.rng.uniform(-1, 1, (default_batch(self.n), self.n))
        batch = self.loop.propose() if self.noisy is None else self.noisy.propose()
        return self.repeats.add(batch, self.used, self.active.shows_spread)

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        scout, board = self.scout, self.loop.board
        if scout.scouting or self.used == len(y):
            # A point from elsewhere may have come meanwhile, where the search has begun then.
            scout.lost = math.isnan(board.best_y) and scout.look(u, y)
        if scout.lost or scout.scouting:
            self._end_scouting(u, y)
            return
        tried = self.repeats.on_trial
        u, y = self.repeats.take(u, y)
        if self.noisy is not None:
            if tried:
                self.noisy.ended_u, self.noisy.ended_value = self.repeats.u, self.repeats.y
            self.noisy.learn(u, y)
            return
        self.loop.learn(u, y)
        if self.repeats.noisy:
            place = self.repeats.try_best(board.start)
            gained = not np.array_equal(place, board.start)
            self.noisy = NoisyEvolution.begun(self.rng, self.plan.noise, place, gained)

    def _end_scouting(self, u: Array, y: Array) -> None:
        """Begin the search at the best point, unless lost; it has begun already if that came from elsewhere."""
        if self.scout.lost or not np.isfinite(y).any():
            return
        if math.isnan(self.loop.board.best_y):
            self._begin_at(self.scout.best(u, y))
        else:
            lowest = int(np.nanargmin(y))
            self.loop.hear(u[lowest], float(y[lowest]))

    def hear(self, u: Array, y: Array) -> None:
        """Points from elsewhere; under noise they are left aside, since a single value tells little."""
        super().hear(u, y)
        for point, value in zip(u, y, strict=True):
            if self.scout.lost:
                self._begin_at(point)
                self.scout.lost = False
            self.loop.hear(point, float(value))

    def extend(self, more: int) -> None:
        """There are so many more evaluations than it was planned for."""
        if self.budget is None or self.loop.board.budget is None:  # very many already
            return
        self.loop.board.budget += more
        self.budget += more

    def progress(self) -> dict[str, float]:
        """Of the active search; ``restarts`` and ``noisy`` besides."""
        noisy = self.noisy is not None
        candidate = self.favorite[1] if noisy else self.active.best_y
        counts = {"restarts": float(self.restarts), "noisy": float(noisy)}
        return {"candidate": candidate, "epsilon": self.radius} | counts
