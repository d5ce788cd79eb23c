"""The searches of the published comparison: a grid of problems and algorithms, one row each, resumable.

A finished run is at once in ``results.parquet``, which is replaced whole: a kill loses no more than the run under way.
Needs ``eglearn-lab[latent]``.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ... import __version__
from .searches import ALGORITHMS, Search, Spent
from .space import LIMIT, start
from .subjects import Subject, find_subject

if sys.platform != "win32":
    import fcntl

Row = dict[str, Any]
BUDGET = 10_000
"""Evaluations of a run, the paper's."""

_KEY = ("algorithm", "problem", "seed", "budget", "weights")


def search_once(subject: Subject, algorithm: str, problem: int, *, budget: int, seed: int, weights: str) -> Row:
    """One search, as a row of the results.

    Parameters
    ----------
    subject
        The black boxes and targets.
    algorithm : str
        A name in ``ALGORITHMS``.
    problem : int
        Number of the target.
    budget, seed : int
        Evaluations, and what fixes the search.
    weights : str
        Which networks these are, kept in the row.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"no algorithm {algorithm!r}: there are {', '.join(ALGORITHMS)}")
    cost = subject.cost(problem)
    z0 = start()
    search = Search(cost, z0, LIMIT, budget, seed)
    begin, started = time.process_time(), datetime.datetime.now(datetime.UTC)
    with suppress(Spent):
        ALGORITHMS[algorithm](search)
    cpu = time.process_time() - begin
    terms = cost.terms(search.best_z)
    return {
        "algorithm": algorithm, "problem": problem, "seed": seed, "budget": budget, "weights": weights,
        "evaluations": search.evaluations, "cost_start": float(cost(z0)), "cost": search.best,
        "attributes": float(terms.attributes[0]), "landmarks": float(terms.landmarks[0]),
        "quality": float(terms.quality[0]), "cpu_optimiser": cpu - search.cpu_cost, "cpu_function": search.cpu_cost,
        "trace_evaluations": [count for count, _ in search.trace], "trace_cost": [value for _, value in search.trace],
        "z": search.best_z.tolist(), "versions": _versions(), "started": started,
    }  # fmt: skip


def run_searches(
    folder: str | os.PathLike[str],
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    *,
    subject: str = "garments",
    problems: int | None = None,
    budget: int = BUDGET,
    seed: int = 0,
    again: Sequence[str] = (),
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> list[Row]:
    """Do what is missing of a grid of searches; returns all rows of the folder.

    Parameters
    ----------
    folder
        Where ``results.parquet`` is or will be.
    algorithms : names
        In this order, each on all problems before the next.
    subject : str
        What is searched for: a name in ``SUBJECTS``.
    problems : int, optional
        Problems 0 to ``problems - 1``; None: as many as the subject is compared on.
    budget, seed : int
        Evaluations and seed of each run.
    again : names
        Algorithms whose rows are dropped first: for one that has changed.
    progress : callable
        Called with the runs done, those of the grid, and the run that comes next.
    """
    if unknown := sorted({*algorithms, *again} - ALGORITHMS.keys()):
        raise ValueError(f"no algorithm {', '.join(unknown)}: there are {', '.join(ALGORITHMS)}")
    entry = find_subject(subject)
    held, weights = entry.load(), entry.weights
    count = entry.problems if problems is None else problems
    held.target(count - 1)  # all targets are there
    with _alone(Path(folder)):
        rows = [row for row in load_rows(folder) if row["algorithm"] not in again]
        there = {tuple(row[name] for name in _KEY) for row in rows}
        grid = [(name, problem, seed, budget, weights) for name in algorithms for problem in range(count)]
        for done, key in enumerate(grid):
            progress(done, len(grid), f"{key[0]}, problem {key[1]}")
            if key not in there:
                name, problem, *_ = key
                rows.append(search_once(held, name, problem, budget=budget, seed=seed, weights=weights))
                _write(rows, Path(folder))
        progress(len(grid), len(grid), "done")
    return rows


def load_rows(folder: str | os.PathLike[str]) -> list[Row]:
    """The finished runs in a folder, in the order they were done; none if there is no file."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

    path = Path(folder) / "results.parquet"
    rows: list[Row] = pq.read_table(path).to_pylist() if path.exists() else []
    return rows


def _write(rows: list[Row], folder: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow.parquet as pq

    text, real, curve = pa.string(), pa.float64(), pa.list_(pa.float32())  # the networks know z in float32 only
    kinds: dict[str, Any] = dict.fromkeys(rows[0], real)
    kinds |= dict.fromkeys(("algorithm", "weights", "versions"), text)
    kinds |= dict.fromkeys(("problem", "seed", "budget", "evaluations"), pa.int32())
    kinds |= {"trace_evaluations": pa.list_(pa.int32()), "trace_cost": curve, "z": curve}
    kinds |= {"started": pa.timestamp("ms", tz="UTC")}
    temporary = folder / "results.tmp"
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items()))), temporary, compression="zstd")
    os.replace(temporary, folder / "results.parquet")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process writes to a folder at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(f"other searches are being written to {folder}: wait for them") from None
        yield
    finally:
        os.close(handle)


def _versions() -> str:
    versions = {"eglearn": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "torch", "cma", "dlib-bin", "random-face"):
        with suppress(importlib.metadata.PackageNotFoundError):  # the last two are of the faces only
            versions[name] = importlib.metadata.version(name)
    return json.dumps(versions)
