"""Lanes: sequences of searches of one kind; a lane knows how these begin, and a policy decides which lane goes on."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from .._typing import Array
from ..search.base import Reason, Search, default_batch
from ..search.coordinate_search import CoordinateSearch, CoordinateSearchSettings
from ..search.registry import SEARCHES
from ..search.trust_region import TrustRegion, TrustRegionSettings
from ..settings import Settings
from ..state import SHARED, Stateful


class Role(StrEnum):
    """What a lane is for."""

    FIRST = "first descent"
    COORDINATES = "coordinate search"
    POLISH = "polish"  # a short descent after a coordinate search
    VISIT = "visit"  # a descent from a point that came from elsewhere
    START = "start"  # the first evolution, from the start
    LARGE = "large restart"
    SMALL = "small restart"
    RANDOM = "descent from a random point"
    ZOOM = "zoom"  # from far above the ripples of a function down into a valley
    RESTART = "restart"
    DESCENTS = "descents"
    PROBE = "probe for few directions"
    EVOLUTION = "evolution"


class Place(StrEnum):
    """Where a search begins."""

    START = "start"
    BEST = "best point"
    RANDOM = "random point"


class Population(StrEnum):
    """How many points a restart has in a batch."""

    USUAL = "usual"
    DOUBLED = "doubled each time"
    BETWEEN = "between the usual and the doubled"


@dataclass
class Board(Stateful):
    """What all lanes of a run know."""

    rng: np.random.Generator = field(metadata=SHARED)
    start: Array
    budget: int | None  # evaluations in all; None: very many. What would cost too large a share of it is not tried
    best_u: Array
    best_y: float = math.nan
    used: int = 0
    failures: int = 0  # evaluations that failed in a row
    restarts: int = 0
    doublings: int = 0  # how often the large population doubled
    longest: int = 0  # evaluations of the longest search
    exact: bool = False  # whether line searches found a sum over coordinates, whose minimum they know
    spread: float = 0.0  # how wide the evolution's distribution is, which mostly found the best point
    width: int = 1  # evaluations in flight

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.start)

    @property
    def failed(self) -> bool:
        """Whether so many failed in a row that restarts begin at the best point, where values are."""
        return self.failures >= default_batch(self.n)

    def heard(self, y: Array) -> None:
        """Count failures."""
        good = np.flatnonzero(np.isfinite(y))
        self.failures = self.failures + len(y) if not len(good) else len(y) - 1 - int(good[-1])

    def note(self, u: Array, y: float) -> bool:
        """Keep the best point; whether this one is."""
        if self.best_y <= y:
            return False
        self.best_u, self.best_y = u.copy(), y
        return True

    def place(self, planned: Array) -> Array:
        """Where a restart begins: as planned, but after a failure at the best point."""
        return self.best_u if self.failed and not math.isnan(self.best_y) else planned

    @property
    def left(self) -> int:
        """Evaluations that are left; very many without a budget."""
        return sys.maxsize if self.budget is None else self.budget - self.used

    def affords(self, evaluations: float, share: float) -> bool:
        """Whether that many are at most this share of the budget."""
        return self.budget is None or not evaluations > share * self.budget


class Lane(Stateful):
    """A sequence of searches of one kind."""

    role: Role
    search: Search | None  # the current search; None: none has begun
    limit: int  # its evaluations, at most; 0: no limit

    @property
    def running(self) -> Search:
        """The current search, where one has begun."""
        assert self.search is not None
        return self.search

    def begin(self, board: Board) -> bool:
        """Begin a new effort; whether there is one to begin."""
        raise NotImplementedError

    def follow(self, board: Board) -> bool:
        """The current search is over: begin the one that follows it in the same effort; whether there is one."""
        return False

    def widest(self, board: Board, used: float) -> float | None:
        """How wide samples are after so many evaluations, if spread out so that they may have bad luck; else None."""
        return None

    def over(self, board: Board) -> bool:
        """Whether the current search is over."""
        return self.running.done is not None or bool(self.limit and self.running.used >= self.limit)

    def learned(self, board: Board) -> None:
        """After each batch of this lane."""

    def noticed(self, by: Lane | None) -> None:
        """A new best point was found by that lane; None: it came from elsewhere."""

    def heard(self, u: Array, y: Array) -> None:
        """Points from elsewhere and their values, as long as a first descent learns from them."""
        self.running.hear(u, y)

    def resumed(self, board: Board) -> None:
        """The lane gets its turn again."""


@dataclass(frozen=True, kw_only=True)
class RestartPlan(Settings):
    """How the searches of a lane begin."""

    role: Role = Role.RESTART
    search: str  # its name in ``SEARCHES``
    settings: Settings | None = None
    place: Place = Place.RANDOM
    cube: float = 0.8  # random points are drawn from this share of the cube
    scale: float = 0.0  # the first radius of samples; 0: that of the settings
    decades: float = 0.0  # the first radius is up to so many powers of ten smaller
    fine: float = 0.0  # the first radius at the best point where line searches know the minimum; 0: no such rule
    population: Population = Population.USUAL
    limit: int = 0  # evaluations, at most; 0: no limit
    least: int = 0  # if above 0: half of the longest search so far, but at least this many
    again: bool = True  # whether it begins again at the best point if all of its evaluations failed
    shares: bool = True  # whether it takes part in the shares by success
    gives_up: bool = False  # whether it ends where at its pace it would never reach the best value
    planned: float = 0.0  # share of the budget that a search plans with, twice as much each time; 0: no plan,
    plan_per_n: float = 0.0  # ... but at least so many evaluations by the dimension,
    waits: float = 0.0  # ... and not before the run has used so many times as many
    fewest: float = 0.0  # its share of the evaluations, beside ``SharesPlan.ranks``, is at least that,
    most: float = math.inf  # ... and that at most


@dataclass
class Restarts(Lane):
    """One search after another, each from a new place."""

    plan: RestartPlan
    role: Role
    search: Search | None = None
    limit: int = 0
    size: int = 0  # points in a batch; 0: those of the settings
    begun: int = 0  # how often it has begun at a new place
    due: bool = False  # whether the best point came from elsewhere: for ``Role.VISIT``

    def begin(self, board: Board) -> bool:
        """From a new place."""
        p, rng, usual = self.plan, board.rng, default_batch(board.n)
        if p.population is Population.DOUBLED:
            # With many in flight, the first is so large already that two batches are a quarter of them.
            board.doublings = max(board.doublings + 1, math.ceil(math.log2(board.width / (8 * usual))))
            self.size = usual * 2**board.doublings
        elif p.population is Population.BETWEEN:
            self.size = int(usual * (0.5 * 2**board.doublings) ** (rng.random() ** 2))
        fine = p.fine > 0 and board.exact
        scale = p.fine if fine else p.scale
        if p.decades > 0:
            scale *= 10 ** (-p.decades * rng.random())
        if p.place is Place.RANDOM:
            place = board.place(rng.uniform(-p.cube, p.cube, board.n))
        elif p.place is Place.BEST:
            place = board.best_u
        else:
            place = board.place(board.best_u if fine else board.start)
        self.limit = max(board.longest // 2, p.least) if p.least else p.limit
        self.begun += 1
        self.search, self.due = self._new(board, place, scale), False
        return True

    def follow(self, board: Board) -> bool:
        """Where all of its evaluations failed: again, where values are known, and as close as it came to be."""
        p = self.running
        if p.done is not Reason.FAILED or math.isnan(board.best_y) or not self.plan.again:
            return False
        self.search = self._new(board, board.best_u, p.radius)
        return True

    def _new(self, board: Board, place: Array, scale: float) -> Search:
        kind = SEARCHES[self.plan.search]
        changes = {kind.scale_setting: scale, kind.batch_setting: self.size}
        settings = self.plan.settings or kind.settings_class()
        settings = settings.changed(**{name: v for name, v in changes.items() if name and v > 0})
        planned = self.to_plan(board, self.begun - 1)
        # Samples that are older than the last batch tell little: more than two batches are of use to other searches.
        width = min(board.width, 2 * self.size) if self.size else board.width
        return kind(board.rng, place, settings, width=width, budget=planned and min(planned, board.left))

    def to_plan(self, board: Board, begun: int) -> int | None:
        """Evaluations that a search plans with, after so many before; None: it has no plan."""
        p = self.plan
        if not p.planned:
            return None
        return int(max(p.planned * (board.budget or 0), p.plan_per_n * board.n) * 2**begun)

    def worthwhile(self, board: Board) -> bool:
        """Whether at least half of what another search would plan with is left, and enough was used before."""
        planned = self.to_plan(board, self.begun)
        return planned is None or (2 * board.left >= planned and board.used >= self.plan.waits * planned)

    def noticed(self, by: Lane | None) -> None:
        """A visit is due as long as nobody here has found a better point than that from elsewhere."""
        self.due = by is None and self.role is Role.VISIT


@dataclass(frozen=True, kw_only=True)
class CoordinatesPlan(Settings):
    """Rounds of line searches, each followed by a short descent."""

    rounds: int = 6
    trial: float = 0.05  # share of the budget that telling whether coordinates interact may cost; if so, also profiles
    polish_radius: float = 0.01
    polish_per_n: int = 100  # evaluations of the short descent, by the dimension
    m: int | None = None  # batch of the short descents


@dataclass
class Coordinates(Lane):
    """Line searches from the best point, repeated with a short descent after each success."""

    plan: CoordinatesPlan
    role: Role = Role.COORDINATES
    search: Search | None = None
    limit: int = 0
    round: int = 0
    stale: float = math.nan  # the best value before the round

    def begin(self, board: Board) -> bool:
        """The next round, if there is one and the budget allows for it."""
        p = self.plan
        dear = not board.affords(CoordinateSearchSettings().first_test(board.n), p.trial)
        if math.isnan(board.best_y) or self.round == p.rounds or dear:
            return False
        self.round += 1
        self.stale, self.role, self.limit = board.best_y, Role.COORDINATES, 0
        settings = CoordinateSearchSettings()
        # Where whole profiles cost much of the budget, later rounds have to show that they gain, too.
        settings = settings.changed(trusted=self.round > 1 and board.affords(settings.whole(board.n), p.trial))
        self.search = CoordinateSearch(board.rng, board.best_u, settings, value=board.best_y)
        return True

    def over(self, board: Board) -> bool:
        """Also where line searches cost too much for a function that is no sum over coordinates."""
        p = self.search
        if not isinstance(p, CoordinateSearch):
            return super().over(board)
        dear = not board.affords(p.settings.whole(board.n), self.plan.trial)
        return super().over(board) or (dear and not p.adds_up)

    def follow(self, board: Board) -> bool:
        """A short descent after line searches that gained, the next round after that."""
        p = self.search
        if not isinstance(p, CoordinateSearch):
            return self.begin(board)
        board.exact = p.done is Reason.SEPARABLE and p.adds_up
        if p.done is not Reason.SEPARABLE or not board.best_y < self.stale:
            return False
        self.role, self.limit = Role.POLISH, self.plan.polish_per_n * board.n
        settings = TrustRegionSettings(radius=self.plan.polish_radius, m=self.plan.m)
        self.search = TrustRegion(board.rng, board.best_u, settings)
        return True
