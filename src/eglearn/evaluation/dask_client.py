"""Evaluation on a Dask cluster.

When a Dask worker dies, Dask blames every task that was on it, also those that only waited there, runs them
again elsewhere, and fails a task that was on such a worker more than
``distributed.scheduler.allowed-failures`` times (3 unless configured) with ``KilledWorker``. So that error
does not prove that the point is to blame. A point that gets it becomes a suspect: it is tried once more when
no other point of ours is on the cluster. Then a further death is its own doing and counts as an attempt.
With ``allowed-failures: 0`` in the scheduler's configuration a deadly point kills the fewest workers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
from collections.abc import Iterator
from typing import Any

from .._typing import Array
from .base import Outcome
from .foreign import lost
from .interrupts import calls, pending
from .point_task import PointTask, end_programs
from .serial import is_failure


class ByDask:
    """Submits each point to the cluster of a ``distributed.Client``, which stays the user's own."""

    def __init__(self, client: Any, task: PointTask) -> None:
        if client.asynchronous:
            raise ValueError("the Dask client is asynchronous: pass one made with asynchronous=False")
        self.client, self.task = client, task
        self._distributed: Any = importlib.import_module("distributed")
        self._submitted = 0

    @calls
    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield outcomes in the order in which they finish, those of suspects last."""
        suspects = []
        futures: dict[Any, int] = {}  # of points whose outcome was not yielded yet
        try:
            for row, point in enumerate(x):
                future = self._submit(self.task, row, point)
                if isinstance(future, Outcome):
                    yield row, future
                else:
                    futures[future] = row
            for future in self._distributed.as_completed(list(futures), loop=self.client.loop):
                outcome = self._outcome(future)
                if outcome is None:
                    suspects.append(futures[future])
                else:
                    yield futures[future], outcome
                del futures[future]
                future.release()
                if futures and pending():
                    raise KeyboardInterrupt
            for row in suspects:
                yield row, self._alone(row, x[row])
        except KeyboardInterrupt:
            for future in [future for future in futures if future.done()]:
                row, outcome = futures.pop(future), self._outcome(future)
                if outcome is not None:
                    yield row, outcome
            raise
        finally:  # the caller may have left early: nobody waits for these points any more
            if futures:
                with contextlib.suppress(Exception):  # the cluster may be gone
                    self.client.cancel(list(futures))

    def _alone(self, row: int, point: Array) -> Outcome:
        """Try a suspect with nothing else of ours on the cluster: now it is guilty if a worker dies."""
        for strikes in range(self.task.retries + 1):
            task = dataclasses.replace(self.task, retries=self.task.retries - strikes)
            future = self._submit(task, row, point)
            outcome = future if isinstance(future, Outcome) else self._outcome(future)
            if outcome is not None:
                return outcome._replace(attempts=outcome.attempts + strikes)
        return Outcome(math.nan, "every Dask worker that tried the point died", self.task.retries + 1)

    def _submit(self, task: PointTask, row: int, point: Array) -> Any:
        """The future of a point, or its outcome if the client does not take it."""
        self._submitted += 1
        key = f"eglearn-{self.task.token}-{self._submitted}"  # an own name: same points are not merged
        try:
            return self.client.submit(task, (row, point), key=key, pure=False, retries=0)
        except Exception as error:  # it is closed, or cannot send the objective
            return lost(error, "Dask")

    def _outcome(self, future: Any) -> Outcome | None:
        """What the cluster made of a point; None if it was on a worker that died."""
        try:
            _, outcome = future.result()
        except self._distributed.KilledWorker:
            return None
        except BaseException as error:  # a cancelled future does not raise an ordinary exception
            if not is_failure(error):
                raise
            return lost(error, "Dask")
        return outcome  # type: ignore[no-any-return]

    def close(self) -> None:
        """Stop the programs on the workers; the client is the user's to close."""
        if self.task.recipe is not None:
            with contextlib.suppress(Exception):  # the cluster may be gone, and its programs with it
                self.client.run(end_programs, self.task.token)
