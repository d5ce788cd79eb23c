"""The first descent of the default in few dimensions: quasi-Newton steps and a trust region, as the function needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..search.base import Reason, Search
from ..search.quasi_newton import QuasiNewton
from ..search.trust_region import TrustRegion
from ..settings import Settings
from .lanes import Board, Lane, Role


@dataclass(frozen=True, kw_only=True)
class OpeningPlan(Settings):
    """Constants of ``Opening``; evaluations are by the dimension."""

    limit: int  # evaluations of the trust region, at most
    earliest: float = 0.0  # after so many, quasi-Newton steps may replace a trust region, which begins; 0: they begin
    latest: float = 30.0  # ... and up to so many,
    believed: float = 0.3  # ... if less than this share of its last predictions came true


@dataclass
class Opening(Lane):
    """Quasi-Newton steps for as long as the function is smooth, then a trust region, which takes over the curvature.

    In very few dimensions the trust region begins, which takes fewer evaluations where its predictions come true. Where
    they do not, some directions may be so steep that samples a radius apart show nothing of the others: quasi-Newton
    steps replace it, whose differences are short. If the function is not smooth either, it goes on.
    """

    plan: OpeningPlan
    role: Role = Role.FIRST
    search: Search | None = None
    limit: int = 0
    replaced: bool = False  # whether quasi-Newton steps have replaced the first trust region,
    waiting: TrustRegion | None = None
    """... which goes on if differences tell nothing."""

    def begin(self, board: Board) -> bool:
        """From the start."""
        self.limit = self.plan.limit
        kind = TrustRegion if self.plan.earliest else QuasiNewton
        self.search = kind(board.rng, board.place(board.start), width=board.width)
        return True

    def heard(self, u: Array, y: Array) -> None:
        """Many points that are known tell more than differences could: the trust region learns from them."""
        p = self.running
        if isinstance(p, QuasiNewton) and p.gradients == 0 and len(y) >= p.n:
            self.search, self.waiting = self.waiting or TrustRegion(p.rng, p.best_u, width=p.width), None
        super().heard(u, y)

    def learned(self, board: Board) -> None:
        """Quasi-Newton steps where predictions of the trust region do not come true."""
        p, plan, n = self.running, self.plan, board.n
        if not plan.earliest or self.replaced or not isinstance(p, TrustRegion) or p.done is not None:
            return
        doubted = p.heard < n and sum(p.kept) < plan.believed * len(p.kept)
        if doubted and plan.earliest * n <= p.used <= plan.latest * n:
            self.search = steps = QuasiNewton(board.rng, p.best_u, value=p.best_y, width=board.width)
            steps.usual, self.waiting, self.replaced = p.slope_between(), p, True

    def follow(self, board: Board) -> bool:
        """The trust region, from the best point; where differences told nothing, the one that they replaced."""
        p, waiting, self.waiting = self.running, self.waiting, None
        if not isinstance(p, QuasiNewton) or math.isnan(p.best_y):
            return False
        if waiting is not None and p.gradients <= 2:
            waiting.hear(p.best_u[None], np.array([p.best_y]))
            self.search = waiting
            return True
        self.search = trust = TrustRegion(board.rng, p.best_u, value=p.best_y, width=board.width)
        trust.smooth = p.done in (Reason.CONVERGED, Reason.FLAT) and p.gradients > 1
        if p.done is Reason.CONVERGED and p.gradients > 1:
            trust.take_over(p.convex.H, p.exponent, p.gradients * p.n**2)
        return True
