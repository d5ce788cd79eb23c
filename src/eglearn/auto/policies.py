"""Policies: which lane goes on."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from .._typing import Array
from ..settings import Settings
from ..state import Stateful
from .lanes import Board, Lane, Restarts, Role


class Policy(Stateful):
    """Decides after each batch which lane goes on."""

    turn: int  # the lane whose turn it is

    @abstractmethod
    def begin(self, board: Board, lanes: list[Lane]) -> None:
        """Begin the lanes that run from the beginning."""

    @abstractmethod
    def after(self, board: Board, lanes: list[Lane], y: Array) -> None:
        """Choose ``turn``, and begin searches where others are over; ``y`` are the values of the last batch."""


@dataclass(frozen=True, kw_only=True)
class SharesPlan(Settings):
    """Constants of ``Shares``."""

    first: float = 1 / 3  # the first descent gets this share of all evaluations as long as it gains
    proof: int = 0  # evaluations of its search after which it yields if predictions do not come true
    ranks: tuple[float, ...] = (8.0, 2.0, 1.0)  # shares of the restarts: of the best, the second best, all others
    slice: int = 0  # evaluations of one turn
    forever: float = 50.0  # a restart gives up if it would take so many times ``looked`` to reach the best value
    looked: int = 0  # evaluations between two looks at its pace


@dataclass
class Shares(Policy):
    """Shares by success.

    The first descent opens, coordinate search follows, then the first evolution. From then on restarts follow one
    another; the kind that has found the best value gets most evaluations. Long ones are interrupted, where the first
    descent goes on while it gains.
    """

    plan: SharesPlan
    turn: int = 0
    current: int = 0  # the open lane beside the first descent's; that itself: none yet
    descent_open: bool = True
    descent_before: float = math.nan  # the first descent's best value at the beginning of its turn
    descent_used: int = 0
    proven: bool | None = None  # whether the first descent's predictions came true; None: not known yet
    slice_used: int = 0  # evaluations of this turn
    mark_used: int = 0
    mark_value: float = math.nan  # evaluations and value of the current search when its pace was last looked at
    spent: list[int] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)
    """Of each lane: evaluations, and the best value that it found; -inf: not tried, inf: none found."""

    def begin(self, board: Board, lanes: list[Lane]) -> None:
        """The first descent."""
        self.spent, self.reached = [0] * len(lanes), [-math.inf] * len(lanes)
        first = _of_role(lanes, Role.FIRST)
        if first is None:
            raise ValueError("SharesPlan begins with a first descent: give one lane of the plan role=Role.FIRST")
        self.turn = self.current = first
        lanes[first].begin(board)

    def after(self, board: Board, lanes: list[Lane], y: Array) -> None:
        """See ``Policy.after``."""
        self.slice_used += len(y)
        if lanes[self.turn].role is Role.FIRST:
            self.descent_used += len(y)
            self._after_descent(board, lanes)
        else:
            self._after_current(board, lanes)

    def _after_descent(self, board: Board, lanes: list[Lane]) -> None:
        lane, opening = lanes[self.turn], self.current == self.turn
        if lane.running.done is not None and lane.follow(board):
            return
        descent, over = lane.running, lane.running.done is not None
        if self.proven is None and descent.used >= self.plan.proof:
            self.proven = descent.predictable
        proven = self.proven is not False
        if not over and proven and self.slice_used < (lane.limit if opening else self.plan.slice):
            return
        self.descent_open = not over and proven and not descent.best_y >= self.descent_before
        if opening:
            self._begin_next(board, lanes)
        elif self._descent_may_go_on(board):
            self.slice_used, self.descent_before = 0, descent.best_y
        else:
            self.turn, self.slice_used = self.current, 0

    def _after_current(self, board: Board, lanes: list[Lane]) -> None:
        lane = lanes[self.current]
        if lane.over(board) or self._is_hopeless(board, lane):
            self._finish(board, lanes, lane)
        elif board.restarts and self.slice_used >= self.plan.slice:
            self.slice_used, first = 0, _of_role(lanes, Role.FIRST)
            if first is not None and self._descent_may_go_on(board):
                self.turn, self.descent_before = first, lanes[first].running.best_y

    def _is_hopeless(self, board: Board, lane: Lane) -> bool:
        """Whether a small restart is so far above the best point that at its pace it would never get there."""
        p = lane.running
        gives_up = isinstance(lane, Restarts) and lane.plan.gives_up
        if not gives_up or p.used - self.mark_used < self.plan.looked:
            return False
        gain, missing = self.mark_value - p.value_now, p.value_now - board.best_y
        self.mark_used, self.mark_value = p.used, p.value_now
        return self.plan.forever * gain < missing  # false at the first look, when the gain is NaN

    def _descent_may_go_on(self, board: Board) -> bool:
        return self.descent_open and self.descent_used < self.plan.first * board.used

    def _finish(self, board: Board, lanes: list[Lane], lane: Lane) -> None:
        """The current search is over: account for it and begin the next."""
        p = lane.running
        if isinstance(lane, Restarts) and lane.plan.shares:
            before = math.inf if self.spent[self.current] == 0 else self.reached[self.current]
            self.spent[self.current] += p.used
            self.reached[self.current] = before if math.isnan(p.best_y) else min(before, p.best_y)
        role = lane.role
        if lane.follow(board):
            self._turn_to(self.current)
            return
        if role not in (Role.POLISH, Role.ZOOM):
            board.longest = max(board.longest, p.used)
        self._begin_next(board, lanes)

    def _begin_next(self, board: Board, lanes: list[Lane]) -> None:
        """The lane that has not had its only time yet; then a visit if one is due; then by shares."""
        if lanes[self.current].role is Role.FIRST:
            k = _of_role(lanes, Role.COORDINATES)
            if k is not None and lanes[k].begin(board):
                self._turn_to(k)
                return
        k = next((k for k, lane in enumerate(lanes) if isinstance(lane, Restarts) and lane.due), None)
        if k is None:
            k = _of_role(lanes, Role.START) if board.restarts == 0 else None
            k, board.restarts = self._lagging(board, lanes) if k is None else k, board.restarts + 1
        lanes[k].begin(board)
        self._turn_to(k)

    def _turn_to(self, k: int) -> None:
        self.turn = self.current = k
        self.slice_used = self.mark_used = 0
        self.mark_value = math.nan

    def _lagging(self, board: Board, lanes: list[Lane]) -> int:
        """The restart that lags most behind its share."""
        kinds = {k: lane.plan for k, lane in enumerate(lanes) if isinstance(lane, Restarts) and lane.worthwhile(board)}
        best_first = sorted((k for k, plan in kinds.items() if plan.shares), key=lambda k: self.reached[k])
        ranks = [*self.plan.ranks, *[self.plan.ranks[-1]] * len(kinds)]
        shares = {k: min(max(rank, kinds[k].fewest), kinds[k].most) for k, rank in zip(best_first, ranks, strict=False)}
        return min(sorted(shares), key=lambda k: self.spent[k] / shares[k])


@dataclass(frozen=True, kw_only=True)
class ForecastPlan(Settings):
    """Constants of ``Forecast``; evaluations are by the dimension."""

    first_turn: float = 1 / 8  # evaluations of the first turn; they double in each round
    turn: float = 1.0  # evaluations of the longest turn
    more: int = 4  # turns in a row: so many times more in each round, up to
    in_a_row: int = 32
    growing: int = 3  # rounds after which neither grows
    ahead: float = 8.0  # how far ahead values are foreseen
    share: float = 1 / 8  # the least share of the evaluations for the evolution


@dataclass
class Forecast(Policy):
    """Lanes take turns; the one that is expected to get lowest goes on, up to 32 turns to one.

    What is expected: that the lowest value of a turn falls on for a while, from turn to turn by less, in the ratio of
    its last two falls. The evolution, whose samples are spread out still, is expected to fall by the spread of their
    values at least; as it may have had bad luck, it gets an eighth of the evaluations in any case.
    """

    plan: ForecastPlan
    turn: int = 0
    turn_used: int = 0
    lowest: float = math.inf  # of the lane whose turn it is: its evaluations, and its lowest value
    row: int = 1  # turns in a row
    rounds: int = 0  # how often all have had theirs, as long as it matters
    levels: list[float] = field(default_factory=list)
    forecasts: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    """Of each lane: the least ``lowest`` of its turns, what is foreseen, and its last fall, per evaluation."""
    vain: int = 0  # turns of the evolution since its values fell
    evolved: int = 0  # evaluations of all turns of the evolution

    def begin(self, board: Board, lanes: list[Lane]) -> None:
        """All lanes."""
        self.levels, self.forecasts = [math.inf] * len(lanes), [math.inf] * len(lanes)
        self.rates = [0.0] * len(lanes)
        for lane in lanes:
            if not lane.begin(board):
                raise ValueError(f"ForecastPlan begins all lanes at once, which a {lane.role} cannot: use SharesPlan")

    def after(self, board: Board, lanes: list[Lane], y: Array) -> None:
        """See ``Policy.after``."""
        lane, plan = lanes[self.turn], self.plan
        self.turn_used += len(y)
        if np.isfinite(y).any():
            self.lowest = min(self.lowest, float(np.nanmin(y)))
        if lane.over(board):
            self._follow(board, lanes, lane)
        longest = min(plan.first_turn * 2**self.rounds, plan.turn) * board.n
        if self.turn_used >= longest and lane.running.interruptible:
            self._end_turn(board, lanes, y)

    def _follow(self, board: Board, lanes: list[Lane], lane: Lane) -> None:
        if lane.follow(board):
            return
        for other in lanes:
            board.spread = board.spread if other.widest(board, board.used) is None else other.running.radius
        probe = lane.role is Role.PROBE
        board.restarts += not probe
        lane.begin(board)
        if lane.widest(board, board.used) is None:
            return
        if not probe:  # more is expected of a new evolution until it has had turns in vain, too
            self.rates[self.turn], self.vain = 0.0, 0
            self.evolved += self.turn_used
        self.turn_used, self.lowest = 0, math.inf  # its turn begins

    def _end_turn(self, board: Board, lanes: list[Lane], y: Array) -> None:
        k, lane, plan = self.turn, lanes[self.turn], self.plan
        left = math.inf if board.budget is None else board.budget - board.used
        fall = self.levels[k] - self.lowest
        fall = fall if 0 < fall < math.inf else 0.0  # infinite at first, and where all values of a turn failed
        self.levels[k] = min(self.levels[k], self.lowest)
        rate, before = fall / self.turn_used, self.rates[k]
        shrinks = rate / before if 0 < rate < before else 1.0
        ahead = min(plan.ahead * board.n, left)
        self.forecasts[k], self.rates[k] = self.levels[k] - fall * _geometric(shrinks, ahead / self.turn_used), rate
        now, then = (lane.widest(board, used) for used in (board.used, board.used + ahead))
        if now is not None and then is not None:
            self.evolved += self.turn_used
            if np.isfinite(y).any():
                self.vain = 0 if fall > 0 else self.vain + 1
                # The samples come closer together, and what they cost falls with the squares of their distances.
                closer = then / now
                spread = float(np.nanmedian(y)) - self.levels[k]
                expected = self.levels[k] - math.ldexp((1 - closer**2) * spread, -self.vain)
                self.forecasts[k] = min(self.forecasts[k], expected)
        # A descent that stands still is stuck; the samples of an evolution only may have had bad luck.
        yields = now is None and (fall == 0 or self.evolved < plan.share * board.used)
        others = [forecast for other, forecast in enumerate(self.forecasts) if other != k]
        goes_on = self.forecasts[k] <= min(others, default=math.inf) and not yields
        if goes_on and self.row < min(plan.more**self.rounds, plan.in_a_row):
            self.row += 1
        else:
            last = k == len(lanes) - 1
            self.rounds = min(self.rounds + last, plan.growing)
            self.turn, self.row = (k + 1) % len(lanes), 1
            lanes[self.turn].resumed(board)
        self.turn_used, self.lowest = 0, math.inf


def _geometric(q: float, k: float) -> float:
    """Sum of the first to the k-th power of q; k need not be whole."""
    return k if q == 1 else q * (1 - q**k) / (1 - q)


def _of_role(lanes: list[Lane], role: Role) -> int | None:
    return next((k for k, lane in enumerate(lanes) if lane.role is role), None)
