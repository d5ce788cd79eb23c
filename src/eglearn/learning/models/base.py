"""What a model of the mean-gradient is."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from ..._typing import Array, State
from ..memory import Samples
from ..pairs import penalty, residuals


class Fit(Protocol):
    """A learned gradient g(z)."""

    @property
    def loss(self) -> float:
        """Mean penalty over the pairs that it was learned from."""

    def gradient(self, z: Array) -> Array:
        """Gradients (k, n) at points (k, n)."""


@runtime_checkable
class CurvedFit(Fit, Protocol):
    """A learned gradient whose derivative H is a Hessian."""

    def hessian_product(self, d: Array) -> Array:
        """H d for a vector d (n,)."""


class Model:
    """Learns a Fit from samples; what it carries from one fit to the next is its state: here, nothing."""

    def fit(self, samples: Samples, radius: float, rng: Generator) -> Fit:
        """Learn from all pairs; ``radius`` is that of the perturbation (0: none)."""
        raise NotImplementedError

    def reset(self) -> None:
        """A new region begins."""

    def state(self) -> State:
        """What the next fit depends on."""
        return {}

    def load_state(self, state: State) -> None:
        """Go on from ``state``."""

    def environment(self) -> dict[str, Any]:
        """What the last bits of a fit depend on beside NumPy and SciPy."""
        return {}


def pair_loss(gradients: Array, samples: Samples, order: str, loss: str) -> float:
    """Mean penalty over all pairs i != j of all batches, for gradients (N, n) at the samples' points."""
    z, v, weights = samples.padded()
    g = np.zeros_like(z)
    g[weights > 0] = gradients
    each = penalty(residuals(g, z, v, order), loss)
    # A pair i = i has no residual, so the sum may run over it.
    total = np.einsum("bij,bi,bj->", each, weights, weights)
    return float(total) / sum(m * (m - 1) for m in samples.sizes)
