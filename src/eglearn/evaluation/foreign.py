"""Evaluation by workers that the user owns: an executor, or any function that works like ``map``.

What such workers do not return has not been evaluated: its outcome is ``lost``, which is no failure of the objective.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from typing import Any

from .._typing import Array
from .base import Outcome
from .interrupts import calls, pending
from .mistake import Mistake, mistake_in
from .point_task import PointTask, end_programs
from .words import named

Item = tuple[int, Array]
MapLike = Callable[[Callable[[Item], tuple[int, Outcome]], Iterable[Item]], Any]


def lost(error: BaseException, who: str) -> Outcome:
    """The outcome of a point that somebody's workers did not return."""
    if isinstance(error, BrokenExecutor):
        hint = "make a new executor, or pass workers=N, where a dead worker is replaced"
        return Outcome(math.nan, f"{who} is broken ({type(error).__name__}): {hint}", lost=True)
    mistake = Mistake(error) if isinstance(error, pickle.PickleError) else mistake_in(error)
    return Outcome(math.nan, f"{who} lost the point ({named(error)})", lost=True, mistake=mistake)


class ByExecutor:
    """Submits each point to a ``concurrent.futures.Executor``, which stays the user's own."""

    def __init__(self, executor: Executor, task: PointTask) -> None:
        self.executor, self.task = executor, task

    @calls
    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield outcomes in the order in which they finish."""
        rows: dict[Future[tuple[int, Outcome]], int] = {}  # of points whose outcome was not yielded yet
        refused: list[tuple[int, Outcome]] = []
        try:
            for row, point in enumerate(x):
                try:
                    rows[self.executor.submit(self.task, (row, point))] = row
                except Exception as error:  # broken, shut down, or what else an executor may raise
                    refused.append((row, lost(error, "the executor")))
            yield from refused
            for future in as_completed(list(rows)):
                yield rows[future], _outcome(future)
                del rows[future]
                if rows and pending():
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            for future in [future for future in rows if future.done()]:
                yield rows.pop(future), _outcome(future)
            raise
        finally:  # the caller may have left early: what has not begun need not begin
            for future in rows:
                future.cancel()

    def close(self) -> None:
        """Stop programs in this process; the executor is the user's to shut down."""
        end_programs(self.task.token)


def _outcome(future: Future[tuple[int, Outcome]]) -> Outcome:
    trouble = CancelledError() if future.cancelled() else future.exception()
    return future.result()[1] if trouble is None else lost(trouble, "the executor")


class ByMap:
    """Calls ``workers(task, points)`` once a batch, for whatever works like the built-in ``map``."""

    def __init__(self, workers: MapLike, task: PointTask) -> None:
        self.workers, self.task = workers, task

    @calls
    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield outcomes as the map yields them; each carries its row, so that their order is free."""
        missing = dict.fromkeys(range(len(x)))
        instead = Outcome(math.nan, "the map ended without a result for this point", lost=True)
        try:
            for result in self.workers(self.task, list(enumerate(x))):
                match result:
                    case int(row), Outcome() as outcome if row in missing:
                        del missing[row]
                        yield row, outcome
                    case _:
                        reason = "the map returned something else than the results of the function it was given"
                        instead = Outcome(math.nan, reason, lost=True)
                if missing and pending():
                    raise KeyboardInterrupt
        except Exception as error:  # the map is the user's: anything may happen in it
            instead = lost(error, "the map")
        for row in missing:
            yield row, instead

    def close(self) -> None:
        """Stop programs in this process."""
        end_programs(self.task.token)


def joblib_map(parallel: Any) -> MapLike:
    """A ``joblib.Parallel`` as a map; what it takes is calls as (function, arguments, named arguments)."""

    def run(function: Callable[[Item], tuple[int, Outcome]], items: Iterable[Item]) -> Any:
        return parallel((function, (item,), {}) for item in items)

    return run
