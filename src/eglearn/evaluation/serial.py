"""Evaluation in this process: one point after the other, or a whole batch in one call."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from .._typing import Array
from ..result import counted
from .base import Objective, Outcome, checked


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    return f"the objective raised {type(error).__name__}" + (f": {text}" if text else "")


def try_point(fun: Objective, point: Array, retries: int, worker: str) -> Outcome:
    """Call ``fun(point)`` until it gives a value, at most ``retries`` more times than once."""
    for attempt in range(1, retries + 2):
        started = time.perf_counter()
        try:
            y, error = checked(fun(point.copy()))  # a copy: the objective may write into it
        except (Exception, SystemExit) as exception:  # sys.exit in an objective fails the point, no more
            y, error = math.nan, describe(exception)
        outcome = Outcome(y, error, attempt, time.perf_counter() - started, worker)
        if error is None:
            break
    return outcome


class Serial:
    """Calls ``fun(x)`` for one point after the other."""

    def __init__(self, fun: Objective, retries: int = 0) -> None:
        self.fun, self.retries = fun, retries

    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield outcomes in the order of the rows."""
        for row, point in enumerate(x):
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
            values = self._call(x[rows])
            seconds = (time.perf_counter() - started) / len(rows)
            failed = []
            for row, (y, error) in zip(rows, values, strict=True):
                if error is not None and attempt <= self.retries:
                    failed.append(row)
                else:
                    yield int(row), Outcome(y, error, attempt, seconds, "main")
            if not failed:
                return
            rows = np.array(failed)

    def _call(self, x: Array) -> list[tuple[float, str | None]]:
        try:
            values = self.fun(x.copy())
        except (Exception, SystemExit) as exception:
            return [(math.nan, describe(exception))] * len(x)
        if not hasattr(values, "__len__") or np.ndim(values) == 0:
            reason = f"the vectorized objective returned one {type(values).__name__}, not {counted(len(x), 'value')}"
            return [(math.nan, reason)] * len(x)
        count = len(values)
        if count != len(x):
            told = f"{counted(count, 'value')} for {counted(len(x), 'point')}"
            reason = f"the vectorized objective returned {told}"
            return [(math.nan, reason)] * len(x)
        return [checked(value) for value in values]

    def close(self) -> None:
        """Nothing to free."""
