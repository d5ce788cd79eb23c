"""Evaluation in this process: one point after the other, or a whole batch in one call."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np

from .._typing import Array
from ..result import counted
from .base import Arrivals, Objective, Outcome, checked
from .interrupts import calls, check
from .mistake import Mistake, mistake_in
from .words import describe, named


@calls
def _call(fun: Objective, x: Array) -> Any:
    return fun(x)


def guarded_call(fun: Objective, x: Array) -> tuple[Any, str | None, Mistake | None]:
    """What ``fun(x)`` returns, or why there is nothing: a failure of the objective never ends the run."""
    try:
        return _call(fun, x.copy()), None, None  # a copy: the objective may write into it
    except BaseException as error:
        if not is_failure(error):
            raise
        return None, describe(error), mistake_in(error)


def is_failure(error: BaseException) -> bool:
    """Whether it only says that the objective failed; others, such as KeyboardInterrupt, are for the caller."""
    if isinstance(error, Exception | SystemExit | GeneratorExit):
        return True
    asyncio = sys.modules.get("asyncio")  # who raises its CancelledError has imported it
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def try_point(fun: Objective, point: Array, retries: int, worker: str) -> Outcome:
    """Call ``fun(point)`` until it gives a value, at most ``retries`` more times than once."""
    for attempt in range(1, retries + 2):
        started = time.perf_counter()
        value, error, mistake = guarded_call(fun, point)
        y = math.nan
        if error is None:
            y, error = checked(value)
        outcome = Outcome(y, error, attempt, time.perf_counter() - started, worker, mistake=mistake)
        if error is None:
            break
        check()  # the interruption may be why it failed
    return outcome


class _Queue:
    """Points that wait for this process: nothing runs but in ``wait``."""

    width = 1

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        self.fun, self.retries = fun, retries
        self.waiting: dict[int, Array] = {}

    def submit(self, index: int, x: Array) -> None:
        """Put a point in the queue."""
        self.waiting[index] = x

    def cancel(self) -> None:
        """Empty the queue."""
        self.waiting.clear()

    def close(self) -> None:
        """Nothing to free."""


class Serial(_Queue):
    """Calls ``fun(x)`` for one point after the other."""

    def wait(self, block: bool = True) -> Arrivals:
        """Evaluate the next point."""
        if not (block and self.waiting):
            return []
        index = next(iter(self.waiting))
        outcome = try_point(self.fun, self.waiting[index], self.retries, "main")
        del self.waiting[index]
        return [(index, outcome)]


class Vectorized(_Queue):
    """Calls ``fun(X)`` once for all points (m, n) that wait; ``fun`` returns m values."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        super().__init__(fun, retries)
        self.failures: dict[int, int] = {}

    def wait(self, block: bool = True) -> Arrivals:
        """The outcomes of one call; points that failed and may be tried again stay for the next one."""
        found: Arrivals = []
        while block and self.waiting and not found:
            started = time.perf_counter()
            values, mistake = self._values(np.array(list(self.waiting.values())))
            seconds = (time.perf_counter() - started) / len(self.waiting)
            for index, (y, error) in zip(list(self.waiting), values, strict=True):
                attempt = self.failures.pop(index, 0) + 1
                if error is not None and attempt <= self.retries:
                    self.failures[index] = attempt
                else:
                    del self.waiting[index]
                    found.append((index, Outcome(y, error, attempt, seconds, "main", mistake=mistake)))
        return found

    def _values(self, x: Array) -> tuple[list[tuple[float, str | None]], Mistake | None]:
        values, error, mistake = guarded_call(self.fun, x)
        if error is not None:
            check()  # the interruption may be why it failed
            return [(math.nan, error)] * len(x), mistake
        try:
            return _one_by_one(values, len(x)), None
        except Exception as trouble:  # a ragged list, or an object that fails when asked for its values
            error = f"the vectorized objective returned a {type(values).__name__} without values ({named(trouble)})"
            return [(math.nan, error)] * len(x), None


def _one_by_one(values: Any, count: int) -> list[tuple[float, str | None]]:
    """The values of a batch, each judged for itself; anything may be raised by what is no list of values."""
    expected = counted(count, "value")
    if not hasattr(values, "__len__") or np.ndim(values) == 0:
        error = f"the vectorized objective returned one {type(values).__name__}, not {expected}"
    elif len(values) != count:
        error = f"the vectorized objective returned {counted(len(values), 'value')} for {counted(count, 'point')}"
    else:
        plain = isinstance(values, list | tuple | np.ndarray)
        return [checked(value) for value in (values if plain else np.asarray(values))]
    return [(math.nan, error)] * count
