"""The paper's figures 3 and 4a drawn again, and where EGL and CMA-ES each end closer. Needs ``eglearn-lab[plot]``."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from .. import plots
from .._typing import Array
from . import authors, metrics
from .claim_checks import BASELINES
from .metrics import Results
from .page import Picture
from .tables import GROUPS

BUDGET = 150_000
"""The paper's."""

OURS = (
    "egl-table1-spline", "egl-table1-fc", "egl-spline", "egl-fc-long", "egl-fc", "egl-planned-long", "egl-planned",
    "egl-constant", "igl-table1-fc", "igl-spline", "igl-fc-long", "igl-fc",
)  # fmt: skip
"""The paper's algorithms 3 and 1: with table 1 to the letter, and with our settings."""

_LOOK = {
    "egl-table1-spline": (plots.BLUE, "-"), "egl-table1-fc": (plots.SKY, "-"), "egl-spline": (plots.GREEN, "-"),
    "egl-fc-long": (plots.RED, "-"), "egl-fc": (plots.RED, "--"), "egl-planned-long": (plots.ORANGE, "-"),
    "egl-planned": (plots.ORANGE, "--"), "egl-constant": (plots.ORANGE, ":"),
    "igl-table1-fc": (plots.SKY, ":"), "igl-spline": (plots.GREEN, ":"), "igl-fc-long": (plots.RED, "-."),
    "igl-fc": (plots.RED, ":"),
    "cma": (plots.BLACK, "-"), "slsqp": (plots.GREY, "--"), "bfgs": (plots.GREY, ":"), "cg": (plots.GREY, "-."),
    "nelder-mead": (plots.PINK, "--"), "powell": (plots.PINK, ":"), "cobyla": (plots.PINK, "-."),
}  # fmt: skip
_FLOOR = 1e-6
_CLOSEST = 1e-8  # COCO's last target
_NEAR = (0.5, 0.5)  # decades between points whose labels would lie on each other


def comparable(results: Results, n: int, suite: str = "bbob") -> Results:
    """Runs of EGL, IGL and the paper's baselines with the paper's budget in ``n``-D, on the problems that all share.

    Only who has run all 24 functions takes part.
    """
    runs = results.select(suite=suite, dimension=n, algorithm=(*OURS, *BASELINES), budget=BUDGET)
    whole = [a for a, part in runs.by("algorithm") if len(np.unique(part["function"])) == 24]
    runs = runs.select(algorithm=whole)
    problems, index = runs.problems()
    shared = set(problems).intersection(*(part.problems()[0] for _, part in runs.by("algorithm")))
    return runs.where(np.isin(index, [k for k, p in enumerate(problems) if p in shared]))


def _ordered(names: Collection[str]) -> list[str]:
    return [a for a in _LOOK if a in names]


def _style(name: str) -> dict[str, Any]:
    colour, dash = _LOOK[name]
    return {"color": colour, "linestyle": dash, "linewidth": 2.4 if name in OURS else 1.5}


def success(results: Results, folder: Path) -> Picture | None:
    """Fig. 3: per cent of problems solved against the dimension, by the paper's test and by the strict one."""
    import matplotlib.pyplot as plt

    found = {n: comparable(results, n) for n in (2, 3, 5, 10, 20, 40)}
    panels = {n: runs for n, runs in found.items() if set(runs.algorithms) & set(OURS)}
    if not panels:
        return None
    names = _ordered({a for runs in panels.values() for a in runs.algorithms})
    titles = {"compared": "y* = best of the compared (the paper)", "optimum": "y* = true optimum"}
    shares = {kind: {n: _shares(runs, kind) for n, runs in panels.items()} for kind in titles}
    with plots.style():
        figure, axes = plt.subplots(1, 2, figsize=(plots.WIDTH, 4.0), sharey=True)
        for ax, (kind, title) in zip(axes, titles.items(), strict=True):
            for name in names:
                y = [shares[kind][n].get(name, np.nan) for n in panels]
                ax.plot(range(len(panels)), y, label=name, marker="o", markersize=4, **_style(name))
            ax.set_xticks(range(len(panels)), [f"{n}-D\n{len(runs.problems()[0])}" for n, runs in panels.items()])
            ax.set_xlim(-0.3, len(panels) - 0.7)
            ax.set(title=title, ylim=(0, 102))
        axes[0].set_ylabel("problems solved, %")
        axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        path = plots.save(figure, folder / "figure-3.png")
    note = (
        "Problems solved after 150,000 evaluations: y - y* ≤ 1 and y - y* ≤ (y0 - y*) / 100. On the left y* is the "
        "lowest value that any of those drawn found, so a share depends on who takes part: the claims below compare "
        "one EGL at a time with IGL and the baselines. Below each dimension: the number of problems, those that all "
        "in that dimension have run."
    )
    words = "; ".join(
        f"{n}-D: {', '.join(f'{a} {v:.1f}' for a, v in sorted(told.items(), key=lambda item: -item[1]))}"
        for n, told in shares["compared"].items()
    )
    return Picture(path, "Fig. 3", note, f"Per cent of problems solved, the paper's test. {words}.")


def _shares(runs: Results, reference: str) -> dict[str, float]:
    names = _ordered(runs.algorithms)
    score = metrics.success(runs, reference=reference).astype(float)
    return dict(zip(names, (100 * metrics.score_table(runs, score, names).values.mean(axis=0)).tolist(), strict=True))


def distance(results: Results, folder: Path, n: int = 40) -> Picture | None:
    """Fig. 4a: mean scaled distance against evaluations."""
    runs = comparable(results, n)
    if not set(runs.algorithms) & set(OURS):
        return None
    t = np.unique(np.geomspace(100, BUDGET, 121).round())
    means = _curves(runs, t)
    with plots.style():
        path = _drawn(means, t, folder / "figure-4a.png")
    note = f"Mean over {len(runs.problems()[0])} problems in {n}-D; 1 is the start, 0 the optimum. Lower is better."
    ends = ", ".join(f"{a} {y[-1]:.2g}" for a, y in means.items())
    return Picture(path, f"Fig. 4a: scaled distance in {n}-D", note, f"Mean scaled distance at the end: {ends}.")


def _curves(runs: Results, t: Array) -> dict[str, Array]:
    names = _ordered(runs.algorithms)
    table = metrics.score_table(runs, metrics.scaled_distance(runs, t, reference="optimum"), names)
    return dict(zip(names, table.values.mean(axis=0), strict=True))


def _drawn(means: dict[str, Array], t: Array, path: Path) -> Path:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(plots.WIDTH, 4.2))
    for name, y in means.items():
        ax.plot(t, np.maximum(y, _FLOOR), label=name, **_style(name))
    ax.set(xscale="log", yscale="log", xlabel="evaluations", ylabel="mean of (y - optimum) / (y0 - optimum)")
    plots.plain_numbers(ax)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return plots.save(figure, path)


def by_kind(results: Results, ours: str, folder: Path, n: int = 40) -> Picture | None:
    """For each function the final gap of ``ours`` against that of CMA-ES, coloured by COCO's groups."""
    import matplotlib.pyplot as plt

    runs = comparable(results, n).select(algorithm=(ours, "cma"))
    table = metrics.score_table(runs, np.log10(np.maximum(runs["best_gap"], _CLOSEST)), (ours, "cma")).complete()
    if not table.problems:
        return None
    functions = np.array([p.function for p in table.problems])
    ends = {int(f): 10 ** table.values[functions == f].mean(axis=0) for f in np.unique(functions)}
    told = []
    with plots.style():
        figure, ax = plt.subplots(figsize=(6.2, 5.2))
        for colour, (group, numbers) in zip(plots.COLOURS, GROUPS.items(), strict=False):
            mine = {f: end for f, end in ends.items() if f in numbers}
            if not mine:
                continue
            ax.scatter([e[1] for e in mine.values()], [e[0] for e in mine.values()], s=26, color=colour, label=group)
            told.append(f"{group}: {ours} lower on {sum(e[0] < e[1] for e in mine.values())} of {len(mine)} functions")
        ax.axline((1e-3, 1e-3), (1, 1), color=plots.GREY, linewidth=1)
        ax.axhline(1, color=plots.GREY, linestyle=":", linewidth=1)
        ax.axvline(1, color=plots.GREY, linestyle=":", linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel="gap of one CMA-ES run", ylabel=f"gap of {ours}")
        for names, place in _labels({f: (end[1], end[0]) for f, end in ends.items()}):
            ax.annotate(names, place, xytext=(5, 4), textcoords="offset points", fontsize=8)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        path = plots.save(figure, folder / "where.png")
    note = (
        f"Final gaps in {n}-D after 150,000 evaluations, geometric mean over instances; below {_CLOSEST:g} counts as "
        f"that. Below the diagonal {ours} ends lower. Dotted: a gap of 1."
    )
    return Picture(path, f"Where {ours} beats CMA-ES, and where not", note, f"{'; '.join(told)}.")


def _labels(points: dict[int, tuple[float, float]]) -> list[tuple[str, tuple[float, float]]]:
    """A label for each function; those that would lie on each other share one, at the rightmost point."""
    groups: list[list[int]] = []
    for f in sorted(points, key=lambda f: points[f][1]):
        near = (g for g in groups if np.all(np.abs(np.log10(points[f]) - np.log10(points[g[0]])) < _NEAR))
        found = next(near, None)
        if found is None:
            groups.append([f])
        else:
            found.append(f)
    return [(", ".join(f"f{f}" for f in sorted(g)), max(points[f] for f in g)) for g in groups]


def protocols(results: Results, folder: Path, n: int = 40) -> Picture | None:
    """Fig. 3 in one dimension by three protocols: a fair one, the authors' baselines, and their test as well."""
    import matplotlib.pyplot as plt

    fair = comparable(results, n)
    names = [b for b in BASELINES if b in fair.algorithms]
    theirs = results.select(suite="bbob", dimension=n, budget=BUDGET, algorithm=[authors.PREFIX + b for b in names])
    problems, index = theirs.problems()
    shared = set(fair.problems()[0]).intersection(*(p.problems()[0] for _, p in theirs.by("algorithm")))
    ours = [a for a in OURS if a in fair.algorithms]
    if not ours or len(theirs.algorithms) < len(names) or not shared:
        return None
    theirs = theirs.where(np.isin(index, [k for k, p in enumerate(problems) if p in shared]))
    problems, index = fair.problems()
    fair = fair.where(np.isin(index, [k for k, p in enumerate(problems) if p in shared]))
    mixed = Results({k: np.concatenate([fair.select(algorithm=ours)[k], theirs[k]]) for k in fair.columns})
    kinds = {
        "fair baselines, the paper's test": (fair, metrics.success(fair)),
        "the authors' baselines, the paper's test": (mixed, metrics.success(mixed)),
        "the authors' baselines, their code's test": (mixed, authors.success(mixed)),
    }
    shown, told = [*ours, *names], []
    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH, 1.0 + 0.42 * len(shown)))
        for k, (label, (runs, score)) in enumerate(kinds.items()):
            table = metrics.score_table(runs, score.astype(float))
            mean = {a.removeprefix(authors.PREFIX): 100 * float(table.column(a).mean()) for a in table.algorithms}
            at = np.arange(len(shown))[::-1] - 0.27 * (k - 1)
            ax.barh(at, [mean[a] for a in shown], height=0.25, color=plots.COLOURS[k], label=label)
            told.append(f"{label}: " + ", ".join(f"{a} {mean[a]:.0f}" for a in shown))
        ax.set_yticks(np.arange(len(shown))[::-1], shown)
        ax.set(xlabel=f"problems solved in {n}-D, %", xlim=(0, 100))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
        path = plots.save(figure, folder / f"protocols-{n}.png")
    note = f"{len(shared)} problems in {n}-D, 150,000 evaluations; y* is the best value of the compared."
    return Picture(path, "The authors' protocol", note, f"Per cent of problems solved. {'; '.join(told)}.")
