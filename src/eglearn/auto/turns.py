"""Passes that take turns: what ``Schedule`` and ``Race`` have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from .._typing import Array, State
from ..search.base import Search
from ..serialize import copied


class Turns(ABC):
    """A search of the cube by passes, of which one has its turn at a time. It has no end.

    Parameters
    ----------
    rng : numpy.random.Generator
    start : (n,)
        In the cube.
    m : int or None
        Batch of the descents; None: by the dimension.
    budget : int or None
        Evaluations in all; None: very many. What would cost too large a share of it is not tried.
    """

    fields: ClassVar[tuple[str, ...]] = ("start", "m", "budget", "used", "best_u", "best_y", "failed", "restarts")

    def __init__(self, rng: np.random.Generator, start: Array, m: int | None = None, budget: int | None = None) -> None:
        self.rng, self.start, self.m, self.budget = rng, start, m, budget
        self.used = self.restarts = 0
        self.best_u, self.best_y = start, math.nan
        self.failed = False
        """Whether the last batch failed as a whole: the next restart begins at the best point, where values are."""

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.start)

    @property
    @abstractmethod
    def active(self) -> Search:
        """The pass that has its turn."""

    def propose(self) -> Array:
        """The next batch."""
        return self.active.propose()

    def learn(self, u: Array, y: Array) -> None:
        """Hand the batch to its pass, and let the next one have its turn if need be."""
        self.active.learn(u, y)
        self.used += len(y)
        self.failed = not np.isfinite(y).any()
        new = False
        if not self.failed:
            i = int(np.nanargmin(y))
            new = self._note(u[i], float(y[i]))
        self._after(y, new)

    @abstractmethod
    def _after(self, y: Array, new: bool) -> None:
        """Decide who is next; ``y`` are the last batch's values, and ``new`` tells whether the best point is in it."""

    def _note(self, u: Array, y: float) -> bool:
        """Keep the best point; whether this one is."""
        if self.best_y <= y:
            return False
        self.best_u, self.best_y = u.copy(), y
        return True

    @abstractmethod
    def note_foreign(self, u: Array, y: float) -> None:
        """A point from elsewhere: if it is the best, a descent will begin there."""

    def _place(self, planned: Array) -> Array:
        """Where a restart begins: as planned, but after a failure at the best point."""
        return self.best_u if self.failed and not math.isnan(self.best_y) else planned

    def state(self) -> State:
        """Everything that the future depends on, the generator apart."""
        return {name: copied(getattr(self, name)) for name in self.fields}

    def _load(self, rng: np.random.Generator, state: dict[str, Any]) -> None:
        self.rng = rng
        for name in self.fields:
            setattr(self, name, copied(state[name]))
