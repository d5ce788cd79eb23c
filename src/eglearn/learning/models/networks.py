"""Networks that learn the mean-gradient (EGL) or the values (IGL)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from ..._typing import Array, State
from ..memory import Samples
from ..pairs import penalty, penalty_slope, pull, residuals
from ..samplers import ball
from .base import Fit, Model, pair_loss
from .closed_form import CLOSED_FORMS
from .fully_connected import Array32, FullyConnected
from .settings import FieldSettings, NetworkSettings

# Most points in one pass when the whole replay is looked at: bounds the memory of the attention block.
_CHUNK = 4096

Draw = Callable[[], tuple[Array32, Callable[[Array32], Array32]]]
"""Points of a training step in the cube, and the loss's derivative with respect to the outputs there."""


class Network(Protocol):
    """Maps points of the cube to outputs, and is trained by derivatives with respect to these."""

    def output(self, s: Array32) -> Array32:
        """Outputs (N, outputs) at points (N, n) of the cube."""

    def slope(self, s: Array32) -> Array32:
        """The derivative (N, n) of the sum of a point's outputs with respect to the point."""

    def train(self, s: Array32, slope_of: Callable[[Array32], Array32]) -> None:
        """One step of the optimiser; ``slope_of`` is the loss's derivative with respect to the outputs."""

    def weights(self) -> State:
        """What was learned."""

    def load_weights(self, weights: State) -> None:
        """Go on from ``weights``."""

    def moments(self) -> list[State | None]:
        """Those of the optimiser, of each part of the weights; None before the first step."""

    def load_moments(self, moments: list[State | None]) -> None:
        """Go on from ``moments``; begin anew if there are none."""

    def environment(self) -> dict[str, Any]:
        """What the last bits depend on beside NumPy."""


@dataclass(frozen=True)
class NetworkFit:
    """The network as it stands after a fit; the next fit of the same model changes it."""

    gradient: Callable[[Array], Array]
    loss: float


class _Network(Model):
    """What both networks share: architecture, reset, state.

    Training that diverges to infinite numbers costs one fit, which then says "no slope": the weights go back to their
    initial values.
    """

    def __init__(self, settings: Any, n: int, rng: Generator, squash: bool, outputs: int, zero_output: bool) -> None:
        self.settings, self.n, self.squash = settings, n, squash
        self.net: Network = _architecture(settings.model)(settings, n, outputs, rng, zero_output)
        self._initial = self.net.weights()

    def reset(self) -> None:
        """Back to the initial weights and a fresh optimiser, if the settings say so."""
        if self.settings.reset_network:
            self._restart()

    def _restart(self) -> None:
        self.net.load_weights(self._initial)
        self.net.load_moments([])

    def state(self) -> State:
        """Weights, initial weights and Adam's moments."""
        return {"weights": self.net.weights(), "initial": dict(self._initial), "moments": self.net.moments()}

    def load_state(self, state: State) -> None:
        """Go on from ``state``."""
        self._initial = dict(state["initial"])
        self.net.load_weights(state["weights"])
        self.net.load_moments(state["moments"])

    def environment(self) -> dict[str, Any]:
        """What else the last bits depend on."""
        return self.net.environment()

    def _seen(self, z: Array) -> Array32:
        """What the network sees of z coordinates: the region as [-1, 1]^n, as the splines need it."""
        s: Array32 = (np.tanh(z) if self.squash else np.clip(z, -1, 1)).astype(np.float32)
        return s

    def _train(self, draw: Draw) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.settings.training_steps):
                self.net.train(*draw())

    def _evaluate(self, z: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [self.net.output(self._seen(part)) for part in np.split(z, range(_CHUNK, len(z), _CHUNK))]
        return np.concatenate(parts).astype(np.float64)


class GradientNetwork(_Network):
    """g_theta: learns the mean-gradient from pairs, optionally on top of a closed-form part.

    >>> rng = np.random.default_rng(0)
    >>> z = 0.3 * rng.standard_normal((64, 2))
    >>> samples = Samples(z, z @ [1.0, -1.0], (64,), np.zeros(2))
    >>> model = GradientNetwork(FieldSettings(model="fc", training_steps=300), 2, rng)
    >>> g = model.fit(samples, 0.0, rng).gradient(np.zeros((1, 2)))[0]
    >>> bool(abs(g - [1, -1]).max() < 0.1)
    True
    """

    def __init__(self, settings: FieldSettings, n: int, rng: Generator, squash: bool = False) -> None:
        anchored = settings.anchor != "none"
        super().__init__(settings, n, rng, squash, outputs=n, zero_output=anchored)
        self.anchor = CLOSED_FORMS[settings.anchor](settings) if anchored else None

    def fit(self, samples: Samples, radius: float, rng: Generator) -> Fit:
        """Train, then keep the network's part only if it lowers the anchor's loss.

        The loss is that of all samples if it decides something, else of the newest batch, which is cheaper by far.
        """
        s = self.settings
        anchor = None if self.anchor is None else self.anchor.fit(samples, radius, rng)
        base = np.zeros_like(samples.z) if anchor is None else anchor.gradient(samples.z)
        draw = self._all_pairs if s.pairing == "all" else self._single_pairs
        self._train(draw(samples, base, radius, rng))
        judged = samples.newest() if anchor is None else samples
        learned = self._evaluate(judged.z)
        known = base[len(base) - len(judged.z) :]
        loss = pair_loss(known + learned, judged, s.pair_order, s.loss) if np.isfinite(learned).all() else math.inf
        if not math.isfinite(loss):
            self._restart()
        if anchor is None:
            return NetworkFit(self._evaluate if math.isfinite(loss) else np.zeros_like, loss)
        anchor_loss = pair_loss(base, samples, s.pair_order, s.loss)
        if not loss <= anchor_loss:
            return NetworkFit(anchor.gradient, anchor_loss)
        return NetworkFit(lambda z: anchor.gradient(z) + self._evaluate(z), loss)

    def _all_pairs(self, samples: Samples, base: Array, radius: float, rng: Generator) -> Draw:
        """All pairs of a few batches drawn anew for each training step; one pass per anchor serves all partners."""
        s, n = self.settings, self.n
        differences, values, weights = samples.padded()  # points relative to their batch's mean
        count, largest = values.shape
        drawn = min(count, max(1, round(s.minibatch / largest)))
        inside = weights > 0
        arguments, offsets = np.zeros((2, count, largest, n))
        arguments[inside], offsets[inside] = samples.z, base
        means = (values * weights).sum(axis=1) / weights.sum(axis=1)
        seen = self._seen(arguments)
        with np.errstate(over="ignore"):
            z, g0, v, w = (a.astype(np.float32) for a in (differences, offsets, values - means[:, None], weights))

        def draw() -> tuple[Array32, Callable[[Array32], Array32]]:
            rows = rng.permutation(count)[:drawn]
            points = seen[rows]
            if radius > 0:  # the perturbed mean-gradient dithers the argument alone
                dither = radius * ball(rng, drawn * largest, n).reshape(drawn, largest, n)
                points = self._seen(arguments[rows] + dither)

            def slope_of(learned: Array32) -> Array32:
                share = w[rows][:, :, None] * w[rows][:, None, :]
                share *= 1 / share.sum()
                g = learned.reshape(drawn, largest, n) + g0[rows]
                residual = residuals(g, z[rows], v[rows], s.pair_order)
                slopes: Array32 = pull(share * penalty_slope(residual, s.loss), z[rows], s.pair_order)
                return slopes.reshape(-1, n)

            return points.reshape(-1, n), slope_of

        return draw

    def _single_pairs(self, samples: Samples, base: Array, radius: float, rng: Generator) -> Draw:
        """One random partner per anchor, as the paper trains: distinct anchors from the whole replay."""
        s, n, sizes = self.settings, self.n, np.array(samples.sizes)
        starts, size_of = np.repeat(np.cumsum(sizes) - sizes, sizes), np.repeat(sizes, sizes)
        count = min(s.minibatch, len(samples.v))
        sides = 2 if s.pair_order == "trapezoid" else 1  # the gradient at the anchor, or the mean of both

        def draw() -> tuple[Array32, Callable[[Array32], Array32]]:
            i = rng.permutation(len(samples.v))[:count]
            j = starts[i] + rng.integers(0, size_of[i])
            ends = np.concatenate([i, j])[: sides * count]
            dither = radius * ball(rng, 2 * count, n) if radius > 0 else np.zeros((2 * count, n))

            def slope_of(learned: Array32) -> Array32:
                step = (samples.z[j] - samples.z[i]).astype(np.float32)
                gain = (samples.v[j] - samples.v[i]).astype(np.float32)
                g = (learned + base[ends].astype(np.float32)).reshape(sides, count, n).mean(axis=0)
                slopes = penalty_slope((g * step).sum(axis=1) - gain, s.loss)[:, None] * step / (sides * count)
                return np.concatenate([slopes] * sides)

            return self._seen(samples.z[ends] + dither[: sides * count]), slope_of

        return draw


class ValueNetwork(_Network):
    """f_theta: learns the values; its gradient is the parametric one (alg. 1).

    >>> rng = np.random.default_rng(0)
    >>> z = 0.3 * rng.standard_normal((64, 2))
    >>> samples = Samples(z, z @ [1.0, -1.0], (64,), np.zeros(2))
    >>> model = ValueNetwork(FieldSettings(model="fc", training_steps=300), 2, rng)
    >>> g = model.fit(samples, 0.0, rng).gradient(np.zeros((1, 2)))[0]
    >>> bool(abs(g - [1, -1]).max() < 0.2)
    True
    """

    def __init__(self, settings: NetworkSettings, n: int, rng: Generator, squash: bool = False) -> None:
        super().__init__(settings, n, rng, squash, outputs=1, zero_output=False)

    def fit(self, samples: Samples, radius: float, rng: Generator) -> Fit:
        """Regression of the values on random minibatches of points."""
        s, seen = self.settings, self._seen(samples.z)
        with np.errstate(over="ignore"):
            v = samples.v.astype(np.float32)
        count = min(s.minibatch, len(v))

        def draw() -> tuple[Array32, Callable[[Array32], Array32]]:
            rows = rng.permutation(len(v))[:count]
            return seen[rows], lambda out: penalty_slope(out - v[rows, None], s.loss) / count

        self._train(draw)
        newest = samples.sizes[-1]
        errors = self._evaluate(samples.z[-newest:])[:, 0] - samples.v[-newest:]
        final = float(penalty(errors, s.loss).mean()) if np.isfinite(errors).all() else math.inf
        if not math.isfinite(final):
            self._restart()
            return NetworkFit(np.zeros_like, math.inf)
        return NetworkFit(self._gradient, final)

    def _gradient(self, z: Array) -> Array:
        inner = 1 - np.tanh(z) ** 2 if self.squash else (np.abs(z) <= 1).astype(np.float64)
        gradient: Array = self.net.slope(self._seen(z)) * inner
        return gradient


def _architecture(model: str) -> Callable[..., Network]:
    if model == "fc":
        return FullyConnected
    from .torch_network import SplineNetwork

    return SplineNetwork
