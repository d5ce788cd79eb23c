"""Optimisers behind one small protocol: a function that takes a ``Run`` and evaluates ``run.fun``.

To add one, register it::

    @algorithm("my-search")
    def my_search(run: Run) -> None:
        \"\"\"What it is, its settings and their source.\"\"\"
        while True:
            run.fun(run.random_point())

It may return early or evaluate for ever: the run ends when the budget is used. Points outside the bounds are
projected and counted. On noisy problems it may say with ``run.recommend`` what to judge it by; otherwise that
is the point with the lowest value as measured.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .._typing import Array
from .fits import Fits


class Evaluated(Protocol):
    """A problem as an algorithm sees it: a box, a start, and values that are counted."""

    n: int
    budget: int
    x0: Array
    lower: Array
    upper: Array

    @property
    def noisy(self) -> bool:
        """Whether two evaluations of a point differ."""

    def __call__(self, x: Any) -> float:
        """The value at a point; ends the run once the budget is used."""


@dataclass
class Run:
    """What an algorithm is given."""

    fun: Evaluated
    """``fun(x)`` is the value; every call counts."""
    seed: int
    recommended: Array | None = None
    fits: Fits = field(default_factory=Fits)
    rng: np.random.Generator = field(init=False)
    """A generator made from the seed."""

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    @property
    def n(self) -> int:
        """Dimension."""
        return self.fun.n

    @property
    def budget(self) -> int:
        """Evaluations allowed."""
        return self.fun.budget

    @property
    def x0(self) -> Array:
        """The problem's initial solution, a copy."""
        return self.fun.x0.copy()

    @property
    def lower(self) -> Array:
        """Lower bounds (n,)."""
        return self.fun.lower

    @property
    def upper(self) -> Array:
        """Upper bounds (n,)."""
        return self.fun.upper

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Pairs (low, high)."""
        return list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    @property
    def bounded(self) -> bool:
        """Whether all sides of the box are finite."""
        return bool(np.isfinite(self.upper - self.lower).all())

    @property
    def scale(self) -> Array | None:
        """What a user knows of the lengths that matter where there is no box; else None."""
        return None if self.bounded else getattr(self.fun, "scale", None)

    @property
    def step(self) -> float:
        """First radius of methods that need one: a tenth of the box; without a box max(1, abs(x0)).

        The latter is what Moré and Wild (2009, sec. 4) give NEWUOA.
        """
        width = float(np.min(self.upper - self.lower))
        return 0.1 * width if math.isfinite(width) else max(1.0, float(np.max(np.abs(self.x0))))

    def random_point(self, shrink: float = 1.0) -> Array:
        """Uniform in the box, or in the box shrunk about its centre."""
        centre, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        x: Array = centre + shrink * half * self.rng.uniform(-1, 1, self.n)
        return x

    def recommend(self, x: Array) -> None:
        """Name the point that a noisy run is judged by."""
        self.recommended = np.clip(x, self.lower, self.upper)


Algorithm = Callable[[Run], None]
Local = Callable[[Run, Array], None]


@dataclass(frozen=True)
class Entry:
    """An algorithm in the registry."""

    name: str
    function: Algorithm
    needs: tuple[str, ...]
    """Modules to be imported before the clock starts."""
    cost: float
    """Rough CPU of the optimiser, in milliseconds per evaluation in 40-D; for planning only."""
    problem: str | None
    """Why it cannot be used here whatever is installed, or None."""

    def unavailable(self) -> str | None:
        """Why it cannot be used here, or None."""
        missing = [name for name in self.needs if importlib.util.find_spec(name.partition(".")[0]) is None]
        return self.problem or (f"{', '.join(missing)} is not installed" if missing else None)

    def load(self) -> None:
        """Import what it needs."""
        for name in self.needs:
            importlib.import_module(name)


ALGORITHMS: dict[str, Entry] = {}
"""The registry."""


def algorithm(
    name: str, *, needs: tuple[str, ...] = (), cost: float = 0.1, problem: str | None = None
) -> Callable[[Algorithm], Algorithm]:
    """Register a function under ``name``; see ``Entry`` for the arguments."""

    def register(function: Algorithm) -> Algorithm:
        if name in ALGORITHMS:
            raise ValueError(f"there is already an algorithm {name!r}")
        ALGORITHMS[name] = Entry(name, function, needs, cost, problem)
        return function

    return register


def local(name: str, *, needs: tuple[str, ...] = ("scipy.optimize",), cost: float = 0.1) -> Callable[[Local], Local]:
    """Register a method that starts from a point, as ``name`` (one run from x0) and as ``name-restarts``.

    The latter starts again from uniform random points of the box until the budget is used.
    """

    def register(method: Local) -> Local:
        def once(run: Run) -> None:
            method(run, run.x0)

        def restarts(run: Run) -> None:
            method(run, run.x0)
            while True:
                method(run, run.random_point())

        once.__doc__ = restarts.__doc__ = method.__doc__
        algorithm(name, needs=needs, cost=cost)(once)
        algorithm(f"{name}-restarts", needs=needs, cost=cost)(restarts)
        return method

    return register


def get_algorithm(name: str) -> Entry:
    """The entry of that name; ValueError if there is none or it cannot be used here."""
    if name not in ALGORITHMS:
        raise ValueError(f"no algorithm {name!r}; there are {', '.join(sorted(ALGORITHMS))}")
    if why := ALGORITHMS[name].unavailable():
        raise ValueError(f"algorithm {name!r} cannot be used here: {why}")
    return ALGORITHMS[name]


def is_ours(name: str) -> bool:
    """Whether a name is that of a search of the library.

    Examples
    --------
    >>> is_ours("auto"), is_ours("egl-fc"), is_ours("igl-fc"), is_ours("cma")
    (True, True, True, False)
    """
    return name in ("auto", "continuation") or name.startswith(("egl-", "igl-"))


def available_algorithms() -> list[str]:
    """Names of those that can be used here."""
    return sorted(name for name, entry in ALGORITHMS.items() if entry.unavailable() is None)
