"""Few evaluations, one at a time: the default against optimisers made for that, on two suites.

``few_evaluations.py run`` makes the runs that are missing (``--algorithms``, ``--dims``, ``--instances`` limit them);
without ``run`` the tables are printed from what is there. All runs have width 1.

1. bbob, instances 1 to 5, 100 n evaluations: share of COCO's 51 targets at 3 n, 10 n, 30 n and 100 n, and the mean
   paired difference to the best single rival with its 95 % interval. Goal: at or above the best rival at each mark.
2. The problems of Moré and Wild (2009), 200 (n + 1) evaluations: per cent solved to 1e-1 ... 1e-7 of the first gap
   within 5 n, 10 n, 20 n, 50 n, 100 n, 200 n. Goal: at least as many as each rival. ``--profiles FILE`` draws them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa

from eglearn_lab.bench.metrics import compare, cpu_per_evaluation, targets_reached
from eglearn_lab.bench.result_table import Results
from eglearn_lab.bench.rows import load_results
from eglearn_lab.bench.runner import jobs, run_grid
from eglearn_lab.bench.suite_runs import SuiteJob, SuiteRuns, history, problems
from eglearn_lab.runner import Folder, run_jobs
from eglearn_lab.suites.profiles import TAUS, data_profile, evaluations_needed, performance_profile, plot_profiles

RESULTS = Path(__file__).parents[1] / "results"
RIVALS = ("bobyqa", "py-bobyqa", "cobyqa", "slsqp", "l-bfgs-b", "lq-cma", "cma")
DIMS, INSTANCES, MARKS = (5, 10, 20, 40), (1, 2, 3, 4, 5), (3, 10, 30, 100)
SUITES = ("more-wild-smooth", "more-wild-nonsmooth", "more-wild-deterministic", "more-wild-stochastic")
WITHIN = (5, 10, 20, 50, 100, 200)


def numbers(text: str) -> tuple[int, ...]:
    """Numbers separated by commas."""
    return tuple(int(part) for part in text.split(","))


def make_runs(args: argparse.Namespace) -> None:
    """All that are missing."""
    if args.suite in ("all", "bbob"):
        grid = [
            job
            for n in args.dims
            for job in jobs("bbob", (n,), None, args.instances, args.algorithms, 100 * n)
            if not (args.reuse and job.algorithm in ("slsqp", "cma"))  # these do not look at their budget
        ]
        run_grid(args.out / "bbob", grid, workers=args.workers)
    for suite in SUITES:
        if args.suite in ("all", suite):
            todo = [
                SuiteJob(suite, p.name, name, 0, 200 * (p.n + 1))
                for p in problems(suite).values()
                for name in args.algorithms
            ]
            run_jobs(args.out / "more-wild", SuiteRuns(), todo, workers=args.workers)


def show_bbob(out: Path, ours: str) -> None:
    """Shares of targets, and the difference to the best rival."""
    tables = [load_results(out / "bbob")] if (out / "bbob").exists() else []
    # Runs of 150,000 evaluations of algorithms that do not look at their budget begin as those of 100 n.
    longer = load_results(RESULTS / "coco" / "baselines")
    keep = [name in ("slsqp", "cma") for name in longer["algorithm"].to_pylist()]
    everything = Results.from_arrow(pa.concat_tables([*tables, longer.filter(pa.array(keep))])).select(seed=0)
    rng = np.random.default_rng(0)
    for n in DIMS:
        runs = everything.select(dimension=n, suite="bbob", instance=INSTANCES)
        score = targets_reached(runs, [mark * n for mark in MARKS])
        print(f"\nbbob {n}-D: share of targets at " + ", ".join(f"{mark} n" for mark in MARKS))
        mean = {}
        for name in sorted(runs.algorithms):
            mine = runs.mask(algorithm=name)
            mean[name] = score[mine].mean(axis=0)
            cost = 1e3 * np.nanmean(cpu_per_evaluation(runs.where(mine)))
            figures = " ".join(f"{value:.3f}" for value in mean[name])
            print(f"  {name:<12} {figures}   {int(mine.sum()):>3} problems, {cost:.2f} ms an evaluation")
        if ours not in mean:
            continue
        # A rival that has not run all of our problems may have run the easy ones: it is shown, but not compared.
        problems_of = {name: set(runs.select(algorithm=name).problems()[0]) for name in mean}
        whole = [name for name in RIVALS if name in mean and problems_of[ours] <= problems_of[name]]
        shared = np.array([problem in problems_of[ours] for problem in runs.problems()[0]])[runs.problems()[1]]
        for column, mark in enumerate(MARKS):
            rivals = {name: score[shared & runs.mask(algorithm=name), column].mean() for name in whole}
            best = max(rivals, key=lambda name: rivals[name])
            c = compare(runs, score[:, column], ours, best, rng, mixed_budgets=True)
            held = "holds" if c.difference >= 0 else "DOES NOT HOLD"
            line = f"{c.difference:+.3f} [{c.low:+.3f}, {c.high:+.3f}] over {c.problems} problems"
            print(f"    at {mark:>3} n {ours} {c.mean_a:.3f}, {best} {c.mean_b:.3f}: {line}: {held}")


def show_more_wild(out: Path, picture: Path | None) -> None:
    """Per cent solved."""
    if not (out / "more-wild").exists():
        return
    rows = Folder(out / "more-wild", SuiteRuns()).table().to_pylist()
    for suite in SUITES:
        names = [p.name for p in problems(suite).values()]
        found = {(r["algorithm"], r["problem"]): r for r in rows if r["suite"] == suite and r["status"] != "failed"}
        solvers = [s for s in sorted({s for s, _ in found}) if all((s, name) in found for name in names)]
        if not solvers:
            continue
        n = np.array([problems(suite)[name].n for name in names])
        start = np.array([found[solvers[0], name]["y0"] for name in names])
        curves = {
            s: [history(*(found[s, p][k] for k in ("evaluations", "improved_at", "improved_to"))) for p in names]
            for s in solvers
        }
        print(f"\n{suite}: per cent of {len(names)} solved within " + ", ".join(f"{k} n" for k in WITHIN))
        for tau in TAUS:
            needed = evaluations_needed(curves, start, tau)
            for s in solvers:
                share = [100 * np.mean(needed[s] <= k * n) for k in WITHIN]
                print(f"  to {tau:.0e} {s:<12} " + " ".join(f"{value:3.0f}" for value in share))
        if picture is not None:
            draw(suite, curves, start, n, picture)


def draw(suite: str, curves: dict[str, list[np.ndarray]], start: np.ndarray, n: np.ndarray, picture: Path) -> None:
    """Data profiles above, performance profiles below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * len(TAUS), 7.5), layout="constrained")
    for axes, tau in zip(figure.subplots(2, len(TAUS)).T, TAUS, strict=True):
        needed = evaluations_needed(curves, start, tau)
        simplices, ratios = np.linspace(0, 200, 401), np.geomspace(1, 32, 200)
        plot_profiles(data_profile(needed, n, simplices), simplices, "data", f"{suite}, tau = {tau:g}", axes[0])
        plot_profiles(performance_profile(needed, ratios), ratios, "performance", "", axes[1])
    figure.savefig(picture.with_name(f"{picture.stem}-{suite}{picture.suffix}"), dpi=80)


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("run", "report"), default="report")
    parser.add_argument("--algorithms", type=lambda text: tuple(text.split(",")), default=("auto", *RIVALS))
    parser.add_argument("--dims", type=numbers, default=DIMS)
    parser.add_argument("--instances", type=numbers, default=INSTANCES)
    parser.add_argument("--suite", choices=("all", "bbob", *SUITES), default="all")
    parser.add_argument("--out", type=Path, default=RESULTS / "few")
    parser.add_argument("--ours", default="auto", help="whom to compare with the rivals")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--profiles", type=Path, help="draw the profiles into this file, such as profiles.png")
    parser.add_argument("--reuse", action="store_true", help="take slsqp and cma from results/coco/baselines")
    args = parser.parse_args()
    if args.what == "run":
        make_runs(args)
    show_bbob(args.out, args.ours)
    show_more_wild(args.out, args.profiles)


if __name__ == "__main__":
    main()
