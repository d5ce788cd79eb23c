"""The paper's ablations as named experiments: which variants, on which problems, and what the paper says of them.

All variants start from one base, `BASE`: the fully connected network with our settings, all pairs, and 20 training
steps per batch instead of 60. That is 0.6 ms of optimiser per evaluation at 40-D instead of 1.3 to 1.8; in one run of
2,500 evaluations each on f8 and f15 it ended no higher. The spline variant keeps its network as it is, although it
costs about eight times as much: a smaller one would say nothing about the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ours import EGLSettings
from .entries import _egl
from .intervals import Interval, bootstrap_ratio
from .metrics import budget_limits, scaled_distance, score_table
from .result_table import Results

_STEPS: dict[str, Any] = {"training_steps": 20}
BASE = EGLSettings(model="fc", **_STEPS)
"""What the variants change."""


@dataclass(frozen=True)
class Ablation:
    """A named experiment; ``eglearn bench run --ablation NAME`` runs it."""

    name: str
    title: str
    claim: str
    """What the paper says, and where."""
    algorithms: tuple[str, ...]
    """Names in the registry; none for an experiment that takes snapshots."""
    reference: str | None
    """The variant that `gains` compares with."""
    functions: tuple[int, ...] = tuple(range(1, 25))
    suite: str = "bbob"
    dims: tuple[int, ...] = (40,)
    instances: tuple[int, ...] = (1,)
    budget: int = 15_000
    snapshots: tuple[int, ...] = ()
    """Evaluations after which the replay is looked at, see ``snapshots.py``."""


ABLATIONS: dict[str, Ablation] = {}
"""All experiments by name."""

Variants = dict[str, tuple[EGLSettings, str, float]]


def _variants(variants: Variants) -> tuple[str, ...]:
    """Register variants: settings, a line about each, milliseconds per evaluation in 40-D."""
    for name, (settings, text, cost) in variants.items():
        _egl(name, _always(settings), text, () if settings.model == "fc" else ("torch",), cost)
    return tuple(variants)


def _always(settings: EGLSettings) -> Callable[[int], EGLSettings]:
    return lambda n: settings


def _changed(**changes: Any) -> EGLSettings:
    return EGLSettings(model="fc", **(_STEPS | changes))


def _networks() -> Variants:
    """Region and map, each with and without; and the spline network with both.

    Without trust region, the region stays the whole box, and the exploration radius shrinks by the factor that the
    region would shrink by: as in the paper, the radius falls with and without regions, so the samples in x are drawn
    as closely, and only the coordinates in which the network learns differ. Without output map, alpha is the same and
    the gradient has the scale of f; a step still is at most epsilon long.
    """
    region = {"region_factor": 1.0, "epsilon_factor": BASE.region_factor}
    plain = {"output_map": "none"}
    return {
        "networks-fc": (_changed(**region, **plain), "Ablation: fc, no trust region, no output map.", 0.55),
        "networks-fc-tr": (_changed(**plain), "Ablation: fc with trust region, no output map.", 0.55),
        "networks-fc-om": (_changed(**region), "Ablation: fc with output map, no trust region.", 0.55),
        "networks-fc-tr-om": (BASE, "Ablation: fc with trust region and output map.", 0.55),
        "networks-spline": (
            EGLSettings(model="spline", **_STEPS), "Ablation: spline with trust region and output map.", 4.3,
        ),
    }  # fmt: skip


def _replay() -> Variants:
    return {
        f"replay-{size}-p{p:g}": (
            _changed(replay=size, perturbation=p), f"Ablation: the last {size} batches, dither {p:g} epsilon.", 0.55,
        )
        for size in (1, 4, 16, 32)
        for p in (0.0, 0.01, 0.1)
    }  # fmt: skip


def _epsilon() -> Variants:
    alone = {
        f"epsilon-{share:g}": (_changed(epsilon=share), f"Ablation: first radius {share:g} sqrt(n).", 0.55)
        for share in (0.001, 0.01, 0.1, BASE.epsilon, 0.5, 1.0)
    }
    # What the authors changed together on f19, and on f21 and f22.
    small, large = _changed(epsilon=0.001, region_factor=0.7, replay=1), _changed(epsilon=0.5, replay=4)
    return alone | {
        "epsilon-0.001-fast": (small, "Ablation: first radius 0.001 sqrt(n), gamma_alpha 0.7, one batch.", 0.55),
        "epsilon-0.5-fresh": (large, "Ablation: first radius 0.5 sqrt(n), four batches.", 0.55),
    }


def _jump() -> Variants:
    return {
        "jump-off": (_changed(jump=False), "Ablation: gradient steps only.", 0.55),
        "jump-on": (_changed(jump=True), "Ablation: to the best point of the batch, then a gradient step.", 0.55),
        "jump-only": (_changed(jump=True, alpha=0.0), "Ablation: to the best point of the batch, no gradient.", 0.55),
    }


def _add(name: str, title: str, claim: str, variants: Variants, reference: str | None, **rest: Any) -> None:
    ABLATIONS[name] = Ablation(name, title, claim, _variants(variants), reference, **rest)


_add(
    "networks",
    "Trust region, output map and network",
    "Both maps help; the output map all the way, the trust region only near the minimum; splines beat the fully "
    "connected network (sec. 5.1, fig. 4b).",
    _networks(),
    "networks-fc-tr-om",
)
_add(
    "replay-perturbation",
    "Length of the replay and dither of the argument",
    "With one batch, a dither of 0.01 epsilon gains 14 % and one of 0.1 epsilon is inconsistent; without dither, 4 "
    "batches gain 10 % and 16 batches hurt much (sec. 5.1, fig. 4d).",
    _replay(),
    "replay-1-p0",
)
_add(
    "epsilon",
    "First exploration radius",
    "On f19 only a small first radius (0.001 sqrt(n), with gamma_alpha 0.7 and one batch) leads towards the global "
    "minimum; on f21 and f22 a large one (0.5 sqrt(n), with four batches) smooths local minima away (app. on COCO, "
    "figure of scaled distances with different epsilon).",
    _epsilon(),
    "epsilon-0.1",
    functions=(19, 21, 22),
    dims=(20, 40),
    instances=(1, 2, 3, 4, 5),
)
_add(
    "jump",
    "Jump to the best explored point",
    "It credits all progress to the learned gradient (alg. 3) and does not mention the jump, which the authors' code "
    "does before each step.",
    _jump(),
    "jump-off",
)
_add(
    "output-map",
    "Values before and after the output map",
    "Values spread normally or evenly (f15, f18, f23) are easier to learn than skewed ones (f2, f10, f11), and the map "
    "must balance linearity against normality (app. on COCO, histograms).",
    {},
    None,
    budget=100_000,
    snapshots=(1_000, 10_000, 100_000),
)


def ablation(name: str) -> Ablation:
    """The experiment of that name.

    Examples
    --------
    >>> ablation("jump").algorithms
    ('jump-off', 'jump-on', 'jump-only')
    """
    if name not in ABLATIONS:
        raise ValueError(f"no ablation {name!r}; there are {', '.join(ABLATIONS)}")
    return ABLATIONS[name]


def gains(
    results: Results,
    reference: str,
    t: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator | None = None,
    resamples: int = 10_000,
) -> dict[str, Interval]:
    """The paper's gain 1 - D / D_ref of every other algorithm, D the scaled distance averaged over problems (fig. 4d).

    Distances are to the true optimum. With y* the best value of the compared, as elsewhere in the paper, a reference
    that is the best on most problems would have a distance near 0 to divide by.

    A ratio of means as in the paper, not a mean of ratios: a problem that the reference has solved would make one of
    its terms infinite. Each algorithm is compared on the problems that the reference has run too.

    Parameters
    ----------
    results : Results
        Runs.
    reference : str
        The algorithm whose gain is 0.
    t : array (T,), optional
        Evaluations after which to compare; None is the end of the budget.
    rng, resamples
        For the bootstrap over problems; None is a generator with seed 0.

    Returns
    -------
    dict of Interval
        By algorithm, arrays (T,), 95 %. Minus infinity where the reference is at the optimum on every problem.
    """
    if reference not in results.algorithms:
        raise ValueError(f"reference = {reference!r}: the results have {', '.join(results.algorithms) or 'no runs'}")
    at = budget_limits(results, (1.0,)) if t is None else t
    distance = scaled_distance(results, at, reference="optimum")
    out = {}
    for name in results.algorithms:
        table = score_table(results, distance, (name, reference)).complete()
        if name == reference or not table.problems:
            continue
        generator = np.random.default_rng(0) if rng is None else rng
        ratio = bootstrap_ratio(table.column(name), table.column(reference), generator, resamples=resamples)
        out[name] = Interval(1 - ratio.estimate, 1 - ratio.high, 1 - ratio.low)
    return out
