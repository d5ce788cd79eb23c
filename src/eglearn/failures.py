"""When failures end a run: what was tried is surely all that there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ._typing import Mask, State

# Points of which all failed: small batches may be bad luck, and what fails may be most of the box.
_HOPELESS, _HOPELESS_BY_N, _HOPELESS_SHARE, _SURELY_HOPELESS = 30, 10, 0.1, 1000


@dataclass
class Failures:
    """Counts the points that failed without a value in between."""

    values: int = 0  # since the search has learned something
    failures: int = 0  # likewise
    in_a_row: int = 0  # times that it learned from failures only
    points: int = 0  # that failed in these

    def count(self, good: Mask) -> None:
        """Answers have come."""
        self.values += int(good.sum())
        self.failures += int((~good).sum())

    def learned(self) -> None:
        """The search has learned from them."""
        self.in_a_row, self.points = (0, 0) if self.values else (self.in_a_row + 1, self.points + self.failures)
        self.values = self.failures = 0

    def hopeless(self, n: int, budget: int) -> bool:
        """Whether to give up; the rule stands at ``AskTell.stop``."""
        limit = max(_HOPELESS, _HOPELESS_BY_N * n, _HOPELESS_SHARE * budget)
        return self.in_a_row >= 2 and self.points >= min(limit, _SURELY_HOPELESS)

    def state(self) -> State:
        """The counts."""
        news = [self.values, self.failures]
        return {"news": news, "failed_in_a_row": self.in_a_row, "failed_points": self.points}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What ``state()`` described."""
        values, failures = state["news"]
        return cls(values, failures, state["failed_in_a_row"], state["failed_points"])
