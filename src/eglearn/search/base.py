"""What all passes have in common: a state machine over batches, whose state is plain data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from .._typing import Array, State
from ..serialize import copied

# Numbers in a batch of points, at most: many neighbours of a point come in parts.
NUMBERS = 2_000_000


class Search(ABC):
    """A search in the cube [-1, 1]^n that ends by itself.

    Parameters
    ----------
    rng : numpy.random.Generator
        Shared with whoever runs the pass; it is not part of the pass's state.
    start : (n,)
        Where the pass begins.
    value : float
        The value there; NaN: not known.
    """

    shows_spread: ClassVar[bool] = True
    """Whether values of a batch differ as they do in the region of the search, so that noise can be told by them."""
    fields: ClassVar[tuple[str, ...]] = ("used", "done", "best_u", "best_y")
    """Names of the attributes on which the future depends; each holds plain data."""

    def __init__(self, rng: np.random.Generator, start: Array, value: float = math.nan) -> None:
        self.rng = rng
        self.used = 0
        """Evaluations so far."""
        self.done: str | None = None
        """Why the pass is over, or None."""
        self.best_u: Array = start.copy()
        self.best_y = value
        """The lowest value so far; NaN: none yet."""

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.best_u)

    @property
    @abstractmethod
    def radius(self) -> float:
        """How far around its centre the pass samples now."""

    @property
    def interruptible(self) -> bool:
        """Whether its last values tell how it gets on, and another pass may have its turn."""
        return True

    @property
    def value_now(self) -> float:
        """About the value that the pass has reached."""
        return self.best_y

    @abstractmethod
    def propose(self) -> Array:
        """The next batch (k, n), inside the cube."""

    def learn(self, u: Array, y: Array) -> None:
        """Learn from the proposed batch.

        Parameters
        ----------
        u : (k, n)
            Where the points really were; fewer than proposed only if nothing follows.
        y : (k,)
            Their values; NaN: failed.
        """
        self.used += len(y)
        self._learn(u, y)

    @abstractmethod
    def _learn(self, u: Array, y: Array) -> None: ...

    def _note_best(self, u: Array, y: Array) -> bool:
        """Keep the best point; whether it is new."""
        if not np.isfinite(y).any():
            return False
        i = int(np.nanargmin(y))
        if self.best_y <= y[i]:  # false if nothing is known yet
            return False
        self.best_u, self.best_y = u[i].copy(), float(y[i])
        return True

    def state(self) -> State:
        """Everything that the future depends on, the generator apart."""
        return {name: copied(getattr(self, name)) for name in self.fields}

    @classmethod
    def from_state(cls, rng: np.random.Generator, state: State) -> Self:
        """The pass that ``state()`` described."""
        self = cls.__new__(cls)
        self.rng = rng
        for name in cls.fields:
            setattr(self, name, copied(state[name]))
        self._derive()
        return self

    def _derive(self) -> None:  # noqa: B027 - most passes need nothing
        """Set what follows from the fields."""
