"""The default: a planned loop over lanes, that scouts for a first value and is watched for noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.random import Generator

from .._typing import Array
from ..search.base import Indices, Search, default_batch
from ..settings import Settings, or_none, setting, whole
from ..state import Stateful
from .loop import Loop
from .noise import NoisyEvolution, Repeats
from .plan import Plan
from .plan import plan as planned


class Kind(StrEnum):
    """What a point was asked for."""

    LANE = "lane"
    SCOUT = "scout"  # a random point, while nothing is known that could lead anywhere
    REPEAT = "repeat"  # the lowest point again
    NOISY = "noisy"  # for the search under noise


@dataclass
class Scout(Stateful):
    """While nothing is known but failures, or but one value, random points of the whole cube are tried."""

    u: Array  # where the one value that is known was found first, at first the start
    level: float = math.nan  # that value
    count: int = 0  # answers so far,
    values: int = 0  # and those among them that have not failed
    lost: bool = False  # whether nothing is known yet that could lead anywhere
    over: bool = False  # whether values differ

    def look(self, u: Array, y: Array, enough: int, failed: bool) -> None:
        """Take in answers; ``failed`` is whether the start is among them and has failed."""
        good = np.isfinite(y)
        self.count, self.values = self.count + len(y), self.values + int(good.sum())
        if math.isnan(self.level) and good.any():
            first = int(np.argmax(good))
            self.u, self.level = u[first].copy(), float(y[first])
        self.over = bool((y[good] != self.level).any())
        nothing = math.isnan(self.level) and (failed or self.lost)
        flat = self.values > 1 and self.count >= enough
        self.lost = not self.over and (nothing or flat)


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
class Auto(Search):
    """Lanes as planned, until noise is found that matters; then evolution strategies with large populations."""

    settings_class = AutoSettings
    plan: Plan
    budget: int | None
    loop: Loop
    scout: Scout
    repeats: Repeats
    open: dict[str, list[Any]]  # by the index of the point: its kind, its index there, and the number of the loop
    noisy: NoisyEvolution | None = None  # what runs under noise, if there is noise that matters
    loops: int = 0  # loops begun so far

    def __init__(
        self, rng: Generator, start: Array, settings: Any = None, *, budget: int | None = None, **rest: Any
    ) -> None:
        self.budget, self.open = budget, {}
        super().__init__(rng, start, settings, **rest)

    def _begin(self, start: Array) -> None:
        self.plan = self.settings.plan or planned(self.n, self.budget, self.settings.m, self.width)
        self.scout, self.repeats = Scout(start), Repeats(start)
        self._begin_at(start)

    def _begin_at(self, place: Array) -> None:
        left = None if self.budget is None else self.budget - self.used
        self.loops += 1
        self.loop = Loop.begun(self.rng, place, self.plan, left, self.width)

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

    def natural(self) -> int:
        """That of the active search, with the points beside it that are due."""
        if self.scout.lost:
            return max(self.width, default_batch(self.n))
        return self._due() + (self.loop.natural() if self.noisy is None else self.noisy.natural())

    def _due(self) -> int:
        return self.repeats.due_now(self.used, self.active.shows_spread)

    def propose(self, k: int | None = None) -> Array:
        """The lowest point again if that is due, then points of the active search."""
        k = self.natural() if k is None else k
        if self.scout.lost:
            u = self.rng.uniform(-1, 1, (k, self.n))
            return self._sent(u, Kind.SCOUT, range(k))
        repeated = self.repeats.repeat(min(k, self._due()), self.used)
        self._sent(repeated, Kind.REPEAT, range(len(repeated)))
        rest, kind = k - len(repeated), Kind.LANE if self.noisy is None else Kind.NOISY
        if rest == 0:
            return repeated
        source = self.loop if self.noisy is None else self.noisy
        u = source.propose(rest)
        return np.vstack([repeated, self._sent(u, kind, range(source.asked - len(u), source.asked))])

    def _sent(self, u: Array, kind: Kind, indices: range) -> Array:
        for index in indices[: len(u)]:
            self.open[str(self.asked)] = [kind, index, self.loops]
            self.asked += 1
        return u

    def learn(self, u: Array, y: Array, indices: Indices | None = None) -> None:
        """Hand answers to who asked."""
        numbers = [int(i) for i in (list(self.open)[: len(y)] if indices is None else indices)]
        asked = [self.open.pop(str(number)) for number in numbers]
        self.used += len(y)
        self.iterations += 1
        self._note_best(u, y)
        kinds = np.array([kind for kind, _, _ in asked])
        if not self.scout.over:
            failed = 0 in numbers and not math.isfinite(y[numbers.index(0)])
            self.scout.look(u, y, default_batch(self.n), failed)
        on_trial = self.repeats.on_trial
        for row in np.flatnonzero(kinds == Kind.REPEAT):
            self.repeats.judge(float(y[row]))
        # Answers to points of a loop that is gone, and of a scout, are heard.
        lane = np.array([kind is Kind.LANE and loop == self.loops for kind, _, loop in asked])
        mine = np.array([index for _, index, _ in asked])
        elsewhere = (kinds != Kind.NOISY) & (kinds != Kind.REPEAT) & ~lane
        if elsewhere.any():
            self._hear(u[elsewhere], y[elsewhere])
        if lane.any():
            self.repeats.look(u[lane], y[lane], default_batch(self.n))
            self.loop.learn(u[lane], y[lane], mine[lane])
        if self.noisy is not None:
            if on_trial and not self.repeats.on_trial and self.noisy.ended == 0:
                self.noisy.ended_u, self.noisy.ended_value = self.repeats.u, self.repeats.trial_value
                self.noisy.ended_error = self.repeats.trial_error
            own = kinds == Kind.NOISY
            if own.any():
                self.noisy.learn(u[own], y[own], mine[own])
        elif self.repeats.noisy:
            board = self.loop.board
            place = self.repeats.try_best(board.start)
            gained = not np.array_equal(place, board.start)
            self.noisy = NoisyEvolution.begun(self.rng, self.plan.noise, place, gained, self.width)

    def _hear(self, u: Array, y: Array) -> None:
        """The search begins at the best point if nothing was known; else lanes take notice."""
        good = np.isfinite(y)
        if not good.any():
            return
        if math.isnan(self.loop.board.best_y):
            self._begin_at(u[int(np.nanargmin(y))])
        self.loop.hear(u[good], y[good])

    def hear(self, u: Array, y: Array) -> None:
        """Points from elsewhere; under noise they are left aside, since a single value tells little."""
        self._note_best(u, y)
        self.scout.lost, self.scout.over = False, True
        self._hear(u, y)

    def extend(self, more: int) -> None:
        """There are so many more evaluations than it was planned for."""
        if self.budget is None or self.loop.board.budget is None:  # very many already
            return
        self.loop.board.budget += more
        self.budget += more

    def progress(self) -> dict[str, float]:
        """Of the active search; ``restarts``, ``noisy`` and, under noise, the candidate's standard error besides."""
        noisy = self.noisy is not None
        candidate = self.favorite[1] if noisy else self.active.best_y
        counts = {"restarts": float(self.restarts), "noisy": float(noisy)}
        if self.noisy is not None:
            counts["candidate_error"] = self.noisy.error if self.noisy.leads else self.noisy.ended_error
        return {"candidate": candidate, "epsilon": self.radius} | counts
