"""Settings of the models of the gradient."""

from __future__ import annotations

from dataclasses import dataclass

from ...settings import (
    FLAG,
    FRACTION,
    NOT_NEGATIVE,
    POSITIVE,
    WIDTHS,
    Allowed,
    Settings,
    one_of,
    or_none,
    setting,
    whole,
)
from ..pairs import LOSSES, ORDERS

CLOSED = ("constant", "affine", "least-change")
NETWORKS = ("fc", "spline")
MODELS = (*CLOSED, *NETWORKS)


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(Settings):
    """How a network looks and is trained."""

    # fmt: off
    loss: str = setting(
        "squared", "the penalty on residuals", "paper", one_of(*LOSSES))
    hidden: tuple[int, ...] = setting(
        (128, 128), "widths of the hidden layers of fc", "ours; authors' code: (256, 512, 512, 256)", WIDTHS)
    minibatch: int = setting(
        64, "anchors per training step (with all pairs: rounded to whole batches)", "ours; paper: 1024", whole(1))
    training_steps: int = setting(
        60, "training steps after each batch", "paper, table 1", whole(1))
    learning_rate: float = setting(
        1e-3, "learning rate of Adam", "paper, table 1", POSITIVE)
    adam_epsilon: float = setting(
        1.5e-4, "epsilon of Adam, added to the root of the second moment; mapped values are of order one",
        "authors' code; paper: unsaid", POSITIVE)
    reset_network: bool = setting(
        False, "return to the initial weights at each new region", "paper; authors' code: True", FLAG)
    knots: int = setting(
        21, "k, number of knots of a spline on [-1, 1]", "paper, app. C", whole(2))
    splines: int = setting(
        32, "e, number of splines per input coordinate", "authors' code; paper: unsaid", whole(1))
    spline_kind: str = setting(
        "linear", "piecewise linear, cubic with continuous value, cubic with continuous second derivative",
        "paper, app. C", one_of("linear", "cubic-c0", "cubic-c2"))
    spline_learning_rate: float | None = setting(
        None, "learning rate of the spline coefficients; None: learning_rate", "paper; authors' code: 0.1",
        or_none(POSITIVE))
    aggregation: str = setting(
        "attention", "aggregation over the coordinates: average pooling, or a non-local block followed by it",
        "paper, app. C", one_of("average", "attention"))
    blocks: int = setting(
        2, "number of residual blocks after the splines", "authors' code; paper: unsaid", whole(1))
    width: int = setting(
        256, "width of the residual blocks", "authors' code; paper: unsaid", whole(1))
    spectral_norm: bool = setting(
        False, "divide each weight matrix by its largest singular value", "paper, sec. 4.1: optional", FLAG)
    device: str = setting(
        "cpu", "where spline networks are trained: cpu, cuda, cuda:1, ...", "ours",
        Allowed(lambda v: isinstance(v, str) and v != "", "the name of a torch device"))
    # fmt: on


@dataclass(frozen=True, kw_only=True)
class FieldSettings(NetworkSettings):
    """How the gradient is learned from pairs."""

    # fmt: off
    model: str = setting(
        "affine", "the parametric form of the gradient", "ours; paper: spline", one_of(*MODELS))
    order: str | None = setting(
        None, "order of the pair loss; None: trapezoid, or first for the constant model, where both are equal",
        "ours; paper: first", or_none(one_of(*ORDERS)))
    perturbation: float = setting(
        0.0, "p, radius of the perturbation of the model's argument, divided by epsilon", "paper, table 1", FRACTION)
    ridge: float = setting(
        1e-3, "ridge of the closed forms, relative to the mean squared size of a sample's features; 0: minimum norm",
        "ours", NOT_NEGATIVE)
    anchor: str = setting(
        "none", "closed-form part that the network corrects", "ours; paper: none", one_of("none", "constant", "affine"))
    pairing: str = setting(
        "all", "train on all pairs of the drawn batches, or on one random partner per anchor",
        "ours; paper: single", one_of("all", "single"))
    # fmt: on

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if self.anchor != "none" and self.model not in NETWORKS:
            raise ValueError(f"{name}.anchor = {self.anchor!r}: allowed only with the networks, model='fc' or 'spline'")
        if self.model == "least-change" and (self.perturbation > 0 or self.order == "first" or self.loss != "squared"):
            raise ValueError(
                f"{name}.model = 'least-change': it interpolates values, so leave order, loss and perturbation alone"
            )

    @property
    def pair_order(self) -> str:
        """``order``, or what suits the model."""
        return self.order or ("first" if self.model == "constant" else "trapezoid")

    @property
    def has_curvature(self) -> bool:
        """Whether the derivative of the learned gradient is a Hessian."""
        return self.model in ("affine", "least-change") and self.pair_order == "trapezoid"
