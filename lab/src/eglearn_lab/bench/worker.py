"""One run of the benchmark in one process: what happens inside it, and what is kept."""

from __future__ import annotations

import importlib
import math
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..runner import Row, Work, describe, now, versions
from .algorithms import ALGORITHMS, Run, get_algorithm
from .problems import TARGETS, _RunOver
from .rows import KEY, Job, schema

_PACKAGES = ("coco-experiment", "cma", "torch", "nevergrad")


def attempt(algorithm: Callable[[Run], Any], run: Run) -> tuple[str, str, float]:
    """Let an algorithm run: its status so far, what it raised, and the seconds of the processor."""
    status, error = "finished", ""
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            algorithm(run)
    except _RunOver:
        pass
    except (Exception, SystemExit) as problem:
        status, error = "failed", describe(problem)
    return status, error, time.process_time() - begun


@dataclass(frozen=True)
class CocoRuns(Work[Job]):
    """Runs of algorithms on COCO's problems."""

    observe: str | None = None
    """Where to write COCO's official data, one folder a run below one folder an algorithm."""
    plugins: tuple[str, ...] = ()
    """Modules that register further algorithms when imported."""

    KEY: ClassVar[tuple[str, ...]] = KEY
    SO_FAR: ClassVar[int] = 4  # evaluations, f_opt, y0, best gap

    def schema(self) -> Any:
        """Columns and types of the results."""
        return schema()

    def execute(self, job: Job, so_far: MutableSequence[float] | None = None) -> Row:
        """Do a run in this process; an algorithm that raises is a row with status "failed", at its best so far."""
        for name in self.plugins:
            importlib.import_module(name)
        entry = get_algorithm(job.algorithm)
        entry.load()
        started = now()
        folder = None if self.observe is None else Path(self.observe) / job.name
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)  # of an earlier attempt
        objective = job.problem.open(job.budget, seed=job.seed, folder=folder, name=job.algorithm)
        objective.so_far = so_far
        run = Run(objective, job.seed)
        status, error, used = attempt(entry.function, run)
        recommended = objective.best_x
        if job.problem.noisy and run.recommended is not None:
            recommended = run.recommended
        if status == "finished" and objective.solved:
            status = "target"
        elif status == "finished" and objective.evaluations == objective.budget:
            status = "budget"
        evaluations, gaps = objective.record.trace()
        row = job.columns() | {
            "evaluations": objective.evaluations,
            "projected": objective.projected,
            "f_opt": objective.f_opt,
            "y0": objective.y0,
            "best_gap": objective.record.best,
            "recommended_gap": objective.gap(recommended) if evaluations else math.inf,
            "status": status,
            "error": error,
            "cpu_optimiser": max(used - objective.cpu_inside, 0.0),
            "cpu_function": objective.cpu_function,
            "trace_evaluations": evaluations,
            "trace_gap": np.array(gaps, dtype=np.float32).tolist(),  # as it is stored
            "target_evaluations": objective.record.target_evaluations,
            "versions": versions(*_PACKAGES),
            "started": started,
        }
        row |= run.fits.columns()
        objective.close(recommended)
        return row

    def lost(self, job: Job, status: str, error: str, so_far: Sequence[float] = ()) -> Row:
        """Targets count as reached at the last evaluation that is known."""
        known = bool(len(so_far)) and so_far[0] > 0
        evaluations, f_opt, y0, gap = so_far if known else (0, math.nan, math.nan, math.inf)
        return job.columns() | {
            "evaluations": int(evaluations), "projected": 0, "f_opt": f_opt, "y0": y0, "best_gap": gap,
            "recommended_gap": math.inf if job.problem.noisy else gap, "status": status, "error": error,
            "cpu_optimiser": math.nan, "cpu_function": math.nan, "trace_evaluations": [int(evaluations)] * known,
            "trace_gap": [gap] * known, "target_evaluations": [int(evaluations) if gap <= t else -1 for t in TARGETS],
            "versions": versions(*_PACKAGES), "started": now(),
        }  # fmt: skip

    def seconds(self, job: Job) -> float:
        """By the dimension, and what the algorithm costs in 40-D."""
        n = job.problem.dimension
        milliseconds = (ALGORITHMS[job.algorithm].cost if job.algorithm in ALGORITHMS else 0.1) * (0.3 + n / 60)
        return job.budget * (milliseconds + 0.01 + 0.0003 * n) / 1000 + 0.05

    def preload(self, jobs: Iterable[Job]) -> list[str]:
        """What the algorithms need."""
        needs = {need for name in {job.algorithm for job in jobs} for need in ALGORITHMS[name].needs}
        return [__name__, "cocoex", *sorted(needs)]

    def objection(self, finished: Sequence[Job]) -> str | None:
        """Official data are written by the run itself."""
        unseen = [job for job in finished if self.observe and not Path(self.observe, job.name).exists()]
        if not unseen:
            return None
        return (
            f"{len(unseen)} finished runs were not observed, and finished ones are not repeated: choose another folder "
            "for the results"
        )
