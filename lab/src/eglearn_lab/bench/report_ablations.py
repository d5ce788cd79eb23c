"""The ablations: what the paper says of each, a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import skew

from .. import plots
from .._typing import Array, Mask
from ..plots import Canvas
from . import metrics
from .ablations import ABLATIONS, Ablation, gains
from .evidence import ENOUGH
from .intervals import Interval
from .page import Cell, Picture, Table, points
from .result_table import Results
from .tables import function_name

Snapshots = Mapping[str, npt.NDArray[Any]]

_FLOOR = 1e-8  # lowest scaled distance on a log axis
_BINS = 15
_LEAST_GAIN = -250  # per cent; below, a picture shows no difference


@dataclass(frozen=True)
class AblationPart:
    """What a report shows of an ablation."""

    name: str
    claim: str
    picture: Picture
    table: Table | None


def ablation_parts(results: Results, snapshots: Snapshots, canvas: Canvas) -> list[AblationPart]:
    """The ablations of which there are runs; pictures go to the canvas."""
    parts = []
    for entry in ABLATIONS.values():
        runs = _complete(entry, results)
        if len(runs):
            picture = _PICTURES.get(entry.name, curves)(entry, runs, canvas)
            parts.append(AblationPart(entry.name, entry.claim, picture, variants_table(entry, runs)))
        elif entry.snapshots and len(snapshots["t"]):
            parts.append(AblationPart(entry.name, entry.claim, histograms(entry, snapshots, canvas), None))
    return parts


def _complete(entry: Ablation, results: Results) -> Results:
    """Runs of the variants on the problems that all variants with runs have, in the largest dimension.

    Where each function has a panel of its own, that is decided for each function alone.
    """
    runs = results.select(suite=entry.suite, algorithm=entry.algorithms)
    runs = runs.select(dimension=runs["dimension"].max(initial=0))
    if _PICTURES.get(entry.name) is not each_function:
        return runs.where(_shared(runs))
    kept = np.zeros(len(runs), dtype=bool)
    for function, part in runs.by("function"):
        kept[runs.mask(function=function)] = _shared(part)
    return runs.where(kept)


def _shared(runs: Results) -> Mask:
    """Which of the runs are on problems that all variants with runs have."""
    problems, index = runs.problems()
    shared = set(problems).intersection(*(part.problems()[0] for _, part in runs.by("algorithm")))
    return np.isin(index, [k for k, p in enumerate(problems) if p in shared])


def variants_table(entry: Ablation, runs: Results) -> Table:
    """Of each variant that has all problems: distances to the best value, gain over the reference, problems solved."""
    problems = runs.problems()[0]
    names = [name for name, part in runs.by("algorithm") if len(part.problems()[0]) == len(problems)]
    names, runs = [name for name in entry.algorithms if name in names], runs.select(algorithm=names)
    budget = int(runs["budget"].max())
    times = (budget // 10, budget)
    distances = _means(runs, names, metrics.scaled_distance(runs, times, reference="optimum"))
    solved = _means(runs, names, metrics.success(runs, reference="optimum").astype(float))
    enough = len(problems) >= ENOUGH and entry.reference in runs.algorithms
    gain = gains(runs, str(entry.reference), [budget]) if enough else {}
    rows = []
    for name in names:
        text = "reference" if name == entry.reference else "–"
        if name in gain:
            value, low, high = _per_cent(gain[name])
            text = f"{value:+.0f} % ({low:+.0f} to {high:+.0f})"
        at = (Cell(f"{d:.2g}", best=d == best) for d, best in zip(distances[name], _lowest(distances), strict=True))
        rows.append((Cell(name), *at, Cell(text), Cell(points(float(solved[name])))))
    header = (*(f"distance at {t:,}" for t in times), "gain at the end", "solved, %")
    return Table("", ("variant", *header), tuple(rows))


def _means(runs: Results, names: list[str], score: Array) -> dict[str, Array]:
    values = metrics.score_table(runs, score, names).values.mean(axis=0)
    return dict(zip(names, values, strict=True))


def _lowest(means: dict[str, Array]) -> Array:
    lowest: Array = np.min(list(means.values()), axis=0)
    return lowest


def _per_cent(gain: Interval) -> tuple[float, ...]:
    return tuple(100 * float(np.ravel(part)[0]) for part in (gain.estimate, gain.low, gain.high))


def curves(entry: Ablation, runs: Results, canvas: Canvas) -> Picture:
    """Fig. 4b: mean scaled distance against evaluations, a line a variant."""
    return _curves(entry, runs, canvas, {f"mean of {len(runs.problems()[0])} problems": runs})


def each_function(entry: Ablation, runs: Results, canvas: Canvas) -> Picture:
    """The same, a panel a function."""
    panels = {function_name(entry.suite, k): part for k, part in runs.by("function")}
    return _curves(entry, runs, canvas, panels)


def _curves(entry: Ablation, runs: Results, canvas: Canvas, panels: dict[str, Results]) -> Picture:
    import matplotlib.pyplot as plt

    names = [name for name in entry.algorithms if name in runs.algorithms]
    budget = int(runs["budget"].max())
    t = np.unique(np.geomspace(min(30, budget), budget, 121).round())  # before, all are near the start
    words = []
    with plots.style():
        figure, axes = plt.subplots(1, len(panels), figsize=(plots.WIDTH, 3.6), sharey=True, squeeze=False)
        for ax, (title, part) in zip(axes.flat, panels.items(), strict=True):
            here = [name for name in names if name in part.algorithms]
            means = _means(part, here, metrics.scaled_distance(part, t, reference="optimum"))
            for name in here:
                k = names.index(name)
                label = name.removeprefix(f"{entry.name}-")
                ax.plot(t, np.maximum(means[name], _FLOOR), label=label, markevery=(5 * k, 30), **plots.line_style(k))
            ax.set(xscale="log", yscale="log", xlabel="evaluations", title=title.replace(" ", "\n", len(panels) > 1))
            words.append(f"{title}: " + ", ".join(f"{name} {means[name][-1]:.2g}" for name in here))
        axes[0, 0].set_ylabel("gap / gap of the start")
        plots.plain_numbers(axes[0, 0])
        lines = {str(line.get_label()): line for ax in axes.flat for line in ax.lines}
        axes[0, -1].legend(lines.values(), lines, loc="center left", bbox_to_anchor=(1.0, 0.5), title=entry.name)
        figure.tight_layout()
        path = canvas.save(figure, f"ablation-{entry.name}")
    parts = " fc: fully connected, om: output map, tr: trust region." * (entry.name == "networks")
    note = f"{_where(runs)}; scaled distances to the true optimum. Lower is better.{parts}"
    return Picture(path, entry.title, note, f"Scaled distance at the end. {'; '.join(words)}.")


def _where(runs: Results) -> str:
    dims, instances = (np.unique(runs[name]).tolist() for name in ("dimension", "instance"))
    seeds = len(np.unique(runs["seed"]))
    return (
        f"{', '.join(f'{n}-D' for n in dims)}, instance {', '.join(map(str, instances))}, "
        f"{int(runs['budget'].max()):,} evaluations, {seeds} seed{'s' * (seeds > 1)}"
    )


def gain_over_time(entry: Ablation, runs: Results, canvas: Canvas) -> Picture:
    """App. H: gain over the reference against evaluations, a line a variant with its interval."""
    return _gains(entry, runs, canvas, lambda name: ("", name))


def gain_by_dither(entry: Ablation, runs: Results, canvas: Canvas) -> Picture:
    """Fig. 4d: the same, a panel a dither."""

    def place(name: str) -> tuple[str, str]:
        _, size, dither = name.split("-")
        return f"dither {dither[1:]} epsilon", f"{size} batch{'es' * (size != '1')}"

    return _gains(entry, runs, canvas, place)


def _gains(entry: Ablation, runs: Results, canvas: Canvas, place: Callable[[str], tuple[str, str]]) -> Picture:
    """``place`` gives a variant's panel and its name there."""
    import matplotlib.pyplot as plt

    budget = int(runs["budget"].max())
    t = np.unique(np.geomspace(min(300, budget), budget, 31).round())
    found = gains(runs, str(entry.reference), t, resamples=2000)
    names = [name for name in entry.algorithms if name in found]
    panels = sorted({place(name)[0] for name in names})
    with plots.style():
        figure, axes = plt.subplots(1, len(panels), figsize=(plots.WIDTH, 3.8), sharey=True, squeeze=False)
        for ax, panel in zip(axes.flat, panels, strict=True):
            for name in (name for name in names if place(name)[0] == panel):
                look, gain = plots.line_style(len(ax.lines)), found[name]
                ax.plot(t, 100 * gain.estimate, label=place(name)[1], markevery=5, **look)
                ax.fill_between(t, 100 * gain.low, 100 * gain.high, color=look["color"], alpha=0.15, linewidth=0)
            ax.axhline(0, color=plots.GREY, linewidth=1)
            ax.set(xscale="log", xlabel="evaluations", title=panel)
            if len(panels) > 1:
                ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25))
            else:
                ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        low, high = axes[0, 0].get_ylim()
        axes[0, 0].set_ylim(max(low, _LEAST_GAIN), min(high, 100))
        axes[0, 0].set_ylabel(f"gain over {entry.reference}, %")
        figure.tight_layout()
        path = canvas.save(figure, f"ablation-{entry.name}")
    note = f"{_where(runs)}; {_gain_note(runs)}"
    words = ", ".join(f"{name} {100 * float(found[name].estimate[-1]):+.0f} %" for name in names)
    return Picture(path, entry.title, note, f"Gains at the end: {words}.")


def _gain_note(runs: Results) -> str:
    return (
        f"gain 1 - D / D(reference), D the mean scaled distance, with 95 % intervals over {len(runs.problems()[0])} "
        f"problems. Above 0 is better than the reference; cut at {_LEAST_GAIN} %."
    )


def histograms(entry: Ablation, snapshots: Snapshots, canvas: Canvas) -> Picture:
    """Values in the replay before and after the output map, two panels per function, one line per time."""
    import matplotlib.pyplot as plt

    numbers, times = np.unique(snapshots["function"]).tolist(), np.unique(snapshots["t"]).tolist()
    lines = -(-len(numbers) // 4)
    asymmetry: dict[str, list[float]] = {"y": [], "v": []}
    with plots.style():
        apart = {"wspace": 0.12, "hspace": 0.6}
        size = (plots.WIDTH, 0.8 + 1.15 * lines)
        figure, grid = plt.subplots(lines, 8, figsize=size, squeeze=False, gridspec_kw=apart)
        for ax in grid.flat:
            ax.set_axis_off()
        for place, number in enumerate(numbers):
            for side, (column, what) in enumerate((("y", "raw"), ("v", "mapped"))):
                ax = grid[place // 4, 2 * (place % 4) + side]
                ax.set_axis_on()
                ax.set(xticks=[], yticks=[])
                ax.grid(visible=False)
                ax.set_title(f"f{number} {what}", fontsize=8, fontweight="normal")
                for k, t in enumerate(times):
                    values = snapshots[column][(snapshots["function"] == number) & (snapshots["t"] == t)]
                    if len(np.unique(values)) > 1:
                        share = (values - values.min()) / (values.max() - values.min())
                        asymmetry[column].append(abs(float(skew(share))))  # of values themselves it loses digits
                        heights, edges = np.histogram(share, _BINS, (0, 1))
                        ax.stairs(heights, edges, color=plots.COLOURS[k], linewidth=1.3, label=f"{t:,} evaluations")
        found = {label: h for ax in grid.flat for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(found.values(), found.keys(), loc="lower center", ncols=len(times))
        path = canvas.save(figure, f"ablation-{entry.name}")
    medians = {column: float(np.median(values)) if values else np.nan for column, values in asymmetry.items()}
    note = "Up to 200 values of the replay, drawn at random, each between the lowest (left) and the highest (right) of "
    note += f"its own; heights are counts. Median skewness: raw {medians['y']:.2f}, mapped {medians['v']:.2f}."
    return Picture(path, entry.title, note, f"Histograms for {len(numbers)} functions. {note}")


_PICTURES: dict[str, Callable[[Ablation, Results, Canvas], Picture]] = {
    "replay-perturbation": gain_by_dither,
    "epsilon": each_function,
    "exploration": gain_over_time,
    "exploration-many": gain_over_time,
}
