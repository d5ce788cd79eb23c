"""The searches of the published comparison: a grid of problems and algorithms, one row each, resumable.

Needs ``eglearn-lab[latent]``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from ...runner import Folder, Progress, Row, Work, now, run_jobs, versions
from .searches import ALGORITHMS, Search, Spent
from .space import LIMIT, start
from .subjects import find_subject

BUDGET = 10_000
"""Evaluations of a run, the paper's."""


@dataclass(frozen=True)
class Job:
    """One search to be done."""

    subject: str
    algorithm: str
    problem: int
    seed: int
    budget: int
    weights: str
    """Which networks the subject has; the row tells it."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same search."""
        return (self.algorithm, self.problem, self.seed, self.budget, self.weights)


class LatentRuns(Work[Job]):
    """Searches of a latent space."""

    KEY: ClassVar[tuple[str, ...]] = ("algorithm", "problem", "seed", "budget", "weights")

    def schema(self) -> Any:
        """Columns and types."""
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

        text, whole, real = pa.string(), pa.int32(), pa.float64()
        curve = pa.list_(pa.float32())  # the networks know z in float32 only
        kinds = {
            "algorithm": text, "problem": whole, "seed": whole, "budget": whole, "weights": text, "evaluations": whole,
            "cost_start": real, "cost": real, "attributes": real, "landmarks": real, "quality": real,
            "cpu_optimiser": real, "cpu_function": real, "trace_evaluations": pa.list_(whole), "trace_cost": curve,
            "z": curve, "versions": text, "started": pa.timestamp("ms", tz="UTC"), "status": text, "error": text,
        }  # fmt: skip
        return pa.schema(list(kinds.items()))

    def execute(self, job: Job, so_far: MutableSequence[float] | None = None) -> Row:
        """Do a search in this process."""
        cost = find_subject(job.subject).load().cost(job.problem)
        z0 = start()
        search = Search(cost, z0, LIMIT, job.budget, job.seed)
        begin, started = time.process_time(), now()
        with suppress(Spent):
            ALGORITHMS[job.algorithm](search)
        cpu = time.process_time() - begin
        terms = cost.terms(search.best_z)
        return dict(zip(self.KEY, job.key, strict=True)) | {
            "evaluations": search.evaluations, "cost_start": float(cost(z0)), "cost": search.best,
            "attributes": float(terms.attributes[0]), "landmarks": float(terms.landmarks[0]),
            "quality": float(terms.quality[0]), "cpu_optimiser": cpu - search.cpu_cost,
            "cpu_function": search.cpu_cost, "trace_evaluations": [count for count, _ in search.trace],
            "trace_cost": [value for _, value in search.trace], "z": search.best_z.tolist(),
            "versions": versions("torch", "cma", "dlib-bin", "random-face"), "started": started,
            "status": "finished", "error": "",
        }  # fmt: skip

    def preload(self, jobs: Iterable[Job]) -> list[str]:
        """What every search needs."""
        return [__name__, "torch"]


def run_searches(
    folder: str | os.PathLike[str],
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    *,
    subject: str = "garments",
    problems: int | None = None,
    budget: int = BUDGET,
    seed: int = 0,
    again: Sequence[str] = (),
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> list[Row]:
    """Do what is missing of a grid of searches; returns all rows of the folder, see `load_rows`.

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
    workers : int
        Processes at a time.
    progress : callable or None
        Called with a ``Progress`` after each search.
    """
    if unknown := sorted({*algorithms, *again} - ALGORITHMS.keys()):
        raise ValueError(f"no algorithm {', '.join(unknown)}: there are {', '.join(ALGORITHMS)}")
    entry = find_subject(subject)
    weights = entry.weights
    count = entry.problems if problems is None else problems
    entry.load().target(count - 1)  # all targets are there
    grid = [Job(subject, name, problem, seed, budget, weights) for name in algorithms for problem in range(count)]
    run_jobs(folder, LatentRuns(), grid, workers=workers, progress=progress, drop=lambda row: row["algorithm"] in again)
    return load_rows(folder)


def load_rows(folder: str | os.PathLike[str]) -> list[Row]:
    """The searches in a folder that did not fail, in the order they were begun; none if there is no file."""
    rows = Folder(folder, LatentRuns()).table().to_pylist()
    return sorted((row for row in rows if row["status"] == "finished"), key=lambda row: row["started"])
