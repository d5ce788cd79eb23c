"""Fig. 1 of the paper: the gradient of a fitted function against the learned mean-gradient, in one dimension."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .._typing import Array
from ..ours import EGLSettings, Samples
from .base import Finding, Outcome, Progress, experiment, write_csv
from .sections import Section, one_thread, sign_changes

KINDS = ("parabola", "piecewise linear", "multiple minima", "step")
EPSILON = 0.1  # the paper's, second row
EPSILONS = (0.03, EPSILON, 0.5)  # third row
_GRID = np.linspace(-1, 1, 2001)
_STEPS = 2000  # of training, each network
_POINTS = 20_000  # to learn the values from; as many pairs for the mean-gradient

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Curves:
    """What was learned about one function, on the grid."""

    kind: str
    title: str
    f: Array
    fitted: Array
    parametric: Array
    """The derivative of ``fitted``."""
    learned: dict[float, Array]
    """Learned mean-gradients, by epsilon."""
    exact: dict[float, Array]
    """Mean-gradients by quadrature, by epsilon."""

    @property
    def error(self) -> float:
        """Root-mean-square error of the fitted function, as a share of the range of f."""
        return float(np.sqrt(np.mean((self.fitted - self.f) ** 2))) / 2

    def gap(self, ends: Indices) -> float:
        """Mean height above the lowest value, as a share of the range of f."""
        return float(np.mean(self.f[ends] - self.f.min())) / 2


def settle(gradient: Array) -> Indices:
    """Where on the grid a descent from each grid point ends: at the first change of the gradient's sign.

    Examples
    --------
    >>> settle(np.array([-1.0, -1.0, 1.0, 1.0, -1.0, -1.0])).tolist()
    [2, 2, 1, 1, 5, 5]
    """
    at = np.arange(len(gradient))
    left = np.maximum.accumulate(np.where(gradient > 0, 0, at))
    right = np.minimum.accumulate(np.where(gradient < 0, at[-1], at)[::-1])[::-1]
    ends: Indices = np.where(gradient > 0, left, right)
    return ends


def learn(kind: str, size: float, rng: np.random.Generator) -> Curves:
    """Train the value network, and one gradient network for each epsilon, all of the same architecture."""
    from eglearn.learning.models.networks import GradientNetwork, ValueNetwork

    steps = max(1, round(_STEPS * size))
    settings = EGLSettings(
        model="spline", order="first", splines=8, width=64, blocks=2, minibatch=512, training_steps=steps
    )
    section = Section(kind)
    points = max(1000, round(_POINTS * size))
    z = rng.uniform(-1, 1, points)
    network = ValueNetwork(settings, 1, rng)
    parametric = network.fit(Samples(z[:, None], section(z), (len(z),), np.zeros(1)), 0.0, rng)
    fitted = network.net.output(_GRID[:, None].astype(np.float32))[:, 0].astype(np.float64)
    learned = {}
    for epsilon in EPSILONS:
        # Pairs uniform over |z_i - z_j| <= eps, so that the partners of each anchor are uniform in V_eps.
        first = rng.uniform(-1, 1, points)
        second = first + rng.uniform(-epsilon, epsilon, points)
        pairs = np.stack([first, second], axis=1)[np.abs(second) <= 1].reshape(-1, 1)
        v = section(pairs[:, 0])
        unit = float(np.std(v[1::2] - v[::2]))  # trained in this unit: small radii would else learn slowly
        samples = Samples(pairs, v / unit, (2,) * (len(pairs) // 2), np.zeros(1))
        fit = GradientNetwork(settings, 1, rng).fit(samples, 0.0, rng)
        learned[epsilon] = unit * fit.gradient(_GRID[:, None])[:, 0]
    exact = {epsilon: section.mean_gradient(_GRID, epsilon) for epsilon in EPSILONS}
    slope = parametric.gradient(_GRID[:, None])[:, 0]
    return Curves(kind, section.title, section(_GRID), fitted, slope, learned, exact)


@experiment(
    "mean-gradient-1d",
    "The gradient of a fitted function is erratic where the learned mean-gradient is smooth (fig. 1)",
    minutes=2,
    needs=("matplotlib", "torch", "cocoex"),
)
def mean_gradient_1d(out: Path, progress: Progress, size: float) -> Outcome:
    """Four sections of COCO's functions; spline networks with 8 splines and two residual blocks of width 64."""
    rng = np.random.default_rng(1)
    curves = []
    with one_thread():
        for number, kind in enumerate(KINDS):
            progress(number / len(KINDS), f"{kind}: four networks")
            curves.append(learn(kind, size, rng))
    tables = (_write_curves(curves, out), _write_counts(curves, out))
    return Outcome(findings(curves), (_draw(curves, out),), tables)


def findings(curves: list[Curves]) -> tuple[Finding, ...]:
    """What the paper claims about fig. 1, held against the curves."""
    by_kind = {c.kind: c for c in curves}
    peaks, step = by_kind["multiple minima"], by_kind["step"]
    flips = {c.kind: sign_changes(c.parametric) for c in curves}
    smooth = {c.kind: sign_changes(c.learned[EPSILON]) for c in curves}
    exact = {c.kind: sign_changes(c.exact[EPSILON]) for c in curves}
    true = {c.kind: sign_changes(np.diff(c.f)) for c in curves}
    roughness = {c.kind: variation(c.parametric) / variation(c.exact[EPSILON]) for c in curves}
    learned_roughness = {c.kind: variation(c.learned[EPSILON]) / variation(c.exact[EPSILON]) for c in curves}
    off = {c.kind: rms(c.learned[EPSILON] - c.exact[EPSILON]) / rms(c.exact[EPSILON]) for c in curves}
    small, *_, large = EPSILONS
    counts = [sign_changes(peaks.learned[epsilon]) for epsilon in EPSILONS]
    straight, refined = peaks.gap(settle(peaks.learned[small])), peaks.gap(refine(peaks))
    still = float(np.mean(np.diff(step.f) == 0))
    sides = sign_changes(step.learned[large])
    stepwise = {epsilon: step.gap(settle(step.learned[epsilon])) for epsilon in (small, large)}
    largest = max(c.error for c in curves)
    return (
        Finding(
            "the network's fit of f cannot be told from f with the naked eye (sec. 3.2, first row).",
            f"its root-mean-square error, as a share of the range of f, is {_each({c.kind: c.error for c in curves})}.",
            largest < 0.01,
        ),
        Finding(
            "the gradient of that fit is very noisy even where f is smooth, and spikes change its sign (second row).",
            f"f' changes sign {_each(true)} times on the grid, the derivative of the fit {_each(flips)} times; its "
            f"total variation is that of the exact mean-gradient (eps = {EPSILON}) times {_each(roughness)}.",
            all(flips[kind] > true[kind] for kind in KINDS) and min(roughness.values()) > 1,
        ),
        Finding(
            f"the mean-gradient learned with eps = {EPSILON} is always smooth, at singular points and jumps too.",
            f"the learned one changes sign {_each(smooth)} times, the exact one {_each(exact)} times; its total "
            f"variation is that of the exact one times {_each(learned_roughness)}, and its root-mean-square distance "
            f"from it, as a share of its size, {_each(off)}.",
            all(learned_roughness[kind] < roughness[kind] and smooth[kind] <= flips[kind] for kind in KINDS),
        ),
        Finding(
            "with a large enough eps the descent is not held up by local minima (third row, c).",
            f"with eps = {', '.join(map(str, EPSILONS))} the learned mean-gradient of the function with many minima "
            f"changes sign {', '.join(map(str, counts))} times.",
            counts[-1] < counts[0] and counts[-1] == 1,
        ),
        Finding(
            "with a large enough eps the descent is not held up by steps (third row, d).",
            f"f is flat on {still:.0%} of the grid's intervals; the mean-gradient learned with eps = {large} changes "
            f"sign {sides} time{'s' * (sides != 1)}, and a descent along it ends, on average over all starts, "
            f"{stepwise[large]:.2%} of the range of f above the lowest value; with eps = {small}, "
            f"{stepwise[small]:.2%}.",
            sides == 1 and stepwise[large] < 0.01,
        ),
        Finding(
            "to start with a large eps and then refine it leads to a much lower minimum than those near the start.",
            f"with many minima, a descent with eps = {small} ends on average over all starts {straight:.1%} of the "
            f"range of f above the lowest value; one that goes through eps = {', '.join(map(str, EPSILONS[::-1]))} "
            f"ends {refined:.1%} above; the fitted function's own gradient {peaks.gap(settle(peaks.parametric)):.1%}.",
            refined < straight / 2,
        ),
    )


def refine(curves: Curves) -> Indices:
    """Where descents end that go through all epsilons, the largest first."""
    ends: Indices = np.arange(len(_GRID))
    for epsilon in EPSILONS[::-1]:
        ends = settle(curves.learned[epsilon])[ends]
    return ends


def variation(values: Array) -> float:
    """Total variation on the grid."""
    return float(np.sum(np.abs(np.diff(values))))


def rms(values: Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def _each(numbers: dict[str, float] | dict[str, int]) -> str:
    texts = (f"{n}" if isinstance(n, int) else f"{n:.2g}" if n < 100 else f"{n:.0f}" for n in numbers.values())
    return ", ".join(f"{text} ({kind})" for kind, text in zip(numbers, texts, strict=True))


def _write_curves(curves: list[Curves], out: Path) -> Path:
    rows = slice(None, None, 10)
    columns: dict[str, list[Array]] = {}
    for c in curves:
        gradients = {f"learned_{e}": c.learned[e] for e in EPSILONS} | {f"exact_{e}": c.exact[e] for e in EPSILONS}
        every = {"x": _GRID, "f": c.f, "fitted": c.fitted, "parametric": c.parametric} | gradients
        for name, values in every.items():
            columns.setdefault(name, []).append(values[rows])
    kinds = np.repeat([c.kind for c in curves], len(_GRID[rows]))
    return write_csv(
        out / "mean-gradient-1d.csv",
        {"function": kinds} | {name: np.concatenate(parts) for name, parts in columns.items()},
    )


def _write_counts(curves: list[Curves], out: Path) -> Path:
    rows = []
    for c in curves:
        rows.append((c.kind, "fitted f", np.nan, sign_changes(c.parametric), variation(c.parametric)))
        rows += [(c.kind, "learned", e, sign_changes(c.learned[e]), variation(c.learned[e])) for e in EPSILONS]
        rows += [(c.kind, "exact", e, sign_changes(c.exact[e]), variation(c.exact[e])) for e in EPSILONS]
    names = ("function", "gradient", "epsilon", "sign_changes", "total_variation")
    return write_csv(out / "mean-gradient-1d-counts.csv", dict(zip(names, zip(*rows, strict=True), strict=True)))


def _draw(curves: list[Curves], out: Path) -> Path:
    import matplotlib.pyplot as plt

    from ..plots import BLACK, BLUE, GREEN, RED, WIDTH, save, style

    colours = dict(zip(EPSILONS, (GREEN, BLUE, RED), strict=True))
    with style():
        figure, axes = plt.subplots(3, len(curves), figsize=(WIDTH * 1.15, 7.6), sharex=True, layout="constrained")
        for (top, middle, bottom), c in zip(axes.T, curves, strict=True):
            top.set_title(f"{c.kind}\n({c.title})")
            top.plot(_GRID, c.f, color=BLACK, lw=2.6, label="f")
            top.plot(_GRID, c.fitted, color=RED, lw=1.2, ls="--", label="fitted f")
            middle.plot(_GRID, c.parametric, color=RED, lw=0.7, label="gradient of fitted f")
            middle.plot(_GRID, c.learned[EPSILON], color=BLUE, label=f"learned mean-gradient, eps = {EPSILON}")
            middle.plot(_GRID, c.exact[EPSILON], color=BLACK, lw=0.9, ls=":", label="exact mean-gradient")
            for epsilon in EPSILONS:
                bottom.plot(
                    _GRID,
                    c.learned[epsilon],
                    color=colours[epsilon],
                    lw=1.4,
                    label=f"learned mean-gradient, eps = {epsilon}",
                )
                bottom.plot(_GRID, c.exact[epsilon], color=BLACK, lw=0.8, ls=":")
            bottom.set_xlabel("x")
        for row, label in zip(axes[:, 0], ("value", "gradient", "mean-gradient"), strict=True):
            row.set_ylabel(label)
        handles = {h.get_label(): h for ax in axes[:, 0] for h in ax.get_legend_handles_labels()[0]}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
        return save(figure, out / "mean-gradient-1d.png")
