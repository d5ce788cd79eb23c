"""Evaluation on a Dask cluster.

When a Dask worker dies, Dask blames every task that was on it, also those that only waited there, runs them
again elsewhere, and fails a task that was on such a worker more than
``distributed.scheduler.allowed-failures`` times (3 unless configured) with ``KilledWorker``. So that error
does not prove that the point is to blame. A point that gets it becomes a suspect: it is tried once more when
no other point of ours is on the cluster; until then, no new points are sent. Then a further death is its own doing and
counts as an attempt. With ``allowed-failures: 0`` in the scheduler's configuration a deadly point kills the fewest
workers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
from typing import Any

from .._typing import Array
from .base import Arrivals, Outcome
from .foreign import Bell, lost
from .interrupts import calls
from .point_task import PointTask, end_programs
from .serial import is_failure

# So many points are sent at once; fewer where the run has to wait. Each message costs some 2 ms, each point 0.5.
_TOGETHER = 16


class ByDask:
    """Submits each point to the cluster of a ``distributed.Client``, which stays the user's own."""

    def __init__(self, client: Any, task: PointTask) -> None:
        if client.asynchronous:
            raise ValueError("the Dask client is asynchronous: pass one made with asynchronous=False")
        self.client, self.task = client, task
        self._distributed: Any = importlib.import_module("distributed")
        self._submitted = 0
        self._points: dict[int, Array] = {}
        self._futures: dict[int, Any] = {}
        self._ended: list[tuple[int, Any]] = []
        """Futures that have ended, and whose outcome was not fetched yet."""
        self._held: list[int] = []
        """Points that are sent with the next ones, when there are no suspects any more."""
        self._suspects: dict[int, int] = {}
        """How often a worker has died with nothing of ours but that point on the cluster."""
        self._bell = Bell()

    @property
    def width(self) -> int:
        """The threads of all workers that the scheduler knows now."""
        with contextlib.suppress(Exception):  # the cluster may be gone, which shows with the first point
            return max(1, int(sum(self.client.nthreads().values())))
        return 1

    def submit(self, index: int, x: Array) -> None:
        """Send a point to the scheduler, soon and with others: a message costs more than a point in it."""
        self._points[index] = x
        self._held.append(index)
        if len(self._held) >= _TOGETHER:
            self._send()

    def _send(self) -> None:
        if self._held and not self._suspects:
            held, self._held = self._held, []
            self._send_all(held, self.task)
        if self._suspects and not self._futures:
            index, strikes = next(iter(self._suspects.items()))
            self._send_all([index], dataclasses.replace(self.task, retries=self.task.retries - strikes))

    def _send_all(self, indices: list[int], task: PointTask) -> None:
        first, self._submitted = self._submitted + 1, self._submitted + len(indices)
        # Own names: same points are not merged.
        keys = [f"eglearn-{task.token}-{number}" for number in range(first, self._submitted + 1)]
        try:
            items = [(index, self._points[index]) for index in indices]
            futures = self.client.map(task, items, key=keys, pure=False, retries=0)
        except Exception as error:  # it is closed, or cannot send the objective
            trouble = lost(error, "Dask")
            for index in indices:
                self._futures[index] = trouble
                self._bell.ring(index, trouble)
        else:
            for index, future in zip(indices, futures, strict=True):
                self._futures[index] = future
                self._bell.watch(index, future)

    def wait(self, block: bool = True) -> Arrivals:
        """Outcomes in the order in which they end; those that have ended are fetched together."""
        self._send()
        while True:
            self._ended += [(i, future) for i, future in self._bell.take() if self._futures.get(i) is future]
            outcomes = self._fetch([future for _, future in self._ended])
            ended, self._ended = self._ended, []
            arrived: Arrivals = []
            for (index, future), outcome in zip(ended, outcomes, strict=True):
                del self._futures[index]
                if not isinstance(future, Outcome):
                    future.release()
                if (final := self._judge(index, outcome)) is not None:
                    del self._points[index]
                    arrived.append((index, final))
            self._send()
            if arrived or not block or not self._futures:
                return arrived
            self._bell.wait()

    def _judge(self, index: int, outcome: Outcome | None) -> Outcome | None:
        """The outcome of a point; None if it is to be tried again alone, since a worker died that had it."""
        strikes = self._suspects.pop(index, None)
        if outcome is not None:
            return outcome if strikes is None else outcome._replace(attempts=outcome.attempts + strikes)
        strikes = 0 if strikes is None else strikes + 1
        if strikes > self.task.retries:
            return Outcome(math.nan, "every Dask worker that tried the point died", strikes)
        self._suspects[index] = strikes
        return None

    @calls
    def _fetch(self, futures: list[Any]) -> list[Outcome | None]:
        """What the cluster made of points; None if one was on a worker that died."""
        good = [future for future in futures if getattr(future, "status", "") == "finished"]
        found: dict[str, Outcome] = {}
        if len(good) > 1:  # one message for all
            try:
                outcomes = self.client.gather(good)
                found = {future.key: outcome for future, (_, outcome) in zip(good, outcomes, strict=True)}
            except BaseException as error:  # it shows below with which of them
                if not is_failure(error):
                    raise
        return [self._outcome(future, found) for future in futures]

    def _outcome(self, future: Any, found: dict[str, Outcome]) -> Outcome | None:
        if isinstance(future, Outcome):
            return future
        if future.key in found:
            return found[future.key]
        try:
            _, outcome = future.result()
        except self._distributed.KilledWorker:
            return None
        except BaseException as error:  # a cancelled future does not raise an ordinary exception
            if not is_failure(error):
                raise
            return lost(error, "Dask")
        return outcome  # type: ignore[no-any-return]

    def cancel(self) -> None:
        """Take back all points."""
        futures = [future for future in self._futures.values() if not isinstance(future, Outcome)]
        self._points, self._futures, self._ended, self._suspects = {}, {}, [], {}
        self._held.clear()
        if futures:
            with contextlib.suppress(Exception):  # the cluster may be gone
                self.client.cancel(futures)

    def close(self) -> None:
        """Stop the programs on the workers; the client is the user's to close."""
        if self.task.recipe is not None:
            with contextlib.suppress(Exception):  # the cluster may be gone, and its programs with it
                self.client.run(end_programs, self.task.token)
