"""What a search is: propose a batch, learn from its values, and be plain data in between."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from .._typing import Array, State
from ..learning.models import Model
from ..settings import Settings
from ..state import SHARED, Stateful

# Numbers in a batch of points, at most: many neighbours of a point come in parts.
NUMBERS = 2_000_000
# A batch whose points differ by less than a few units in the last place of the cube holds no more information.
_RESOLUTION = 2.0**-49


class Reason(StrEnum):
    """Why a search is over."""

    CONVERGED = "converged"  # its samples are as close together as is of use
    FAILED = "failed"  # all evaluations failed, and nothing is known yet
    FLAT = "flat"  # values differ by no more than rounding
    STAGNANT = "stagnant"  # values have not fallen for long
    DEGENERATE = "degenerate"  # its distribution is too narrow in one direction beside another
    SEPARABLE = "separable"  # coordinate search: done, the function is a sum over coordinates
    NOT_SEPARABLE = "not separable"  # coordinate search: the coordinates interact
    FEW_DIRECTIONS = "few directions"  # active subspace: few directions matter
    MANY_DIRECTIONS = "many directions"  # active subspace: many do


def default_batch(n: int) -> int:
    """Points in a batch: little more than the logarithm of the dimension (Hansen 2016, eq. 48).

    >>> default_batch(10), default_batch(1000)
    (10, 24)
    """
    return 4 + int(3 * math.log(n))


@dataclass(init=False, eq=False, repr=False)
class Search(Stateful, ABC):
    """A search in the cube [-1, 1]^n.

    Its fields are its state. Values come scaled (``learning.values``): differences of them never overflow.

    Parameters
    ----------
    rng : numpy.random.Generator
        Shared with whoever runs the search; it is not part of the search's state.
    start : (n,)
        Where the search begins.
    settings : Settings or None
        Of the search's own class; None: the defaults.
    value : float
        The value at the start; NaN: not known.
    budget : int or None
        Evaluations that the search may plan with; None: very many.
    """

    settings_class: ClassVar[type[Settings]]  # what ``settings`` must be
    scale_setting: ClassVar[str] = ""  # the setting that is the first radius of samples; "": none
    batch_setting: ClassVar[str] = ""  # the setting that is the number of points in a batch; "": none
    shows_spread: ClassVar[bool] = True  # whether values of a batch differ as in the whole region: they tell noise then

    rng: Generator = field(metadata=SHARED)
    settings: Any
    used: int  # evaluations so far
    done: Reason | None  # why the search is over, or None
    best_u: Array
    best_y: float  # the lowest value so far; NaN: none yet

    def __init__(
        self, rng: Generator, start: Array, settings: Any = None, *, value: float = math.nan, budget: int | None = None
    ) -> None:
        self.rng = rng
        self.settings = self.settings_class() if settings is None else settings
        self.used, self.done = 0, None
        self.best_u, self.best_y = start.copy(), value
        self._begin(start)
        self._derive()

    def _begin(self, start: Array) -> None:
        """Set the fields of a search that begins."""

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.best_u)

    @property
    @abstractmethod
    def radius(self) -> float:
        """How far around its centre the search samples now."""

    @property
    def favorite_u(self) -> Array | None:
        """The point to recommend; None: the best one."""
        return None

    @property
    def interruptible(self) -> bool:
        """Whether its last values tell how it gets on, and another search may have its turn."""
        return True

    @property
    def value_now(self) -> float:
        """About the value that the search has reached."""
        return self.best_y

    @abstractmethod
    def propose(self) -> Array:
        """The next batch (k, n), inside the cube."""

    def learn(self, u: Array, y: Array) -> None:
        """Learn from the batch: where its points (k, n) really were, and their values; NaN: failed.

        These are fewer than proposed only if nothing follows.
        """
        self.used += len(y)
        self._learn(u, y)

    @abstractmethod
    def _learn(self, u: Array, y: Array) -> None: ...

    def hear(self, u: Array, y: Array) -> None:
        """Take in points (k, n) from elsewhere and their finite values; alone, only the best of them counts."""
        self._note_best(u, y)

    def extend(self, more: int) -> None:
        """There are so many more evaluations than it was planned for."""

    def progress(self) -> dict[str, Any]:
        """Numbers that tell how the search goes: ``candidate``, a value, ``epsilon``, a radius, and others.

        There may be a text ``doing``, which says in words what the search does; the log repeats it when it changes.
        """
        return {"candidate": self.best_y, "epsilon": self.radius}

    def environment(self) -> dict[str, Any]:
        """What its last bits depend on beside NumPy and SciPy."""
        return {}

    def _note_best(self, u: Array, y: Array) -> bool:
        """Keep the best point; whether it is new."""
        if not np.isfinite(y).any():
            return False
        i = int(np.nanargmin(y))
        if self.best_y <= y[i]:  # false if nothing is known yet
            return False
        self.best_u, self.best_y = u[i].copy(), float(y[i])
        return True


class ModelSearch(Search):
    """A search that learns a model of the gradient, which keeps a state of its own."""

    _model: Model

    def _begin(self, start: Array) -> None:
        self._model = self._make_model(self.rng)

    @abstractmethod
    def _make_model(self, rng: Generator) -> Model: ...

    def environment(self) -> dict[str, Any]:
        """That of the model."""
        return self._model.environment()

    def state(self) -> State:
        """The fields and the model."""
        return super().state() | {"model": self._model.state()}

    @classmethod
    def from_state(cls, state: State, **shared: Any) -> Self:
        """The search that ``state()`` described."""
        self = super().from_state(state, **shared)
        self._model = self._make_model(np.random.default_rng(0))  # what it draws is replaced
        self._model.load_state(state["model"])
        return self


def indistinct(u: Array) -> bool:
    """Whether the points (k, n) of a batch are the same but for rounding."""
    return len(u) > 1 and bool((np.ptp(u, axis=0) <= _RESOLUTION).all())
