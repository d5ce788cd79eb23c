"""Values in the replay before and after the output map, at some moments of a run: the paper's histograms."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..ours import EGL, ENTERS, ExplicitGradientLearning
from ..runner import Folder, Progress, Row, Work, now, run_jobs, versions
from .ablations import BASE
from .problems import Problem, _RunOver

SNAPSHOT_SIZE = 200
"""Most values kept of a snapshot, as in the paper's histograms."""

_KEY = ("suite", "function", "dimension", "instance", "seed", "budget")
_COLUMNS = (*_KEY, "t", "evaluations", "y", "v")


@dataclass(frozen=True)
class Job:
    """One run with `BASE` to be looked at."""

    problem: Problem
    seed: int
    budget: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same run."""
        return (*astuple(self.problem), self.seed, self.budget)


@dataclass(frozen=True)
class SnapshotRuns(Work[Job]):
    """Runs of which the values in the replay are kept, before and after the output map, at some moments."""

    times: tuple[int, ...] = ()
    """Evaluations after which to look: the first batch from then on that leaves a map and values (a new region forgets
    the map). Times that the run does not live to see are left out."""

    KEY: ClassVar[tuple[str, ...]] = _KEY

    def schema(self) -> Any:
        """A list in each row with an entry for each time; of values up to `SNAPSHOT_SIZE`, drawn from the replay."""
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

        text, whole, values = pa.string(), pa.int32(), pa.list_(pa.list_(pa.float64()))
        kinds = {
            "suite": text, "function": whole, "dimension": whole, "instance": whole, "seed": pa.int64(),
            "budget": pa.int64(), "status": text, "error": text, "t": pa.list_(whole), "evaluations": pa.list_(whole),
            "y": values, "v": values, "versions": text, "started": pa.timestamp("ms", tz="UTC"),
        }  # fmt: skip
        return pa.schema(list(kinds.items()))

    def execute(self, job: Job, so_far: MutableSequence[float] | None = None) -> Row:
        """Run, and look."""
        objective = job.problem.open(job.budget, seed=job.seed)
        bounds = np.column_stack([objective.lower, objective.upper])
        optimiser = EGL(bounds, objective.x0, budget=job.budget, seed=job.seed, settings=BASE)
        draw, due, started = np.random.default_rng(job.seed), sorted(self.times), now()
        found: dict[str, list[Any]] = {name: [] for name in ("t", "evaluations", "y", "v")}
        with contextlib.suppress(_RunOver):
            while due and not optimiser.stop():
                x = optimiser.ask()
                optimiser.tell(x, [objective(point) for point in x])
                search = optimiser.search
                assert isinstance(search, ExplicitGradientLearning)
                entered = search.memory.y
                y, v = entered / ENTERS, search.output(entered)
                if objective.evaluations < due[0] or not len(y) or not np.isfinite(v).all():
                    continue
                chosen = np.sort(draw.permutation(len(y))[:SNAPSHOT_SIZE])
                values = (due.pop(0), objective.evaluations, y[chosen].tolist(), v[chosen].tolist())
                for column, value in zip(found.values(), values, strict=True):
                    column.append(value)
        objective.close()
        about = dict(zip(_KEY, job.key, strict=True)) | {"status": "finished", "error": ""}
        return about | found | {"versions": versions("coco-experiment"), "started": started}

    def preload(self, jobs: Iterable[Job]) -> list[str]:
        """What every run needs."""
        return [__name__, "cocoex"]


def take_snapshots(
    out: str | os.PathLike[str],
    problems: Iterable[Problem],
    budget: int,
    times: Sequence[int],
    seeds: Iterable[int] = (0,),
    *,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Any:
    """Look at a run on each problem and keep a row of each in ``out/snapshots``; those that are there are kept.

    Returns all rows in that folder, a ``pyarrow.Table``.
    """
    todo = [Job(problem, seed, budget) for seed in seeds for problem in problems]
    return run_jobs(Path(out) / "snapshots", SnapshotRuns(tuple(times)), todo, workers=workers, progress=progress)


def load_snapshots(out: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """All snapshots below a folder as columns with an entry for each value; empty ones if there are none."""
    rows = Folder(Path(out) / "snapshots", SnapshotRuns()).table().to_pylist()
    values: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for row in rows:
        for t, evaluations, y, v in zip(*(row[name] or () for name in _COLUMNS[len(_KEY) :]), strict=True):
            about = {name: row[name] for name in _KEY} | {"t": t, "evaluations": evaluations}
            for name, value in about.items():
                values[name] += [value] * len(y)
            values["y"] += y
            values["v"] += v
    kinds = {"suite": "U16", "y": "f8", "v": "f8"}
    return {name: np.array(column, dtype=kinds.get(name, "i8")) for name, column in values.items()}
