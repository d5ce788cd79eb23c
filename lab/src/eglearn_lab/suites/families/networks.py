"""Weights of neural networks, trained without gradients.

Layers of tanh units with a linear output; losses are means over the points plus a small weight decay.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ..base import Array, Objective, Problem, uniform_box

DECAY = 1e-4

Loss = Callable[[Array, Array], float]
"""From outputs and answers to a mean loss."""


def _count(sizes: tuple[int, ...]) -> int:
    return sum((a + 1) * b for a, b in pairwise(sizes))


def _forward(w: Array, sizes: tuple[int, ...], x: Array) -> Array:
    """Return the outputs of points ``x`` (points, inputs)."""
    at = 0
    for a, b in pairwise(sizes):
        x = x @ w[at : at + a * b].reshape(a, b) + w[at + a * b : at + (a + 1) * b]
        at += (a + 1) * b
        if at < w.size:
            x = np.tanh(x)
    return x[:, 0]


def _logistic(output: Array, y: Array) -> float:
    return float(np.logaddexp(0.0, -y * output).mean())


def _squared(output: Array, y: Array) -> float:
    return float(((output - y) ** 2).mean())


def _training(sizes: tuple[int, ...], data: tuple[Array, Array], loss: Loss, budget: int, batch: int = 0) -> Problem:
    """Return the training of all points, or of ``batch`` points drawn anew in each call."""
    x, y = data
    n = _count(sizes)

    def value(w: Array, x: Array, y: Array) -> float:
        return loss(_forward(w, sizes, x), y) + DECAY * float(w @ w)

    def build(rng: np.random.Generator | None) -> Objective:
        if rng is None:
            return lambda w: value(w, x, y)

        def draw(w: Array) -> float:
            rows = rng.integers(y.size, size=batch)
            return value(w, x[rows], y[rows])

        return draw

    return Problem(
        *uniform_box(n, -10, 10),
        x0=np.random.default_rng(n).normal(0.0, 0.5, n),
        budget=budget,
        build=build,
        noisy=batch > 0,
    )


def _spirals(points: int, rounds: float) -> tuple[Array, Array]:
    """Return two interleaved spirals with labels -1 and 1 (Lang and Witbrock 1988)."""
    t = np.sqrt(np.linspace(0.04, 1.0, points // 2))
    arm = (t * np.stack([np.cos(2 * np.pi * rounds * t), np.sin(2 * np.pi * rounds * t)])).T
    return 2.0 * np.concatenate([arm, -arm]), np.repeat([1.0, -1.0], points // 2)


def _waves(points: int, inputs: int) -> tuple[Array, Array]:
    """Return a smooth function of several inputs: a few random sines plus a product."""
    rng = np.random.default_rng(inputs)
    x = rng.uniform(-1, 1, (points, inputs))
    return x, np.sin(x @ rng.normal(0.0, 1.5, (inputs, 3))).sum(axis=1) + 2.0 * x[:, 0] * x[:, 1]


def spirals_151() -> Problem:
    """Two spirals of one round, network 2-10-10-1, logistic loss. 151 weights."""
    return _training((2, 10, 10, 1), _spirals(200, 1.0), _logistic, 20_000)


def spirals_413() -> Problem:
    """Two spirals of one and a half rounds, network 2-20-16-1, logistic loss. 413 weights."""
    return _training((2, 20, 16, 1), _spirals(200, 1.5), _logistic, 40_000)


def regression_969() -> Problem:
    """Smooth function of 8 inputs, network 8-32-20-1, squared error. 969 weights."""
    return _training((8, 32, 20, 1), _waves(200, 8), _squared, 50_000)


def regression_317_minibatch() -> Problem:
    """Smooth function of 6 inputs, network 6-20-8-1, squared error on 64 random points per call. 317 weights."""
    return _training((6, 20, 8, 1), _waves(400, 6), _squared, 20_000, batch=64)


PROBLEMS = (spirals_151, spirals_413, regression_969, regression_317_minibatch)
