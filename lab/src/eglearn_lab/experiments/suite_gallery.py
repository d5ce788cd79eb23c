"""The 24 functions of COCO's bbob suite in two dimensions, and the benchmark's curves on each (app. F).

Curves are read from ``results/coco/*/`` below the current folder, if there are any: dimension 2 as in the paper's
figures of single functions, else 40 as in its next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import plots
from .._typing import Array
from ..bench.metrics import Results, scaled_distance
from ..bench.problems import NoiseFree, Problem
from .base import Finding, Outcome, Progress, experiment, write_csv

RESULTS = Path("results") / "coco"
HALF = 5.0
"""The box is [-5, 5]^2."""
NAMES = (
    "Sphere", "Ellipsoid, separable", "Rastrigin, separable", "Büche-Rastrigin", "Linear slope", "Attractive sector",
    "Step-ellipsoid", "Rosenbrock", "Rosenbrock, rotated", "Ellipsoid", "Discus", "Bent cigar", "Sharp ridge",
    "Different powers", "Rastrigin", "Weierstrass", "Schaffer F7", "Schaffer F7, 1:1000", "Griewank-Rosenbrock",
    "Schwefel", "Gallagher 101", "Gallagher 21", "Katsuura", "Lunacek bi-Rastrigin",
)  # fmt: skip
PER_PAGE = 8
EVEN, SKEWED = (15, 18, 23), (2, 10, 11)
"""Functions that app. F calls evenly distributed, and skewed."""


@dataclass(frozen=True)
class View:
    """A function, looked at from three sides."""

    grid: Array
    """(k,) coordinates of the plane's grid."""
    plane: Array
    """(k, k) gaps to the optimum; the first axis is x2."""
    line: Array
    """(l,) coordinates of the diagonal."""
    diagonal: Array
    """(l,) gaps at (x, x)."""
    best: Array
    """(2,) the optimum."""

    @property
    def skewness(self) -> float:
        """Third standardised moment of the values on the plane's grid."""
        apart = self.plane - self.plane.mean()
        return float(np.mean(apart**3) / np.mean(apart**2) ** 1.5)

    @property
    def normalised(self) -> Array:
        """The diagonal between 0 and 1, as in app. F."""
        return np.asarray((self.diagonal - self.diagonal.min()) / np.ptp(self.diagonal))


def look(function: int, points: int) -> View:
    """Evaluate a function of instance 1 on a grid and along the diagonal."""
    value = NoiseFree(Problem("bbob", function, 2, 1))
    grid, line = np.linspace(-HALF, HALF, points), np.linspace(-HALF, HALF, 8 * points)
    lowest = value.optimum()
    plane = np.array([[value(np.array([a, b])) for a in grid] for b in grid]) - lowest
    diagonal = np.array([value(np.array([t, t])) for t in line]) - lowest
    view = View(grid, plane, line, diagonal, value.best_parameter())
    value.close()
    return view


@dataclass(frozen=True)
class Curves:
    """Scaled distances of the benchmark: one row a function and algorithm."""

    dimension: int
    evaluations: Array
    means: dict[tuple[int, str], Array]
    runs: int


def read_curves(folder: Path) -> Curves | None:
    """Mean scaled distance to the optimum over the instances and seeds of each function; None if there are no runs."""
    results = _load(folder)
    if results is None:
        return None
    for dimension in (2, 40):
        here = results.select(dimension=dimension)
        if len(here):
            t = np.geomspace(1, float(here["budget"].max()), 60)
            each = scaled_distance(here, t, reference="optimum")
            keys = list(zip(here["function"].tolist(), here["algorithm"].tolist(), strict=True))
            means = {key: each[[k == key for k in keys]].mean(axis=0) for key in sorted(set(keys))}
            return Curves(dimension, t, means, len(here))
    return None


def _load(folder: Path) -> Results | None:
    """The noiseless runs of all benchmarks in the folder; None if there are none."""
    from ..bench.rows import key_of, load_results, schema

    found = sorted(path for path in folder.glob("*") if path.is_dir()) if folder.is_dir() else []
    tables = [table for table in map(load_results, found) if table.num_rows]
    if not tables:
        return None
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    table = pa.concat_tables(tables)
    keys = [key_of(row) for row in table.select(schema().names[:7]).to_pylist()]
    place = {key: row for row, key in enumerate(keys)}  # of a run found in two benchmarks, the last
    return Results.from_arrow(table.take(pa.array(place.values(), pa.int64()))).select(suite="bbob")


@experiment(
    "suite-gallery",
    "The 24 functions of the bbob suite in two dimensions: contours, surface, diagonal, and the benchmark's curves",
    minutes=0.5,
    needs=("matplotlib", "cocoex", "pyarrow"),
)
def suite_gallery(out: Path, progress: Progress, size: float) -> Outcome:
    """Three pages of eight functions."""
    return gallery(out, progress, max(21, round(81 * size)), tuple(range(1, len(NAMES) + 1)), RESULTS)


def gallery(out: Path, progress: Progress, points: int, functions: tuple[int, ...], results: Path) -> Outcome:
    """Some of the functions, with the benchmark's results from a given folder."""
    views: dict[int, View] = {}
    for number, function in enumerate(functions):
        progress(0.4 * number / len(functions), f"f{function}")
        views[function] = look(function, points)
    curves = read_curves(results)
    pictures = []
    starts = range(0, len(functions), PER_PAGE)
    for page, start in enumerate(starts, start=1):
        progress(0.4 + 0.6 * (page - 1) / len(starts), f"page {page}")
        chosen = {f: views[f] for f in functions[start : start + PER_PAGE]}
        pictures.append(_draw(out / f"suite-gallery-{page}.png", chosen, curves))
    line = next(iter(views.values())).line
    tables = [
        write_csv(out / "suite-gallery-diagonals.csv", {"x": line} | {f"f{f}": v.diagonal for f, v in views.items()}),
        write_csv(
            out / "suite-gallery.csv",
            {
                "function": list(views),
                "name": [NAMES[f - 1] for f in views],
                "best_x1": [v.best[0] for v in views.values()],
                "best_x2": [v.best[1] for v in views.values()],
                "largest_gap": [v.plane.max() for v in views.values()],
                "lowest_gap_on_diagonal": [v.diagonal.min() for v in views.values()],
                "skewness": [v.skewness for v in views.values()],
            },
        ),
    ]
    if curves is not None:
        named = {f"f{function} {algorithm}": mean for (function, algorithm), mean in curves.means.items()}
        tables.append(write_csv(out / "suite-gallery-curves.csv", {"evaluations": curves.evaluations} | named))
    progress(1.0, "done")
    return Outcome(_findings(views, curves), tuple(pictures), tuple(tables))


def _findings(views: dict[int, View], curves: Curves | None) -> tuple[Finding, ...]:
    skew = {f: v.skewness for f, v in views.items()}
    hidden = [f for f, v in views.items() if v.diagonal.min() > 0.01 * np.ptp(v.diagonal)]

    def text(functions: tuple[int, ...]) -> str:
        return ", ".join(f"{skew[f]:.1f} (f{f})" for f in functions)

    seen = "no results were found, so the panel is left out."
    if curves is not None:
        algorithms = sorted({algorithm for _, algorithm in curves.means})
        seen = (
            f"drawn from {curves.runs} runs in dimension {curves.dimension}: {', '.join(algorithms)}. y* is the true "
            f"optimum, where the paper takes the lowest value of the compared runs."
        )
    return (
        Finding(
            "values of problems 15, 18 and 23 are spread evenly, those of 2, 10 and 11 are skewed (app. F, of samples "
            "in a replay).",
            f"On a grid over the box in two dimensions, which is not the same thing, the skewness is {text(EVEN)} "
            f"against {text(SKEWED)}.",
            None,
        ),
        Finding(
            "the diagonal f(x, x) is an equivalent problem in one dimension (app. F).",
            f"It does not always come near the optimum: on {len(hidden)} of {len(views)} functions its lowest value "
            f"stays more than 1 % of its range above the optimum of the plane.",
            None,
        ),
        Finding("the scaled distance to y* falls with the evaluations (app. F, first column).", seen, None),
    )


def _draw(path: Path, views: dict[int, View], curves: Curves | None) -> Path:
    import matplotlib.pyplot as plt

    with plots.style(), plt.rc_context({"font.size": 8, "axes.titlesize": 9, "axes.labelsize": 8}):
        figure = plt.figure(figsize=(plots.WIDTH, 1.75 * len(views)), layout="constrained")
        widths = (1.0, 1.1, 1.5) if curves is None else (1.0, 1.1, 1.5, 1.5)
        places = figure.add_gridspec(len(views), len(widths), width_ratios=widths)
        for row, (function, view) in enumerate(views.items()):
            contour = figure.add_subplot(places[row, 0])
            surface = figure.add_subplot(places[row, 1], projection="3d")
            section = figure.add_subplot(places[row, 2])
            _contour(contour, function, view)
            _surface(surface, view)
            _section(section, view)
            panels = [contour, surface, section]
            if curves is not None:
                panels.append(figure.add_subplot(places[row, 3]))
                _curves(panels[3], function, curves)
            if row == 0:
                surface.set_title("value")
                section.set_title("f(x, x): value, log view", pad=8)
                if curves is not None:
                    panels[3].set_title("scaled distance to y*", pad=8)
        contour.set(xlabel="x1", ylabel="x2")
        section.set_xlabel("x")
        if curves is not None:
            panels[3].set_xlabel(f"evaluations in {curves.dimension}-D")
            figure.legend(handles=_legend(curves), loc="outside lower center", ncols=5)
        return plots.save(figure, path, dpi=95)


def _contour(axes: Any, function: int, view: View) -> None:
    from matplotlib.colors import BoundaryNorm

    # Bands of equal area show the shape of every function, whatever the range of its values.
    levels = np.unique(np.quantile(view.plane, np.linspace(0, 1, 9)))
    norm = BoundaryNorm(levels, 256)
    axes.contourf(view.grid, view.grid, view.plane, levels=levels, cmap="cividis_r", norm=norm)
    axes.plot(*view.best, "x", color=plots.RED, markersize=7, markeredgewidth=2, clip_on=False)
    axes.set(title=f"f{function}  {NAMES[function - 1]}", aspect="equal", xticks=(-5, 0, 5), yticks=(-5, 0, 5))
    axes.grid(visible=False)


def _surface(axes: Any, view: View) -> None:
    step = max(1, len(view.grid) // 27)
    coarse = view.grid[::step]
    a, b = np.meshgrid(coarse, coarse)
    axes.plot_surface(a, b, view.plane[::step, ::step], cmap="cividis_r", linewidth=0, antialiased=False, rcount=40)
    axes.set(xticks=(-5, 5), yticks=(-5, 5), zticks=())
    axes.tick_params(labelsize=6, pad=-4)
    axes.set_box_aspect((1, 1, 0.8), zoom=1.25)


def _section(axes: Any, view: View) -> None:
    y = view.normalised
    axes.plot(view.line, y, color=plots.BLUE, linewidth=0.8)
    axes.set(xticks=(-5, 0, 5), yticks=(0, 1))
    axes.tick_params(axis="y", colors=plots.BLUE)
    right = axes.twinx()
    right.semilogy(view.line[y > 0], y[y > 0], color=plots.RED, linewidth=0.8, linestyle="--")
    right.tick_params(axis="y", colors=plots.RED)
    right.grid(visible=False)


def _looks(curves: Curves) -> dict[str, dict[str, Any]]:
    algorithms = sorted({algorithm for _, algorithm in curves.means})
    return {name: plots.line_style(k) | {"marker": "", "linewidth": 1.3} for k, name in enumerate(algorithms)}


def _legend(curves: Curves) -> list[Any]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=name, **style) for name, style in _looks(curves).items()]


def _curves(axes: Any, function: int, curves: Curves) -> None:
    for algorithm, style in _looks(curves).items():
        mean = curves.means.get((function, algorithm))
        if mean is not None:
            # COCO's last target is a gap of 1e-8, so below that nothing is to be seen.
            axes.plot(curves.evaluations, np.maximum(mean, 1e-9), **style)
    axes.set(xscale="log", yscale="log", ylim=(1e-9, 1.5), xlim=(1, curves.evaluations[-1]))
