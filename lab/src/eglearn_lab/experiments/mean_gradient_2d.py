"""Fig. 2 of the paper: descents along the learned mean-gradient, and along the gradient of fitted values, in 2-D."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..bench.problems import paper_problem
from .base import Finding, Outcome, Progress, experiment, write_csv
from .descents import HALF_WIDTH, Descent, Landscape, descend, follow, learn_field
from .sections import one_thread

NUMBERS = {"a": 194, "b": 97, "c": 255, "d": 240}
NAMES = {"a": "sharp ridge", "b": "step ellipsoid", "c": "Schaffer F7, cond. 1000", "d": "Schaffer F7"}
# Panels a and b: constant eps, 0.05 and 0.2 as in the authors' runs, and constant alpha.
SMALL, LARGE = 0.05, 0.2
_ALPHA, _REDUCED_ALPHA = 0.1, 0.02
_CONSTANT_STEPS = 100
_STARTS = np.stack(np.meshgrid([-0.8, 0.0, 0.8], [-0.8, 0.0, 0.8]), axis=-1).reshape(-1, 2)
# Panels c and d: radius and step size both shrink, by f and f^2, as they do in alg. 3 when the region shrinks by f.
_FIRST_EPSILON, _FIRST_ALPHA, _DECAY = 0.3, 0.06, 0.97
_DECAY_STEPS, _SEEDS = 80, 5

Paths = dict[tuple[str, str], list[Descent]]
"""By panel and name of the path: one for each start (a, b) or seed (c, d)."""


@experiment(
    "mean-gradient-2d",
    "Descents along the learned mean-gradient: the role of eps, and EGL against IGL (fig. 2)",
    minutes=3,
    needs=("matplotlib", "torch", "cocoex"),
)
def mean_gradient_2d(out: Path, progress: Progress, size: float) -> Outcome:
    """Nine starts on a field learned over the box (a, b); five seeds of EGL and IGL from the centre (c, d)."""
    landscapes = {panel: Landscape(paper_problem(number, 2)) for panel, number in NUMBERS.items()}
    paths: Paths = {}
    with one_thread():
        for number, (panel, f) in enumerate(landscapes.items()):
            if panel in "ab":
                progress(0.1 * number, f"{NAMES[panel]}: two networks")
                for epsilon in (SMALL, LARGE):
                    field = learn_field(f, epsilon, size, np.random.default_rng(number))
                    paths[panel, f"eps = {epsilon}"] = follow(f, field, _STARTS, _ALPHA, _CONSTANT_STEPS)
                    if epsilon == SMALL:
                        name = f"eps = {epsilon}, alpha / {_ALPHA / _REDUCED_ALPHA:g}"
                        paths[panel, name] = follow(f, field, _STARTS, _REDUCED_ALPHA, _CONSTANT_STEPS)
                continue
            steps, seeds = max(6, round(_DECAY_STEPS * size)), max(1, round(_SEEDS * size))
            factor = _DECAY ** np.linspace(0, _DECAY_STEPS, steps)
            for seed in range(seeds):
                progress(0.2 + 0.4 * (number - 2 + seed / seeds), f"{NAMES[panel]}: EGL and IGL, seed {seed}")
                for name in ("EGL", "IGL"):
                    rng = np.random.default_rng((number, seed))
                    path = descend(f, _FIRST_EPSILON * factor, _FIRST_ALPHA * factor**2, rng, of_values=name == "IGL")
                    paths.setdefault((panel, name), []).append(path)
    return Outcome(findings(paths), (_draw(landscapes, paths, out),), _write(paths, out))


def median(descents: list[Descent], what: str) -> float:
    """The median of a property over starts or seeds."""
    return float(np.median([getattr(d, what) for d in descents]))


def findings(paths: Paths) -> tuple[Finding, ...]:
    """What the paper claims about fig. 2, held against the paths."""
    small, large = f"eps = {SMALL}", f"eps = {LARGE}"
    reduced = f"{small}, alpha / {_ALPHA / _REDUCED_ALPHA:g}"
    sharp, mild, blunt = paths["a", small], paths["a", reduced], paths["a", large]
    steps = {name: median(paths["a", name], "last_steps") for name in (small, large, reduced)}
    ridge = Finding(
        "at a sharp minimum a smaller eps gives larger gradients nearby, and alpha has to be reduced to converge "
        "(fig. 2a).",
        f"with alpha = {_ALPHA} the last quarter of the steps is {steps[small]:.2g} long with {small} and "
        f"{steps[large]:.2g} with {large} (half the box is 1); with {small} and alpha = {_REDUCED_ALPHA} it is "
        f"{steps[reduced]:.2g}. The paths end {median(sharp, 'end'):.3g}, {median(blunt, 'end'):.3g} and "
        f"{median(mild, 'end'):.3g} above the lowest value (medians of {len(sharp)} starts).",
        steps[small] > 2 * steps[large] and steps[small] > 2 * steps[reduced],
    )
    sharp, blunt = paths["b", small], paths["b", large]
    noisier = sum(s.jitter > b.jitter for s, b in zip(sharp, blunt, strict=True))
    stair = Finding(
        "on steps a smaller eps gives high spikes of the gradient and a noisier path (fig. 2b).",
        f"the largest gradient on the path is {median(sharp, 'steepest'):.2f} with {small} and "
        f"{median(blunt, 'steepest'):.2f} with {large}; the change from step to step, over the step, "
        f"{median(sharp, 'jitter'):.2f} and {median(blunt, 'jitter'):.2f}, larger with {small} from {noisier} of "
        f"{len(sharp)} starts. The paths end {median(sharp, 'end'):.3g} and {median(blunt, 'end'):.3g} above the "
        f"lowest value (medians).",
        median(sharp, "steepest") > median(blunt, "steepest") and 2 * noisier > len(sharp),
    )
    claims = {
        "c": "with the same decay of alpha and eps, EGL travels smoothly through a ravine where IGL's path is noisy "
        "and inefficient (fig. 2c).",
        "d": "with the same decay, EGL's path is smooth and converges to a global minimum, IGL's is noisy (fig. 2d).",
    }
    return (ridge, stair, *(_rivals(panel, claim, paths) for panel, claim in claims.items()))


def _rivals(panel: str, claim: str, paths: Paths) -> Finding:
    egl, igl = paths[panel, "EGL"], paths[panel, "IGL"]
    # In panel d this is a fortieth of the gap at the start.
    found = sum(d.end < 1 for d in egl), sum(d.end < 1 for d in igl)
    lower = sum(e.end < i.end for e, i in zip(egl, igl, strict=True))
    best = min(d.end for d in egl), min(d.end for d in igl)
    smoother = max(d.jitter for d in egl) < min(d.jitter for d in igl)
    straighter = median(egl, "efficiency") > median(igl, "efficiency")
    arrives = 5 * lower >= 4 * len(egl) and (panel == "c" or 2 * found[0] > len(egl))
    return Finding(
        claim,
        f"the change from step to step, over the step, is {median(egl, 'jitter'):.2f} for EGL and "
        f"{median(igl, 'jitter'):.2f} for IGL; the way from start to end over the length of the path "
        f"{median(egl, 'efficiency'):.2f} and {median(igl, 'efficiency'):.2f} (medians). The paths end "
        f"{median(egl, 'end'):.2g} and {median(igl, 'end'):.2g} above the lowest value, at best {best[0]:.2g} and "
        f"{best[1]:.2g}; EGL ends lower in {lower} of {len(egl)} runs, below 1 in {found[0]} (IGL: {found[1]}). The "
        f"schedule (eps from {_FIRST_EPSILON}, alpha from {_FIRST_ALPHA}) was found in a few trials with EGL, not "
        f"tuned for IGL.",
        # A smoother path that leads nowhere better is half of the claim.
        (True if arrives else None) if smoother and straighter else False,
    )


def _write(paths: Paths, out: Path) -> tuple[Path, Path]:
    rows: list[tuple[Any, ...]] = []
    summary: list[tuple[Any, ...]] = []
    for (panel, name), descents in paths.items():
        for number, d in enumerate(descents):
            rows += [
                (panel, name, number, k, *u, gap)
                for k, (u, gap) in enumerate(zip(HALF_WIDTH * d.u, d.gaps, strict=True))
            ]
            summary.append((panel, name, number, d.efficiency, d.jitter, d.last_steps, d.steepest, d.end))
    shown = [row for row in rows if row[2] == 0]
    names = ("panel", "path", "number", "step", "x1", "x2", "gap")
    properties = ("panel", "path", "number", "efficiency", "jitter", "last_steps", "steepest", "end")
    return (
        write_csv(out / "mean-gradient-2d.csv", dict(zip(names, zip(*shown, strict=True), strict=True))),
        write_csv(out / "mean-gradient-2d-summary.csv", dict(zip(properties, zip(*summary, strict=True), strict=True))),
    )


def _draw(landscapes: dict[str, Landscape], paths: Paths, out: Path) -> Path:
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    from ..plots import BLACK, BLUE, GREEN, RED, WIDTH, save, style

    line = np.linspace(-1, 1, 161)
    points = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    looks: dict[str, dict[str, Any]] = {
        f"eps = {SMALL}": {"color": RED, "marker": "s"},
        f"eps = {LARGE}": {"color": BLUE, "marker": "o"},
        "EGL": {"color": BLUE, "marker": "o"},
        "IGL": {"color": RED, "marker": "s"},
    }
    corners = {"a": "upper right", "b": "upper right", "c": "lower left", "d": "upper left"}  # away from the paths
    with style():
        # Pale, so that the paths stand out.
        pale = ListedColormap(0.55 * plt.get_cmap("cividis")(np.linspace(0, 1, 16)) + 0.45)
        figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 9.6), layout="constrained")
        for ax, (panel, f) in zip(axes.flat, landscapes.items(), strict=True):
            height = np.log10(f(points) + 1e-2).reshape(len(line), -1)
            axis = HALF_WIDTH * line
            ax.contourf(axis, axis, height, levels=16, cmap=pale)
            ax.grid(visible=False)
            mine = {name: descents[0] for (where, name), descents in paths.items() if where == panel}
            for name, d in mine.items():
                look = looks.get(name, {"color": GREEN, "marker": "^"})
                ax.plot(*(HALF_WIDTH * d.u.T), **look, ms=3, lw=1.2, label=name, clip_on=False)
            first = HALF_WIDTH * next(iter(mine.values())).u[0]
            ax.plot(*first, marker="D", ms=8, mfc="white", mec=BLACK, ls="", label="start")
            ax.plot(*(HALF_WIDTH * f.best), marker="*", ms=15, mfc="white", mec=BLACK, ls="", label="minimum")
            ax.set_title(f"({panel}) {NAMES[panel]} ({f.title})")
            ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", xlim=(-5, 5), ylim=(-5, 5))
            lines = ax.get_legend_handles_labels()[0]
            ax.legend(handles=lines[:-2], loc=corners[panel], frameon=True, framealpha=0.85)
        figure.legend(handles=lines[-2:], loc="outside lower center", ncols=2)
        return save(figure, out / "mean-gradient-2d.png")
