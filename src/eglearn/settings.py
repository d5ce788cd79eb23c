"""Everything that can be chosen about the algorithm: one frozen dataclass.

Each field carries its meaning, what is allowed, and where its default comes from; the command line and the
documentation are made from the same fields.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from .learning.output import OUTPUT_MAPS
from .learning.pairs import LOSSES, ORDERS
from .learning.samplers import EXPLORATIONS

MODELS = ("constant", "affine", "fc", "spline")
NETWORKS = ("fc", "spline")


@dataclass(frozen=True)
class Allowed:
    """A set of values: a test and its description for people."""

    test: Callable[[Any], bool]
    text: str


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(low: int) -> Allowed:
    return Allowed(
        lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= low,
        f"a whole number, {low} or more",
    )


def _one_of(*choices: str) -> Allowed:
    return Allowed(lambda v: v in choices, "one of " + ", ".join(map(repr, choices)))


_POSITIVE = Allowed(lambda v: _real(v) and v > 0, "a number above 0")
_NOT_NEGATIVE = Allowed(lambda v: _real(v) and v >= 0, "a number, 0 or more")
_FACTOR = Allowed(lambda v: _real(v) and 0 < v <= 1, "a number in (0, 1]")
_SHARE = Allowed(lambda v: _real(v) and 0 < v < 0.5, "a number in (0, 0.5)")
_FRACTION = Allowed(lambda v: _real(v) and 0 <= v < 1, "a number in [0, 1)")
_APERTURE = Allowed(lambda v: _real(v) and 0 < v <= math.pi, "an angle in (0, pi]")
_FLAG = Allowed(lambda v: isinstance(v, bool), "True or False")
_WIDTHS = Allowed(
    lambda v: isinstance(v, tuple) and len(v) > 0 and all(_whole(1).test(w) for w in v),
    "a tuple of whole numbers, each 1 or more",
)


def _or_none(allowed: Allowed) -> Allowed:
    return Allowed(lambda v: v is None or allowed.test(v), allowed.text + ", or None")


def _setting(default: Any, meaning: str, source: str, allowed: Allowed) -> Any:
    return dataclasses.field(default=default, metadata={"meaning": meaning, "source": source, "allowed": allowed})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the algorithm works; ``Settings()`` is the recommended default.

    ``Settings.describe()`` prints the meaning, the default and the source of every field. Lengths (``epsilon``,
    ``alpha``) are in z coordinates, where the trust region has half-width 1.

    Raises
    ------
    ValueError
        If a value is not allowed; the message names the field, the value and what is allowed.

    Examples
    --------
    >>> Settings(exploration="ball", replay=4).exploration
    'ball'
    >>> Settings(replay=0)
    Traceback (most recent call last):
    ValueError: Settings.replay = 0: allowed is a whole number, 1 or more
    """

    # fmt: off
    m: int | None = _setting(
        None, "points in a batch, the candidate included; None: max(16, 8 sqrt(n)), in AutoEGL 4 + 3 ln n",
        "ours; paper: 64",
        _or_none(_whole(2)))
    warmup_factor: int = _setting(
        1, "the first batch in a new region has this many times m points", "ours; paper: 5", _whole(1))
    replay: int = _setting(
        32, "L, how many batches are remembered", "paper, table 1", _whole(1))

    region: str = _setting(
        "linear", "the input map: tanh squash, or linear with projection", "ours; paper: tanh",
        _one_of("tanh", "linear"))
    region_factor: float = _setting(
        0.8, "gamma_alpha, each side of a new region over that of the last", "ours; paper: 0.9", _FACTOR)
    output_map: str = _setting(
        "log", "quantile scaling with log squash, without squash, or none", "paper, app. D", _one_of(*OUTPUT_MAPS))
    output_quantile: float = _setting(
        0.1, "this quantile and its mirror go to -1 and 1", "paper, app. D", _SHARE)
    output_rate: float = _setting(
        1.0, "weight of the newest batch in the moving average of the quantiles", "ours; paper: 0.1", _FACTOR)

    exploration: str = _setting(
        "gaussian", "where samples are drawn around the candidate", "ours; paper: ball", _one_of(*EXPLORATIONS))
    cone_angle: float = _setting(
        2 * math.pi / 3, "phi, full aperture of the cone in radians", "paper, table 2", _APERTURE)
    epsilon: float = _setting(
        0.3, "exploration radius over sqrt(n)", "ours; paper: 0.1", _POSITIVE)
    epsilon_factor: float = _setting(
        1.0, "gamma_eps, epsilon of a new region over that of the last", "ours; paper: 0.97", _FACTOR)
    epsilon_min: float = _setting(
        0.0, "epsilon (the radius itself) never falls below this", "paper: none; authors' code: 1e-4",
        _NOT_NEGATIVE)

    model: str = _setting(
        "affine", "the parametric form of the gradient", "ours; paper: spline", _one_of(*MODELS))
    order: str = _setting(
        "trapezoid", "the pair loss", "ours; paper: first", _one_of(*ORDERS))
    loss: str = _setting(
        "squared", "the penalty on pair residuals", "paper", _one_of(*LOSSES))
    perturbation: float = _setting(
        0.0, "p, radius of the dither of the model's argument over epsilon", "paper, table 1", _FRACTION)
    ridge: float = _setting(
        1e-3, "ridge of the closed-form models over the mean squared size of a sample's features; 0: minimum norm",
        "ours", _NOT_NEGATIVE)

    step: str = _setting(
        "newton", "from gradient to next candidate: z - alpha g, or the model's minimum within epsilon (affine only)",
        "ours; paper: gradient", _one_of("gradient", "newton"))
    alpha: float = _setting(
        0.01, "step size of gradient steps; 0: no gradient step", "paper, table 1", _NOT_NEGATIVE)
    cap: bool = _setting(
        True, "no gradient step is longer than epsilon", "ours; optional in the authors' code", _FLAG)
    jump: bool = _setting(
        False, "move to the best point of the batch before each step", "paper; authors' code: True", _FLAG)
    shrink_rule: str = _setting(
        "mean", "when to shrink: candidate worse than the one before n_max times in a row; mean of the last n_max "
        "candidates not below that of the n_max before; no better candidate for n_max steps",
        "row: alg. 3; mean: sec. 4.2; best: authors' code", _one_of("row", "mean", "best"))
    n_max: int | None = _setting(
        None, "patience of the shrink rule, in steps; None: n / 5, between 1 and 10", "ours; paper: 10",
        _or_none(_whole(1)))
    n_min: int = _setting(
        0, "fewest steps in a region", "ours; paper: 40", _whole(0))

    hidden: tuple[int, ...] = _setting(
        (128, 128), "widths of the hidden layers of fc", "ours; authors' code: (256, 512, 512, 256)", _WIDTHS)
    anchor: str = _setting(
        "none", "closed-form part below the network", "ours; paper: none", _one_of("none", "constant", "affine"))
    pairing: str = _setting(
        "all", "train on all pairs of the drawn batches, or on one random partner an anchor",
        "ours; paper: single", _one_of("all", "single"))
    minibatch: int = _setting(
        64, "anchors in a training step (with all pairs: rounded to whole batches)", "ours; paper: 1024", _whole(1))
    training_steps: int = _setting(
        60, "training steps after a batch", "paper, table 1", _whole(1))
    learning_rate: float = _setting(
        1e-3, "of Adam", "paper, table 1", _POSITIVE)
    reset_network: bool = _setting(
        False, "go back to the initial weights at each new region", "paper; authors' code: True", _FLAG)
    knots: int = _setting(
        21, "k, knots of a spline on [-1, 1]", "paper, app. C", _whole(2))
    splines: int = _setting(
        32, "e, splines an input coordinate", "authors' code; paper: unsaid", _whole(1))
    spline_kind: str = _setting(
        "linear", "piecewise linear, cubic with continuous value, cubic with continuous second derivative",
        "paper, app. C", _one_of("linear", "cubic-c0", "cubic-c2"))
    spline_learning_rate: float | None = _setting(
        None, "of the spline coefficients; None: learning_rate", "paper; authors' code: 0.1", _or_none(_POSITIVE))
    aggregation: str = _setting(
        "attention", "over the coordinates: average pool, or a non-local block and then average pool",
        "paper, app. C", _one_of("average", "attention"))
    blocks: int = _setting(
        2, "residual blocks behind the splines", "authors' code; paper: unsaid", _whole(1))
    width: int = _setting(
        256, "width of the residual blocks", "authors' code; paper: unsaid", _whole(1))
    spectral_norm: bool = _setting(
        False, "divide each weight matrix by its largest singular value", "paper, sec. 4.1: optional", _FLAG)
    device: str = _setting(
        "cpu", "where networks are trained: cpu, cuda, cuda:1, ...", "ours",
        Allowed(lambda v: isinstance(v, str) and v != "", "the name of a torch device"))
    # fmt: on

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            allowed: Allowed = field.metadata["allowed"]
            value = getattr(self, field.name)
            if not allowed.test(value):
                raise ValueError(f"Settings.{field.name} = {value!r}: allowed is {allowed.text}")
        if self.step == "newton" and not self._has_curvature:
            raise ValueError(
                f"Settings.step = 'newton': allowed only with model='affine' and order='trapezoid', whose H is a "
                f"Hessian; for model={self.model!r} and order={self.order!r} set step='gradient', or start from "
                f"Settings.for_model({self.model!r})"
            )
        if self.anchor != "none" and self.model not in NETWORKS:
            raise ValueError(
                f"Settings.anchor = {self.anchor!r}: allowed only with the networks, model='fc' or 'spline'"
            )

    @property
    def _has_curvature(self) -> bool:
        return self.model == "affine" and self.order == "trapezoid"

    def batch_size(self, n: int) -> int:
        """Points in a batch for dimension ``n``."""
        return self.m if self.m is not None else max(16, int(8 * math.sqrt(n)))

    def patience(self, n: int) -> int:
        """The shrink rule's patience for dimension ``n``: more unknowns take more batches to learn."""
        return self.n_max if self.n_max is not None else min(10, max(1, round(n / 5)))

    @classmethod
    def for_model(cls, model: str, **changes: Any) -> Self:
        """The recommended settings around another model.

        Examples
        --------
        >>> Settings.for_model("constant").step
        'gradient'
        """
        base: dict[str, Any] = {"model": model}
        if model != "affine":
            base |= {"step": "gradient", "alpha": 0.1, "order": "trapezoid" if model in NETWORKS else "first"}
        return cls(**(base | changes))

    @classmethod
    def paper_coco(cls, n: int, **changes: Any) -> Self:
        """Table 1 and the text of the paper: squared loss, no jump, n_max in a row."""
        return cls(**(_PAPER | changes))

    @classmethod
    def authors_code(cls, n: int, **changes: Any) -> Self:
        """What the authors' runs did: Huber loss, jump to the best explored point, uniform radius, ...

        Their 60 passes over a full replay of 2048 points are 120 minibatches; the region is shifted into the box
        as everywhere here. Their clamping of old points at the region's faces is not repeated.
        """
        return cls(**(_PAPER | _AUTHORS | changes))

    @classmethod
    def paper_latent(cls, n: int, **changes: Any) -> Self:
        """Table 2 of the paper (search of a latent space); what it leaves out is as in table 1."""
        return cls(**(_PAPER | _LATENT | changes))

    @classmethod
    def describe(cls) -> str:
        """All fields as a table in Markdown: name, default, meaning, allowed, source."""
        rows = ["| field | default | meaning | allowed | source |", "|---|---|---|---|---|"]
        for f in dataclasses.fields(cls):
            meta = f.metadata
            rows.append(
                f"| `{f.name}` | `{f.default!r}` | {meta['meaning']} | {meta['allowed'].text} | {meta['source']} |"
            )
        return "\n".join(rows)

    def state(self) -> dict[str, Any]:
        """The fields as plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(self).items()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The settings that ``state`` describes."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in state.items()}
        return cls(**values)


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
