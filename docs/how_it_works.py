"""Draws how_it_works.png: sample, learn, step, zoom in, on a rippled function of two coordinates.

Nothing is drawn by hand: candidates, samples and regions are those of one run of ``eglearn.EGL``, and the learned
field is its model fitted to the first batch. Run ``python docs/how_it_works.py`` (needs ``eglearn-lab[plot]``).
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle
from PIL import Image

from eglearn import EGL, EGLSettings
from eglearn.learning.memory import Replay
from eglearn.learning.models import gradient_model
from eglearn.learning.output import OutputMap
from eglearn.learning.regions import LinearRegion

HALF_WIDTH = 5.0  # of the box: from lengths in the cube to lengths in x
BOUNDS = [(-HALF_WIDTH, HALF_WIDTH)] * 2
SETTINGS = EGLSettings(m=40, exploration="ball", epsilon=0.28)

MINIMUM = np.array([1.6, 1.1])
PERIOD = 1.2  # of the ripples

# From Okabe and Ito's palette: told apart by colour-blind readers too.
BLUE, ORANGE, BLACK = "#0072B2", "#D55E00", "#111111"
SAMPLE = {"marker": "o", "ms": 5.5, "mfc": BLUE, "mec": "white", "mew": 0.8, "ls": ""}
CANDIDATE = {"marker": "D", "ms": 9, "mfc": ORANGE, "mec": "white", "mew": 1.3, "ls": "", "zorder": 5}
LAST = CANDIDATE | {"ms": 7.5, "mfc": "white", "mec": ORANGE, "mew": 1.8}
STAR = {"marker": "*", "ms": 16, "mfc": "white", "mec": BLACK, "mew": 1.1, "ls": "", "zorder": 6}


@dataclass(frozen=True)
class Batch:
    """What one ``ask`` gave; the first point is the candidate."""

    x: np.ndarray
    radius: float
    centre: np.ndarray
    half: np.ndarray


def f(x: np.ndarray) -> np.ndarray:
    """A bowl covered with ripples."""
    d = x - MINIMUM
    return np.sum(d**2 / 4 + 1 - np.cos(2 * np.pi * d / PERIOD), axis=-1)


def true_gradient(x: np.ndarray) -> np.ndarray:
    """What f does at a point, ripples included."""
    d = x - MINIMUM
    return d / 2 + 2 * np.pi / PERIOD * np.sin(2 * np.pi * d / PERIOD)


def run() -> list[Batch]:
    """The batches of a run, with the region in which each was drawn."""
    optimiser = EGL(BOUNDS, x0=[-2.6, -2.9], budget=10_000, seed=4, settings=SETTINGS)
    history = []
    while not optimiser.stop():
        x, region = optimiser.ask(), optimiser.state()["search"]["region"]["state"]
        centre, half = HALF_WIDTH * region["mu"], HALF_WIDTH * region["sigma"]
        history.append(Batch(x, optimiser.progress()["epsilon"] * half[0], centre, half))
        optimiser.tell(x, f(x))
    return history


def learned_gradient(batch: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The mean-gradient learned from all pairs of one batch, at other points; up to a positive factor."""
    region, replay, output = LinearRegion.whole(2), Replay(1), OutputMap()
    replay.add(batch / HALF_WIDTH, f(batch), region)
    output.update(replay.y)
    samples = replay.samples(output(replay.y), batch[0] / HALF_WIDTH)
    rng = np.random.default_rng(0)  # the affine model draws nothing from it
    return gradient_model(SETTINGS, 2, rng).fit(samples, 0.0, rng).gradient(at / HALF_WIDTH)


def draw_function(ax: Axes, centre: np.ndarray, half: float) -> None:
    """Contours of f in a square."""
    a, b = (np.linspace(c - half, c + half, 400) for c in centre)
    values = f(np.stack(np.meshgrid(a, b), axis=-1))
    # Pale, so that what is drawn on top stands out; a root scale, so that the bottom has levels as well.
    height = np.sqrt(values)
    pale = ListedColormap(0.6 * mpl.colormaps["YlGnBu_r"](np.linspace(0.15, 1, 13)) + 0.4)
    ax.contourf(a, b, height, levels=np.linspace(height.min(), height.max(), 14), cmap=pale)
    ax.set(xlim=(a[0], a[-1]), ylim=(b[0], b[-1]), aspect="equal")
    ax.locator_params(nbins=5, steps=[1, 2, 10])
    ax.set_xlabel("$x_1$", labelpad=0)
    ax.set_ylabel("$x_2$", labelpad=1)


def draw_ball(ax: Axes, batch: Batch, style: str = "-") -> None:
    """The ball from which a batch is drawn."""
    ax.add_patch(Circle(tuple(batch.x[0]), batch.radius, fill=False, lw=1.5, ls=style, color=BLACK))


def sample(ax: Axes, history: list[Batch]) -> None:
    """Panel 1."""
    first = history[0]
    draw_function(ax, np.zeros(2), HALF_WIDTH)
    draw_ball(ax, first)
    ax.plot(*first.x[1:].T, **SAMPLE)
    ax.plot(*first.x[0], **CANDIDATE)
    ax.plot(*MINIMUM, **STAR)


def learn(ax: Axes, history: list[Batch]) -> None:
    """Panel 2."""
    first = history[0]
    draw_function(ax, first.x[0], 1.1 * first.radius)
    draw_ball(ax, first)
    line = np.linspace(-0.92, 0.92, 8) * first.radius
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    grid = first.x[0] + grid[np.linalg.norm(grid, axis=1) < first.radius]
    for gradient, colour, width in (
        (true_gradient(grid), ORANGE, 0.0055),
        (learned_gradient(first.x, grid), BLUE, 0.0085),
    ):
        arrows = -gradient / np.linalg.norm(gradient, axis=1, keepdims=True)
        ax.quiver(*grid.T, *arrows.T, color=colour, scale=12, width=width)


def step(ax: Axes, history: list[Batch]) -> None:
    """Panel 3."""
    first, second = history[:2]
    draw_function(ax, np.zeros(2), HALF_WIDTH)
    draw_ball(ax, first, "--")
    draw_ball(ax, second)
    ax.plot(*second.x[1:].T, **SAMPLE)
    arrow = {"arrowstyle": "-|>,head_width=0.35,head_length=0.6", "lw": 2.6, "color": ORANGE, "shrinkB": 6}
    ax.annotate("", tuple(second.x[0]), tuple(first.x[0]), arrowprops=arrow)
    ax.plot(*first.x[0], **LAST)
    ax.plot(*second.x[0], **CANDIDATE)
    ax.plot(*MINIMUM, **STAR)


def zoom(ax: Axes, history: list[Batch]) -> None:
    """Panel 4."""
    draw_function(ax, np.zeros(2), HALF_WIDTH)
    for centre, half in {tuple(b.half): (b.centre, b.half) for b in history}.values():
        ax.add_patch(Rectangle(tuple(centre - half), *(2 * half), fill=False, lw=1, color=BLACK))
    path = np.array([b.x[0] for b in history])
    ax.plot(*path.T, lw=1.8, color=ORANGE, marker="o", ms=4.5, zorder=4)
    ax.plot(*path[0], **LAST)
    ax.plot(*MINIMUM, **STAR)


def main() -> None:
    """Draw the picture beside this file."""
    mpl.rcParams.update({"font.size": 12.5, "axes.labelsize": 13, "xtick.labelsize": 10, "ytick.labelsize": 10})
    history = run()
    figure, axes = plt.subplots(2, 2, figsize=(9, 10.5), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.08)
    panels = (
        (sample, "1  Sample", "points in a ball around the candidate"),
        (learn, "2  Learn", "one gradient field from all pairs of samples"),
        (step, "3  Step", "downhill along it; then sample again"),
        (zoom, "4  Zoom in", "no more progress: a smaller region"),
    )
    for ax, (draw, title, text) in zip(axes.flat, panels, strict=True):
        draw(ax, history)
        ax.set_title(title, loc="left", fontsize=15, fontweight="bold", pad=25)
        ax.annotate(text, (0, 1), (0, 8), "axes fraction", "offset points", fontsize=12.5)
    figure.legend(
        [
            Line2D([], [], **SAMPLE),
            Line2D([], [], **CANDIDATE),
            Line2D([], [], **STAR),
            Line2D([], [], color=ORANGE, lw=2),
            Line2D([], [], color=BLUE, lw=3.5),
            Line2D([], [], marker="s", ms=11, mfc="none", mec=BLACK, ls=""),
        ],
        ["sample", "candidate", "minimum", "downhill at the point itself", "downhill as learned", "region"],
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150)
    # A palette of 256 colours is plenty here and makes the file a third of the size.
    Image.open(buffer).convert("RGB").quantize(256).save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
