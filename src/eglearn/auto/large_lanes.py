"""The lanes of many dimensions, whose searches cost time and memory linear in the dimension."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._typing import Array
from ..search.active_subspace import ActiveSubspace, ActiveSubspaceSettings
from ..search.base import Reason, Search, default_batch
from ..search.coordinate_search import CoordinateSearch, CoordinateSearchSettings
from ..search.diagonal_es import DiagonalES, DiagonalESSettings
from ..search.lbfgs import LBFGS, LBFGSSettings
from ..search.subspace_trust_region import SubspaceTrustRegion, SubspaceTrustRegionSettings
from ..settings import Settings
from .lanes import Board, Lane, Role


@dataclass(frozen=True, kw_only=True)
class DescentsPlan(Settings):
    """Constants of ``Descents``."""

    m: int | None = None  # points in a batch; None: 4 + 3 ln n
    subspace_per_n: float = 2.0  # evaluations of a descent in a subspace, by the dimension
    trial: float = 0.05  # share of the budget that finding out whether coordinates interact may cost
    late: float = 5.0  # multiple of that cost after which it is found out although the first descent goes on
    cube: float = 0.8  # random points are drawn from this share of the cube
    radius: float = 0.2  # the first radius, and the largest at a point that the evolution found
    smallest: float = 1e-6  # the smallest first radius there


@dataclass
class Descents(Lane):
    """Descents in a subspace, each followed by quasi-Newton steps.

    The first is from the start. Once, if the budget allows for it, line searches and quasi-Newton steps after them:
    when the first descent has ended, or is behind for long. Then again: from the best point if another lane found it,
    else from a random one.
    """

    plan: DescentsPlan
    role: Role = Role.DESCENTS
    search: Search | None = None
    limit: int = 0
    straight: bool = False  # whether line searches have been tried
    descended: bool = True  # whether a descent found the best point or has begun there

    def begin(self, board: Board) -> bool:
        """At first from the start."""
        plan, place, radius = self.plan, board.start, self.plan.radius
        if self.search is not None and (not self.descended or (board.failed and not math.isnan(board.best_y))):
            self.descended, place = True, board.best_u
            radius = min(max(board.spread * math.sqrt(board.n), plan.smallest), plan.radius)
        elif self.search is not None:
            place = board.rng.uniform(-plan.cube, plan.cube, board.n)
        settings = SubspaceTrustRegionSettings(radius=radius, m=plan.m)
        self.search = SubspaceTrustRegion(board.rng, place, settings)
        self.limit = math.ceil(plan.subspace_per_n * board.n)
        return True

    def noticed(self, by: Lane | None) -> None:
        """See ``descended``."""
        self.descended = by is self

    def resumed(self, board: Board) -> None:
        """Line searches where the descent is behind for long."""
        late = self.plan.late * CoordinateSearchSettings().first_test(board.n)
        if not self.descended and board.used >= late:
            self._line_searches(board)

    def follow(self, board: Board) -> bool:
        """Quasi-Newton steps where a descent or line searches have come to; line searches once after those."""
        p = self.running
        separable = isinstance(p, CoordinateSearch) and p.done is Reason.SEPARABLE
        if separable or (isinstance(p, SubspaceTrustRegion) and not math.isnan(p.best_y)):
            self.search, self.limit = LBFGS(board.rng, p.best_u, LBFGSSettings(m=self.plan.m), value=p.best_y), 0
            return True
        return isinstance(p, LBFGS) and self._line_searches(board)

    def _line_searches(self, board: Board) -> bool:
        """From the best point; False if they have been tried, or take too much of the budget."""
        if self.straight or math.isnan(board.best_y):
            return False
        self.straight = True
        if not board.affords(CoordinateSearchSettings().first_test(board.n), self.plan.trial):
            return False
        self.search, self.limit = CoordinateSearch(board.rng, board.best_u, value=board.best_y), 0
        return True


@dataclass(frozen=True, kw_only=True)
class EvolutionPlan(Settings):
    """Constants of ``Evolution``."""

    sigma: float = 0.4  # the first step size
    zoom: float = 0.05  # the share of it to which it falls at least until the budget is used
    few: float = 50.0  # with so many evaluations per dimension the pace is 1; it falls with the power of them
    power: float = 2 / 3
    slowest: float = 0.1  # such an evolution does not zoom in by itself: without a budget the pace is 1
    fastest: float = 2.0
    cube: float = 0.8  # random points are drawn from this share of the cube
    probe: float = 0.25  # the share of the budget that finding few directions that matter may cost


@dataclass
class Evolution(Lane):
    """Evolution strategies with independent coordinates, each with twice the population of the last.

    Before the first one, if the budget allows for it, a probe tells whether few directions matter; along these the
    distribution is shortened.
    """

    plan: EvolutionPlan
    role: Role = Role.EVOLUTION
    search: Search | None = None
    limit: int = 0
    born: int = 0  # evaluations of all lanes before the current search

    def begin(self, board: Board) -> bool:
        """The probe, if it does not cost too much; then evolutions, the first from the start."""
        settings, place = ActiveSubspaceSettings(sigma=self.plan.sigma), board.start
        self.born, self.role = board.used, Role.EVOLUTION
        if self.search is None and board.affords(settings.points * board.n, self.plan.probe):
            self.role, self.search = Role.PROBE, ActiveSubspace(board.rng, place, settings)
            return True
        if isinstance(self.search, DiagonalES):
            board.doublings += 1
            place = board.place(board.rng.uniform(-self.plan.cube, self.plan.cube, board.n))
        self._evolve(board, place, self.plan.sigma)
        return True

    def learned(self, board: Board) -> None:
        """The step size falls as planned, at least."""
        if isinstance(self.search, DiagonalES):
            self.search.narrow(self.widest(board, board.used))

    def widest(self, board: Board, used: float) -> float:
        """The largest step size after so many evaluations: it falls evenly to the budget's end."""
        if board.budget is None or board.budget <= self.born:
            return self.plan.sigma
        return self.plan.sigma * math.pow(self.plan.zoom, (used - self.born) / (board.budget - self.born))

    def follow(self, board: Board) -> bool:
        """Where all evaluations failed: closer, where values are."""
        p = self.search
        if not isinstance(p, DiagonalES) or p.done is not Reason.FAILED or math.isnan(board.best_y):
            return False
        self._evolve(board, board.best_u, p.sigma)
        return True

    def _evolve(self, board: Board, place: Array, sigma: float) -> None:
        plan, last, size = self.plan, self.search, default_batch(board.n) * 2**board.doublings
        pace = (plan.few * board.n / board.budget) ** plan.power if board.budget else 1.0
        pace = min(max(pace, plan.slowest), plan.fastest)
        self.search = new = DiagonalES(board.rng, place, DiagonalESSettings(sigma=sigma, size=size, pace=pace))
        if isinstance(last, ActiveSubspace | DiagonalES):
            new.shorten(last.directions, last.shortening)
