"""A benchmark: a grid of algorithms and problems, one row a run."""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..runner import Progress, run_jobs
from .algorithms import get_algorithm
from .problems import SUITES, Problem
from .rows import Job, load_results
from .worker import CocoRuns

__all__ = ["Job", "Progress", "jobs", "load_results", "run_benchmark", "run_grid"]


def jobs(
    suite: str,
    dims: Iterable[int],
    functions: Iterable[int] | None,
    instances: Iterable[int],
    algorithms: Iterable[str],
    budget: int | Callable[[Problem, str], int],
    seeds: Iterable[int] = (0,),
) -> list[Job]:
    """The grid, each run once, problem by problem.

    ``functions`` None means all of the suite. ``budget`` may be a function of problem and algorithm.
    """
    functions = SUITES[suite][0] if functions is None else functions
    grid = []
    for name in algorithms:
        for n, function, instance, seed in itertools.product(dims, functions, instances, seeds):
            problem = Problem(suite, function, n, instance)
            allowed = budget(problem, name) if callable(budget) else budget
            grid.append(Job(problem, name, seed, allowed))
    return sorted(dict.fromkeys(grid))


def run_benchmark(
    out: str | os.PathLike[str],
    suite: str,
    dims: Iterable[int],
    functions: Iterable[int] | None,
    instances: Iterable[int],
    algorithms: Iterable[str],
    budget: int | Callable[[Problem, str], int],
    seeds: Iterable[int] = (0,),
    *,
    plugins: Sequence[str] = (),
    **rest: Any,
) -> Any:
    """Run every algorithm on every problem and keep one row a run.

    Parameters
    ----------
    out : path
        Folder of the results; see ``load_results``.
    suite, dims, functions, instances, algorithms, budget, seeds
        The grid, see ``jobs``.
    plugins : sequence of str
        Modules that register further algorithms when imported; imported here and in each worker.
    rest
        Those of ``run_grid``.

    Returns
    -------
    pyarrow.Table
        All rows in the folder.
    """
    for name in plugins:
        importlib.import_module(name)
    grid = jobs(suite, dims, functions, instances, algorithms, budget, seeds)
    return run_grid(out, grid, plugins=plugins, **rest)


def run_grid(
    out: str | os.PathLike[str],
    grid: Sequence[Job],
    *,
    workers: int = 2,
    progress: Callable[[Progress], None] | None = None,
    observe: str | os.PathLike[str] | None = None,
    plugins: Sequence[str] = (),
    dask: str | None = None,
) -> Any:
    """Do any runs and keep one row a run.

    Killed and called again with the same folder it goes on: finished runs are not repeated, nor those whose algorithm
    raised an error; those whose process was killed are. A larger grid adds to what is there.

    Parameters
    ----------
    out : path
        Folder of the results; see ``load_results``.
    grid : sequence of Job
        The runs.
    workers : int
        Processes at a time.
    progress : callable or None
        Called with a ``Progress`` after each run.
    observe : path or None
        Write COCO's official data below this folder; ``python -m cocopp OBSERVE/ALGORITHM ...`` reads them.
    plugins : sequence of str
        Modules that register further algorithms, imported here already; each worker imports them, too.
    dask : str or None
        Address of a dask scheduler: runs go to its workers instead, each in a process of its own there.

    Returns
    -------
    pyarrow.Table
        All rows in the folder.
    """
    for name in dict.fromkeys(job.algorithm for job in grid):
        get_algorithm(name)
    work = CocoRuns(None if observe is None else os.path.abspath(observe), tuple(plugins))
    return run_jobs(out, work, grid, workers=workers, progress=progress, dask=dask)
