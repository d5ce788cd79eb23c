"""The default against CMA-ES on COCO: problems solved, targets reached and optimiser time, from committed results.

Compared are only the problems that all three have run. Prints a table; nothing is run. The results come from
``eglearn bench run --dims 40,20,10 --instances 1 --algorithms egl --out results/coco/egl`` and benchmarks/coco.sh.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from eglearn.bench.metrics import cpu_per_evaluation, success, targets_reached
from eglearn.bench.result_table import Results
from eglearn.bench.rows import load_results

FOLDER = Path(__file__).parents[1] / "results" / "coco"
NAMES = ("egl", "bipop-cma", "cma")
BUDGET = 150_000


def main() -> None:
    """Print the table."""
    table = pa.concat_tables([load_results(FOLDER / name) for name in ("baselines", "egl")])
    print("dimension  algorithm    solved   targets at 1, 10, 100 %   optimiser ms an evaluation")
    for n in (10, 20, 40):
        runs = Results.from_arrow(table).select(suite="bbob", dimension=n, algorithm=NAMES, budget=BUDGET)
        own = {name: runs.select(algorithm=name) for name in NAMES}
        shared = set.intersection(
            *(set(zip(r["function"].tolist(), r["instance"].tolist(), strict=True)) for r in own.values())
        )
        for name, r in own.items():
            keep = np.array(
                [k in shared for k in zip(r["function"].tolist(), r["instance"].tolist(), strict=True)], dtype=bool
            )
            solved = success(r, reference="optimum")[keep]
            reached = targets_reached(r, [0.01 * BUDGET, 0.1 * BUDGET, BUDGET])[keep].mean(axis=0)
            milliseconds = 1e3 * np.average(cpu_per_evaluation(r)[keep], weights=r["evaluations"][keep])
            shares = "  ".join(f"{share:.3f}" for share in reached)
            print(f"{n:>9}  {name:<11}  {solved.sum():>2} / {len(solved):<3}  {shares}          {milliseconds:.3f}")


if __name__ == "__main__":
    main()
