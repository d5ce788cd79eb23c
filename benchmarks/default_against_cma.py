"""The default against CMA-ES on COCO, goal by goal, from committed results; nothing is run.

Compared are the problems that both algorithms have run, paired, seeds averaged; intervals are 95 % bootstraps over
problems. The results come from benchmarks/coco.sh and benchmarks/default.sh.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from eglearn_lab.bench.metrics import Comparison, compare, success, targets_reached
from eglearn_lab.bench.result_table import Results
from eglearn_lab.bench.rows import load_results

FOLDER = Path(__file__).parents[1] / "results" / "coco"
BUDGET = 150_000


def line(what: str, c: Comparison, goal: str, held: bool) -> None:
    """Print one comparison with its goal."""
    print(
        f"{what:<34} {c.mean_a:.3f} against {c.mean_b:.3f} of {c.b:<9} {c.difference:+.3f} "
        f"[{c.low:+.3f}, {c.high:+.3f}]  {c.problems:>3} problems   {goal}: {'holds' if held else 'DOES NOT HOLD'}"
    )


def strict_success(runs: Results, rng: np.random.Generator) -> None:
    """At the whole budget, pooled over dimensions."""
    for dimensions, least, goal in (
        ((10, 20, 40), 0.05, "at least 0.05, interval above 0"),
        ((2, 3, 5), -0.01, "at least -0.01"),
    ):
        r = runs.select(dimension=dimensions)
        c = compare(r, success(r, reference="optimum").astype(float), "auto", "bipop-cma", rng)
        held = c.difference >= least and (least < 0 or c.low > 0)
        line(f"solved, {dimensions}-D", c, goal, held)
    for n in (2, 3, 5, 10, 20, 40):
        r = runs.select(dimension=n)
        c = compare(r, success(r, reference="optimum").astype(float), "auto", "bipop-cma", rng)
        print(f"    {n:>2}-D: {c.mean_a:.3f} against {c.mean_b:.3f}, {c.wins} better, {c.losses} worse of {c.problems}")


def targets(runs: Results, rng: np.random.Generator) -> None:
    """Shares of COCO's 51 targets at three moments."""
    for n in (10, 20, 40):
        r = runs.select(dimension=n)
        for share in (0.01, 0.1, 1.0):
            c = compare(r, targets_reached(r, [share * BUDGET])[:, 0], "auto", "bipop-cma", rng)
            line(f"targets at {share:.0%} of the budget, {n}-D", c, "at least -0.01", c.difference >= -0.01)
    pooled = runs.select(dimension=(10, 20, 40))
    score = targets_reached(pooled, [0.01 * BUDGET, 0.1 * BUDGET, BUDGET]).mean(axis=1)
    c = compare(pooled, score, "auto", "bipop-cma", rng)
    line("targets, mean of these", c, "above 0", c.difference > 0)


def short(runs: Results, rng: np.random.Generator) -> None:
    """Targets with 100 n evaluations in all."""
    for n in (10, 20, 40):
        r = runs.select(dimension=n, budget=100 * n)
        c = compare(r, targets_reached(r, [100 * n])[:, 0], "auto", "cma", rng)
        line(f"targets, 100 n evaluations, {n}-D", c, "at least 0", c.difference >= 0)


def main() -> None:
    """Print all lines."""
    rng = np.random.default_rng(0)
    table = pa.concat_tables([load_results(FOLDER / name) for name in ("baselines", "auto", "short")])
    results = Results.from_arrow(table).select(suite="bbob")
    whole = results.select(budget=BUDGET)
    strict_success(whole, rng)
    targets(whole, rng)
    short(results, rng)


if __name__ == "__main__":
    main()
