"""Evaluation in this process: one point after the other, or a whole batch in one call."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import Array
from ..result import counted
from .base import Objective, Outcome, checked
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


class Serial:
    """Calls ``fun(x)`` for one point after the other."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        self.fun, self.retries = fun, retries

    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield outcomes in the order of the rows."""
        for row, point in enumerate(x):
            check()
            yield row, try_point(self.fun, point, self.retries, "main")

    def close(self) -> None:
        """Nothing to free."""


class Vectorized:
    """Calls ``fun(X)`` once for a whole batch (m, n); ``fun`` returns m values."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        self.fun, self.retries = fun, retries

    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcomes of the one call; rows that failed are tried again in one smaller call."""
        rows = np.arange(len(x))
        for attempt in range(1, self.retries + 2):
            started = time.perf_counter()
            values, mistake = self._values(x[rows])
            seconds = (time.perf_counter() - started) / max(1, len(rows))
            failed = []
            for row, (y, error) in zip(rows, values, strict=True):
                if error is not None and attempt <= self.retries:
                    failed.append(row)
                else:
                    yield int(row), Outcome(y, error, attempt, seconds, "main", mistake=mistake)
            if not failed:
                return
            check()
            rows = np.array(failed)

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

    def close(self) -> None:
        """Nothing to free."""


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
