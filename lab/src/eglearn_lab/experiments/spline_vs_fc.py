"""Appendix C of the paper: spline embedding against plain layers, for fitting functions of one coordinate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from ..ours import EGLSettings
from .base import Finding, Outcome, Progress, experiment, write_csv
from .sections import SECTIONS, Section, one_thread

if TYPE_CHECKING:
    from torch import nn

HARMONIC = "harmonic decay"
BLOCKS = (1, 2, 3, 4)
KINDS = ("linear", "cubic-c0", "cubic-c2")
PLAIN = "plain"
_SPLINES, _WIDTH = 8, 64
_BATCH, _SHORT, _LONG = 1024, 1024, 10_240  # the paper's minibatch, and its two lengths of training
_SIX = 256  # minibatch for the six functions, where the paper says none
_POOL = 1 << 16  # points from which minibatches are drawn
_EVERY = 32  # steps between two looks at the loss
_GRID = np.linspace(-1, 1, 2001)


@dataclass(frozen=True)
class Training:
    """How a network learned: mean squared errors on the grid after so many minibatches, and the final curve."""

    steps: Array
    losses: Array
    curve: Array

    def loss_after(self, step: float) -> float:
        """The error at the last look at or before ``step``; at the first look if there was none."""
        return float(self.losses[max(0, int(np.searchsorted(self.steps, step, side="right")) - 1)])


def network(kind: str, blocks: int, rng: np.random.Generator) -> nn.Module:
    """The spline network, or (``plain``) the same without the splines: the input goes straight to the first layer."""
    from torch import nn

    from eglearn.learning.models.layers import Linear, Residual, SplineNet

    if kind != PLAIN:
        settings = EGLSettings(model="spline", splines=_SPLINES, width=_WIDTH, blocks=blocks, spline_kind=kind)
        return SplineNet(settings, 1, 1, rng, zero_output=False)
    return nn.Sequential(
        Linear(1, _WIDTH, rng, "orthogonal"),
        *(Residual(_WIDTH, rng, spectral=False) for _ in range(blocks)),
        nn.ReLU(),
        Linear(_WIDTH, 1, rng, "orthogonal"),
    )


@dataclass(frozen=True)
class Target:
    """A function to fit: its values on the grid, and at random points from which minibatches are drawn."""

    title: str
    f: Array
    z: Array
    v: Array


def target(kind: str, points: int) -> Target:
    """Evaluate a section."""
    section = Section(kind)
    z = np.random.default_rng(1).uniform(-1, 1, points)
    return Target(section.title, section(_GRID), z, section(z))


def train(goal: Target, net: nn.Module, steps: int, batch: int, rng: np.random.Generator) -> Training:
    """Adam with the paper's learning rate on random minibatches; looks at the error on the grid."""
    import torch

    z, v, grid = (torch.from_numpy(a).float()[:, None] for a in (goal.z, goal.v, _GRID))
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    looks, losses = [], []
    curve = np.empty(0)
    for step in range(1, steps + 1):
        rows = torch.from_numpy(rng.integers(0, len(z), batch))
        optimiser.zero_grad(set_to_none=True)
        (net(z[rows]) - v[rows]).square().mean().backward()
        optimiser.step()
        if step % _EVERY == 0 or step == steps:
            with torch.no_grad():
                curve = net(grid)[:, 0].double().numpy()
            looks.append(step)
            losses.append(float(np.mean((curve - goal.f) ** 2)))
    return Training(np.array(looks, float), np.array(losses), curve)


@experiment(
    "spline-vs-fc",
    "Splines before the layers let a small network fit what plain layers miss (app. C)",
    minutes=3,
    needs=("matplotlib", "torch", "cocoex"),
)
def spline_vs_fc(out: Path, progress: Progress, size: float) -> Outcome:
    """8 splines with 21 knots, residual blocks of width 64, Adam 1e-3; the paper's minibatches of 1,024 points."""
    short, long = max(8, round(_SHORT * size)), max(8, round(_LONG * size))
    functions = {kind: target(kind, max(4096, round(_POOL * size))) for kind in SECTIONS}
    by_blocks: dict[tuple[str, int], Training] = {}
    six: dict[tuple[str, str], Training] = {}
    with one_thread():
        progress(0.0, "long training")
        pair = ("linear", PLAIN)
        longer = {kind: _trained(functions[HARMONIC], kind, 2, long, _BATCH) for kind in pair}
        for number, blocks in enumerate(BLOCKS):
            progress(0.4 + 0.05 * number, f"{blocks} residual blocks")
            by_blocks |= {(k, blocks): _trained(functions[HARMONIC], k, blocks, short, _BATCH) for k in pair}
        for number, (name, goal) in enumerate(functions.items()):
            progress(0.6 + 0.4 * number / len(functions), name)
            six |= {(name, kind): _trained(goal, kind, 2, short, _SIX) for kind in (*KINDS, PLAIN)}
    pictures = (_draw_harmonic(functions[HARMONIC], longer, by_blocks, out), _draw_six(functions, six, out))
    return Outcome(
        findings(functions[HARMONIC].f, longer, by_blocks, six), pictures, _write(longer, by_blocks, six, out)
    )


def _trained(goal: Target, kind: str, blocks: int, steps: int, batch: int) -> Training:
    rng = np.random.default_rng(0)
    return train(goal, network(kind, blocks, rng), steps, batch, rng)


def findings(
    harmonic: Array,
    longer: dict[str, Training],
    by_blocks: dict[tuple[str, int], Training],
    six: dict[tuple[str, str], Training],
) -> tuple[Finding, ...]:
    """What app. C claims, held against the trainings."""
    splines = {b: float(by_blocks["linear", b].losses[-1]) for b in BLOCKS}
    plain = {b: float(by_blocks[PLAIN, b].losses[-1]) for b in BLOCKS}
    variance = float(np.var(harmonic))
    steps = longer["linear"].steps
    early = longer["linear"].loss_after(steps[-1] / 20) / variance
    late = float(np.median(longer["linear"].losses[-max(1, len(steps) // 4) :])) / variance
    lowest = float(longer[PLAIN].losses.min())
    reached = _first_below(longer["linear"], lowest)
    ratios = {name: six[name, PLAIN].losses[-1] / six[name, "linear"].losses[-1] for name in SECTIONS}
    best = {name: min(KINDS, key=lambda kind: six[name, kind].losses[-1]) for name in SECTIONS}
    wins = {kind: sum(b == kind for b in best.values()) for kind in KINDS}
    missed = {b: loss / variance for b, loss in plain.items()}
    return (
        Finding(
            "on f17 i72 splines give a much lower error, with one residual block and with more (fig. a).",
            f"after {by_blocks['linear', 1].steps[-1]:.0f} minibatches the mean squared error with "
            f"{', '.join(map(str, BLOCKS))} blocks is {_list(splines.values())} with splines and "
            f"{_list(plain.values())} without.",
            all(2 * splines[b] < plain[b] for b in BLOCKS),
        ),
        Finding(
            "with two blocks the spline network has converged after some 500 of 10,240 minibatches, the plain one "
            "learns very slowly (fig. b).",
            f"with splines {early:.2%} of the variance of f is unexplained after {steps[-1] / 20:.0f} minibatches, and "
            f"{late:.3%} (median) in the last quarter of {steps[-1]:.0f}. The best that the plain network "
            f"reaches, {lowest / variance:.0%}, the spline network has {reached}.",
            early < 0.01 and lowest > 10 * early * variance,
        ),
        Finding(
            "without splines no number of blocks fits the harmonic function completely (fig. c).",
            f"the plain networks leave {', '.join(f'{share:.0%}' for share in missed.values())} of the variance of f "
            f"unexplained after {by_blocks[PLAIN, 1].steps[-1]:.0f} minibatches.",
            min(missed.values()) > 0.01,
        ),
        Finding(
            "on six functions the spline network, though it has only 680 weights more, fits significantly better.",
            "the error without splines over that with (linear) splines is "
            + ", ".join(f"{ratio:.2g} ({name})" for name, ratio in ratios.items())
            + ".",
            all(ratio > 2 for ratio in ratios.values()),
        ),
        Finding(
            "of the three kinds of spline the piecewise linear ones perform best, for EGL.",
            f"of the six functions linear splines fit {wins['linear']} best, cubic ones with continuous value "
            f"{wins['cubic-c0']}, cubic ones with continuous second derivative {wins['cubic-c2']}; "
            "fits of values do not tell which is best for EGL.",
            None,
        ),
    )


def _first_below(training: Training, loss: float) -> str:
    below = np.flatnonzero(training.losses <= loss)
    return f"after {training.steps[below[0]]:.0f}" if len(below) else "never reached"


def _list(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.2g}" for number in numbers)


def _write(
    longer: dict[str, Training],
    by_blocks: dict[tuple[str, int], Training],
    six: dict[tuple[str, str], Training],
    out: Path,
) -> tuple[Path, ...]:
    steps = longer["linear"].steps
    final = [("f17 i72, long", kind, 2, t) for kind, t in longer.items()]
    final += [("f17 i72", kind, blocks, t) for (kind, blocks), t in by_blocks.items()]
    final += [(name, kind, 2, t) for (name, kind), t in six.items()]
    thin = slice(None, None, 5)
    return (
        write_csv(
            out / "spline-vs-fc-errors.csv",
            {
                "function": [name for name, *_ in final],
                "network": [kind for _, kind, *_ in final],
                "blocks": [blocks for *_, blocks, _ in final],
                "minibatches": [t.steps[-1] for *_, t in final],
                "mean_squared_error": [t.losses[-1] for *_, t in final],
            },
        ),
        write_csv(
            out / "spline-vs-fc-training.csv",
            {"minibatches": steps} | {f"mse_{kind}": t.losses for kind, t in longer.items()},
        ),
        write_csv(
            out / "spline-vs-fc-curves.csv",
            {"x": _GRID[thin]} | {f"{name}, {kind}": t.curve[thin] for (name, kind), t in six.items()},
        ),
    )


def _draw_harmonic(
    goal: Target, longer: dict[str, Training], by_blocks: dict[tuple[str, int], Training], out: Path
) -> Path:
    import matplotlib.pyplot as plt

    from ..plots import BLACK, BLUE, COLOURS, RED, WIDTH, save, style

    with style():
        figure, axes = plt.subplot_mosaic("ab;cc;dd", figsize=(WIDTH, 9.5), layout="constrained")
        for kind, colour, mark in (("linear", BLUE, "o"), (PLAIN, RED, "s")):
            label = {"linear": "splines"}.get(kind, "without splines")
            errors = [by_blocks[kind, blocks].losses[-1] for blocks in BLOCKS]
            axes["a"].semilogy(BLOCKS, errors, color=colour, marker=mark, label=label)
            axes["b"].loglog(longer[kind].steps, longer[kind].losses, color=colour, lw=1, label=label)
        axes["a"].set(xlabel="residual blocks", ylabel="mean squared error", xticks=BLOCKS)
        axes["a"].set_title(f"(a) {goal.title}, {by_blocks[PLAIN, 1].steps[-1]:,.0f} minibatches")
        axes["b"].set(xlabel="minibatches", ylabel="mean squared error")
        axes["b"].set_title("(b) two blocks, longer training")
        axes["a"].legend()
        axes["b"].legend()
        for panel, kind, text in (("c", PLAIN, "without splines"), ("d", "linear", "with splines")):
            axes[panel].plot(_GRID, goal.f, color=BLACK, lw=2.4, alpha=0.35, label="f")
            for blocks, colour in zip(BLOCKS, COLOURS, strict=False):
                name = f"{blocks} block{'s' * (blocks > 1)}"
                axes[panel].plot(_GRID, by_blocks[kind, blocks].curve, color=colour, lw=1, label=name)
            axes[panel].set(xlabel="x", ylabel="value")
            axes[panel].set_title(f"({panel}) {text}, {by_blocks[kind, 1].steps[-1]:,.0f} minibatches")
            axes[panel].legend(loc="upper left")
        return save(figure, out / "spline-vs-fc.png")


def _draw_six(functions: dict[str, Target], six: dict[tuple[str, str], Training], out: Path) -> Path:
    import matplotlib.pyplot as plt

    from ..plots import BLACK, BLUE, RED, WIDTH, save, style

    with style():
        figure, axes = plt.subplots(3, 2, figsize=(WIDTH, 9), sharex=True, layout="constrained")
        for ax, (name, goal) in zip(axes.flat, functions.items(), strict=True):
            ax.plot(_GRID, goal.f, color=BLACK, lw=2.6, alpha=0.35, label="f")
            ax.plot(_GRID, six[name, PLAIN].curve, color=RED, lw=1.1, label="without splines")
            ax.plot(_GRID, six[name, "linear"].curve, color=BLUE, lw=1.1, ls="--", label="with (linear) splines")
            errors = ", ".join(f"{kind} {six[name, kind].losses[-1]:.0e}" for kind in (PLAIN, *KINDS))
            ax.set_title(f"{name} ({goal.title})", pad=20)
            ax.annotate(f"error: {errors}", (0, 1), (0, 6), "axes fraction", "offset points", fontsize=8.5)
            ax.set_ylabel("value")
        for ax in axes[-1]:
            ax.set_xlabel("x")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return save(figure, out / "spline-vs-fc-six.png")
