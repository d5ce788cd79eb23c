"""What a store knows of the points that a search asks for, when a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np

from ._typing import Array
from .algorithms import AskTell
from .evaluation import Outcome
from .open_points import SAME_POINT
from .store import Store


class Arrival(NamedTuple):
    """The outcome of a point that was asked for."""

    order: int
    """Of arrival."""
    outcome: Outcome
    x: Array
    """Where it was evaluated."""


class Memory:
    """Looks up in its store what a search asks for.

    Another number of threads or another processor changes the last digits. A point that was evaluated close to the one
    that is asked for now answers it. Where the search goes another way, all evaluations from there on are set aside:
    they are learned from as points that nobody asked for, and count. Whoever continues the run later finds them after
    the same number of points and learns the same.

    Parameters
    ----------
    store
        Of the run; without one, nothing is known.
    value
        What is told for an outcome.
    """

    def __init__(self, store: Store | None, value: Callable[[Outcome], float]) -> None:
        self.store, self.value = store, value
        self.reported = 0
        """After how many answers the store has the last progress."""
        self._last = -1
        """The store knows nothing of points from here on."""
        self._adopted: dict[int, int] = {}
        """How many evaluations that were set aside have been told, by the number of points asked for."""

    def begin(self) -> None:
        """Look at the store for the first time."""
        if self.store is not None:
            rows = self.store.progress()
            self.reported = rows[-1]["nfev"] if rows else 0
            self._last = self.store.last_index()

    def look(self, optimiser: AskTell, points: Mapping[int, Array], first: int | None) -> dict[int, Arrival]:
        """What is known of open points.

        Parameters
        ----------
        optimiser
            It has asked for them.
        points
            By their index.
        first
            The index of the first of them if they were just asked for: what was set aside there is then told, too.
        """
        place = optimiser.asked if first is None else first
        if self.store is None or min(points, default=place) > self._last:
            return {}
        known: dict[int, Arrival] = {}
        found = self.store.answers(points)
        for index, (order, outcome, x) in found.items():
            if x is not None and _close(optimiser, points[index], x):
                known[index] = Arrival(order, outcome, x)
        if len(known) < len(found):
            self._set_aside(optimiser, place, found.keys() - known.keys())
        if first is not None and points:
            self._adopt(optimiser, first, max(first, optimiser.asked - 1))
        return known

    def unseen(self, optimiser: AskTell) -> int:
        """How many evaluations the store has for points that are still to be asked for."""
        if self.store is None or optimiser.asked > self._last:
            return 0
        return self.store.unseen(optimiser.asked)

    def end(self, optimiser: AskTell) -> None:
        """The search has ended; if it went on for longer before, that is learned from."""
        if self.store is not None and self.unseen(optimiser):
            self._set_aside(optimiser, optimiser.asked, ())
            self._adopt(optimiser, optimiser.asked, optimiser.asked)

    def _set_aside(self, optimiser: AskTell, first: int, wrong: Collection[int]) -> None:
        assert self.store is not None
        self.store.set_aside(first, optimiser.nfev, wrong, optimiser.asked)
        self._last = self.store.last_index()
        self.reported = min(self.reported, optimiser.nfev)
        self.store.notes.append(
            f"from point {first} on, the search asks for other points than those in {self.store.path}: "
            "their values are learned from and count"
        )

    def _adopt(self, optimiser: AskTell, first: int, last: int) -> None:
        """Tell what was set aside there, unless that has been done; a point that was not kept only counts."""
        assert self.store is not None
        n = optimiser.box.n
        done = self._adopted.get(first, 0)
        x, y = [], []
        for outcome, place in self.store.aside(first, last)[done:]:
            x.append(place if place is not None and place.shape == (n,) else np.full(n, np.nan))
            y.append(self.value(outcome))
        if y:
            self._adopted[first] = done + len(y)
            optimiser.adopt(np.array(x).reshape(len(y), n), np.array(y))


def _close(optimiser: AskTell, asked: Array, x: Array) -> bool:
    """Whether a point is taken for the one that was asked for."""
    return x.shape == asked.shape and optimiser.box.near(asked[None], x[None], SAME_POINT)
