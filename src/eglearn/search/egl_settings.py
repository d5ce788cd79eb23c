"""Settings of the paper's three algorithms, and the paper's own values as presets."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..learning.models.settings import MODELS, NETWORKS, FieldSettings, NetworkSettings
from ..learning.output import OUTPUT_MAPS
from ..learning.samplers import EXPLORATIONS
from ..settings import (
    APERTURE,
    BELOW_ONE,
    FACTOR,
    FLAG,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Allowed,
    Settings,
    one_of,
    or_none,
    setting,
    whole,
)

_PLAN = Allowed(
    lambda v: isinstance(v, tuple) and len(v) == 3 and 1 >= v[0] >= v[1] >= v[2] > 0, "three falling numbers in (0, 1]"
)
_AT_LEAST_ONE = Allowed(lambda v: isinstance(v, int | float) and 1 <= v < math.inf, "a number, 1 or more")


@dataclass(frozen=True, kw_only=True)
class SamplingSettings(Settings):
    """Where and how many samples are drawn around the candidate."""

    # fmt: off
    m: int | None = setting(
        None, "points per batch, including the candidate; None: max(16, 8 sqrt(n))", "ours; paper: 64",
        or_none(whole(2)))
    exploration: str = setting(
        "gaussian", "where samples are drawn around the candidate", "ours; paper: ball", one_of(*EXPLORATIONS))
    cone_angle: float = setting(
        2 * math.pi / 3, "phi, full aperture of the cone in radians", "paper, table 2", APERTURE)
    epsilon: float = setting(
        0.3, "exploration radius divided by sqrt(n)", "ours; paper: 0.1", POSITIVE)
    # fmt: on

    def batch_size(self, n: int) -> int:
        """Points in a batch for dimension ``n``."""
        return self.m if self.m is not None else max(16, int(8 * math.sqrt(n)))


@dataclass(frozen=True, kw_only=True)
class ZoomSettings(SamplingSettings):
    """What EGL and IGL share: everything but what is learned."""

    # fmt: off
    warmup_factor: int = setting(
        1, "the first batch in a new region has this many times m points", "ours; paper: 5", whole(1))
    replay: int = setting(
        32, "L, number of batches remembered", "paper, table 1", whole(1))
    region: str = setting(
        "linear", "the input map: tanh squash, linear with projection, or linear with axes that follow the curvature",
        "ours; paper: tanh",
        one_of("tanh", "linear", "shaped"))
    region_factor: float = setting(
        0.8, "gamma_alpha, the factor by which each side of a region shrinks", "ours; paper: 0.9", FACTOR)
    output_map: str = setting(
        "log", "quantile scaling with or without log squash, normal scores of the ranks, or none",
        "paper, app. D", one_of(*OUTPUT_MAPS))
    output_quantile: float = setting(
        0.1, "this quantile and its mirror image are mapped to -1 and 1", "paper, app. D", SHARE)
    output_rate: float = setting(
        1.0, "weight of the newest batch in the moving average of the quantiles", "ours; paper: 0.1", FACTOR)
    epsilon_factor: float = setting(
        1.0, "gamma_eps, the factor of epsilon at each new region", "ours; paper: 0.97", FACTOR)
    epsilon_min: float = setting(
        0.0, "lower bound of epsilon (of the radius itself)", "paper: none; authors' code: 1e-4", NOT_NEGATIVE)
    alpha: float = setting(
        0.1, "step size of gradient steps; 0: no gradient step", "ours; paper: 0.01", NOT_NEGATIVE)
    cap: bool = setting(
        True, "limit gradient steps to length epsilon", "ours; optional in the authors' code", FLAG)
    jump: bool = setting(
        False, "move to the best point of the batch before each step", "paper; authors' code: True", FLAG)
    shrink_rule: str = setting(
        "mean", "when to shrink. row: n_max times in a row a candidate is worse than the last one, which with table 1 "
        "never happens on bbob f17. mean: the mean of the last n_max candidates is not below that of the n_max before. "
        "best: no better candidate for n_max steps. planned: when the plan says so, whatever the candidates do; where "
        "no budget is known, as mean",
        "row: alg. 3; mean: sec. 4.2; best: authors' code; planned: ours", one_of("row", "mean", "best", "planned"))
    plan: tuple[float, ...] = setting(
        (0.5, 0.05, 0.001), "half-width of the region after 10, 50 and 90 % of the budget, by the rule planned", "ours",
        _PLAN)
    shape_limit: float = setting(
        10.0, "a shaped region evens out curvatures up to this ratio each time it shrinks", "ours", _AT_LEAST_ONE)
    shape_replay: int = setting(
        0, "number of batches that the shape of a shaped region is learned from, if more than L",
        "ours", whole(0))
    centre: str = setting(
        "sample", "x_best, the centre of a new region: the best point evaluated, or the best candidate",
        "authors' code; alg. 3: candidate", one_of("sample", "candidate"))
    n_max: int | None = setting(
        None, "patience of the shrink rule, in steps; None: n / 5, between 1 and 10", "ours; paper: 10",
        or_none(whole(1)))
    n_min: int = setting(
        0, "minimum number of steps in a region", "ours; paper: 40", whole(0))
    # fmt: on

    def planned_width(self, share: float) -> float:
        """Half-width of the region after this share of the evaluations."""
        _, half, late = self.plan
        widths = np.log([1.0, *self.plan, late * late / half])  # at the end as fast as from 50 to 90 %
        return math.exp(np.interp(share, (0.0, 0.1, 0.5, 0.9, 1.3), widths))

    def patience(self, n: int) -> int:
        """The shrink rule's patience for dimension ``n``: more unknowns take more batches to learn."""
        return self.n_max if self.n_max is not None else min(10, max(1, round(n / 5)))

    @classmethod
    def planned(cls, n: int, **changes: Any) -> Self:
        """For gradient steps and a budget that is known: the zoom follows it, and regions take the function's shape."""
        return cls._preset(_PLANNED, changes)

    @classmethod
    def paper_coco(cls, n: int, **changes: Any) -> Self:
        """Table 1 and the text of the paper: squared loss, no jump, n_max in a row."""
        return cls._preset(_PAPER, changes)

    @classmethod
    def authors_code(cls, n: int, **changes: Any) -> Self:
        """What the authors' runs did: Huber loss, jump to the best explored point, uniform radius, ...

        Their 60 passes over a full replay of 2048 points are 120 minibatches; the region is shifted into the box
        as everywhere here. Their clamping of old points at the region's faces is not repeated.
        """
        return cls._preset(_PAPER | _AUTHORS, changes)

    @classmethod
    def paper_latent(cls, n: int, **changes: Any) -> Self:
        """Table 2 of the paper (search of a latent space); what it leaves out is as in table 1."""
        return cls._preset(_PAPER | _LATENT, changes)

    @classmethod
    def _preset(cls, values: dict[str, Any], changes: dict[str, Any]) -> Self:
        """The values that this class has fields for, with changes."""
        names = {f.name for f in dataclasses.fields(cls)}
        return cls(**({k: v for k, v in values.items() if k in names} | changes))


@dataclass(frozen=True, kw_only=True)
class EGLSettings(FieldSettings, ZoomSettings):
    """Settings of ``EGL``; ``EGLSettings()`` is the recommended default.

    ``EGLSettings.describe()`` prints the meaning, the default and the source of every field. Lengths (``epsilon``,
    ``alpha``) are in z coordinates, where the trust region has half-width 1.

    Raises
    ------
    ValueError
        If a value is not allowed; the message names the field, the value and what is allowed.

    Examples
    --------
    >>> EGLSettings(model="fc").step_kind
    'gradient'
    >>> EGLSettings(replay=0)
    Traceback (most recent call last):
    ValueError: EGLSettings.replay = 0: allowed is a whole number, 1 or more
    """

    step: str | None = setting(
        None,
        "the step to the next candidate: z - alpha g, or the model's minimum within epsilon; None: the latter if the "
        "model has a Hessian",
        "ours; paper: gradient",
        or_none(one_of("gradient", "newton")),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step_kind == "newton" and self.region == "shaped":
            raise ValueError(
                "EGLSettings.region = 'shaped': allowed only with gradient steps; a Newton step knows the curvature"
            )
        if self.step == "newton" and not self.has_curvature:
            raise ValueError(
                f"EGLSettings.step = 'newton': allowed only with model='affine' and order='trapezoid', or with "
                f"model='least-change', whose H is a Hessian; for model={self.model!r} and order={self.pair_order!r} "
                f"leave step=None"
            )

    @property
    def step_kind(self) -> str:
        """``step``, or what suits the model."""
        return self.step or ("newton" if self.has_curvature else "gradient")


@dataclass(frozen=True, kw_only=True)
class IGLSettings(NetworkSettings, ZoomSettings):
    """Settings of ``IGL``: those of ``EGL`` without pairs and closed forms.

    Examples
    --------
    >>> IGLSettings().model
    'fc'
    """

    model: str = setting("fc", "the network that learns the values", "ours; paper: spline", one_of(*NETWORKS))


@dataclass(frozen=True, kw_only=True)
class ConvergentSettings(FieldSettings, SamplingSettings):
    """Settings of ``ConvergentEGL``.

    Examples
    --------
    >>> ConvergentSettings(gamma_alpha=1.5)
    Traceback (most recent call last):
    ValueError: ConvergentSettings.gamma_alpha = 1.5: allowed is a number in (0, 1)
    """

    # fmt: off
    model: str = setting("constant", "the parametric form of the gradient", "ours", one_of(*MODELS))
    exploration: str = setting("ball", "where samples are drawn around the candidate", "paper", one_of(*EXPLORATIONS))
    epsilon: float = setting(0.1, "initial exploration radius divided by sqrt(n)", "paper, table 1", POSITIVE)
    alpha: float | None = setting(
        None, "initial step size; None makes the first step epsilon long", "paper, alg. 2", or_none(POSITIVE))
    gamma_alpha: float = setting(0.95, "factor of alpha at each failed test", "ours; alg. 3: 0.9", BELOW_ONE)
    gamma_epsilon: float = setting(
        0.8, "additional factor of epsilon at each failed test", "ours; alg. 3: 0.97", BELOW_ONE)
    constant: float = setting(2.0, "the constant in the test", "what the proof gives; printed: 2.25", POSITIVE)
    epsilon_bar: float = setting(1e-12, "the run has converged when epsilon falls below this", "ours", POSITIVE)
    # fmt: on


_PLANNED: dict[str, Any] = {
    "shrink_rule": "planned",
    "region": "shaped",
    "region_factor": 0.9,
    "model": "fc",
    "step": "gradient",
}
_PAPER: dict[str, Any] = {
    "m": 64,
    "warmup_factor": 5,
    "replay": 32,
    "region": "tanh",
    "region_factor": 0.9,
    "output_rate": 0.1,
    "exploration": "ball",
    "epsilon": 0.1,
    "epsilon_factor": 0.97,
    "model": "spline",
    "order": "first",
    "step": "gradient",
    "alpha": 0.01,
    "cap": False,
    "shrink_rule": "row",
    "n_max": 10,
    "n_min": 40,
    "hidden": (256, 512, 512, 256),
    "pairing": "single",
    "minibatch": 1024,
    "training_steps": 60,
}
_AUTHORS: dict[str, Any] = {
    "exploration": "ball-radius",
    "epsilon_min": 1e-4,
    "loss": "huber",
    "jump": True,
    "shrink_rule": "best",
    "training_steps": 120,
    "reset_network": True,
    "spline_learning_rate": 0.1,
}
_LATENT: dict[str, Any] = {
    "m": 32,
    "replay": 64,
    "alpha": 0.02,
    "epsilon_factor": 0.95,
    "exploration": "cone-ball",
}
