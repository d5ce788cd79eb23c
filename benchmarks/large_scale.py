"""The default on COCO's bbob-largescale, against CMA-ES and L-BFGS-B: targets reached, paired over problems.

All get 150,000 evaluations, the same problems and the same start. Held to: ahead of both in the share of the 51 targets
that are reached, with the whole interval of 95 % above 0. Prints a table and ends with exit code 1 if the bar is
missed.

Run ``python benchmarks/large_scale.py``; killed, it goes on when it is called again. A problem in 80-D takes all three
a quarter of a minute of one core, in 160-D half a minute, in more dimensions far longer (CMA-ES). Fewer: ``--dims 80
--functions 8 10``. ``--table`` only prints what is finished.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from eglearn_lab.bench.metrics import Results, compare, cpu_per_evaluation, targets_reached
from eglearn_lab.bench.runner import Progress, load_results, run_benchmark

OURS, RIVALS = "auto", ("l-bfgs-b", "cma")
SHARES = (0.01, 0.1, 1.0)


def show(progress: Progress) -> None:
    """A line a run."""
    row = progress.row
    print(
        f"{progress.done} of {progress.total}, {progress.eta / 60:.0f} minutes to go: {row['algorithm']} "
        f"f{row['function']} {row['dimension']}-D instance {row['instance']}, gap {row['best_gap']:.3g}",
        flush=True,
    )


def table(results: Results) -> bool:
    """Print the comparison by dimension and of all; whether the default is ahead of all rivals over all."""
    ahead = True
    for n in (*sorted(set(results["dimension"].tolist())), None):
        some = results if n is None else results.select(dimension=n)
        print(f"\n{'all dimensions' if n is None else f'{n}-D'}")
        for share in SHARES:
            score = targets_reached(some, (share * some["budget"])[:, None])[:, 0]
            for rival in RIVALS:
                if not {OURS, rival} <= set(some.algorithms):
                    continue
                c = compare(some, score, OURS, rival, np.random.default_rng(0))
                print(
                    f"{100 * share:>4.0f} % of the budget: {OURS} {c.mean_a:.3f}, {rival:<8} {c.mean_b:.3f}, "
                    f"difference {c.difference:+.3f} ({c.low:+.3f}, {c.high:+.3f}) on {c.problems} problems, "
                    f"{c.wins} won, {c.losses} lost"
                )
                ahead &= n is not None or share < 1 or c.low > 0
        for name in (OURS, *RIVALS):
            if name in some.algorithms:
                print(f"{name:<9}{1e3 * np.mean(cpu_per_evaluation(some.select(algorithm=name))):.3f} ms an evaluation")
    return ahead


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="results/coco/largescale", help="folder of the results")
    parser.add_argument("--dims", type=int, nargs="+", default=[80, 160, 320, 640])
    parser.add_argument("--functions", type=int, nargs="+", default=list(range(1, 25)))
    parser.add_argument("--instances", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--budget", type=int, default=150_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="run nothing")
    options = parser.parse_args()
    if not options.table:
        run_benchmark(
            options.out, "bbob-largescale", options.dims, options.functions, options.instances, (OURS, *RIVALS),
            options.budget, workers=options.workers, progress=show,
        )  # fmt: skip
    if not Path(options.out).is_dir() or not (rows := load_results(options.out)).num_rows:
        print(f"{options.out} holds no finished run: leave out --table to make some")
        return 1
    return 0 if table(Results.from_arrow(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
