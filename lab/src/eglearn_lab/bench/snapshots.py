"""Values in the replay before and after the output map, at some moments of a run: the paper's histograms."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ours import EGL
from .ablations import BASE
from .problems import Problem, _RunOver
from .rows import Row
from .worker import ONE_THREAD

SNAPSHOT_SIZE = 200
"""Most values kept of a snapshot, as in the paper's histograms."""

_COLUMNS = ("suite", "function", "dimension", "instance", "seed", "budget", "t", "evaluations", "y", "v")


def snapshots(problem: Problem, budget: int, times: Sequence[int], seed: int = 0) -> list[Row]:
    """Values in the replay before and after the output map, from one run with `BASE`.

    Parameters
    ----------
    problem : Problem
    budget, seed : int
        Of the run.
    times : sequence of int
        Evaluations after which to look: the first batch from then on that leaves a map and values (a new region
        forgets the map). Times that the run does not live to see give no rows.

    Returns
    -------
    list of dict
        Up to `SNAPSHOT_SIZE` rows a time, drawn from the replay: the problem, ``seed``, ``budget``, ``t``,
        ``evaluations``, ``y`` (raw) and ``v`` (mapped).
    """
    objective = problem.open(budget, seed=seed)
    bounds = np.column_stack([objective.lower, objective.upper])
    optimiser = EGL(bounds, objective.x0, budget=budget, seed=seed, settings=BASE)
    about = asdict(problem) | {"seed": seed, "budget": budget}
    draw, rows, due = np.random.default_rng(seed), [], sorted(times)
    with contextlib.suppress(_RunOver):
        while due and not optimiser.stop():
            x = optimiser.ask()
            optimiser.tell(x, [objective(point) for point in x])
            y = optimiser._replay.y
            v = optimiser._output(y)
            if objective.evaluations < due[0] or not len(y) or not np.isfinite(v).all():
                continue
            chosen = np.sort(draw.permutation(len(y))[:SNAPSHOT_SIZE])
            when = {"t": due.pop(0), "evaluations": objective.evaluations}
            rows += [about | when | {"y": float(y[k]), "v": float(v[k])} for k in chosen]
    objective.close()
    return rows


def take_snapshots(
    out: str | os.PathLike[str],
    problems: Iterable[Problem],
    budget: int,
    times: Sequence[int],
    seeds: Iterable[int] = (0,),
    *,
    workers: int = 1,
    progress: Callable[[Problem, int, int], None] | None = None,
) -> Path:
    """Write the `snapshots` of each problem into ``out/snapshots``, a CSV file each; those that are there are kept.

    ``progress`` is called with a problem, the number done and the number of all. Returns the folder.
    """
    folder = Path(out) / "snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {}
    for seed in seeds:
        for p in problems:
            name = f"{p.suite}_f{p.function:03d}_d{p.dimension:02d}_i{p.instance:02d}_s{seed}_b{budget}.csv"
            jobs[folder / name] = (p, budget, tuple(times), seed)
    todo = [(file, job) for file, job in jobs.items() if not file.exists()]
    done = len(jobs) - len(todo)
    context = get_context("forkserver")  # a process for each run, as in the benchmark
    active: dict[Any, tuple[Any, Problem]] = {}
    try:
        while todo or active:
            while todo and len(active) < workers:
                file, job = todo.pop(0)
                process = context.Process(target=_write_snapshots, args=(file, *job), daemon=True)
                process.start()
                active[process.sentinel] = (process, job[0])
            for ready in wait(list(active)):
                finished, problem = active.pop(ready)
                finished.join()
                if finished.exitcode != 0:
                    raise RuntimeError(f"the process for {problem} ended with code {finished.exitcode}")
                done += 1
                if progress is not None:
                    progress(problem, done, len(jobs))
    finally:
        for process, _ in active.values():
            process.kill()
            process.join()
    return folder


def _write_snapshots(file: Path, problem: Problem, budget: int, times: tuple[int, ...], seed: int) -> None:
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # before torch is loaded: small matrices gain nothing from more
    rows = snapshots(problem, budget, times, seed)
    temporary = file.with_suffix(".tmp")
    with temporary.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, _COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    os.replace(temporary, file)


def load_snapshots(out: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """All snapshots below a folder as columns; empty ones if there are none."""
    rows: list[dict[str, str]] = []
    for file in sorted((Path(out) / "snapshots").glob("*.csv")):
        with file.open(newline="") as stream:
            rows += csv.DictReader(stream)
    kinds = {"suite": "U16", "y": "f8", "v": "f8"}
    return {name: np.array([row[name] for row in rows], dtype=kinds.get(name, "i8")) for name in _COLUMNS}
