"""The pictures of a benchmark report. Needs ``eglearn-lab[plot]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import plots
from .._typing import Array
from ..plots import Canvas
from . import metrics
from .algorithms import is_ours
from .metrics import Results
from .page import Picture, points
from .tables import Field, Suite, function_name

_BANDS = 3  # algorithms whose interval is drawn
_FLOOR = 1e-8  # lowest scaled distance on a log axis
_POINTS = 121  # of a curve
_KNOWN = " Best known: {} by COCO's archive within so many evaluations on average, each by its best entry."

Styles = dict[str, dict[str, Any]]


def styles(results: Results) -> Styles:
    """How each algorithm is drawn, alike in all pictures: the default first, then those with the most problems.

    This package's own are thicker.
    """
    many = {a: len(results.select(algorithm=a).problems()[0]) for a in results.algorithms}
    names = sorted(many, key=lambda a: (a != "auto", -many[a], not is_ours(a), a))
    return {a: plots.line_style(k) | {"linewidth": 2.4 if is_ours(a) else 1.5} for k, a in enumerate(names)}


def draw(suite: Suite, look: Styles, folder: Path, *, svg: bool) -> dict[str, Picture]:
    """All pictures of a suite, by name; as SVG in a second form for narrow screens, too."""
    with plots.style():
        kinds = {"success": success, "targets": targets, "distance": distance, "functions": functions}
        if not svg:
            return {name: kind(suite, look, Canvas(folder)) for name, kind in kinds.items()}
        wide, narrow = (Canvas(folder, "svg", narrow=narrow) for narrow in (False, True))
        return {
            name: replace(kind(suite, look, wide), narrow=kind(suite, look, narrow).path)
            for name, kind in kinds.items()
        }


def success(suite: Suite, look: Styles, canvas: Canvas) -> Picture:
    """Fig. 3 of the paper: share of problems solved against dimension, by the paper's test and by the strict one."""
    import matplotlib.pyplot as plt

    many = len(suite.dimensions) > 1
    names = [a for a in suite.order if any(a in f.algorithms for f in suite.fields.values())]
    tall = 4.2 if many else 1.3 + 0.32 * len(names)
    side = (2, 1) if canvas.narrow else (1, 2)
    figure, axes = plt.subplots(
        *side, figsize=(canvas.width, side[0] * min(tall, 3.0) if canvas.narrow else tall), sharey=True
    )
    known = [suite.solvable(n) for n in suite.dimensions]
    for ax, kind, title in zip(
        axes, ("paper", "strict"), ("y* = best of the compared", "y* = true optimum"), strict=True
    ):
        ax.set_title(title)
        means, low, high = (_by_dimension(suite, kind, names, part) for part in ("estimate", "low", "high"))
        if many:
            _lines(ax, suite, look, names, means, low, high)
        else:
            place = np.arange(len(names))[::-1]
            apart = np.stack([means[:, 0] - low[:, 0], high[:, 0] - means[:, 0]])
            ax.errorbar(means[:, 0], place, xerr=apart, fmt="o", color=plots.BLUE, ecolor=plots.GREY, capsize=3)
            ax.set_yticks(place, names)
            ax.set_xlim(-4, 104)
            ax.set_xlabel(f"problems solved in {suite.dimensions[0]}-D, %")
        if kind == "strict" and any(k is not None for k in known):
            share = np.array([np.nan if k is None else 100 * k for k in known])
            if many:
                ax.plot(range(len(share)), share, "k:", marker="_", markersize=12, label="best known")
            else:
                ax.axvline(share[0], color="k", linestyle=":", label="best known")
    if many:
        axes[0].set_ylabel("problems solved, %")
    handles, labels = axes[1].get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=canvas.columns(5))
    figure.tight_layout()
    path = canvas.save(figure, f"{suite.key}-success")
    note = "A problem is solved if y - y* ≤ 1 and y - y* ≤ (y0 - y*) / 100, at the end of each run's budget. "
    note += "First, y* is the best value that a compared run has found (the paper), then the true optimum."
    note += f" Bands: 95 % intervals over problems of the {min(_BANDS, len(names))} best." if many else ""
    note += _KNOWN.format("functions solved") if suite.known else ""
    return Picture(path, "Success against dimension" if many else "Success", note, _told(suite))


def _by_dimension(suite: Suite, kind: str, names: Sequence[str], part: str) -> Array:
    """Per cent of problems solved, (names, dimensions); NaN where an algorithm is not compared."""
    out = np.full((len(names), len(suite.dimensions)), np.nan)
    for column, field in enumerate(suite.fields.values()):
        values = field.table(getattr(field, kind)).values
        interval = metrics.bootstrap_mean(values, np.random.default_rng(0), resamples=2000)
        for k, name in enumerate(field.algorithms):
            out[names.index(name), column] = 100 * getattr(interval, part)[k]
    return out


def _lines(
    ax: Any, suite: Suite, look: Styles, names: Sequence[str], means: Array, low: Array, high: Array
) -> None:  # fmt: skip
    x = np.arange(len(suite.dimensions))
    for k, name in enumerate(names):
        ax.plot(x, means[k], label=name, **look[name])
        if k < _BANDS:
            ax.fill_between(x, low[k], high[k], color=look[name]["color"], alpha=0.13, linewidth=0)
    ax.set_xticks(x, [str(n) for n in suite.dimensions])
    ax.set_ylim(-3, 103)
    ax.set_xlabel("dimension")


def _told(suite: Suite) -> str:
    parts = []
    for n, field in suite.fields.items():
        parts.append(f"{n}-D: " + ", ".join(f"{r.name} {points(r.success)}" for r in field.ranking))
    return "Per cent of problems solved with the true optimum. " + "; ".join(parts) + "."


def targets(suite: Suite, look: Styles, canvas: Canvas) -> Picture:
    """ECDF of run times: share of (function, target) pairs reached against evaluations by dimension."""
    import matplotlib.pyplot as plt

    columns = canvas.columns(min(3, len(suite.dimensions)))
    lines = -(-len(suite.dimensions) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(canvas.width, 0.9 + 2.9 * lines), sharey=True, squeeze=False)
    words = []
    for ax, n in zip(grid.flat, suite.dimensions, strict=False):
        field = suite.fields[n]
        t = np.unique(np.geomspace(1, field.budget, _POINTS).round())
        means = _means(field, metrics.targets_reached(field.runs, t))
        _curves(ax, t / n, means, look, suite.order)
        known = suite.ceiling(n, t)
        if known is not None:
            ax.plot(t / n, known, "k:", linewidth=1.8, label="best known")
        ax.set(xscale="log", ylim=(0, 1), title=f"{n}-D")
        words.append(f"{n}-D: " + ", ".join(f"{a} {points(means[a][-1])}" for a in suite.order if a in means))
    _finish(figure, grid, suite, len(suite.dimensions), "evaluations / dimension", "share of targets reached", canvas)
    path = canvas.save(figure, f"{suite.key}-targets")
    note = "Share of (function, target) pairs reached, over 51 target gaps from 100 down to 1e-8; higher and more to "
    note += "the left is better."
    note += " Targets count evaluated points by their value without noise." if suite.noisy else ""
    note += _KNOWN.format("pairs reached") if suite.known else ""
    return Picture(path, "Targets reached", note, "Per cent of targets reached at the end. " + "; ".join(words) + ".")


def distance(suite: Suite, look: Styles, canvas: Canvas) -> Picture:
    """Fig. 4a: mean scaled distance against evaluations in the largest dimension."""
    import matplotlib.pyplot as plt

    n, field = suite.dimensions[-1], suite.largest
    figure, ax = plt.subplots(figsize=(canvas.width, 4.6))
    t = np.unique(np.geomspace(1, field.budget, _POINTS).round())
    means = _means(field, metrics.scaled_distance(field.runs, t))
    _curves(ax, t, {a: np.maximum(y, _FLOOR) for a, y in means.items()}, look, suite.order)
    ax.set(xscale="log", yscale="log", xlabel="evaluations", ylabel="mean scaled distance (y - y*) / (y0 - y*)")
    if canvas.narrow:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    else:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    path = canvas.save(figure, f"{suite.key}-distance")
    note = (
        f"Mean over {field.problems} problems in {n}-D; 1 is the start, 0 the best value that a compared run has found "
    )
    note += "at its end. Lower is better. A curve goes on level after the run's end."
    note += " Values without noise, of evaluated points." if suite.noisy else ""
    last = ", ".join(f"{a} {means[a][-1]:.2g}" for a in suite.order if a in means)
    return Picture(path, f"Scaled distance in {n}-D", note, f"Mean scaled distance at the end: {last}.")


def functions(suite: Suite, look: Styles, canvas: Canvas) -> Picture:
    """The same for each function: small multiples."""
    import matplotlib.pyplot as plt

    n, field = suite.dimensions[-1], suite.largest
    numbers = np.unique(field.runs["function"]).tolist()
    columns = canvas.columns(min(4, len(numbers)))
    lines = -(-len(numbers) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(canvas.width, 0.9 + 1.75 * lines), sharex=True, squeeze=False)
    t = np.unique(np.geomspace(1, field.budget, _POINTS // 2).round())
    scores, best = metrics.scaled_distance(field.runs, t), []
    for ax, k in zip(grid.flat, numbers, strict=False):
        here = field.runs.mask(function=k)
        table = metrics.score_table(field.runs.where(here), scores[here], field.algorithms)
        means = dict(zip(field.algorithms, table.values.mean(axis=0), strict=True))
        _curves(ax, t, {a: np.maximum(y, _FLOOR) for a, y in means.items()}, look, suite.order, markers=False)
        ax.set(xscale="log", yscale="log")
        ax.set_ylim(top=2)
        ax.minorticks_off()
        ax.set_title(function_name(suite.name, k), fontsize=9, fontweight="normal")
        ax.tick_params(labelsize=8)
        best.append(f"f{k} {min(means, key=lambda a: float(means[a][-1]))}")
    _finish(figure, grid, suite, len(numbers), "evaluations", "scaled distance", canvas)
    path = canvas.save(figure, f"{suite.key}-functions", dpi=100)
    note = f"As above, for each function; distances below {_FLOOR:g} are drawn there. Each panel has its own scale."
    words = f"Lowest at the end: {', '.join(best)}."
    return Picture(path, f"Scaled distance for each function in {n}-D", note, words)


def _means(field: Field, score: Array) -> dict[str, Array]:
    """Mean curve of each algorithm over problems."""
    return dict(zip(field.algorithms, field.table(score).values.mean(axis=0), strict=True))


def _curves(
    ax: Any, x: Array, means: dict[str, Array], look: Styles, order: Iterable[str], *, markers: bool = True
) -> None:
    for k, name in enumerate(a for a in order if a in means):
        every = (3 * k % 17, 17) if markers else None  # staggered, so that markers of close curves do not overlap
        ax.plot(x, means[name], label=name, markevery=every, **(look[name] | ({} if markers else {"marker": None})))


def _finish(figure: Any, grid: Any, suite: Suite, used: int, x_label: str, y_label: str, canvas: Canvas) -> None:
    """Labels at the left and below, panels that are not used taken away, and one legend for all, below them."""
    columns = grid.shape[1]
    for k, ax in enumerate(grid.flat):
        if k >= used:
            ax.set_visible(False)
        if k % columns == 0:
            ax.set_ylabel(y_label, fontsize=9)
        if k + columns >= used:
            ax.set_xlabel(x_label, fontsize=9)
            ax.tick_params(labelbottom=True)
    found = {label: handle for ax in grid.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    names = [name for name in (*suite.order, "best known") if name in found]
    # Fixed distances: an automatic layout of 24 log axes takes longer than drawing them.
    tall = figure.get_figheight()
    left = 0.54 / canvas.width
    figure.subplots_adjust(left, 0.45 / tall, 0.99, 1 - 0.3 / tall, wspace=0.28, hspace=0.36)
    handles = [found[name] for name in names]
    figure.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=canvas.columns(5))
