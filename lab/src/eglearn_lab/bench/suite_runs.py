"""Runs on the problems of `suites`: the same algorithms as on COCO's, and the whole history of improvements."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, MutableSequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np

from .._typing import Array
from ..runner import Row, Work, now, versions
from ..suites import more_wild
from ..suites.base import Problem
from .algorithms import ALGORITHMS, Run, get_algorithm
from .problems import _RunOver
from .worker import attempt


@cache
def problems(suite: str) -> dict[str, Problem]:
    """The problems of a suite by name: ``more-wild-smooth``, ``more-wild-nonsmooth``, and so on.

    >>> len(problems("more-wild-smooth"))
    53
    """
    known = {f"more-wild-{variant}": variant for variant in more_wild.VARIANTS}
    if suite not in known:
        raise ValueError(f"suite = {suite!r}: allowed is one of {', '.join(known)}")
    return {p.name: p for p in more_wild.problems(known[suite])}


class SuiteObjective:
    """A problem that counts, projects and remembers; what `problems.Objective` is for COCO."""

    def __init__(self, problem: Problem, budget: int, seed: int) -> None:
        self.problem, self.budget, self.n, self.noisy = problem, budget, problem.n, problem.noisy
        self.lower, self.upper, self.x0, self.scale = problem.lower, problem.upper, problem.x0, problem.scale
        self._value, self._exact = problem.make(seed), problem.exact()
        self.y0 = self._exact(self.x0)
        self.evaluations = 0
        self.best, self.improved_at, self.improved_to = math.inf, [], []  # type: float, list[int], list[float]
        self.cpu_inside = 0.0

    def __call__(self, x: Any) -> float:
        """The value at ``x``, with noise if the problem has it."""
        begun = time.process_time()
        if self.evaluations >= self.budget:
            raise _RunOver
        self.evaluations += 1
        point = np.clip(np.asarray(x, dtype=float).reshape(self.n), self.lower, self.upper)
        y = self._value(point)
        exact = self._exact(point) if self.problem.noisy else y
        if exact < self.best:
            self.best = exact
            self.improved_at.append(self.evaluations)
            self.improved_to.append(exact)
        self.cpu_inside += time.process_time() - begun
        return y


@dataclass(frozen=True, order=True)
class SuiteJob:
    """One run to be done, as plain data."""

    suite: str
    problem: str
    algorithm: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same run."""
        return (self.suite, self.problem, self.algorithm, self.seed, self.budget)


@dataclass(frozen=True)
class SuiteRuns(Work[SuiteJob]):
    """Runs of algorithms on problems of a suite."""

    KEY: ClassVar[tuple[str, ...]] = ("suite", "problem", "algorithm", "seed", "budget")

    def schema(self) -> Any:
        """Columns and types of the results; ``improved_to`` are the noise-free values below all before them."""
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

        text, whole, real = pa.string(), pa.int64(), pa.float64()
        kinds = {
            "suite": text, "problem": text, "algorithm": text, "seed": whole, "budget": whole, "dimension": pa.int32(),
            "evaluations": whole, "y0": real, "status": text, "error": text, "cpu_optimiser": real,
            "improved_at": pa.list_(pa.int32()), "improved_to": pa.list_(real), "versions": text,
            "started": pa.timestamp("ms", tz="UTC"),
        }  # fmt: skip
        return pa.schema(list(kinds.items()))

    def execute(self, job: SuiteJob, so_far: MutableSequence[float] | None = None) -> Row:
        """Do a run in this process; an algorithm that raises is a row with status "failed", at its best so far."""
        entry = get_algorithm(job.algorithm)
        entry.load()
        started = now()
        objective = SuiteObjective(problems(job.suite)[job.problem], job.budget, job.seed)
        status, error, used = attempt(entry.function, Run(cast(Any, objective), job.seed))
        if status == "finished" and objective.evaluations == objective.budget:
            status = "budget"
        return dict(zip(self.KEY, job.key, strict=True)) | {
            "dimension": objective.n, "evaluations": objective.evaluations, "y0": objective.y0, "status": status,
            "error": error, "cpu_optimiser": max(used - objective.cpu_inside, 0.0),
            "improved_at": objective.improved_at, "improved_to": objective.improved_to,
            "versions": versions("cma", "nlopt", "Py-BOBYQA"), "started": started,
        }  # fmt: skip

    def seconds(self, job: SuiteJob) -> float:
        """By what the algorithm costs."""
        return ALGORITHMS[job.algorithm].cost * job.budget if job.algorithm in ALGORITHMS else 1.0

    def preload(self, jobs: Iterable[SuiteJob]) -> list[str]:
        """What the algorithms need."""
        needs = {need for name in {job.algorithm for job in jobs} for need in ALGORITHMS[name].needs}
        return [__name__, *sorted(needs)]


def history(evaluations: int, improved_at: Any, improved_to: Any) -> Array:
    """The lowest value so far at each evaluation of a run.

    >>> history(4, [1, 3], [5.0, 2.0]).tolist()
    [5.0, 5.0, 2.0, 2.0]
    """
    curve = np.full(evaluations, np.inf)
    for at, to in zip(improved_at, improved_to, strict=True):
        curve[at - 1 :] = to
    return curve
