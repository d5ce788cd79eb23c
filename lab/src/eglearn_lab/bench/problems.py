"""COCO's problems with honest accounting: budget, projection, best so far, targets, CPU seconds.

Values below are noise-free gaps: value minus the true optimum. cocoex exposes neither the optimum nor, for
``bbob-noisy``, the value without noise. The optimum is the value of the best parameter, which cocoex writes
into a file. The noise-free value comes from a sibling: each of the eight noisy base functions exists with Cauchy
noise, which leaves most evaluations untouched but for a known constant, so that a value seen twice is exact.

Suite ``coco-784`` is the paper's (sec. 5.1): a 10-D problem of ``bbob`` behind an encoder of images (``encoder.py``).
Its box is [-1, 1]^784, its x0 is 0. Its optimum is that of the 10-D problem: a lower bound, reached only if the encoder
maps a point of the box there.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import time
from collections.abc import MutableSequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Array
from .encoder import LATENT, EncodedProblem

TARGETS: Array = np.power(10.0, 2 - 0.2 * np.arange(51), dtype=np.float64)
"""COCO's 51 target gaps, 1e2 down to 1e-8."""

PAPER_INSTANCES = (1, 2, 3, 4, 5, *range(71, 81))
"""The instances behind the paper's problem numbers, in order."""

SUITES: dict[str, tuple[range, tuple[int, ...]]] = {
    "bbob": (range(1, 25), (2, 3, 5, 10, 20, 40)),
    "bbob-noisy": (range(101, 131), (2, 3, 5, 10, 20, 40)),
    "bbob-largescale": (range(1, 25), (20, 40, 80, 160, 320, 640)),
    "coco-784": (range(1, 25), (784,)),
}
"""Functions and dimensions of each suite."""

TRACE_PER_DECADE = 20
"""Entries of a run's trace."""

_CAUCHY_OFFSET = 1.01e-8  # cocoex adds it to every noisy value
_NOISE_STRIDE = 10_007  # draws of noise that one seed is ahead of the last


class _RunOver(BaseException):
    """The evaluation would be one too many. Not an Exception, so that no optimiser swallows it."""


@dataclass(frozen=True, order=True)
class Problem:
    """Which problem, as plain data; ``open`` it in the process that runs it.

    Examples
    --------
    >>> objective = Problem("bbob", 1, 2, 1).open(budget=10)
    >>> objective.n, float(objective.x0[0]), round(objective.f_opt, 2)
    (2, 0.0, 79.48)
    """

    suite: str
    function: int
    dimension: int
    instance: int

    def __post_init__(self) -> None:
        if self.suite not in SUITES:
            raise ValueError(f"suite = {self.suite!r}: allowed is one of {', '.join(SUITES)}")
        functions, dimensions = SUITES[self.suite]
        if self.function not in functions:
            raise ValueError(f"function = {self.function}: {self.suite} has {functions[0]} to {functions[-1]}")
        if self.dimension not in dimensions:
            raise ValueError(f"dimension = {self.dimension}: {self.suite} has {', '.join(map(str, dimensions))}")
        if self.instance < 1:
            raise ValueError(f"instance = {self.instance}: it must be 1 or more")

    @property
    def noisy(self) -> bool:
        """Whether evaluations are random."""
        return self.suite == "bbob-noisy"

    def open(
        self, budget: int, *, seed: int = 0, folder: str | os.PathLike[str] | None = None, name: str = "unnamed"
    ) -> Objective:
        """The objective, ready to be evaluated.

        Parameters
        ----------
        budget : int
            Evaluations that are allowed.
        seed : int
            Shifts the noise of noisy problems, so that seeds see different noise.
        folder : path or None
            Write COCO's official data into this new folder, for ``cocopp``. One such objective at a time in a
            process, else cocoex may crash.
        name : str
            Of the algorithm, in the official data.
        """
        return Objective(self, budget, seed=seed, folder=folder, name=name)

    @property
    def inner(self) -> Problem | None:
        """The problem behind the encoder; None if there is no encoder."""
        return Problem("bbob", self.function, LATENT, self.instance) if self.suite == "coco-784" else None

    def _coco(self) -> tuple[Any, Any]:
        """A problem of cocoex, and its suite, which must outlive it: an observed problem still reads from it."""
        if self.inner is not None:
            problem, suite = self.inner._coco()
            return EncodedProblem(problem), suite
        import cocoex

        cocoex.log_level("warning")
        index = self.function - SUITES[self.suite][0][0] + 1
        options = f"dimensions:{self.dimension} function_indices:{index}"
        suite = cocoex.Suite(self.suite, f"instances:{self.instance}", options)
        return suite.get_problem(0), suite


def paper_problem(index: int, dimension: int) -> Problem:
    """The problem with the paper's number: 0-based, instances 1-5 and 71-80 of f1, then those of f2, ...

    Examples
    --------
    >>> paper_problem(194, 2)
    Problem(suite='bbob', function=13, dimension=2, instance=80)
    """
    function, position = divmod(index, len(PAPER_INSTANCES))
    if not 0 <= function < 24:
        raise ValueError(f"index = {index}: the paper's numbers are 0 to {24 * len(PAPER_INSTANCES) - 1}")
    return Problem("bbob", function + 1, dimension, PAPER_INSTANCES[position])


class NoiseFree:
    """Noise-free values of a problem, never counted; for noiseless suites a second copy of the problem."""

    def __init__(self, problem: Problem) -> None:
        self._shift = 0.0
        if problem.noisy:
            # f101 to f106 are moderate, the others severe: Cauchy noise adds 1000 times its strength when it is quiet.
            kind = problem.function - 101
            sibling = 103 + kind // 3 * 3
            self._shift = (10.0 if kind < 6 else 1000.0) + _CAUCHY_OFFSET
            problem = Problem(problem.suite, sibling, problem.dimension, problem.instance)
        self._inner = problem.inner
        self._noisy = problem.noisy
        self._problem, self._suite = problem._coco()

    def __call__(self, x: Array) -> float:
        """The value at ``x`` without noise."""
        if not self._noisy:
            return float(self._problem(x))
        seen: set[float] = set()
        while (y := float(self._problem(x))) not in seen and not math.isnan(y):
            seen.add(y)
        return y - self._shift

    def best_parameter(self) -> Array:
        """Where the lowest value is; ValueError for a problem behind an encoder, where that is not known."""
        if self._inner is not None:
            raise ValueError(f"the best point behind the encoder is not known: ask for that of {self._inner}")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            self._problem._best_parameter("print")
            (file,) = Path().glob("*best_parameter*")
            x: Array = np.loadtxt(file)
        return x

    def optimum(self) -> float:
        """The lowest value there is; behind an encoder, that of the 10-D problem."""
        if self._inner is None:
            return self(self.best_parameter())
        inner = NoiseFree(self._inner)
        try:
            return inner.optimum()
        finally:
            inner.close()

    def close(self) -> None:
        """Let go of cocoex's problem."""
        self._problem.free()


class Record:
    """Best gap so far at log-spaced evaluations, and when each target was reached first.

    Examples
    --------
    >>> record = Record()
    >>> for gap in (50.0, 80.0, 1e-9):
    ...     record.add(gap)
    >>> record.trace()
    ([1, 2, 3], [50.0, 50.0, 1e-09])
    >>> record.target_evaluations[:3], record.target_evaluations[-1]
    ([1, 1, 3], 3)
    """

    def __init__(self) -> None:
        self.evaluations = 0
        self.best = math.inf
        self.target_evaluations = [-1] * len(TARGETS)
        self._reached = 0
        self._trace: list[tuple[int, float]] = []
        self._step = 0
        self._next = 1

    def add(self, gap: float) -> None:
        """One more evaluation."""
        self.evaluations += 1
        if gap < self.best:
            self.best = gap
            while self._reached < len(TARGETS) and gap <= TARGETS[self._reached]:
                self.target_evaluations[self._reached] = self.evaluations
                self._reached += 1
        if self.evaluations == self._next:
            self._trace.append((self.evaluations, self.best))
            while self._next <= self.evaluations:
                self._step += 1
                self._next = round(10 ** (self._step / TRACE_PER_DECADE))

    def trace(self) -> tuple[list[int], list[float]]:
        """Evaluations and best gaps, the last evaluation included."""
        rows = list(self._trace)
        if self.evaluations and (not rows or rows[-1][0] < self.evaluations):
            rows.append((self.evaluations, self.best))
        return [e for e, _ in rows], [g for _, g in rows]


class Objective:
    """A problem that counts, projects and remembers; call it with one point.

    Attributes
    ----------
    lower, upper, x0 : arrays (n,)
        The box and the initial solution.
    f_opt, y0 : float
        The lowest value there is (for ``coco-784`` a lower bound), and the noise-free value of ``x0``; finding them is
        not counted.
    record : Record
        Of noise-free gaps; those of noisy problems are, as in COCO, of every point evaluated.
    projected : int
        Evaluations asked for outside the box; the nearest point inside was evaluated instead.
    best_x, best_y
        The point of the lowest value as measured.
    cpu_function, cpu_inside : float
        CPU seconds inside f, and inside all of the call, bookkeeping included.
    """

    def __init__(
        self, problem: Problem, budget: int, *, seed: int, folder: str | os.PathLike[str] | None, name: str
    ) -> None:
        if budget < 1:
            raise ValueError(f"budget = {budget}: it must be 1 or more")
        self.problem, self.budget = problem, budget
        self._free = NoiseFree(problem)
        self._coco, self._suite = problem._coco()  # after the sibling: opening starts the noise afresh
        self.x0: Array = np.array(self._coco.initial_solution, dtype=np.float64)
        self.lower: Array = np.array(self._coco.lower_bounds, dtype=np.float64)
        self.upper: Array = np.array(self._coco.upper_bounds, dtype=np.float64)
        self.n = problem.dimension
        self.f_opt = self._free.optimum()
        self.y0 = self._free(self.x0)
        if problem.noisy:
            if seed >= 100:
                raise ValueError(f"seed = {seed}: a noisy problem has noise for seeds 0 to 99")
            for _ in range(seed * _NOISE_STRIDE):
                self._free._problem(self.x0)
        if folder is not None:
            self._observe(Path(folder), name)
        self.record = Record()
        self.projected = 0
        self.best_x, self.best_y = self.x0, math.inf
        self.cpu_function = self.cpu_inside = 0.0
        self.so_far: MutableSequence[float] | None = None
        """Memory that outlives this process: evaluations, f_opt, y0 and the best gap."""

    def _observe(self, folder: Path, name: str) -> None:
        import cocoex

        if self.problem.inner is not None:
            raise ValueError(f"folder = {str(folder)!r}: COCO has no official data for suite {self.problem.suite}")
        folder = folder.resolve()
        folder.parent.mkdir(parents=True, exist_ok=True)
        if len(str(folder).split()) != 1:
            raise ValueError(f"folder = {str(folder)!r}: cocoex takes no spaces in the path of its data")
        options = f"outer_folder: {folder.parent} result_folder: {folder.name} algorithm_name: {name}"
        self._observer = cocoex.Observer(self.problem.suite, options)
        self._coco.observe_with(self._observer)

    @property
    def evaluations(self) -> int:
        """Calls so far."""
        return self.record.evaluations

    @property
    def noisy(self) -> bool:
        """Whether evaluations are random."""
        return self.problem.noisy

    @property
    def solved(self) -> bool:
        """Whether the last of COCO's targets is reached: no score can change any more, so the run ends.

        Never for noisy problems: there the recommended point is judged, which is another one.
        """
        return self.record.best <= TARGETS[-1] and not self.problem.noisy

    def __call__(self, x: Any) -> float:
        """The value at ``x``, with noise if the problem has it.

        Raises
        ------
        BaseException
            A private one, when the budget is used up or the problem solved.
        """
        begun = time.process_time()
        if self.solved or self.record.evaluations >= self.budget:
            raise _RunOver
        asked = np.asarray(x, dtype=np.float64).reshape(self.n)
        point = np.minimum(np.maximum(asked, self.lower), self.upper)
        self.projected += int((point != asked).any())
        before = time.process_time()
        y = float(self._coco(point))
        after = time.process_time()
        self.record.add(max((self._free(point) if self.problem.noisy else y) - self.f_opt, 0.0))
        if y < self.best_y:
            self.best_x, self.best_y = point.copy(), y
        if self.so_far is not None:
            self.so_far[:] = (self.record.evaluations, self.f_opt, self.y0, self.record.best)
        self.cpu_function += after - before
        self.cpu_inside += time.process_time() - begun
        return y

    def gap(self, x: Array) -> float:
        """The noise-free gap at ``x`` (projected), not counted."""
        return max(self._free(np.clip(x, self.lower, self.upper)) - self.f_opt, 0.0)

    def close(self, recommended: Array | None = None) -> None:
        """Finish; official data, if any, are then complete."""
        if recommended is not None and self._coco.is_observed:
            self._coco.recommend(recommended)
        self._coco.free()
        self._free.close()
