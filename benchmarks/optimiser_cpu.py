"""Processor time of the optimiser per evaluation up to 40-D, beside pycma with restarts, both in one run, one thread.

Four functions of bbob that neither solves at once: curved valley, ripples, sharp ripples, many funnels. The time of the
objective is not counted. Prints means over the functions. Needs eglearn-lab[bench].

Run ``python benchmarks/optimiser_cpu.py``; about eight minutes, a tenth of that with ``--short``.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is loaded

import cma
import numpy as np

from eglearn import AutoEGL
from eglearn_lab.bench.problems import NoiseFree, Problem

FUNCTIONS, BOX = (8, 15, 17, 24), 5.0


class Clock:
    """Adds up the processor time of calls."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, call: Callable[..., Any], *args: Any) -> Any:
        begin = time.process_time()
        result = call(*args)
        self.seconds += time.process_time() - begin
        return result


def auto(problem: NoiseFree, n: int, evaluations: int) -> float:
    """Seconds of the default."""
    clock, optimiser = Clock(), AutoEGL([(-BOX, BOX)] * n, budget=evaluations, seed=0)
    while not optimiser.stop():
        x = clock(optimiser.ask)
        clock(optimiser.tell, x, [problem(point) for point in x])
    return clock.seconds


def pycma(problem: NoiseFree, n: int, evaluations: int) -> float:
    """Seconds of CMA-ES, which begins anew at a random point when it stops."""
    clock, used, rng, start = Clock(), 0, np.random.default_rng(0), np.zeros(n)
    while used < evaluations:
        settings = {"bounds": [-BOX, BOX], "verbose": -9, "seed": 1 + used}
        es = clock(cma.CMAEvolutionStrategy, start, 2.0, settings)
        while used < evaluations and not clock(es.stop):
            x = clock(es.ask)
            clock(es.tell, x, [problem(point) for point in x])
            used += len(x)
        start = rng.uniform(-0.8 * BOX, 0.8 * BOX, n)
    return clock.seconds


def main() -> None:
    """Print the table."""
    print("| n | evaluations | auto, ms | cma, ms | ratio |\n|--:|--:|--:|--:|--:|")
    for evaluations in (15_000,) if "--short" in sys.argv else (15_000, 150_000):
        for n in (10, 20, 40):
            ms = [
                [1e3 * run(NoiseFree(Problem("bbob", f, n, 1)), n, evaluations) / evaluations for f in FUNCTIONS]
                for run in (auto, pycma)
            ]
            ours, theirs = (statistics.mean(each) for each in ms)
            print(f"| {n} | {evaluations:,} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
