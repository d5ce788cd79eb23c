"""How often `ftol` ends a run before the minimum, by its patience: functions of COCO's bbob with one valley.

    python benchmarks/stopping.py     # some 10 minutes

A run uses all its evaluations; what a patience of c (n + 20) would have made of it is told from its history. Counted
are runs that get below 1e-6 in the end but would have ended above that. Needs eglearn-lab[bench].
"""

from __future__ import annotations

import itertools

import numpy as np

from eglearn import minimize
from eglearn.evaluation import Outcome
from eglearn.stop_rules import StopRules
from eglearn_lab.bench.problems import NoiseFree, Problem

ONE_VALLEY = (1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
FACTORS = (10, 20, 30, 40, 60)


def left(gaps: np.ndarray, n: int, factor: int) -> float:
    """The lowest gap when the rule ends the run."""
    rules, lowest = StopRules(n, ftol=1e-8, patience=factor * (n + 20)), np.inf
    for gap in gaps:
        rules.told(np.zeros(n), Outcome(float(gap)))
        lowest = min(lowest, gap)
        if rules.status() is not None:
            break
    return lowest


def gap(x: np.ndarray, problem: NoiseFree, optimum: float) -> float:
    return problem(x) - optimum


def main() -> None:
    print("| n | solved in the end | " + " | ".join(f"not yet at {c} (n + 20)" for c in FACTORS) + " |")
    print("|--:|--:|" + "--:|" * len(FACTORS))
    for n in (2, 5, 10, 20, 40):
        solved, early = 0, dict.fromkeys(FACTORS, 0)
        for function, instance in itertools.product(ONE_VALLEY, [1] if n == 40 else [1, 2]):
            problem = NoiseFree(Problem("bbob", function, n, instance))
            optimum = problem.optimum()
            result = minimize(gap, [(-5, 5)] * n, args=(problem, optimum), budget=min(600 * n + 6_000, 20_000))
            gaps = result.history.y
            if gaps.min() < 1e-6:
                solved += 1
                for c in FACTORS:
                    early[c] += left(gaps, n, c) > 1e-6
        print(f"| {n} | {solved} | " + " | ".join(str(early[c]) for c in FACTORS) + " |", flush=True)


if __name__ == "__main__":
    main()
