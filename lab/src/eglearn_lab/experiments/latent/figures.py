"""The pictures of the search: samples of the generator, what was found, how the cost fell.

Needs ``eglearn-lab[plot]``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import plots
from ..._typing import Array
from ...runner import Row
from .space import N, start
from .subjects import Subject

_AGREES, _DIFFERS = plots.BLUE, plots.ORANGE
_SPAN = (0, 1, 1, 0)  # images are drawn in units of their side, from the upper left corner, as landmarks are


def draw_samples(subject: Subject, path: str | os.PathLike[str], *, rows: int = 4, columns: int = 12) -> Path:
    """Images of random latent points, above targets."""
    import matplotlib.pyplot as plt

    z = np.random.default_rng(0).standard_normal((rows * columns, N))
    made, real = subject.networks.generator(z), subject.target_images[: 2 * columns]
    below = len(real) // columns
    with plots.style():
        figure, (upper, lower) = plt.subplots(2, 1, figsize=(plots.WIDTH, plots.WIDTH * (rows + below + 0.8) / columns),
                                              height_ratios=(rows, below))  # fmt: skip
        for axes, images, title in (
            (upper, made, f"Made: {rows * columns} random points of the latent space, not selected"),
            (lower, real[: below * columns], f"Targets, the first {below * columns}"),
        ):
            axes.imshow(_sheet(images, columns), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
            axes.set_title(title)
            axes.set_axis_off()
        figure.tight_layout()
        return plots.save(figure, path)


def _sheet(images: Array, columns: int) -> Array:
    """Images side by side with a blank pixel between."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), *([(0, 0)] * (images.ndim - 3))), constant_values=_blank(images))
    rows, side, colours = len(images) // columns, padded.shape[1], padded.shape[3:]
    sheet = padded.reshape(rows, columns, side, side, *colours).swapaxes(1, 2)
    return sheet.reshape(rows * side, columns * side, *colours)


def _blank(images: Array) -> float:
    """What is drawn white: garments are bright on black, and drawn the other way round."""
    return 0.0 if images.ndim == 3 else 1.0


def draw_found(
    subject: Subject, found: dict[str, dict[int, Array]], path: str | os.PathLike[str], problems: Sequence[int]
) -> Path:
    """Fig. 5 of the paper: targets beside what each algorithm found.

    Parameters
    ----------
    subject
        The black boxes and the targets.
    found : dict
        For each algorithm, the best latent point of each problem.
    path
        The picture to write.
    problems : numbers
        One row each.
    """
    import matplotlib.pyplot as plt

    names = ["target", "start", *found]
    with plots.style():
        figure, grid = plt.subplots(
            len(problems), len(names), squeeze=False,
            figsize=(1.2 * len(names), 1.62 * len(problems) + 0.8), gridspec_kw={"wspace": 0.12, "hspace": 0.3},
        )  # fmt: skip
        for line, problem in zip(grid, problems, strict=True):
            target = subject.target(problem)
            image = subject.target_images[problem]
            _draw_image(line[0], image, target.landmarks, None)
            _draw_attributes(line[0], target.attributes, target.attributes)
            line[0].set_xlabel(subject.caption(problem), labelpad=1)
            for axes, z in zip(line[1:], [start(), *(points[problem] for points in found.values())], strict=True):
                image = subject.networks.generator(z[None])
                terms = subject.cost(problem).terms_of_images(image)
                _draw_image(axes, image[0], target.landmarks, np.asarray(subject.networks.landmarks(image))[0])
                told = np.asarray(subject.networks.attributes(image))[0] > 0.5
                _draw_attributes(axes, told, target.attributes)
                axes.set_xlabel(f"{terms.total[0]:.2f}", labelpad=1)
        for axes, name in zip(grid[0], names, strict=True):
            axes.set_title(name, loc="center", fontsize=10)
        _legend(figure)
        return plots.save(figure, path)


def _draw_image(axes: Any, image: Array, wanted: Array, estimated: Array | None) -> None:
    axes.imshow(image, cmap="gray_r", vmin=0, vmax=1, extent=_SPAN, interpolation="nearest")
    size = 176 / wanted.size  # many points are drawn small, so that the image is seen
    for points, colour in ((wanted, plots.RED), (estimated, plots.SKY)):
        if points is not None:
            x, y = points.reshape(-1, 2).T
            axes.plot(x, y, ".", color=colour, markersize=size)
    axes.set(xlim=(0, 1), ylim=(1.22, 0), xticks=[], yticks=[])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_attributes(axes: Any, told: Any, wanted: Any) -> None:
    """A strip of 2 x 20 cells below the image, the colour saying whether the attribute is as wanted."""
    for number, (has, should) in enumerate(zip(told, wanted, strict=True)):
        row, column = divmod(number, 20)
        colour = _AGREES if has == should else _DIFFERS
        axes.fill(
            column / 20 + np.array([0, 0.04, 0.04, 0]), 1.04 + 0.085 * row + np.array([0, 0, 0.07, 0.07]),
            facecolor=colour if has else "white", edgecolor=colour, linewidth=0.5,
        )  # fmt: skip


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    def mark(colour: str, text: str, shape: str, filled: bool = True) -> Any:
        face = colour if filled else "white"
        return Line2D([], [], linestyle="", marker=shape, color=colour, markerfacecolor=face, markersize=6, label=text)

    figure.legend(
        handles=[
            mark(plots.RED, "wanted landmarks", "o"), mark(plots.SKY, "landmarks of the image", "o"),
            mark(_AGREES, "attribute as wanted", "s"), mark(_DIFFERS, "not as wanted", "s"),
            mark(plots.BLACK, "has the attribute", "s"), mark(plots.BLACK, "lacks it", "s", filled=False),
        ],
        loc="upper center", bbox_to_anchor=(0.5, 0.06), ncols=3, handletextpad=0.1, columnspacing=1.2,
    )  # fmt: skip


def draw_convergence(rows: Sequence[Row], path: str | os.PathLike[str]) -> Path:
    """Mean of the best cost so far over the problems; how sure it is depends on the pairing, see the page's table."""
    import matplotlib.pyplot as plt

    budget = max(row["budget"] for row in rows)
    at = np.unique(np.geomspace(1, budget, 200).astype(int))
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.6))
        for index, name in enumerate(names):
            curves = np.array([best_so_far(row, at) for row in rows if row["algorithm"] == name])
            look = plots.line_style(index)
            axes.plot(at, curves.mean(axis=0), label=name, markevery=(5 * index, 40), **look)
        axes.set(xscale="log", xlabel="evaluations", ylabel="best cost so far, mean over the problems")
        axes.legend(loc="lower left")
        return plots.save(figure, path)


def best_so_far(row: Row, at: Any) -> Array:
    """The best cost of a run after so many evaluations (k,)."""
    place = np.searchsorted(row["trace_evaluations"], at, side="right") - 1
    curve: Array = np.asarray(row["trace_cost"], dtype=float)[np.maximum(place, 0)]
    return curve
