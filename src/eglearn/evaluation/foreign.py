"""Evaluation by workers that the user owns: an executor, or any function that works like ``map``.

What such workers do not return has not been evaluated: its outcome is ``lost``, which is no failure of the objective.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

from .._typing import Array
from .base import Arrivals, Outcome
from .interrupts import calls, waits
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


class Bell:
    """Futures that have ended, from the threads in which they end to the one that waits."""

    def __init__(self) -> None:
        self._ended: deque[tuple[int, Any]] = deque()
        self._rung = threading.Event()

    def watch(self, index: int, future: Any) -> None:
        """Ring when the future ends."""
        future.add_done_callback(lambda ended: self.ring(index, ended))

    def ring(self, index: int, ended: Any) -> None:
        """A future has ended, or a point has an outcome without one."""
        self._ended.append((index, ended))
        self._rung.set()

    @waits
    def wait(self) -> None:
        """Until something has ended."""
        self._rung.wait()

    def take(self) -> list[tuple[int, Any]]:
        """What has ended since the last time."""
        self._rung.clear()  # first: who ends now rings again
        return [self._ended.popleft() for _ in range(len(self._ended))]


class ByExecutor:
    """Submits each point to a ``concurrent.futures.Executor``, which stays the user's own."""

    def __init__(self, executor: Executor, task: PointTask) -> None:
        self.executor, self.task = executor, task
        self._futures: dict[int, Future[tuple[int, Outcome]]] = {}
        self._bell = Bell()

    @property
    def width(self) -> int:
        """The number of workers, if the executor knows it as those of the standard library do."""
        count = getattr(self.executor, "_max_workers", None)
        return count if isinstance(count, int) and count > 0 else 1

    def submit(self, index: int, x: Array) -> None:
        """Hand the point to the executor."""
        try:
            future = self.executor.submit(self.task, (index, x))
        except Exception as error:  # broken, shut down, or what else an executor may raise
            future = Future()
            future.set_exception(error)
        self._futures[index] = future
        self._bell.watch(index, future)

    def wait(self, block: bool = True) -> Arrivals:
        """Outcomes in the order in which they end."""
        while True:
            ended = [index for index, future in self._bell.take() if self._futures.get(index) is future]
            if ended or not block or not self._futures:
                return [(index, _outcome(self._futures.pop(index))) for index in ended]
            self._bell.wait()

    def cancel(self) -> None:
        """What has not begun need not begin."""
        for future in self._futures.values():
            future.cancel()
        self._futures.clear()

    def close(self) -> None:
        """Stop programs in this process; the executor is the user's to shut down."""
        end_programs(self.task.token)


def _outcome(future: Future[tuple[int, Outcome]]) -> Outcome:
    trouble = CancelledError() if future.cancelled() else future.exception()
    return future.result()[1] if trouble is None else lost(trouble, "the executor")


class ByMap:
    """Calls ``workers(task, points)`` for whatever works like the built-in ``map``.

    Such a function takes its points all at once: what is submitted while it is at work waits for the next call.
    """

    def __init__(self, workers: MapLike, task: PointTask, width: int = 1) -> None:
        self.workers, self.task, self.width = workers, task, width
        self._waiting: list[Item] = []
        self._missing: dict[int, None] = {}
        """Points of the call that is at work."""
        self._results: Iterator[Any] | None = None

    def submit(self, index: int, x: Array) -> None:
        """Keep the point for the next call."""
        self._waiting.append((index, x))

    @calls
    def wait(self, block: bool = True) -> Arrivals:
        """What the map yields next; each outcome carries its index, so that their order is free."""
        if not block or not (self._missing or self._waiting):
            return []
        instead = Outcome(math.nan, "the map ended without a result for this point", lost=True)
        try:
            if self._results is None:
                items, self._waiting = self._waiting, []
                self._missing = dict.fromkeys(index for index, _ in items)
                results = self.workers(self.task, items)
                if not isinstance(results, Iterable):
                    raise TypeError(f"workers returned {results!r}: it must work like map and return the results")
                self._results = iter(results)
            for result in self._results:
                match result:
                    case int(index), Outcome() as outcome if index in self._missing:
                        del self._missing[index]
                        if not self._missing:
                            self._results = None
                        return [(index, outcome)]
                    case _:
                        reason = "the map returned something else than the results of the function it was given"
                        instead = Outcome(math.nan, reason, lost=True)
        except Exception as error:  # the map is the user's: anything may happen in it
            instead = lost(error, "the map")
        missing = list(self._missing)
        self._results, self._missing = None, {}
        return [(index, instead) for index in missing]

    def cancel(self) -> None:
        """Drop what the map has not returned; it may go on with it."""
        self._waiting, self._missing, self._results = [], {}, None

    def close(self) -> None:
        """Stop programs in this process."""
        end_programs(self.task.token)


def joblib_map(parallel: Any, task: PointTask) -> ByMap:
    """A ``joblib.Parallel`` as a map; what it takes is calls as (function, arguments, named arguments)."""

    def run(function: Callable[[Item], tuple[int, Outcome]], items: Iterable[Item]) -> Any:
        return parallel((function, (item,), {}) for item in items)

    jobs = 1
    with contextlib.suppress(Exception):  # some backends must be started before they know
        jobs = importlib.import_module("joblib").effective_n_jobs(parallel.n_jobs)
    return ByMap(run, task, max(1, jobs))
