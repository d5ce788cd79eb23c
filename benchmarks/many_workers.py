"""Time to a target against the number of workers, in virtual time: durations are drawn, optimisers cost nothing.

``many_workers.py run`` makes the runs that are missing (``--dims``, ``--widths``, ``--durations``, ``--players``,
``--functions`` limit them); without ``run`` the tables are printed from what is there, and ``--picture FILE`` draws the
one of the README.

Durations have the mean 1: fixed, log-normal (sigma 1) or Pareto (1.5). Problems: a choice of bbob's functions and the
rotated rippled bowl (0). Rivals: pycma with a generation of as many points as workers, which waits for the slowest;
differential evolution and TBPSA of nevergrad, told in the order of arrival; Optuna's TPE. Bars: the default is busy
for at least 0.95 of the time, has the best time to a target at every width, and at width n is at least n / 4 times as
fast on smooth functions as at width 1.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np

from eglearn_lab.bench.virtual_time import DURATIONS, PLAYERS
from eglearn_lab.bench.worker_runs import GAPS, WorkerJob, WorkerRuns
from eglearn_lab.runner import Folder, run_jobs

OUT = Path(__file__).parents[1] / "results" / "workers"
WIDTHS = (1, 4, 16, 64, 256, 1024)
SMOOTH, OTHERS = (1, 2, 8, 10, 14), (0, 3, 7, 15, 17, 21)
BUDGETS = {1: 1000, 4: 1000, 16: 1000, 64: 2000, 256: 4000, 1024: 10_000}
"""Evaluations by the dimension, for a number of workers: the many of the largest are few rounds."""
TRIALS = 50  # the same for TPE, whose trials take longer and longer


def numbers(text: str) -> tuple[int, ...]:
    """Numbers separated by commas."""
    return tuple(int(part) for part in text.split(","))


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(text.split(","))


def make_runs(args: argparse.Namespace) -> None:
    """All that are missing, first those that tell most."""
    grid = [
        WorkerJob(function, n, instance, player, width, duration, n * (TRIALS if player == "tpe" else BUDGETS[width]))
        for duration, n, instance, width, player, function in itertools.product(
            args.durations, args.dims, args.instances, args.widths, args.players, args.functions
        )
        if player != "tpe" or width in (4, 16)
    ]
    run_jobs(args.out, WorkerRuns(), grid, workers=args.workers)


def reached(row: dict[str, object], gap: float) -> float:
    """The time to a gap."""
    times = row["times"]
    return float(times[GAPS.index(gap)]) if times is not None else np.inf  # type: ignore[index]


def rows_of(args: argparse.Namespace) -> list[dict[str, object]]:
    """What there is."""
    return [r for r in Folder(args.out, WorkerRuns()).table().to_pylist() if r["instance"] in args.instances]


def show(args: argparse.Namespace) -> None:
    """The tables."""
    rows = rows_of(args)
    for n, duration in itertools.product(args.dims, args.durations):
        chosen = [r for r in rows if (r["dimension"], r["duration"]) == (n, duration)]
        if not chosen:
            continue
        players = [p for p in PLAYERS if any(r["player"] == p for r in chosen)]
        widths = sorted({r["width"] for r in chosen})
        print(f"\n{n}-D, durations {duration}")
        busy = {w: [r["busy"] for r in chosen if r["player"] == "auto" and r["width"] == w] for w in widths}
        print("busy, auto:  " + "  ".join(f"{w}: {np.mean(b):.3f}" for w, b in busy.items() if b))
        for functions, label in ((SMOOTH, "smooth"), (OTHERS, "others")):
            print(f"{label}: share of functions and gaps reached first, share reached, functions (those that auto ran)")
            for w in widths:
                ran = {(r["player"], r["function"]) for r in chosen if r["width"] == w}
                common = [f for f in functions if ("auto", f) in ran]
                times = {
                    (p, f, gap): np.median([
                        reached(r, gap) for r in chosen if (r["player"], r["function"], r["width"]) == (p, f, w)
                    ])
                    for p, f in ran for gap in GAPS if f in common
                }  # fmt: skip
                line = ""
                for p in players:
                    own = {key: t for key, t in times.items() if key[0] == p}
                    first = [t <= min(times[q, *key[1:]] for q in players if (q, key[1]) in ran)
                             for key, t in own.items() if np.isfinite(t)]  # fmt: skip
                    if own:
                        line += f"  {p} {sum(first) / len(own):.2f} {len(first) / len(own):.2f}"
                        line += f" {len(own) // len(GAPS)}"
                print(f"  W {w:5d}:{line}")
        print("speed-up of auto over width 1, geometric mean over smooth functions and gaps reached by both")
        for w in widths[1:]:
            ratios = []
            for f, gap in itertools.product(SMOOTH, GAPS):
                one, many = (
                    [reached(r, gap) for r in chosen if (r["player"], r["function"], r["width"]) == ("auto", f, width)]
                    for width in (1, w)
                )
                if one and many and np.isfinite(a := np.median(one)) and np.isfinite(b := np.median(many)):
                    ratios.append(a / b)
            if ratios:
                print(f"  W {w:5d}: {np.exp(np.mean(np.log(ratios))):.1f}  (n / 4 = {n / 4:g})")


def draw(args: argparse.Namespace) -> None:
    """Time to a gap of 0.01 against workers, in 20-D with log-normal durations."""
    import matplotlib.pyplot as plt

    rows = [r for r in rows_of(args) if (r["duration"], r["dimension"]) == ("log-normal", 20)]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), constrained_layout=True, sharey=True)
    names = {"auto": "eglearn", "cma-generations": "CMA-ES (cma), a generation at a time"}
    for axis, (function, title) in zip(axes, ((10, "Rotated ellipsoid"), (0, "Rotated rippled bowl")), strict=True):
        for player, name in names.items():
            mine = [r for r in rows if (r["player"], r["function"]) == (player, function)]
            at = {w: [reached(r, 1e-2) for r in mine if r["width"] == w] for w in WIDTHS}
            good = [(w, np.median(times)) for w, times in at.items() if times and np.isfinite(np.median(times))]
            axis.loglog(*zip(*good, strict=True), "o-", label=name, lw=2.5 if player == "auto" else 1.5)
        axis.set(title=f"{title}, 20-D", xlabel="workers", xticks=WIDTHS, xticklabels=WIDTHS)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("time to a gap of 0.01\n(one evaluation takes 1 on average)")
    axes[0].legend(frameon=False, loc="lower left")
    figure.savefig(args.picture, dpi=150)


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", nargs="?", choices=("run", "show"), default="show")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--dims", type=numbers, default=(20, 40))
    parser.add_argument("--widths", type=numbers, default=WIDTHS)
    parser.add_argument("--instances", type=numbers, default=(1,))
    parser.add_argument("--functions", type=numbers, default=(*SMOOTH, *OTHERS))
    parser.add_argument("--durations", type=names, default=tuple(DURATIONS))
    parser.add_argument("--players", type=names, default=tuple(PLAYERS))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    if args.action == "run":
        make_runs(args)
    if args.picture:
        draw(args)
    show(args)


if __name__ == "__main__":
    main()
