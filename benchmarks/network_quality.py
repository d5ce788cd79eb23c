"""What our settings are worth: ``egl-fc`` against table 1 of the paper on COCO, from results that are there already.

40-D, instance 1, 150,000 evaluations: problems solved (the paper's test with the true optimum) and the share of COCO's
51 targets, paired over the functions that both have run, with 95 % bootstrap intervals. Held to: neither below that of
``egl-table1-fc``; exit code 1 if missed. The runs come from benchmarks/coco.sh, the time of a learning step is measured
by network_cost.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from eglearn_lab.bench.metrics import compare, cpu_per_evaluation, success, targets_reached
from eglearn_lab.bench.result_table import Results
from eglearn_lab.bench.rows import load_results

FOLDER = Path(__file__).parents[1] / "results" / "coco"
OURS, PAPERS = "egl-fc", "egl-table1-fc"
BUDGET = 150_000


def main() -> int:
    """Print both comparisons."""
    folders = [FOLDER / name for name in ("figure-3", "table1") if (FOLDER / name).is_dir()]
    table = pa.concat_tables([load_results(folder) for folder in folders])
    runs = Results.from_arrow(table).select(
        suite="bbob", dimension=40, instance=1, budget=BUDGET, algorithm=(OURS, PAPERS)
    )
    if set(runs.algorithms) != {OURS, PAPERS}:
        print(f"{FOLDER} lacks runs of {OURS} or {PAPERS} in 40-D: sh benchmarks/coco.sh makes them")
        return 1
    for name in (OURS, PAPERS):
        time = float(np.mean(cpu_per_evaluation(runs.select(algorithm=name))))
        print(f"{name:<13} {1e3 * time:.1f} ms of the optimiser an evaluation")
    held = True
    for what, score in (
        ("solved", success(runs, reference="optimum").astype(float)),
        ("targets", targets_reached(runs, [BUDGET])[:, 0]),
    ):
        c = compare(runs, score, OURS, PAPERS, np.random.default_rng(0))
        held &= c.difference >= 0
        print(
            f"{what:<8} {OURS} {c.mean_a:.3f}, {PAPERS} {c.mean_b:.3f}, difference {c.difference:+.3f} "
            f"[{c.low:+.3f}, {c.high:+.3f}] on {c.problems} problems; {c.wins} better, {c.losses} worse"
        )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
