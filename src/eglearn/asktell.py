"""Ask and tell: the shell of every search.

A search proposes a batch, waits until each of its points has a value (or is known to have failed), learns
from the whole batch, and proposes the next. Values may come in any pieces and any order; what is learned
depends only on which point has which value.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ._typing import Array, State
from .batch import SAME_POINT, Batch, checked
from .box import Box, make_box
from .environment import differing, environment
from .learning.values import ENTERS
from .narration import doing
from .result import Status
from .search.base import Search
from .settings import Settings

FORMAT = 5
"""Version of the state's layout."""

# Failed points that end a run, see ``stop``: small batches may be bad luck, and what fails may be most of the box.
_HOPELESS, _HOPELESS_BY_N, _HOPELESS_SHARE, _SURELY_HOPELESS = 30, 10, 0.1, 1000


class AskTell:
    """The shell of a search: box, budget, pending batch, best point, exact state.

    Parameters
    ----------
    bounds, x0, scale
        See ``eglearn.minimize``.
    budget : int
        Number of points that may be asked for.
    seed : int or None
        Seed of the generator; None takes one from the operating system.
    settings : Settings or None
        Of the algorithm's own class; None: its defaults.
    """

    name: ClassVar[str]
    """The algorithm's name in ``eglearn.algorithms.ALGORITHMS``."""
    search_class: ClassVar[type[Search]]

    def __init__(
        self,
        bounds: Any,
        x0: Any = None,
        *,
        budget: int,
        seed: int | None = 0,
        scale: Any = None,
        settings: Settings | None = None,
    ) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise ValueError(f"seed = {seed!r}: it must be a whole number, 0 or more, or None")
        self.box = make_box(bounds, x0, scale)
        self.budget = _whole_number(budget)
        expected = self.settings_class()
        self.settings: Any = expected() if settings is None else settings
        if not isinstance(self.settings, expected):
            given = type(settings).__name__
            raise TypeError(f"settings has the type {given}: the algorithm {self.name!r} takes {expected.__name__}")
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._begin()

    def __repr__(self) -> str:
        done = f"{self.nfev} of {self.budget} evaluations, lowest value {self.best_y:g}"
        return f"<{type(self).__name__} in {self.n} coordinates: {done}>"

    def _begin(self) -> None:
        self.nfev = 0
        self.nit = 0
        self.n_failed = 0
        self._best_y = np.nan
        self._best_u, self._best_x = self.box.start, self.box.x0 + 0.0
        self._pending: Batch | None = None
        self._cut: State | None = None
        """If the budget cut the last batch short: that batch, and the position before it."""
        self._foreign: list[tuple[Array, float]] = []
        self._failed_in_a_row = self._failed_points = 0
        if self.n > 0:
            self._start()

    @classmethod
    def settings_class(cls) -> type[Settings]:
        """What ``settings`` must be."""
        return cls.search_class.settings_class

    @classmethod
    def uses(cls, setting: str) -> bool:
        """Whether there is such a setting; a report shows nothing that hangs on the others."""
        return any(f.name == setting for f in dataclasses.fields(cls.settings_class()))

    def _start(self) -> None:
        """Begin a search from ``self.box.start``."""
        left = self.budget - self.nfev
        value = self._best_y * ENTERS
        self._search = self.search_class(self._rng, self.box.start, self.settings, value=value, budget=left)

    # --- ask and tell -------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Dimension of the search: coordinates that are not fixed."""
        return self.box.n_free

    @property
    def search(self) -> Search:
        """The search in the shell, for experiments that look inside; there is none if all coordinates are fixed."""
        return self._search

    @property
    def best_y(self) -> float:
        """The lowest value so far; NaN if there is none."""
        return self._best()[2]

    @property
    def best_u(self) -> Array:
        """Where it was found, canonical coordinates."""
        return self._best()[1]

    @property
    def best_x(self) -> Array:
        """The best point so far, as it was evaluated; the start if there is none."""
        return self._best()[0].copy()

    def _best(self) -> tuple[Array, Array, float]:
        """The best of the finished batches and of what is known of the pending one: x, u and value."""
        if self._pending is not None and (best := self._pending.best()) and not self._best_y <= best[2]:
            return best
        return self._best_x, self._best_u, self._best_y

    @property
    def x_favorite(self) -> Array:
        """The point to use if values are noisy: the search's candidate, a mean, or the best point."""
        u = self._search.favorite_u if self.n > 0 else None
        return self.best_x if u is None else self._to_x(u[None])[0]

    def progress(self) -> dict[str, Any]:
        """Numbers that show the progress of the search, for displays and reports.

        All algorithms have ``candidate``, the value at the candidate, and ``epsilon``, the radius of the samples around
        it. In AutoEGL, the candidate is the best point of the current search. AutoEGL also has ``restarts``, the number
        of restarts so far, and ``noisy``, which is 1 once it has found noise that matters: then ``candidate`` estimates
        the value at ``x_favorite``, as the median of values at the latest such points. ``doing`` says it in words.
        """
        if self.n == 0:
            return {"candidate": self.best_y, "epsilon": np.nan}
        progress = {"doing": doing(self._search), **self._search.progress()}
        progress["candidate"] /= ENTERS
        if "restarts" in progress:
            progress["restarts"] += self.box.widenings
        return progress

    def _to_x(self, u: Array) -> Array:
        """User points; of the best point the very one that was evaluated, since rounding may lead beside it."""
        x: Array = self.box.to_x(u)
        best_x, best_u, _ = self._best()
        x[(u == best_u).all(axis=1)] = best_x
        return x

    def stop(self) -> Status | None:
        """Why the run is over, or None.

        ALL_FAILED: every evaluation of the last two or more batches failed, and these are at least 30 points, 10 n
        points and a tenth of the budget (or 1,000 points if that is less).
        """
        limit = max(_HOPELESS, _HOPELESS_BY_N * self.n, _HOPELESS_SHARE * self.budget)
        if self._failed_in_a_row >= 2 and self._failed_points >= min(limit, _SURELY_HOPELESS):
            return Status.ALL_FAILED
        if self._pending is not None:
            return None
        if self._search.done is not None if self.n > 0 else self.nit > 0:
            return Status.CONVERGED
        if self.nfev >= self.budget:
            return Status.BUDGET
        return None

    def ask(self) -> Array:
        """Points (k, n) to evaluate, all inside the bounds.

        If you ask again before telling all values, you get the same points, without those already told.
        """
        if why := self.stop():
            raise RuntimeError(f"the run is over ({why.name}): ask() has no more points; check stop() before asking")
        if self._pending is None:
            x = self._to_x(self._search.propose() if self.n > 0 else np.empty((1, 0)))
            # Back from x: what is learned from must be what is evaluated, rounding included.
            self._pending = Batch.asked(x, self.box.to_u(x))
        open_points: Array = self._pending.x[self._open(self._pending)]
        return open_points

    def _open(self, batch: Batch) -> npt.NDArray[np.intp]:
        """Rows without an answer, as far as the budget allows for them."""
        return batch.waiting[: self.budget - self.nfev]

    def tell(self, x: Any, y: Any) -> None:
        """Tell values: of any of the requested points, in any order, and of points that were not requested.

        Parameters
        ----------
        x : array-like (k, n) or (n,)
        y : array-like (k,) or number
            NaN, None or an infinite value means that the evaluation failed.
        """
        x, y = checked(self.box, x, y)
        batch = self._pending
        if batch is not None and np.array_equal(x, batch.x[rows := self._open(batch)]):  # the usual case
            self._answer(batch, rows, y)
        elif (
            batch is not None
            and len(x) == len(rows)
            and self.box.near(batch.x[rows], x, SAME_POINT)
            and not batch.holds(x)  # else they come in another order, which shows even where all are close together
        ):
            for row, point, u in zip(rows.tolist(), x, self.box.to_u(x), strict=True):  # in order, but rounded
                batch.move(row, point, u)
            self._answer(batch, rows, y)
        else:
            self._sort_in(x, y)
        if batch is not None and (batch.told.all() or self.nfev >= self.budget):
            self._finish(batch)

    def _sort_in(self, x: Array, y: Array) -> None:
        """Find out for each point whether it was asked for."""
        batch = self._pending
        for point, u, value in zip(x, self.box.to_u(x), y, strict=True):
            here = self.box.covers(point, SAME_POINT)  # else u is not where it is
            row = batch.row_of(point, u) if batch is not None and here else None
            if batch is not None and row is not None:
                batch.move(row, point, u)
                self._answer(batch, np.array([row]), np.array([value]))
            elif np.isfinite(value):
                if here:
                    self._foreign.append((u, float(value)))
                self._note_best(point, u, float(value))

    def adopt(self, x: Array, y: Array) -> None:
        """Hand over values (k,) that an earlier course of this run asked for, NaN: failed, and their points (k, n).

        They are learned from like points that nobody asked for, but use up budget. Rows of NaN: points not known.
        """
        waiting, self._pending = self._pending, None
        known = self.box.contains(x) & np.isfinite(y)  # a comparison with NaN is False
        self._sort_in(x[known], y[known])
        self.nfev += len(y)
        self.n_failed += int((~np.isfinite(y)).sum())
        if waiting is not None and self.nfev >= self.budget:  # the budget has cut off all of the batch
            self._cut, self._foreign, waiting = {"batch": waiting.state(), **self._position()}, [], None
        self._pending = waiting

    def _answer(self, batch: Batch, rows: npt.NDArray[np.intp], values: Array) -> None:
        self.nfev += len(rows)
        self.n_failed += batch.answer(rows, values)

    def _note_best(self, x: Array, u: Array, y: float) -> None:
        if not self._best_y <= y:  # also when it is NaN: nothing known yet
            self._best_x, self._best_u, self._best_y = x.copy(), u.copy(), y

    def _finish(self, batch: Batch) -> None:
        self._cut = None if batch.told.all() else {"batch": batch.state(), **self._position()}
        u, y = batch.u[batch.told], batch.y[batch.told]
        if best := batch.best():
            self._note_best(*best)
            self._failed_in_a_row = self._failed_points = 0
        else:
            self._failed_in_a_row += 1
            self._failed_points += len(y)
        foreign, self._foreign, self._pending = self._foreign, [], None
        self.nit += 1
        if self.n > 0:
            if foreign:
                self._search.hear(np.array([u for u, _ in foreign]), ENTERS * np.array([y for _, y in foreign]))
            self._search.learn(u, ENTERS * y)
            if not np.isnan(self._best_y) and self.box.confines(self._best_x):
                self._widen()

    def _widen(self) -> None:
        """A better point may be beyond the window: begin again at the best one, in a wider window."""
        self.box.widen(self._best_x)
        self._best_u = self.box.start
        self._start()

    def extend(self, budget: int) -> None:
        """Raise the budget to ``budget`` evaluations in total; a run that has used its budget then continues.

        If the old budget truncated the last batch, the rest of it is asked for, and the search learns from the whole
        batch. So the run is the one that the new budget would have given from the start, except that AutoEGL has
        planned for the old one.

        Parameters
        ----------
        budget : int
            At least the current budget.
        """
        whole = _whole_number(budget)
        if whole < self.budget:
            raise ValueError(f"budget = {budget}: it is {self.budget} already, and can only grow")
        more, self.budget = whole - self.budget, whole
        if more and self._cut is not None:
            since = self._foreign
            self._go_to(self._cut)
            self._foreign += since
            self._pending, self._cut = Batch.from_state(self._cut["batch"]), None
        if self.n > 0:
            self._search.extend(more)

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Everything needed to go on bit for bit, as plain arrays and scalars (``serialize.dumps`` makes bytes)."""
        return {
            "format": FORMAT,
            "algorithm": self.name,
            "made_with": self._environment(),
            "box": self.box.state(),
            "budget": self.budget,
            "settings": self.settings.state(),
            "nfev": self.nfev,
            "nit": self.nit,
            "n_failed": self.n_failed,
            "best_y": self._best_y,
            "best_x": self._best_x.copy(),
            "pending": None if self._pending is None else self._pending.state(),
            "cut": self._cut,
            **self._position(),
        }

    def _position(self) -> State:
        """The part of the state that learning from a batch depends on."""
        return {
            "window": self.box.window(),
            "rng": self._rng.bit_generator.state,
            "failed_in_a_row": self._failed_in_a_row,
            "failed_points": self._failed_points,
            "foreign_u": [u.copy() for u, _ in self._foreign],
            "foreign_y": [y for _, y in self._foreign],
            "search": self._search.state() if self.n > 0 else {},
        }

    def _go_to(self, position: State) -> None:
        self.box.load_window(position["window"])
        self._best_u = self.box.to_u(self._best_x[None])[0]
        self._rng.bit_generator.state = position["rng"]
        self._failed_in_a_row, self._failed_points = position["failed_in_a_row"], position["failed_points"]
        self._foreign = list(zip(position["foreign_u"], position["foreign_y"], strict=True))
        if self.n > 0:
            self._search = self.search_class.from_state(position["search"], rng=self._rng)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The optimiser that ``state()`` described, ready to go on.

        ``differences(state)`` tells whether this environment is the one in which the state was made; only then
        is the continuation exact to the last bit.
        """
        if state.get("format") != FORMAT:
            raise ValueError(f"state has format version {state.get('format')!r}: this eglearn reads version {FORMAT}")
        if state["algorithm"] != cls.name:
            raise ValueError(f"state belongs to the algorithm {state['algorithm']!r}, not to {cls.name!r}")
        self = cls.__new__(cls)
        self.box = Box.from_state(state["box"])
        self.budget = state["budget"]
        self.settings = cls.settings_class().from_state(state["settings"])
        self._rng = np.random.Generator(np.random.PCG64(0))
        self._begin()
        self.nfev, self.nit, self.n_failed = state["nfev"], state["nit"], state["n_failed"]
        self._best_y, self._best_x = state["best_y"], state["best_x"].copy()
        if state["pending"] is not None:
            self._pending = Batch.from_state(state["pending"])
        self._cut = state["cut"]
        self._go_to(state)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from .algorithms import optimiser_from

        return optimiser_from, (self.state(),)

    def _environment(self) -> dict[str, Any]:
        return environment() | (self._search.environment() if self.n > 0 else {})

    def differences(self, state: State) -> list[str]:
        """What differs between this environment and the one that made ``state``, in sentences; none: exact."""
        return differing(self._environment(), state["made_with"])


def _whole_number(budget: Any) -> int:
    number = isinstance(budget, int | float | np.integer) and not isinstance(budget, bool)
    if not number or not 0 <= budget < np.inf or budget != int(budget):  # 1e4 is welcome
        raise ValueError(f"budget = {budget!r}: it must be a whole number of evaluations, 0 or more")
    return int(budget)
