"""What the cheap network is worth: ``egl-fc`` against the paper's recipe on COCO, from results that are there already.

10-D, instance 1, after 6,400 evaluations, which is what the paper's recipe was given: problems solved (the paper's
test with the true optimum) and the share of COCO's 51 targets, paired over the functions that both have run, with 95 %
bootstrap intervals. Held to: neither below that of ``egl-paper-fc``; exit code 1 if missed. The runs come from
benchmarks/coco.sh, the time of a learning step is measured by network_cost.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from eglearn_lab.bench.metrics import compare, cpu_per_evaluation, cut, success, targets_reached
from eglearn_lab.bench.result_table import Results
from eglearn_lab.bench.rows import load_results

FOLDER = Path(__file__).parents[1] / "results" / "coco"
OURS, PAPERS = "egl-fc", "egl-paper-fc"
BUDGET = 6400


def main() -> int:
    """Print both comparisons."""
    folders = [FOLDER / name for name in ("networks", "paper") if (FOLDER / name).is_dir()]
    table = pa.concat_tables([load_results(folder) for folder in folders])
    runs = Results.from_arrow(table).select(suite="bbob", dimension=10, instance=1, algorithm=(OURS, PAPERS))
    if set(runs.algorithms) != {OURS, PAPERS}:
        print(f"{FOLDER} lacks runs of {OURS} or {PAPERS} in 10-D: sh benchmarks/coco.sh makes them")
        return 1
    for name in (OURS, PAPERS):
        time = float(np.mean(cpu_per_evaluation(runs.select(algorithm=name))))
        print(f"{name:<13} {1e3 * time:.1f} ms of the optimiser an evaluation")
    runs = cut(runs, BUDGET)
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
