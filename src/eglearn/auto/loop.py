"""The loop over lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..search.base import Search
from ..state import Stateful
from .lanes import Board, Lane
from .plan import Plan
from .policies import Policy


@dataclass
class Loop(Stateful):
    """A search of the cube by lanes, of which one has its turn at a time. It has no end."""

    board: Board
    lanes: list[Lane]
    policy: Policy

    @classmethod
    def planned(cls, rng: np.random.Generator, start: Array, plan: Plan, budget: int | None) -> Loop:
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
        assert self.lane.search is not None
        return self.lane.search

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
