"""What the workers of others run (executors, Dask, maps): one point, from question to outcome."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

from .._typing import Array
from .base import Objective, Outcome
from .interrupts import keeps
from .pool import Pool
from .program import Recipe
from .serial import try_point

_owned: dict[tuple[str, int], tuple[Pool, threading.Lock]] = {}
"""The pools of one program each that belong to an evaluator and a thread of this process."""
_ended: set[str] = set()


@dataclass(frozen=True)
class PointTask:
    """Evaluates one point and returns its index and outcome; failures are returned too, never raised.

    With a ``fun`` the objective is called where the task runs. With a ``recipe`` each thread that runs tasks
    keeps one program of its own, which can be killed: that is how a timeout works in workers that belong to
    somebody else.
    """

    fun: Objective | None
    recipe: Recipe | None
    timeout: float | None
    retries: int
    token: str
    """Says which evaluator the programs belong to."""

    @keeps
    def __call__(self, item: tuple[int, Array]) -> tuple[int, Outcome]:
        """Evaluate ``(index, point)``."""
        index, point = item
        if self.recipe is None:
            assert self.fun is not None
            return index, try_point(self.fun, point, self.retries, _worker_name())
        key = (self.token, threading.get_ident())
        own = _owned.get(key)
        if own is None:
            own = _owned[key] = Pool(self.recipe, 1, self.timeout, self.retries), threading.Lock()
        pool, lock = own
        with lock:
            pool.retries = self.retries
            pool.submit(index, point)
            ((_, outcome),) = pool.wait()
        if self.token in _ended:  # closed while this point ran
            end_programs(self.token)
        return index, outcome._replace(worker=_worker_name())


def end_programs(token: str) -> None:
    """Stop the programs of an evaluator in this process; one at work is stopped after its point."""
    _ended.add(token)
    for key, (pool, lock) in list(_owned.items()):
        if key[0] == token and lock.acquire(blocking=False):
            try:
                pool.close()
                _owned.pop(key, None)
            finally:
                lock.release()


def _worker_name() -> str:
    thread: Any = threading.current_thread()
    return f"process {os.getpid()}" if thread is threading.main_thread() else f"{thread.name}"
