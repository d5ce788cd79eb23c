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


def show(args: argparse.Namespace) -> None:
    """The tables."""
    rows = Folder(args.out, WorkerRuns()).table().to_pylist()
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
            print(f"{label}, f{', f'.join(map(str, functions))}: share of functions and gaps reached first, reached")
            for w in widths:
                cells = {p: [] for p in players}
                wins, pairs = dict.fromkeys(players, 0), 0
                for f, gap in itertools.product(functions, GAPS):
                    times = {
                        p: np.median([reached(r, gap) for r in chosen
                                      if (r["player"], r["function"], r["width"]) == (p, f, w)] or [np.inf])
                        for p in players
                    }  # fmt: skip
                    best = min(times.values())
                    for p in players:
                        cells[p].append(np.isfinite(times[p]))
                    if np.isfinite(best):
                        pairs += 1
                        for p in players:
                            wins[p] += times[p] <= best
                line = "  ".join(f"{p} {wins[p] / max(pairs, 1):.2f} {np.mean(cells[p]):.2f}" for p in players)
                print(f"  W {w:5d}: {line}")
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
    """Time to a gap of 1e-2 against workers, for one dimension and log-normal durations."""
    import matplotlib.pyplot as plt

    rows = [
        r
        for r in Folder(args.out, WorkerRuns()).table().to_pylist()
        if r["duration"] == "log-normal" and r["dimension"] == 20
    ]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
    shown = ((10, "rotated ellipsoid, 20-D"), (0, "rotated rippled bowl, 20-D"))
    for axis, (function, title) in zip(axes, shown, strict=True):
        for player in PLAYERS:
            points = [
                (w, np.median([reached(r, 1e-2) for r in rows
                               if (r["player"], r["function"], r["width"]) == (player, function, w)] or [np.inf]))
                for w in WIDTHS
            ]  # fmt: skip
            good = [(w, t) for w, t in points if np.isfinite(t)]
            if good:
                axis.loglog(*zip(*good, strict=True), "o-", label=player, lw=2 if player == "auto" else 1)
        axis.set(title=title, xlabel="workers", ylabel="time to a gap of 0.01, in evaluations")
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    figure.savefig(args.picture, dpi=150)


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", nargs="?", choices=("run", "show"), default="show")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--dims", type=numbers, default=(20, 40))
    parser.add_argument("--widths", type=numbers, default=WIDTHS)
    parser.add_argument("--instances", type=numbers, default=(1, 2, 3))
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
