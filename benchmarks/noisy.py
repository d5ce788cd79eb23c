"""The default against BIPOP-CMA-ES on noisy functions, from results that are there already.

Judged is the value without noise of the point that each recommends at the end of its budget: the share of COCO's 51
targets (gaps 1e2 to 1e-8) it reaches. BIPOP-CMA-ES recommends the mean of the distribution with the lowest median, not
its luckiest sample. Prints a line a function and the paired comparison over problems, with a 95 % bootstrap interval;
exit code 1 if the interval is not above 0. Nothing is run. The results come from::

    eglearn bench run --suite bbob-noisy --dims 20 --algorithms auto,bipop-cma --out results/coco/noisy

Add ``--functions`` or ``--instances`` for a part of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa

from eglearn_lab.bench.metrics import TARGETS, compare, score_table
from eglearn_lab.bench.result_table import Results
from eglearn_lab.bench.rows import load_results

FOLDER = Path(__file__).parents[1] / "results" / "coco" / "noisy"
OURS, RIVAL = "auto", "bipop-cma"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[FOLDER], help="folders of results")
    parser.add_argument("--dimension", type=int, default=20)
    parser.add_argument("--budget", type=int, default=150_000)
    options = parser.parse_args()
    table = pa.concat_tables([load_results(folder) for folder in options.folders])
    runs = Results.from_arrow(table).select(
        suite="bbob-noisy", dimension=options.dimension, algorithm=(OURS, RIVAL), budget=options.budget
    )
    gaps = np.asarray(runs["recommended_gap"], dtype=float)
    score = (gaps[:, None] <= TARGETS).mean(axis=1)
    if not score_table(runs, score, (OURS, RIVAL)).complete().problems:
        print(f"no problem of bbob-noisy in {options.dimension}-D was run by both {OURS} and {RIVAL}")
        return 1
    print(f"share of 51 targets, budget {options.budget}\n\nfunction  instances  {OURS:>9}  {RIVAL:>9}")
    for function in np.unique(runs["function"]).tolist():
        here = runs["function"] == function
        both = score_table(runs.where(here), score[here], (OURS, RIVAL)).complete()
        if both.problems:
            ours, rival = both.values.mean(axis=0)
            print(f"f{function:<7}  {len(both.problems):>9}  {ours:>9.3f}  {rival:>9.3f}")
    c = compare(runs, score, OURS, RIVAL, np.random.default_rng(0))
    print(f"\nall: {c.problems} problems, {OURS} {c.mean_a:.3f}, {RIVAL} {c.mean_b:.3f}")
    print(f"difference {c.difference:+.3f}, 95 % interval {c.low:+.3f} to {c.high:+.3f}")
    print(f"{OURS} is ahead on {c.wins}, behind on {c.losses}, equal on {c.ties}")
    return 0 if c.low > 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
