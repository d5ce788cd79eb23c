"""From an objective and a description of workers to an evaluator."""

from __future__ import annotations

import importlib
import inspect
import math
import operator
import os
import sys
import uuid
from concurrent.futures import Executor
from typing import Any

from ..arguments import check_whole, is_number
from .base import Evaluator, Objective
from .command import Command
from .dask_client import ByDask
from .foreign import ByExecutor, ByMap, joblib_map
from .point_task import PointTask
from .pool import Pool
from .program import Recipe
from .python_worker import PythonWorker, pack
from .serial import Serial, Vectorized


def make_evaluator(
    fun: Objective | str | Command,
    *,
    workers: Any = 1,
    vectorized: bool = False,
    timeout: float | None = None,
    retries: int = 0,
) -> Evaluator:
    """Make what evaluates an objective.

    Parameters
    ----------
    fun
        A function of one point (n,), the name of one as ``"module:function"``, or a `Command`.
    workers
        How many local processes (1: call the objective in this process, -1: one for each core), or a
        `concurrent.futures.Executor`, a ``dask.distributed.Client``, a ``joblib.Parallel``, or a function that
        works like ``map``.
    vectorized
        Whether ``fun`` takes many points (m, n) and returns m values. It is then called in this process.
    timeout
        Seconds for one attempt at a point. The objective then runs in a process that can be killed, also
        with ``workers=1`` and also on the workers of an executor or of a cluster.
    retries
        How many more attempts a failed point gets.

    Examples
    --------
    >>> import numpy as np
    >>> evaluator = make_evaluator(lambda x: 1.0 / x[0], retries=1)
    >>> evaluator.submit(0, np.array([4.0]))
    >>> evaluator.submit(1, np.array([np.nan]))
    >>> while arrived := evaluator.wait():
    ...     for index, outcome in arrived:
    ...         print(index, outcome.y, outcome.error, outcome.attempts)
    0 0.25 None 1
    1 nan the objective returned nan 2
    >>> evaluator.close()
    """
    if timeout is not None and not (is_number(timeout) and 0 < timeout < math.inf):
        raise ValueError(f"timeout={timeout!r} must be a positive number of seconds, or None for no limit")
    check_whole("retries", retries, "further attempts", 0)
    if isinstance(fun, str):
        fun = load_objective(fun)
    if not isinstance(fun, Command) and not callable(fun):
        raise TypeError(f"the objective {fun!r} is not callable: pass a function, 'module:function' or Command")
    if inspect.iscoroutinefunction(fun):
        raise TypeError(f"the objective {fun!r} is async: pass a plain function, as in lambda x: asyncio.run(fun(x))")
    if vectorized:
        if isinstance(fun, Command):
            raise ValueError("a Command takes one point at a time: leave out vectorized=True")
        _check_vectorized(workers, timeout)
        return Vectorized(fun, retries)
    count = _count(workers)
    if count == 1 and timeout is None and not isinstance(fun, Command):
        return Serial(fun, retries)
    if count is not None:
        if isinstance(fun, Command):
            fun.check()  # only here: on other machines it may well exist
        return Pool(_recipe(fun), count, timeout, retries)
    token = uuid.uuid4().hex
    if isinstance(fun, Command) or timeout is not None:
        task = PointTask(None, _recipe(fun), timeout, retries, token)
    else:
        task = PointTask(fun, None, None, retries, token)
    if _is_dask_client(workers):
        return ByDask(workers, task)
    if isinstance(workers, Executor):
        return ByExecutor(workers, task)
    if callable(workers):
        return joblib_map(workers, task) if _is_joblib_parallel(workers) else ByMap(workers, task)
    raise TypeError(
        f"workers={workers!r} is not understood: pass a number, a concurrent.futures.Executor, "
        "a dask.distributed.Client, a joblib.Parallel or a function that works like map"
    )


def load_objective(name: str) -> Objective:
    """The function that ``"module:function"`` names.

    Examples
    --------
    >>> load_objective("math:fsum")([1.0, 2.0])
    3.0
    """
    module_name, colon, path = name.partition(":")
    if not (module_name and colon and path):
        raise ValueError(f"the objective {name!r} does not have the form 'module:function'")
    if module_name.endswith(".py") or os.sep in module_name:
        hint = f"write the module's name, as in '{os.path.basename(module_name).removesuffix('.py')}:{path}'"
        raise ValueError(f"the objective {name!r} names a file: {hint}, in the folder of the file")
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"the module of the objective {name!r} cannot be imported: {error}") from error
    try:
        found = operator.attrgetter(path)(found)
    except AttributeError as error:
        raise ValueError(f"the objective {name!r} does not exist: {error}") from None
    if not callable(found):
        raise TypeError(f"the objective {name!r} is of type {type(found).__name__}: name a function")
    return found  # type: ignore[no-any-return]


def _recipe(fun: Objective | Command) -> Recipe:
    if os.name != "posix":
        raise NotImplementedError(
            "worker processes, timeouts and commands need Linux or macOS: here pass an executor as workers, "
            "for instance loky.get_reusable_executor(4), and no timeout"
        )
    return fun if isinstance(fun, Command) else PythonWorker(pack(fun))


def _count(workers: Any) -> int | None:
    """The number of local workers, or None if ``workers`` is not a number."""
    try:
        count = operator.index(workers)
    except TypeError:
        return None
    if isinstance(workers, bool) or (count < 1 and count != -1):
        raise ValueError(f"workers={workers!r} must be 1 or more, or -1 for all cores")
    if count == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return count


def _is_dask_client(workers: Any) -> bool:
    # Only a program that has imported distributed can hold a client of it, so there is no need to import it.
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(workers, distributed.Client)


def _is_joblib_parallel(workers: Any) -> bool:
    joblib = sys.modules.get("joblib")
    return joblib is not None and isinstance(workers, joblib.Parallel)


def _check_vectorized(workers: Any, timeout: float | None) -> None:
    if timeout is not None:
        raise ValueError(f"timeout={timeout:g} is for single points: leave it out, or vectorized=True")
    if _count(workers) != 1:
        raise ValueError(f"workers={workers!r} do not share a vectorized call: use workers=1, or vectorized=False")
