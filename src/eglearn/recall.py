"""What a store knows of the points that a search asks for, when a run goes on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._typing import Array
from .algorithms import AskTell
from .evaluation import Outcome
from .open_points import SAME_POINT
from .store import Store

Known = dict[int, tuple[Outcome, Array]]
"""By row: the outcome, and where it was evaluated."""


class Memory:
    """Asks a search for points, and its store for their values.

    Another number of threads or another processor changes the last digits. A point that was evaluated close to the one
    that is asked for now answers it. Where the search goes another way, all evaluations from there on are set aside:
    they are learned from as points that nobody asked for, and count. Whoever continues the run later finds them
    at the same batch and learns the same.

    Parameters
    ----------
    store
        Of the run; without one, nothing is known.
    told
        What is told for an outcome.
    """

    def __init__(self, store: Store | None, told: Callable[[Outcome], float]) -> None:
        self.store, self.told = store, told
        self.reported = -1
        """The last batch whose progress the store has."""
        self._adopted: dict[int, int] = {}
        """How many evaluations that were set aside at a batch have been told."""

    def ask(self, optimiser: AskTell) -> tuple[Array, Known]:
        """The next points, and what is known of them; no points if what was set aside has used up the budget."""
        x = optimiser.ask()
        known: Known = {}
        if self.store is None:
            return x, known
        number = optimiser.nit
        answers = self.store.answers(number, x)
        for row, (outcome, place) in answers.items():
            if place is not None and row < len(x) and _close(optimiser, x[row], place):
                known[row] = outcome, place
        if len(known) < len(answers):
            # If less than a whole batch is left, ask() decides which points come first: no row can be kept.
            left = optimiser.budget - optimiser.nfev - (self.store.count_from(number) - len(known))
            self._set_aside(number, known if len(x) <= left else {})
        if not self._adopt(optimiser):
            return x, known
        return self.ask(optimiser) if optimiser.stop() is None else (x[:0], {})

    def end(self, optimiser: AskTell) -> None:
        """The search has ended; if it went on for longer before, that is learned from."""
        if self.store is not None and self.store.count_from(optimiser.nit):
            self._set_aside(optimiser.nit, {})
        self._adopt(optimiser)

    def _set_aside(self, number: int, keep: Known) -> None:
        assert self.store is not None
        self.store.set_aside(number, keep)
        self.reported = min(self.reported, number - 1)
        self.store.notes.append(
            f"from batch {number} on, the search asks for other points than those in {self.store.path}: "
            "their values are learned from and count"
        )

    def _adopt(self, optimiser: AskTell) -> bool:
        """Tell what was set aside at this batch, unless that has been done; a point that was not kept only counts."""
        number, n = optimiser.nit, optimiser.box.n
        aside = {} if self.store is None else self.store.answers(-1 - number, np.empty((0, n)))
        new = [aside[row] for row in sorted(aside) if row >= self._adopted.get(number, 0)]
        if new:
            unknown = np.full(n, np.nan)
            x = [place if place is not None and place.shape == (n,) else unknown for _, place in new]
            optimiser.adopt(np.array(x).reshape(len(new), n), np.array([self.told(outcome) for outcome, _ in new]))
            self._adopted[number] = max(aside) + 1
        return bool(new)


def _close(optimiser: AskTell, asked: Array, x: Array) -> bool:
    """Whether a point is taken for the one that was asked for."""
    return x.shape == asked.shape and optimiser.box.near(asked[None], x[None], SAME_POINT)
