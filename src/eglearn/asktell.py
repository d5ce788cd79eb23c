"""Ask and tell: the shell of every search.

Any number of points may be open. Values come in any pieces and any order, and the next ``ask`` makes use of them.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ._typing import Array, State
from .arguments import budget_of, check_whole
from .box import Box, make_box
from .environment import differing, environment
from .failures import Failures
from .learning.values import ENTERS
from .names import explained
from .narration import doing
from .open_points import SAME_POINT, OpenPoint, OpenPoints, checked
from .result import Status
from .search.base import Search
from .settings import Settings

STATE_FORMAT = 6
"""Version of the state's layout."""

_COUNTS = "asked", "nfev", "nit", "n_failed"


class AskTell:
    """The shell of a search: box, budget, open points, best point, exact state.

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
    width : int
        How many evaluations are in flight at the same time, as planned.
    """

    name: ClassVar[str]
    """The algorithm's name in ``eglearn.algorithms.ALGORITHMS``."""
    search_class: ClassVar[type[Search]]

    @explained
    def __init__(
        self,
        bounds: Any,
        x0: Any = None,
        *,
        budget: int,
        seed: int | None = 0,
        scale: Any = None,
        settings: Settings | None = None,
        width: int = 1,
    ) -> None:
        check_whole("seed", seed, "", 0, optional=True)
        self.box = make_box(bounds, x0, scale)
        self.budget = budget_of(budget)
        check_whole("width", width, "evaluations in flight", 1)
        self.width = int(width)
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
        self.asked = 0
        """Points handed out so far: the number of the next one."""
        self.nfev = self.nit = self.n_failed = 0
        # The lowest value, NaN: none yet; where it was found, in the cube and as evaluated; the number of that point.
        self.best_y, self.best_u, self._best_x, self._best_number = np.nan, self.box.start, self.box.x0 + 0.0, 0
        self._open = OpenPoints()
        self._failures = Failures()
        if self.n > 0:
            self._start(self.box.start)

    @classmethod
    def settings_class(cls) -> type[Settings]:
        """What ``settings`` must be."""
        return cls.search_class.settings_class

    @classmethod
    def uses(cls, setting: str) -> bool:
        """Whether there is such a setting; a report shows nothing that hangs on the others."""
        return any(f.name == setting for f in dataclasses.fields(cls.settings_class()))

    def _start(self, start: Array) -> None:
        """Begin a search there."""
        left = self.budget - self.nfev
        value = self.best_y * ENTERS
        self._search = self.search_class(self._rng, start, self.settings, value=value, budget=left, width=self.width)

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
    def best_x(self) -> Array:
        """The best point so far, as it was evaluated; the start if there is none."""
        return self._best_x.copy()

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
        the value at ``x_favorite``, as the median of the values at the latest of such points, and ``candidate_error``
        is the standard error of that estimate. ``doing`` says in words what the search does.
        """
        if self.n == 0:
            return {"candidate": self.best_y, "epsilon": np.nan}
        progress = {"doing": doing(self._search), **self._search.progress()}
        for name in progress.keys() & {"candidate", "candidate_error"}:
            progress[name] /= ENTERS
        if "restarts" in progress:
            progress["restarts"] += self.box.widenings
        return progress

    def _to_x(self, u: Array) -> Array:
        """User points; of the best point the very one that was evaluated, since rounding may lead beside it."""
        x: Array = self.box.to_x(u)
        x[(u == self.best_u).all(axis=1)] = self._best_x
        return x

    def stop(self) -> Status | None:
        """Why the run is over, or None.

        ALL_FAILED: every evaluation of the last two or more batches failed, and these are at least 30 points, 10 n
        points and a tenth of the budget (or 1,000 points if that is less).
        """
        if self._failures.hopeless(self.n, self.budget):
            return Status.ALL_FAILED
        if not self._open.points and (self._search.done is not None if self.n > 0 else self.nit > 0):
            return Status.CONVERGED
        return Status.BUDGET if self.nfev >= self.budget else None

    def ask(self, k: int | None = None) -> Array:
        """Points (j, n) to evaluate, all inside the bounds.

        Parameters
        ----------
        k : int or None
            How many new points, beside those that are open. There are fewer, or none, where the search waits for
            answers or the budget ends. None: the open points again or, if there are none, as many new ones as are
            natural for the search and the width.
        """
        if why := self.stop():
            raise RuntimeError(f"the run is over ({why.name}): ask() has no more points; check stop() before asking")
        if k is None and self._open.points:
            return self._open.x(self.box.n)[: self.budget - self.nfev]
        check_whole("k", k, "points", 1, optional=True)
        left = max(self.budget - self.nfev - len(self._open), 0)
        if self.n == 0:
            x, first = self._to_x(np.empty((1, 0)))[: 0 if self._open.points else left], 0
        else:
            first = self._search.asked
            x = self._to_x(self._search.propose(min(self._search.natural() if k is None else int(k), left)))
        # Back from x: what is learned from must be what is evaluated, rounding included.
        for i, (point, u) in enumerate(zip(x, self.box.to_u(x), strict=True)):
            self._open.add(self.asked + i, OpenPoint(point.copy(), u, first + i))
        self.asked += len(x)
        return x

    def open(self) -> tuple[npt.NDArray[np.int64], Array]:
        """The numbers of the open points, in the order in which they were asked for, and the points (k, n)."""
        return np.array(list(self._open.points), dtype=np.int64), self._open.x(self.box.n)

    def tell(self, x: Any, y: Any) -> None:
        """Tell values: of any of the requested points, in any order, and of points that were not requested.

        Parameters
        ----------
        x : array-like (k, n) or (n,)
        y : array-like (k,) or number
            NaN, None or an infinite value means that the evaluation failed.
        """
        x, y = checked(self.box, x, y)
        if self._open.points and self._open.in_order(self.box, x):  # the usual case
            self._take(list(self._open.points), x, self.box.to_u(x), y)
            return
        foreign = []
        for row, (point, u) in enumerate(zip(x, self.box.to_u(x), strict=True)):
            here = self.box.covers(point, SAME_POINT)  # else u is not where it is
            number = self._open.number_of(point, u) if here else None
            if number is None:
                foreign.append(row)
            else:
                self._take([number], point[None], u[None], y[row : row + 1])
        self._hear(x[foreign], y[foreign])

    def answer(self, numbers: Any, y: Any, x: Array | None = None) -> None:
        """Tell values of open points by their numbers: the first point that was ever asked for has number 0.

        Parameters
        ----------
        numbers : array-like (k,) of int
        y : array-like (k,)
            NaN: failed.
        x : array (k, n) or None
            Where they were evaluated, if that was beside the points that were asked for.
        """
        points = [self._open.points[int(number)] for number in numbers]
        u = np.array([point.u for point in points]) if x is None else self.box.to_u(x)
        x = np.array([point.x for point in points]) if x is None else x
        self._take([int(number) for number in numbers], x, u, np.asarray(y, dtype=np.float64))

    def adopt(self, x: Array, y: Array) -> None:
        """Hand over values (k,) that an earlier course of this run asked for, NaN: failed, and their points (k, n).

        They are learned from like points that nobody asked for, but use up budget. Rows of NaN: points not known.
        """
        known = self.box.contains(x)  # a comparison with NaN is False
        self._hear(x[known], y[known])
        self.nfev += len(y)
        self.n_failed += int((~np.isfinite(y)).sum())

    def _hear(self, x: Array, y: Array) -> None:
        """Points that nobody asked for, or that a search asked for which is gone."""
        x, y = x[np.isfinite(y)], y[np.isfinite(y)]
        if not len(y):
            return
        u = self.box.to_u(x)
        self._note_best([self.asked] * len(y), x, u, y)
        here = np.array([self.box.covers(point, SAME_POINT) for point in x])
        if self.n > 0 and here.any():
            self._search.hear(u[here], ENTERS * y[here])

    def _note_best(self, numbers: list[int], x: Array, u: Array, y: Array) -> None:
        i = int(np.nanargmin(y))
        # Of equal values the first asked for counts, in whatever order they come. NaN: nothing is known yet.
        if not self.best_y <= y[i] or (y[i] == self.best_y and numbers[i] < self._best_number):
            self._best_x, self.best_u, self.best_y, self._best_number = (
                x[i].copy(),
                u[i].copy(),
                float(y[i]),
                numbers[i],
            )

    def _take(self, numbers: list[int], x: Array, u: Array, y: Array) -> None:
        """Values of open points, where they were evaluated."""
        y = np.where(np.isfinite(y), y, np.nan)
        good = np.isfinite(y)
        self.nfev += len(y)
        self.n_failed += int((~good).sum())
        self._failures.count(good)
        if good.any():
            self._note_best(numbers, x, u, y)
        indices = np.array([self._open.take(number).index for number in numbers], dtype=np.int64)
        before, own = self.nit, indices >= 0
        self._hear(x[~own], y[~own])
        if self.n == 0:
            self.nit += 1
        elif own.any():
            learned = self._search.iterations
            self._search.learn(u[own], ENTERS * y[own], indices[own])
            self.nit += self._search.iterations - learned
        if self.nit > before:
            self._failures.learned()
            if self.n > 0 and not np.isnan(self.best_y) and self.box.confines(self._best_x):
                self._widen()

    def _widen(self) -> None:
        """A better point may be beyond the window: begin again at the best one, in a wider window."""
        self.box.widen(self._best_x)
        self.best_u = self.box.start
        self._start(self.best_u)
        self._open.orphan(self.box)

    def extend(self, budget: int) -> None:
        """Raise the budget to ``budget`` evaluations in total; a run that has used its budget then continues.

        The run is the one that the new budget would have given from the start, except that AutoEGL has planned for
        the old one.

        Parameters
        ----------
        budget : int
            At least the current budget.
        """
        whole = budget_of(budget)
        if whole < self.budget:
            raise ValueError(f"budget = {budget}: it is {self.budget} already, and can only grow")
        more, self.budget = whole - self.budget, whole
        if self.n > 0:
            self._search.extend(more)

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Everything needed to go on bit for bit, as plain arrays and scalars (``serialize.dumps`` makes bytes)."""
        return {
            "format": STATE_FORMAT,
            "algorithm": self.name,
            "made_with": self._environment(),
            "box": self.box.state(),
            "budget": self.budget,
            "settings": self.settings.state(),
            "width": self.width,
            **{name: getattr(self, name) for name in _COUNTS},
            "best_y": self.best_y,
            "best_x": self._best_x.copy(),
            "best_number": self._best_number,
            "open": self._open.state(),
            "window": self.box.window(),
            "rng": self._rng.bit_generator.state,
            **self._failures.state(),
            "search": self._search.state() if self.n > 0 else {},
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The optimiser that ``state()`` described, ready to go on.

        ``differences(state)`` tells whether this environment is the one in which the state was made; only then
        is the continuation exact to the last bit.
        """
        if not isinstance(state, dict):
            raise TypeError(f"state is of type {type(state).__name__}: it must be what state() returned, a dict")
        if state.get("format") not in (5, STATE_FORMAT):
            version = state.get("made_with", {}).get("eglearn", "an unknown version")
            found = f"state has format {state.get('format')!r}, of eglearn {version}"
            raise ValueError(f"{found}: this one reads formats 5 and {STATE_FORMAT}")
        if state["algorithm"] != cls.name:
            raise ValueError(f"state belongs to the algorithm {state['algorithm']!r}, not to {cls.name!r}")
        self = cls.__new__(cls)
        self.box = Box.from_state(state["box"])
        self.budget = state["budget"]
        self.settings = cls.settings_class().from_state(state["settings"])
        self._rng = np.random.Generator(np.random.PCG64(0))
        self.width = state.get("width", 1)
        self.box.load_window(state["window"])
        self._begin()
        for name in _COUNTS:
            setattr(self, name, state.get(name, state["nfev"]))
        self.best_y, self._best_x = state["best_y"], state["best_x"].copy()
        self.best_u = self.box.to_u(self._best_x[None])[0]
        self._rng.bit_generator.state = state["rng"]
        if state["format"] != STATE_FORMAT:
            self._begin_anew(state["pending"])
            return self
        self._best_number = state["best_number"]
        self._open = OpenPoints.from_state(state["open"])
        self._failures = Failures.from_state(state)
        if self.n > 0:
            self._search = cls.search_class.from_state(state["search"], rng=self._rng)
        return self

    def _begin_anew(self, pending: State | None) -> None:
        """Format 5, before points could be told one by one: a new search begins at the best point."""
        if pending:  # what is known of the open batch
            lowest = np.argmin(np.where(np.isnan(pending["y"]), np.inf, pending["y"]))
            self._hear(pending["x"][[lowest]], pending["y"][[lowest]])
        if self.n > 0:
            self._start(self.best_u)

    def __reduce__(self) -> tuple[Any, ...]:
        from .algorithms import optimiser_from

        return optimiser_from, (self.state(),)

    def _environment(self) -> dict[str, Any]:
        return environment() | (self._search.environment() if self.n > 0 else {})

    def differences(self, state: State) -> list[str]:
        """What differs between this environment and the one that made ``state``, in sentences; none: exact."""
        older = [] if state["format"] == STATE_FORMAT else ["the state is of an older format: the search begins anew"]
        return older + differing(self._environment(), state["made_with"])
