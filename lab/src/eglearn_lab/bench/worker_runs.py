"""Runs with many workers in virtual time, as jobs of the runner."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, MutableSequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..runner import Row, Work, now, versions
from .problems import NoiseFree, Problem
from .virtual_time import PLAYERS, play

GAPS = (1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8)
"""The times to these gaps are kept."""


@dataclass(frozen=True, order=True)
class WorkerJob:
    """One run to be done, as plain data: function 1 to 24 is one of bbob, 0 the rotated rippled bowl."""

    function: int
    dimension: int
    instance: int
    player: str
    width: int
    duration: str
    budget: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same run."""
        return (
            self.function, self.dimension, self.instance, self.player, self.width, self.duration, self.budget
        )  # fmt: skip


def objective(function: int, n: int, instance: int) -> Callable[[Array], float]:
    """The gap as a function of the point of [-5, 5]^n.

    >>> fun = objective(0, 4, 1)
    >>> fun(np.zeros(4)) > 1
    True
    """
    if function > 0:
        problem = NoiseFree(Problem("bbob", function, n, instance))
        optimum = problem.optimum()
        return lambda x: problem(x) - optimum
    rng = np.random.default_rng(instance)
    rotation = np.linalg.qr(rng.standard_normal((n, n)))[0]
    place = rng.uniform(-4, 4, n)

    def rippled(x: Array) -> float:
        z = rotation @ (x - place)
        return float(np.sum(z * z + 1 - np.cos(2 * math.pi * z)))

    return rippled


@dataclass(frozen=True)
class WorkerRuns(Work[WorkerJob]):
    """Runs of players."""

    KEY: ClassVar[tuple[str, ...]] = (
        "function", "dimension", "instance", "player", "width", "duration", "budget",
    )  # fmt: skip

    def schema(self) -> Any:
        """Columns and types of the results; ``times`` are those to the gaps in ``GAPS``, infinite if not reached."""
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

        text, whole, real = pa.string(), pa.int64(), pa.float64()
        kinds = {
            "function": whole, "dimension": whole, "instance": whole, "player": text, "width": whole, "duration": text,
            "budget": whole, "status": text, "error": text, "best_gap": real, "times": pa.list_(real), "busy": real,
            "cpu": real, "versions": text, "started": pa.timestamp("ms", tz="UTC"),
        }  # fmt: skip
        return pa.schema(list(kinds.items()))

    def execute(self, job: WorkerJob, so_far: MutableSequence[float] | None = None) -> Row:
        """Do a run in this process."""
        started, n = now(), job.dimension
        fun = objective(job.function, n, job.instance)
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            player = PLAYERS[job.player]([(-5.0, 5.0)] * n, np.zeros(n), job.width, job.budget, job.instance)
            found, busy = play(player, fun, job.width, job.budget, job.duration, job.instance, GAPS[-1])
        times = [next((t for t, gap in found if gap <= wanted), math.inf) for wanted in GAPS]
        return dict(zip(self.KEY, job.key, strict=True)) | {
            "status": "solved" if found[-1][1] <= GAPS[-1] else "budget", "error": "", "best_gap": found[-1][1],
            "times": times, "busy": busy, "cpu": time.process_time() - begun,
            "versions": versions("cma", "nevergrad", "optuna"), "started": started,
        }  # fmt: skip

    def seconds(self, job: WorkerJob) -> float:
        """By the number of evaluations."""
        return float(job.budget * job.dimension)

    def preload(self, jobs: Iterable[WorkerJob]) -> list[str]:
        """What all runs need."""
        return [__name__, "cocoex"]
