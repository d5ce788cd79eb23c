"""The first descent of the default in few dimensions: quasi-Newton steps, then a trust region."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._typing import Array
from ..search.base import Reason, Search
from ..search.quasi_newton import QuasiNewton
from ..search.trust_region import TrustRegion
from ..settings import Settings
from .lanes import Board, Lane, Role


@dataclass(frozen=True, kw_only=True)
class OpeningPlan(Settings):
    """Constants of ``Opening``."""

    limit: int  # evaluations of the trust region, at most


@dataclass
class Opening(Lane):
    """Quasi-Newton steps for as long as the function is smooth, then a trust region, which takes over the curvature."""

    plan: OpeningPlan
    role: Role = Role.FIRST
    search: Search | None = None
    limit: int = 0

    def begin(self, board: Board) -> bool:
        """From the start."""
        self.limit = self.plan.limit
        self.search = QuasiNewton(board.rng, board.place(board.start), width=board.width)
        return True

    def heard(self, u: Array, y: Array) -> None:
        """Many points that are known tell more than differences could: the trust region learns from them."""
        p = self.running
        if isinstance(p, QuasiNewton) and p.gradients == 0 and len(y) >= p.n:
            self.search = TrustRegion(p.rng, p.best_u, width=p.width)
        super().heard(u, y)

    def follow(self, board: Board) -> bool:
        """The trust region, from the best point."""
        p = self.running
        if not isinstance(p, QuasiNewton) or math.isnan(p.best_y):
            return False
        self.search = trust = TrustRegion(board.rng, p.best_u, value=p.best_y, width=board.width)
        trust.smooth = p.done in (Reason.CONVERGED, Reason.FLAT) and p.gradients > 1
        if p.done is Reason.CONVERGED and p.gradients > 1:
            trust.take_over(p.convex.H, p.exponent, p.gradients * p.n**2)
        return True
