"""Evaluation by workers that the user owns: an executor, or any function that works like ``map``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from typing import Any

from .._typing import Array
from .base import Outcome
from .point_task import PointTask, end_programs

MapLike = Callable[[Callable[[tuple[int, Array]], tuple[int, Outcome]], Iterable[tuple[int, Array]]], Any]


def lost(error: BaseException, who: str) -> Outcome:
    """The outcome of a point that somebody's workers did not return."""
    text = " ".join(str(error).split())
    return Outcome(math.nan, f"{who} lost the point ({type(error).__name__}" + (f": {text})" if text else ")"))


class ByExecutor:
    """Submits each point to a ``concurrent.futures.Executor``, which stays the user's own."""

    def __init__(self, executor: Executor, task: PointTask) -> None:
        self.executor, self.task = executor, task

    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield outcomes in the order in which they finish."""
        rows: dict[Future[tuple[int, Outcome]], int] = {}
        refused: list[tuple[int, Outcome]] = []
        try:
            for row, point in enumerate(x):
                try:
                    rows[self.executor.submit(self.task, (row, point))] = row
                except Exception as error:  # broken, shut down, or what else an executor may raise
                    refused.append((row, _judged(error)))
            yield from refused
            for future in as_completed(rows):
                trouble = CancelledError() if future.cancelled() else future.exception()
                yield rows[future], future.result()[1] if trouble is None else _judged(trouble)
        finally:  # the caller may have left early: what has not begun need not begin
            for future in rows:
                future.cancel()

    def close(self) -> None:
        """Stop programs in this process; the executor is the user's to shut down."""
        end_programs(self.task.token)


def _judged(error: BaseException) -> Outcome:
    if isinstance(error, BrokenExecutor):
        hint = "make a new executor, or pass workers=N, where a dead worker is replaced"
        return Outcome(math.nan, f"the executor is broken ({type(error).__name__}): {hint}")
    return lost(error, "the executor")


class ByMap:
    """Calls ``workers(task, points)`` once a batch, for whatever works like the built-in ``map``."""

    def __init__(self, workers: MapLike, task: PointTask) -> None:
        self.workers, self.task = workers, task

    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield outcomes as the map yields them; each carries its row, so that their order is free."""
        missing = dict.fromkeys(range(len(x)))
        reason = "the map ended without a result for this point"
        try:
            for result in self.workers(self.task, list(enumerate(x))):
                match result:
                    case int(row), Outcome() as outcome if row in missing:
                        del missing[row]
                        yield row, outcome
                    case _:
                        reason = "the map returned something else than the results of the function it was given"
        except Exception as error:  # the map is the user's: anything may happen in it
            reason = str(lost(error, "the map").error)
        for row in missing:
            yield row, Outcome(math.nan, reason)

    def close(self) -> None:
        """Stop programs in this process."""
        end_programs(self.task.token)
