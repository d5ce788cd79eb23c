"""The 784-D problems: fig. 4c of the paper, and ball against cone (app. H, fig. on cone-explore).

Every algorithm gets the same problems, box and x0. Budgets are what can be afforded, about an hour of one core for
instance 1 (the paper: 150,000 evaluations): so only what happens within the smaller of two budgets can be compared.

Run ``python benchmarks/coco_784.py``; killed, it goes on when it is called again. Further instances:
``--instances 1 2 3``. ``--table`` only prints what is finished. Distances are (best - f_opt) / (y0 - f_opt), the mean
over problems with its bootstrap interval of 95 %; f_opt is that of the 10-D problem.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from eglearn_lab.bench.ablations import gains
from eglearn_lab.bench.metrics import Results, bootstrap_mean, scaled_distance, score_table
from eglearn_lab.bench.runner import Progress, load_results, run_benchmark

CONE = {"egl-ball": 10_000, "egl-cone": 10_000, "egl-cone-ball": 10_000}
BUDGETS = {
    "random": 10_000,
    "cg": 30_000,
    "l-bfgs-b": 30_000,
    "sep-cma": 30_000,
    "auto": 30_000,
    "egl-m64": 30_000,
    "egl-m800": 30_000,
    "cma": 10_000,
    "egl-fc-m64": 10_000,
    "egl-fc-m800": 10_000,
    "igl-m64": 10_000,
    **CONE,
    "egl-ball-m784": 30_000,
    "egl-cone-m784": 30_000,
}
"""Evaluations by algorithm."""
SHOWN = (1_000, 4_000, 10_000, 30_000)


def show(progress: Progress) -> None:
    """A line a run."""
    row = progress.row
    print(
        f"{progress.done} of {progress.total}, {progress.failed} failed, {progress.eta / 60:.0f} minutes to go: "
        f"{row['algorithm']} f{row['function']} instance {row['instance']}, gap {row['best_gap']:.3g}, "
        f"{row['evaluations']} evaluations, {row['cpu_optimiser'] + row['cpu_function']:.1f} s, {row['status']}",
        flush=True,
    )


def distances(results: Results) -> None:
    """Scaled distance by algorithm and evaluations, on the problems that all have run."""
    table = score_table(results, scaled_distance(results, SHOWN, reference="optimum")).complete()
    print(f"\nscaled distance to the optimum, mean over {len(table.problems)} problems that all have run")
    print(f"{'algorithm':<16}" + "".join(f"{t:>22,}" for t in SHOWN) + f"{'CPU ms / evaluation':>22}")
    if not table.problems:
        return
    for name in table.algorithms:
        mine = results.select(algorithm=name)
        interval = bootstrap_mean(table.column(name), np.random.default_rng(0))
        cells = [
            f"{e:.3f} ({low:.3f}, {high:.3f})" if t <= mine["budget"].max() else "-"
            for t, e, low, high in zip(SHOWN, interval.estimate, interval.low, interval.high, strict=True)
        ]
        seconds = (mine["cpu_optimiser"] + mine["cpu_function"]).sum() / mine["evaluations"].sum()
        print(f"{name:<16}" + "".join(f"{cell:>22}" for cell in cells) + f"{1000 * seconds:>22.2f}")


def cone(results: Results) -> None:
    """The gain over the ball, 1 - D / D_ball, D the scaled distance to the optimum."""
    mine = results.select(algorithm=tuple(CONE))
    if "egl-ball" not in mine.algorithms:
        return
    print("\ngain over egl-ball at the end of the budget; paper: 18 % for half cone, half ball")
    for name, gain in gains(mine, "egl-ball").items():
        estimate, low, high = (100 * float(np.squeeze(v)) for v in (gain.estimate, gain.low, gain.high))
        print(f"{name:<16}{estimate:>8.1f} % ({low:.1f}, {high:.1f})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="results/coco-784", help="folder of the results")
    parser.add_argument("--instances", type=int, nargs="+", default=[1])
    parser.add_argument("--algorithms", nargs="+", choices=BUDGETS, default=list(BUDGETS), metavar="NAME")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="run nothing")
    options = parser.parse_args()
    if not options.table:
        run_benchmark(
            options.out, "coco-784", (784,), None, options.instances, options.algorithms,
            lambda problem, name: BUDGETS[name], workers=options.workers, progress=show,
        )  # fmt: skip
    if not Path(options.out).is_dir() or not (rows := load_results(options.out)).num_rows:
        print(f"{options.out} holds no finished run: leave out --table to make some")
        return 1
    results = Results.from_arrow(rows)
    distances(results)
    cone(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
