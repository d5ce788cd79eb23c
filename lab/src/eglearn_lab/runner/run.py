"""A grid of runs: in parallel, each in a process of its own, resumable.

A process for each run costs some milliseconds and buys a lot: a crash or a kill touches one run only, global random
state (cma, COCO's noise) starts afresh, so a run's result depends on its job alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .folder import Folder
from .processes import on_processes
from .remote import cluster, on_dask
from .work import FolderRefused, J, Row, Work

_COMPACT_AT = 200  # lines of the journal


@dataclass(frozen=True)
class Progress:
    """How far a grid of runs is."""

    done: int
    total: int
    failed: int
    seconds: float
    """Since the start of this call."""
    eta: float
    """Seconds to go, estimated."""
    row: Row
    """The run that has just finished."""


def run_jobs(
    out: str | os.PathLike[str],
    work: Work[J],
    jobs: Sequence[J],
    *,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    dask: str | None = None,
    drop: Callable[[Row], bool] | None = None,
) -> Any:
    """Do those of the jobs that are not finished in the folder, the longest first (estimated), and keep a row of each.

    Killed and called again it goes on: finished runs are not repeated, nor those that raised an error; those whose
    process was killed are.

    Parameters
    ----------
    out : path
        The folder, see `Folder`.
    work : Work
        What a run is.
    jobs : sequence of jobs
    workers : int
        Processes at a time.
    progress : callable or None
        Called with a `Progress` after each run.
    dask : str or None
        Address of a dask scheduler: runs go to its workers instead, each in a process of its own there.
    drop : callable or None
        Says by the key columns of a row whether to forget it first.

    Returns
    -------
    pyarrow.Table
        All rows in the folder.
    """
    if workers < 1:
        raise ValueError(f"workers = {workers}: it must be 1 or more")
    folder = Folder(out, work)
    with cluster(dask) as client:  # before the folder is made: a wrong address leaves none behind
        try:
            finished = folder.open(drop)
            if why := work.objection([job for job in jobs if job.key in finished]):
                raise FolderRefused(f"{folder.path}: {why}")
            _run(folder, [job for job in jobs if job.key not in finished], len(jobs), workers, progress, client)
            folder.finish()
        finally:
            folder.close()
    return folder.table()


def _run(
    folder: Folder,
    todo: list[J],
    total: int,
    workers: int,
    progress: Callable[[Progress], None] | None,
    client: Any,
) -> None:
    work: Work[J] = folder.work
    begun, spent, failed = time.monotonic(), 0.0, 0
    estimate = {job.key: work.seconds(job) for job in todo}
    todo = sorted(todo, key=lambda job: -estimate[job.key])
    ahead = sum(estimate.values())
    results = on_processes(work, todo, workers) if client is None else on_dask(work, todo, client)
    try:
        for done, (job, row) in enumerate(results, start=total - len(todo) + 1):
            folder.add(row)
            if folder.waiting >= _COMPACT_AT:
                folder.compact()
            failed += row["status"] in ("failed", "killed")
            spent += estimate[job.key]
            if progress is not None:
                seconds = time.monotonic() - begun
                eta = seconds * max(ahead - spent, 0.0) / spent if done < total else 0.0
                progress(Progress(done, total, failed, seconds, eta, row))
    finally:
        results.close()
