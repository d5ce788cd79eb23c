"""Runs on the laboratory's own suites: problems with a budget, a box and a start of their own.

An algorithm sees the box as [-5, 5]^n, as in COCO, so that lengths in its settings mean the same in each coordinate.
A failed evaluation is NaN for the library's searches; the others, which know no failures, are told the worst finite
value so far. A noisy problem is judged by the noise-free value of the point that the algorithm recommends.
"""

from __future__ import annotations

import importlib
import math
import time
import warnings
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..runner import Folder, Row, Work, now, versions
from ..suites import wild
from ..suites.base import Problem
from .algorithms import ALGORITHMS, Run, get_algorithm, is_ours
from .problems import TRACE_PER_DECADE, _RunOver
from .worker import attempt

SUITES: dict[str, Callable[[], list[Problem]]] = {"wild": wild.problems}
"""The laboratory's own suites."""

RIVALS = (
    "auto", "cma", "bipop-cma-x0", "l-bfgs-b-restarts", "differential-evolution", "nelder-mead-restarts",
    "cobyqa-restarts", "ngopt", "random",
)  # fmt: skip
"""What runs if no algorithms are named: the default and its rivals."""

LARGEST: dict[str, tuple[int, int]] = {
    "cobyqa-restarts": (20, 5_000),
    "nelder-mead-restarts": (200, 50_000),  # it sorts a simplex of n^2 numbers per evaluation
    "bipop-cma-x0": (200, 50_000),  # beyond, the budget ends before its first restart: it is cma
    "ngopt": (200, 5_000),
}
"""Variables and evaluations up to which an algorithm is run; beyond, a run takes more than a few minutes."""

HALF = 5.0
KEY = ("suite", "problem", "algorithm", "seed")


@dataclass(frozen=True, order=True)
class WildJob:
    """One run, as plain data."""

    suite: str
    problem: str
    algorithm: str
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same run."""
        return (self.suite, self.problem, self.algorithm, self.seed)


class WildObjective:
    """A problem of a suite in the box [-5, 5]^n that counts, projects and remembers.

    Parameters
    ----------
    problem : Problem
        From one of the `SUITES`.
    seed : int
        Of the noise.
    failures : bool
        Whether a failed evaluation is NaN; else it is the worst finite value so far.

    Examples
    --------
    >>> from eglearn_lab.suites import wild
    >>> fun = WildObjective(wild.problems()[0], seed=0, failures=True)
    >>> fun(fun.x0) == fun.best, fun.evaluations
    (True, 1)
    """

    def __init__(self, problem: Problem, seed: int, failures: bool) -> None:
        self.problem, self.budget, self.n, self.noisy = problem, problem.budget, problem.n, problem.noisy
        low, high = problem.box()
        self._middle, self._unit = (low + high) / 2, (high - low) / (2 * HALF)
        self.lower, self.upper = np.full(self.n, -HALF), np.full(self.n, HALF)
        self.x0: Array = np.clip((problem.x0 - self._middle) / self._unit, -HALF, HALF)
        self._objective, self._failures = problem.make(seed), failures
        self.evaluations = self.failed = 0
        self.best, self.best_x, self.worst = math.inf, self.x0, -math.inf
        self.cpu_function = self.cpu_inside = 0.0
        self.trace: list[tuple[int, float]] = []
        self._step, self._next = 0, 1
        self.so_far: MutableSequence[float] | None = None
        """Memory that outlives this process: evaluations and the lowest value."""

    def users(self, x: Array) -> Array:
        """The point in the problem's own coordinates; projected into the box."""
        p = self.problem
        return np.clip(self._middle + self._unit * np.clip(x, -HALF, HALF), p.lower, p.upper)

    def __call__(self, x: Any) -> float:
        """The value at ``x``; a private exception once the budget is used."""
        begun = time.process_time()
        if self.evaluations >= self.budget:
            raise _RunOver
        point = np.asarray(x, dtype=np.float64).reshape(self.n)
        before = time.process_time()
        y = value_or_nan(self._objective, self.users(point))
        after = time.process_time()
        self.evaluations += 1
        if math.isnan(y):
            self.failed += 1
        else:
            self.worst = max(self.worst, y)
            if y < self.best:
                self.best, self.best_x = y, point.copy()
        if self.evaluations == self._next:
            self.trace.append((self.evaluations, self.best))
            while self._next <= self.evaluations:
                self._step += 1
                self._next = round(10 ** (self._step / TRACE_PER_DECADE))
        if self.so_far is not None:
            self.so_far[:] = (self.evaluations, self.best)
        self.cpu_function += after - before
        self.cpu_inside += time.process_time() - begun
        if math.isnan(y) and not self._failures:
            return self.worst if math.isfinite(self.worst) else 0.0
        return y

    def judged(self, x: Array) -> float:
        """The noise-free value at ``x``, not counted; inf where it fails."""
        y = value_or_nan(self.problem.exact(), self.users(x))
        return math.inf if math.isnan(y) else y


def value_or_nan(objective: Callable[[Array], float], x: Array) -> float:
    """The value; NaN if it is infinite or the objective raises RuntimeError, which is how problems fail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = float(objective(x))
    except RuntimeError:
        return math.nan
    return y if math.isfinite(y) else math.nan


@cache
def problems_of(suite: str) -> dict[str, Problem]:
    """The problems of one of the laboratory's own suites, by name."""
    return {p.name: p for p in SUITES[suite]()}


def jobs(suite: str, algorithms: Iterable[str], seeds: Iterable[int], set_aside: bool = False) -> list[WildJob]:
    """The runs of algorithms on the development half of a suite, or on the half that is set aside.

    Pairs beyond `LARGEST` are left out.
    """
    seeds = tuple(seeds)
    return [
        WildJob(suite, p.name, name, seed)
        for name in algorithms
        for p in problems_of(suite).values()
        if p.set_aside == set_aside and _affordable(p, name)
        for seed in seeds
    ]


def _affordable(p: Problem, algorithm: str) -> bool:
    n, budget = LARGEST.get(algorithm, (p.n, p.budget))
    return p.n <= n and p.budget <= budget


@dataclass(frozen=True)
class WildRuns(Work[WildJob]):
    """Runs of algorithms on the laboratory's own suites."""

    plugins: tuple[str, ...] = ()

    KEY: ClassVar[tuple[str, ...]] = KEY
    SO_FAR: ClassVar[int] = 2

    def schema(self) -> Any:
        """Columns and types of the results."""
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

        text, whole, real = pa.string(), pa.int64(), pa.float64()
        kinds = {
            "suite": text, "problem": text, "algorithm": text, "seed": whole, "dimension": whole, "budget": whole,
            "evaluations": whole, "failed": whole, "best": real, "judged": real, "status": text, "error": text,
            "cpu_optimiser": real, "cpu_function": real, "trace_evaluations": pa.list_(pa.int32()),
            "trace_best": pa.list_(real), "versions": text, "started": pa.timestamp("ms", tz="UTC"),
        }  # fmt: skip
        return pa.schema(list(kinds.items()))

    def execute(self, job: WildJob, so_far: MutableSequence[float] | None = None) -> Row:
        """Do a run in this process; an algorithm that raises is a row with status "failed", at its best so far."""
        for name in self.plugins:
            importlib.import_module(name)
        entry = get_algorithm(job.algorithm)
        entry.load()
        started = now()
        problem = problems_of(job.suite)[job.problem]
        objective = WildObjective(problem, job.seed, failures=is_ours(job.algorithm))
        objective.so_far = so_far
        run = Run(objective, job.seed)
        status, error, used = attempt(entry.function, run)
        if status == "finished" and objective.evaluations == objective.budget:
            status = "budget"
        judged = objective.best
        if problem.noisy:
            judged = objective.judged(objective.best_x if run.recommended is None else run.recommended)
        trace = dict(objective.trace) | {objective.evaluations: objective.best}
        return self._about(job) | {
            "evaluations": objective.evaluations, "failed": objective.failed, "best": objective.best, "judged": judged,
            "status": status, "error": error, "cpu_optimiser": max(used - objective.cpu_inside, 0.0),
            "cpu_function": objective.cpu_function, "trace_evaluations": list(trace),
            "trace_best": list(trace.values()), "versions": versions("cma", "nevergrad"), "started": started,
        }  # fmt: skip

    def _about(self, job: WildJob) -> Row:
        p = problems_of(job.suite)[job.problem]
        return dict(zip(KEY, job.key, strict=True)) | {"dimension": p.n, "budget": p.budget}

    def lost(self, job: WildJob, status: str, error: str, so_far: Sequence[float] = ()) -> Row:
        """At the lowest value that is known; on a noisy problem that says nothing."""
        known = bool(len(so_far)) and so_far[0] > 0
        evaluations, best = so_far if known else (0, math.inf)
        row = super().lost(job, status, error) | self._about(job)
        judged = math.inf if problems_of(job.suite)[job.problem].noisy else best
        return row | {"evaluations": int(evaluations), "best": best, "judged": judged, "started": now()}

    def seconds(self, job: WildJob) -> float:
        """By budget, dimension, and what the algorithm costs in 40-D."""
        p = problems_of(job.suite)[job.problem]
        cost = ALGORITHMS[job.algorithm].cost if job.algorithm in ALGORITHMS else 0.1
        return p.budget * (cost * (0.3 + p.n / 60) + 0.03) / 1000 + 0.05

    def preload(self, jobs: Iterable[WildJob]) -> list[str]:
        """What the algorithms need."""
        needs = {need for name in {job.algorithm for job in jobs} for need in ALGORITHMS[name].needs}
        return [__name__, *sorted(needs)]


def load_runs(path: Any) -> list[Row]:
    """The rows of a folder that ``eglearn bench run --suite wild`` wrote."""
    rows: list[Row] = Folder(path, WildRuns()).table().to_pylist()
    return rows
