"""The fully connected network in NumPy: passes by hand and Adam on one flat vector.

With some 50 points and layers of 128 units a training step has 8 million multiplications, less than a millisecond's
worth of bookkeeping in torch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..._typing import Array, State
from .settings import NetworkSettings

Array32 = NDArray[np.float32]

FIRST_DECAY, SECOND_DECAY = 0.9, 0.999
"""Adam's, as published."""

# Now and then moments below are set to zero. With slopes of order one they are without effect; those of a unit that no
# point reaches would fall to 1e-38 otherwise, where processors are a hundred times slower.
_NEGLIGIBLE, _CLEARED = 1e-30, 50


def first_weights(inputs: int, outputs: int, rng: Generator, init: str = "uniform") -> tuple[Array, Array, Array]:
    """Weight, bias and the start of the left singular vector of a linear layer.

    Uniform in +-1 / sqrt(inputs) as is torch's habit, or orthogonal with uniform biases, or zero.
    """
    bound = 1 / math.sqrt(inputs)
    weight, bias = np.zeros((outputs, inputs)), np.zeros(outputs)
    if init != "zero":
        weight, bias = (rng.uniform(-bound, bound, part.shape) for part in (weight, bias))
    if init == "orthogonal":
        q, r = np.linalg.qr(rng.standard_normal((max(outputs, inputs), min(outputs, inputs))))
        q = q * np.sign(np.diag(r))  # without this the law is not uniform over orthogonal matrices
        weight = q if outputs >= inputs else q.T
    start = rng.standard_normal(outputs)
    return weight, bias, start / np.linalg.norm(start)


class FullyConnected:
    """ReLU layers of the widths in the setting hidden, trained with Adam."""

    def __init__(self, s: NetworkSettings, n: int, outputs: int, rng: Generator, zero_output: bool) -> None:
        self.rate, self.epsilon, self.spectral = s.learning_rate, s.adam_epsilon, s.spectral_norm
        widths = (n, *s.hidden, outputs)
        kinds = ["uniform"] * len(s.hidden) + ["zero" if zero_output else "uniform"]
        layers = [first_weights(*ends, rng, kind) for ends, kind in zip(itertools.pairwise(widths), kinds, strict=True)]
        self._shapes = [part.shape for weight, bias, _ in layers for part in (weight, bias)]
        # Copies, in the order of their indices: the layout decides the order of summation.
        flat = np.concatenate([part.ravel() for weight, bias, _ in layers for part in (weight, bias)])
        self.parameters: Array32 = flat.astype(np.float32)
        self._slopes, self._scratch = np.empty_like(self.parameters), np.empty_like(self.parameters)
        self._first, self._second = np.zeros_like(self.parameters), np.zeros_like(self.parameters)
        self._parts, self._slope_parts = self._split(self.parameters), self._split(self._slopes)
        # The left singular vectors, followed by one power iteration per training step.
        self.left = [start.astype(np.float32) for _, _, start in layers]
        self.steps = 0

    def _split(self, flat: Array32) -> list[Array32]:
        """Views of a vector as weight, bias, weight, bias, ..."""
        ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), self._shapes, strict=True)]

    def _pass(self, s: Array32, matrices: list[Array32]) -> list[Array32]:
        """What goes into each layer, and the output."""
        seen = [s]
        for k, matrix in enumerate(matrices):
            out = seen[-1] @ matrix.T
            out += self._parts[2 * k + 1]
            if k < len(matrices) - 1:
                np.maximum(out, 0, out=out)
            seen.append(out)
        return seen

    def output(self, s: Array32) -> Array32:
        """Outputs (N, outputs) at points (N, n) of the cube."""
        return self._pass(s, self._matrices()[0])[-1]

    def slope(self, s: Array32) -> Array32:
        """The derivative (N, n) of the sum of a point's outputs with respect to the point."""
        matrices = self._matrices()[0]
        seen = self._pass(s, matrices)
        back = np.ones_like(seen[-1])
        for k in range(len(matrices) - 1, 0, -1):
            back = (back @ matrices[k]) * (seen[k] > 0)
        return back @ matrices[0]

    def train(self, s: Array32, slope_of: Callable[[Array32], Array32]) -> None:
        """One step of Adam at points ``s``; ``slope_of`` is the loss's derivative with respect to the outputs."""
        matrices, norms = self._matrices(moving=True)
        *seen, out = self._pass(s, matrices)
        back = slope_of(out)
        for k in range(len(matrices) - 1, -1, -1):
            slope = self._slope_parts[2 * k]
            np.matmul(back.T, seen[k], out=slope)
            np.sum(back, axis=0, out=self._slope_parts[2 * k + 1])
            if k:
                back = back @ matrices[k]
                back *= seen[k] > 0
            if self.spectral:  # W / (left W right), the singular vectors held
                norm, right = norms[k]
                slope -= np.sum(slope * matrices[k]) * np.outer(self.left[k], right)
                slope /= norm
        self._adam()

    def _adam(self) -> None:
        self.steps += 1
        g, change = self._slopes, self._scratch
        np.subtract(g, self._first, out=change)
        change *= 1 - FIRST_DECAY
        self._first += change
        np.multiply(g, g, out=g)
        g -= self._second
        g *= 1 - SECOND_DECAY
        self._second += g
        root = math.sqrt(1 - SECOND_DECAY**self.steps)
        np.sqrt(self._second, out=change)
        change += self.epsilon * root
        np.divide(self._first, change, out=change)
        change *= self.rate * root / (1 - FIRST_DECAY**self.steps)
        self.parameters -= change

        if self.steps % _CLEARED == 0:
            for moment in (self._first, self._second):
                moment[np.abs(moment) < _NEGLIGIBLE] = 0

    def environment(self) -> dict[str, Any]:
        """What the last bits depend on beside NumPy: nothing."""
        return {}

    def _matrices(self, moving: bool = False) -> tuple[list[Array32], list[tuple[float, Array32]]]:
        """The weights as they are used; with spectral normalisation also their norms and right singular vectors."""
        weights = self._parts[::2]
        if not self.spectral:
            return weights, []
        used, norms = [], []
        for k, weight in enumerate(weights):
            right = _unit(weight.T @ self.left[k])
            left = _unit(weight @ right)
            if moving:
                self.left[k] = left
            norm = float(left @ (weight @ right)) or 1.0  # zero weights stay as they are
            used.append(weight / np.float32(norm))
            norms.append((norm, right))
        return used, norms

    def weights(self) -> State:
        """By the names that torch gives to the parts of a sequence of linear layers and ReLUs."""
        layers = zip(self._parts[::2], self._parts[1::2], self.left, strict=True)
        names = ("weight", "bias", "left")
        return {
            f"{2 * k}.{name}": part.copy()
            for k, layer in enumerate(layers)
            for name, part in zip(names, layer, strict=True)
        }

    def load_weights(self, weights: State) -> None:
        """Go on from ``weights``."""
        for k in range(len(self.left)):
            self._parts[2 * k][:] = weights[f"{2 * k}.weight"]
            self._parts[2 * k + 1][:] = weights[f"{2 * k}.bias"]
            self.left[k] = np.array(weights[f"{2 * k}.left"], dtype=np.float32)

    def moments(self) -> list[State | None]:
        """Adam's, of each weight and bias; None before the first step."""
        if not self.steps:
            return [None] * len(self._shapes)
        parts = zip(self._split(self._first), self._split(self._second), strict=True)
        return [{"step": float(self.steps), "first": m.copy(), "second": v.copy()} for m, v in parts]

    def load_moments(self, moments: list[State | None]) -> None:
        """Go on from ``moments``; begin anew if there are none."""
        self.steps = 0
        self._first[:], self._second[:] = 0, 0
        for first, second, known in zip(self._split(self._first), self._split(self._second), moments, strict=False):
            if known is not None:
                first[:], second[:], self.steps = known["first"], known["second"], int(known["step"])


def _unit(vector: Array32) -> Array32:
    """Of length 1; a vector of zeros stays."""
    length: Array32 = vector / max(float(np.linalg.norm(vector)), float(np.finfo(np.float32).tiny))
    return length
