"""A benchmark: a grid of runs, in parallel, each in a process of its own, resumable.

A process for each run costs some milliseconds and buys a lot: a crash or a kill touches one run only, global random
state (cma, COCO's noise) starts afresh, so a run's result depends on its job alone.
"""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .algorithms import ALGORITHMS, get_algorithm
from .problems import SUITES, Problem
from .rows import Folder, Job, Row, load_results
from .worker import NOT_BEGUN, ONE_THREAD, SO_FAR, child, execute, lost, run_apart

__all__ = ["Job", "Progress", "execute", "jobs", "load_results", "run_benchmark"]

_COMPACT_AT = 200  # lines of the journal
_TRIES = 2  # for a run whose process is killed


@dataclass(frozen=True)
class Progress:
    """How far a benchmark is."""

    done: int
    total: int
    failed: int
    seconds: float
    """Since the start of this call."""
    eta: float
    """Seconds to go, estimated; NaN before the first run is done."""
    row: Row
    """The run that has just finished."""


def jobs(
    suite: str,
    dims: Iterable[int],
    functions: Iterable[int] | None,
    instances: Iterable[int],
    algorithms: Iterable[str],
    budget: int | Callable[[Problem, str], int],
    seeds: Iterable[int] = (0,),
) -> list[Job]:
    """The grid, longest jobs first (estimated).

    ``functions`` None means all of the suite. ``budget`` may be a function of problem and algorithm.
    """
    functions = SUITES[suite][0] if functions is None else functions
    grid = []
    for name in algorithms:
        for n, function, instance, seed in itertools.product(dims, functions, instances, seeds):
            problem = Problem(suite, function, n, instance)
            allowed = budget(problem, name) if callable(budget) else budget
            grid.append(Job(problem, name, seed, allowed))
    return sorted(dict.fromkeys(grid), key=lambda job: (-_cost(job), job))


def _cost(job: Job) -> float:
    """Rough seconds of a run."""
    n = job.problem.dimension
    milliseconds = (ALGORITHMS[job.algorithm].cost if job.algorithm in ALGORITHMS else 0.1) * (0.3 + n / 60)
    return job.budget * (milliseconds + 0.01 + 0.0003 * n) / 1000 + 0.05


def run_benchmark(
    out: str | os.PathLike[str],
    suite: str,
    dims: Sequence[int],
    functions: Sequence[int] | None,
    instances: Sequence[int],
    algorithms: Sequence[str],
    budget: int | Callable[[Problem, str], int],
    seeds: Sequence[int] = (0,),
    *,
    workers: int = 2,
    progress: Callable[[Progress], None] | None = None,
    observe: str | os.PathLike[str] | None = None,
    plugins: Sequence[str] = (),
    dask: str | None = None,
) -> Any:
    """Run every algorithm on every problem and keep one row a run.

    Killed and called again with the same folder it goes on: finished runs are not repeated, nor those whose algorithm
    raised an error; those whose process was killed are. A larger grid adds to what is there.

    Parameters
    ----------
    out : path
        Folder of the results; see ``load_results``.
    suite, dims, functions, instances, algorithms, budget, seeds
        The grid, see ``jobs``.
    workers : int
        Processes at a time.
    progress : callable or None
        Called with a ``Progress`` after each run.
    observe : path or None
        Write COCO's official data below this folder; ``python -m cocopp OBSERVE/ALGORITHM ...`` reads them.
    plugins : sequence of str
        Modules that register further algorithms when imported; imported here and in each worker.
    dask : str or None
        Address of a dask scheduler: runs go to its workers instead, each in a process of its own there.

    Returns
    -------
    pyarrow.Table
        All rows in the folder.
    """
    for name in plugins:
        importlib.import_module(name)
    for name in algorithms:
        get_algorithm(name)
    if workers < 1:
        raise ValueError(f"workers = {workers}: it must be 1 or more")
    grid = jobs(suite, dims, functions, instances, algorithms, budget, seeds)
    target = None if observe is None else os.path.abspath(observe)
    with _cluster(dask) as client:  # before the folder is made: a wrong address leaves none behind
        return _run_grid(Folder(out), grid, workers, progress, target, tuple(plugins), client)


def _run_grid(
    folder: Folder,
    grid: list[Job],
    workers: int,
    progress: Callable[[Progress], None] | None,
    observe: str | None,
    plugins: tuple[str, ...],
    client: Any,
) -> Any:
    finished = folder.open()
    todo = [job for job in grid if job.key not in finished]
    unseen = [job for job in grid if job.key in finished and observe and not Path(observe, job.name).exists()]
    if unseen:
        folder.close()
        raise ValueError(
            f"{len(unseen)} runs in {folder.path} were not observed, and finished ones are not repeated: choose "
            "another folder for the results"
        )
    begun, spent, failed = time.monotonic(), 0.0, 0
    estimate = {job.key: _cost(job) for job in todo}
    ahead = sum(estimate.values())
    if client is None:
        results = _on_processes(todo, workers, observe, plugins)
    else:
        results = _on_dask(todo, client, observe, plugins)
    try:
        for done, (job, row) in enumerate(results, start=len(grid) - len(todo) + 1):
            folder.add(row)
            if folder.waiting >= _COMPACT_AT:
                folder.compact()
            failed += row["status"] in ("failed", "killed")
            spent += estimate[job.key]
            if progress is not None:
                seconds = time.monotonic() - begun
                progress(Progress(done, len(grid), failed, seconds, seconds * (ahead - spent) / spent, row))
        folder.finish()
    finally:
        results.close()
        folder.close()
    return folder.table()


def _on_processes(
    todo: list[Job], workers: int, observe: str | None, plugins: tuple[str, ...]
) -> Generator[tuple[Job, Row]]:
    context = multiprocessing.get_context("forkserver")
    queue = [(job, 1) for job in reversed(todo)]
    active: dict[Connection, tuple[Any, Job, int, Any]] = {}
    saved = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # the fork server reads it once, when it starts
    try:
        _start_server({job.algorithm for job in todo})
        while queue or active:
            while queue and len(active) < workers:
                job, tries = queue.pop()
                ours, theirs = context.Pipe()
                so_far = context.RawArray("d", [NOT_BEGUN] * len(SO_FAR))
                process = context.Process(target=child, args=(theirs, job, observe, plugins, so_far), daemon=True)
                process.start()
                theirs.close()
                active[ours] = (process, job, tries, so_far)
            for pipe in wait(list(active)):
                assert isinstance(pipe, Connection)
                process, job, tries, so_far = active.pop(pipe)
                row: Row | None
                try:
                    row = pipe.recv()
                except (EOFError, OSError):
                    row = None
                pipe.close()
                process.join()
                if row is not None:
                    yield job, row
                elif tries < _TRIES:
                    queue.append((job, tries + 1))
                elif so_far[0] == NOT_BEGUN:  # no fault of the run's: every other would fare alike
                    raise RuntimeError(
                        f"a process for a run ended with code {process.exitcode} before it began, {tries} times: see "
                        "what it printed; when that is mended, the same command goes on"
                    )
                else:
                    why = f"its process ended with code {process.exitcode}, {tries} times"
                    yield job, lost(job, "killed", why, so_far)
    finally:
        for pipe, (process, *_) in active.items():
            process.kill()
            process.join()
            pipe.close()
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_server(algorithms: set[str]) -> None:
    """Start the server that workers are forked from, with what the algorithms need imported there once.

    It and its workers are deaf to Ctrl-C: a terminal sends that to every process, and only this one is to answer.
    """
    needs = sorted({need for name in algorithms for need in ALGORITHMS[name].needs})
    forkserver.set_forkserver_preload(["eglearn_lab.bench.worker", "cocoex", *needs])
    if threading.current_thread() is not threading.main_thread():
        forkserver.ensure_running()  # Python sets signal handlers in the main thread only
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


def _cluster(address: str | None) -> AbstractContextManager[Any]:
    """A client of the dask scheduler; None without an address."""
    if address is None:
        return nullcontext()
    distributed: Any = importlib.import_module("distributed")
    client: AbstractContextManager[Any] = distributed.Client(address)
    return client


def _on_dask(todo: list[Job], client: Any, observe: str | None, plugins: tuple[str, ...]) -> Generator[tuple[Job, Row]]:
    distributed: Any = importlib.import_module("distributed")
    futures = {client.submit(run_apart, job, observe, plugins, pure=False, retries=1): job for job in todo}
    for future in distributed.as_completed(futures):
        job = futures[future]
        if future.status == "finished":
            yield job, future.result()
        else:
            yield job, lost(job, "killed", f"dask: {future.exception()}"[:500])
        future.release()
