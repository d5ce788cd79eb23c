"""What a search is: propose points, learn from their values, and be plain data in between."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from .._typing import Array, Mask
from ..learning.samplers import folded, unfolded
from ..settings import Settings
from ..state import SHARED, Stateful

# Numbers in a batch of points, at most: many neighbours of a point come in parts.
BATCH_NUMBERS = 2_000_000
# A batch whose points differ by less than a few units in the last place of the cube holds no more information.
_RESOLUTION = 2.0**-49
# A sample counts as failed once so many times the points that may be open were proposed after it. Under durations of
# very different length a search that waits for longer learns less per evaluation, also where no answer is lost.
_GIVEN_UP_AFTER = 2


Indices = npt.NDArray[np.int64]


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
    """A search in the cube [-1, 1]^n, with any number of evaluations in flight.

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
    width : int
        How many evaluations are in flight at the same time, as planned.
    """

    settings_class: ClassVar[type[Settings]]  # what ``settings`` must be
    scale_setting: ClassVar[str] = ""  # the setting that is the first radius of samples; "": none
    batch_setting: ClassVar[str] = ""  # the setting that is the number of points in a batch; "": none
    shows_spread: ClassVar[bool] = True  # whether values of a batch differ as in the whole region: they tell noise then

    rng: Generator = field(metadata=SHARED)
    settings: Any
    width: int
    asked: int  # points proposed so far: the index of the next one
    used: int  # answers learned so far
    iterations: int  # how often something was learned from them
    done: Reason | None  # why the search is over, or None
    best_u: Array
    best_y: float  # the lowest value so far; NaN: none yet

    def __init__(
        self,
        rng: Generator,
        start: Array,
        settings: Any = None,
        *,
        value: float = math.nan,
        budget: int | None = None,
        width: int = 1,
    ) -> None:
        self.rng, self.width = rng, width
        self.settings = self.settings_class() if settings is None else settings
        self.asked, self.used, self.iterations, self.done = 0, 0, 0, None
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
    def predictable(self) -> bool | None:
        """Whether its predictions come true; None: not known yet, or it predicts nothing."""
        return None

    @property
    def value_now(self) -> float:
        """About the value that the search has reached."""
        return self.best_y

    @abstractmethod
    def natural(self) -> int:
        """How many points it would propose now whatever their values; 0 if it waits for answers."""

    @abstractmethod
    def propose(self, k: int | None = None) -> Array:
        """At most ``k`` new points (j, n) inside the cube, beside those still open; None: the natural number.

        There are none only where it waits for answers.
        """

    @abstractmethod
    def learn(self, u: Array, y: Array, indices: Indices | None = None) -> None:
        """Learn from answers, in the order of their arrival.

        Parameters
        ----------
        u : (k, n)
            Where the points really were.
        y : (k,)
            Their values; NaN: failed.
        indices : (k,) of int or None
            Which proposals they answer, counted from 0; None: those that have been open for longest.
        """

    def hear(self, u: Array, y: Array) -> None:
        """Take in points (k, n) from elsewhere and their finite values; before it has asked, it begins at the best."""
        if self._note_best(u, y) and self.asked == 0:
            self._begin(self.best_u)
            self._derive()

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


@dataclass
class Batch(Stateful):
    """Points that are learned from together."""

    u: Array
    y: Array
    index: Indices  # of each point, counted from 0; -1: it is not handed out yet
    told: Mask  # which have an answer

    @classmethod
    def of(cls, u: Array) -> Self:
        """Points of which none is handed out."""
        m = len(u)
        return cls(np.ascontiguousarray(u), np.full(m, np.nan), np.full(m, -1), np.zeros(m, dtype=bool))

    @property
    def open(self) -> Mask:
        """Which are handed out and have no answer."""
        return (self.index >= 0) & ~self.told

    def rows(self, indices: Indices) -> Indices:
        """The rows of points by their indices."""
        order = np.argsort(self.index, kind="stable")
        rows: Indices = order[np.searchsorted(self.index[order], indices)]
        return rows

    def joined(self, other: Batch) -> Batch:
        """The points of both."""
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return Batch(*(np.concatenate(pair) for pair in both))

    def part(self, rows: Mask) -> Batch:
        """Some of the points."""
        return Batch(*(values[rows] for values in vars(self).values()))


@dataclass(init=False, eq=False, repr=False)
class BatchSearch(Search):
    """A search that learns from whole batches: handed out in pieces, answered in any order."""

    mirrors: ClassVar[bool] = False  # whether points of a batch may lie outside: evaluated are their mirror images

    batch: Batch | None  # the current one; None: the next one is not proposed yet

    def __init__(self, *args: Any, **rest: Any) -> None:
        self.batch = None
        super().__init__(*args, **rest)

    def hear(self, u: Array, y: Array) -> None:
        """A batch of which nothing was handed out is made anew."""
        if self.asked == 0:
            self.batch = None
        super().hear(u, y)

    def natural(self) -> int:
        """The rest of the batch."""
        return int((self._current().index < 0).sum())

    def _current(self) -> Batch:
        if self.batch is None:
            self.batch = Batch.of(self._propose())
        return self.batch

    def propose(self, k: int | None = None) -> Array:
        """The next points of the batch."""
        batch = self._current()
        rows = np.flatnonzero(batch.index < 0)[:k]
        batch.index[rows] = self.asked + np.arange(len(rows))
        self.asked += len(rows)
        return folded(batch.u[rows]) if self.mirrors else batch.u[rows]

    def learn(self, u: Array, y: Array, indices: Indices | None = None) -> None:
        """Collect answers; with the last one the batch is learned from."""
        batch = self._current()
        rows = np.flatnonzero(batch.open)[: len(y)] if indices is None else batch.rows(indices)
        batch.u[rows] = unfolded(u, batch.u[rows]) if self.mirrors else u
        batch.y[rows], batch.told[rows] = y, True
        self.used += len(y)
        if self._complete(batch):
            self.batch, self.iterations = None, self.iterations + 1
            self._learn(batch.u[batch.told], batch.y[batch.told])

    def _complete(self, batch: Batch) -> bool:
        return bool(batch.told.all())

    @abstractmethod
    def _propose(self) -> Array:
        """The next batch (m, n), inside the cube unless the search mirrors."""

    @abstractmethod
    def _learn(self, u: Array, y: Array) -> None:
        """Learn from the batch."""


@dataclass(init=False, eq=False, repr=False)
class SamplingSearch(BatchSearch):
    """A batch search that never waits: samples of one distribution stand in for each other.

    If more points are asked for than a batch has, more are drawn. As soon as there are answers enough it learns; what
    is open still belongs to the next batch. What is open for very long counts as failed.
    """

    late: Batch | None  # points of earlier batches that are open

    def __init__(self, *args: Any, **rest: Any) -> None:
        self.late = None
        super().__init__(*args, **rest)

    @property
    @abstractmethod
    def enough(self) -> int:
        """Answers that are enough for a batch."""

    @property
    def leading(self) -> int:
        """How many points, the first of the batch, must have an answer."""
        return 0

    @property
    def _most(self) -> int:
        """How many of the latest points may be open where more are asked for than a batch has."""
        return max(2 * self.enough, self.width)

    def _older(self, batch: Batch, than: int) -> Mask:
        """Which points have at least so many proposed after them."""
        older: Mask = batch.index < self.asked - than
        return older

    @abstractmethod
    def _samples(self, k: int) -> Array:
        """Samples (k, n) of the distribution."""

    def _current(self) -> Batch:
        if self.batch is None and (late := self.late) is not None:
            new = self._propose()
            fresh = Batch.of(new[: max(self.leading, len(new) - len(late.y))])
            self.batch, self.late = fresh.joined(late), None
        return super()._current()

    def propose(self, k: int | None = None) -> Array:
        """The next points of the batch, and further samples."""
        u = super().propose(k)
        batch = self._current()
        room = self._most - int((batch.open & ~self._older(batch, self._most)).sum())
        more = 0 if k is None else min(k - len(u), room)
        if more <= 0:
            return u
        self.batch = batch.joined(Batch.of(self._samples(more)))
        return np.vstack([u, super().propose(more)])

    def learn(self, u: Array, y: Array, indices: Indices | None = None) -> None:
        """Collect answers; those to points that were given up count only if they are the best."""
        if indices is not None:
            batch = self._current()
            known = np.isin(indices, batch.index[batch.open])
            self._note_best(u[~known], y[~known])
            u, y, indices = u[known], y[known], indices[known]
        super().learn(u, y, indices)

    def _complete(self, batch: Batch) -> bool:
        batch.told |= batch.open & self._older(batch, _GIVEN_UP_AFTER * self._most)
        if batch.told.sum() < self.enough or not batch.told[: self.leading].all():
            return False
        self.late = batch.part(batch.open) if batch.open.any() else None
        return True


def spread(u: Array, y: Array) -> float:
    """How far the best tenth of some points, or the n + 1 best, are from the best in a coordinate: a root mean square.

    Infinite if there are fewer: then they do not tell where it is worth looking.
    """
    n = u.shape[1]
    if len(y) <= n:
        return math.inf
    best = u[np.argsort(y, kind="stable")[: max(n + 1, len(y) // 10)]]
    return math.sqrt(float(np.mean((best[1:] - best[0]) ** 2))) or math.inf


def indistinct(u: Array) -> bool:
    """Whether the points (k, n) of a batch are the same but for rounding."""
    return len(u) > 1 and bool((np.ptp(u, axis=0) <= _RESOLUTION).all())
