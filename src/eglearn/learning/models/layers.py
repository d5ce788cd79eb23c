"""The spline network and its building blocks (paper app. C); the only room that imports torch.

Weights are drawn with the NumPy generator that is passed in: torch's own random state is never used.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn

from .fully_connected import first_weights
from .settings import NetworkSettings


def _parameter(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> nn.Parameter:
    # Contiguous: the layout decides the order of summation, and a restored parameter is contiguous.
    return nn.Parameter(torch.from_numpy(np.ascontiguousarray(values)).to(torch.float32))


class Linear(nn.Module):
    """x W^T + c, optionally with W divided by its largest singular value (spectral normalisation)."""

    def __init__(
        self, inputs: int, outputs: int, rng: Generator, init: str = "uniform", spectral: bool = False
    ) -> None:
        super().__init__()
        weight, bias, start = first_weights(inputs, outputs, rng, init)
        self.weight, self.bias = _parameter(weight), _parameter(bias)
        self.spectral = spectral
        # The left singular vector, followed by one power iteration per training step.
        self.left: Tensor
        self.register_buffer("left", torch.from_numpy(start).to(torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        """Rows of ``x`` mapped."""
        weight: Tensor = self.weight
        if self.spectral:
            with torch.no_grad():
                tiny = torch.finfo(weight.dtype).tiny  # a zero matrix has no singular direction
                right = nn.functional.normalize(weight.t() @ self.left, dim=0, eps=tiny)
                left = nn.functional.normalize(weight @ right, dim=0, eps=tiny)
                if self.training:
                    self.left.copy_(left)
            norm = left @ (weight @ right)
            weight = weight / torch.where(norm > 0, norm, torch.ones_like(norm))
        return nn.functional.linear(x, weight, self.bias)


class Splines(nn.Module):
    """e learnable functions of each coordinate on [-1, 1], with k equally spaced knots.

    All kinds are linear in their coefficients, with bases made of the hat functions of the knots, so one matrix
    product evaluates them and no index is ever looked up.
    """

    def __init__(self, n: int, knots: int, splines: int, kind: str, rng: Generator) -> None:
        super().__init__()
        self.kind, self.spacing = kind, 2 / (knots - 1)
        count = 3 * knots - 2 if kind == "cubic-c0" else knots
        self.coefficients = _parameter(rng.standard_normal((n, count, splines)))
        self.register_buffer("knots", torch.linspace(-1, 1, knots))
        self.knots: Tensor
        self.register_buffer("bending", torch.from_numpy(_second_derivatives(knots)).to(torch.float32))
        self.bending: Tensor

    def basis(self, s: Tensor) -> Tensor:
        """Basis functions (..., count) at ``s`` (...)."""
        hats = (1 - (s[..., None] - self.knots).abs() / self.spacing).clip(min=0)
        if self.kind == "linear":
            return hats
        if self.kind == "cubic-c2":
            # On a segment: a t_i + b t_{i+1} + ((a^3 - a) M_i + (b^3 - b) M_{i+1}) h^2 / 6, M = bending @ t.
            return hats + (hats**3 - hats) @ self.bending
        left, right = hats[..., :-1], hats[..., 1:]  # both nonzero only on the segment between the two knots
        return torch.cat([hats, left**2 * right, left * right**2], dim=-1)

    def forward(self, s: Tensor) -> Tensor:
        """Values (N, n, e) at points (N, n) of the cube."""
        return torch.einsum("lik,ike->lie", self.basis(s), self.coefficients)


def _second_derivatives(knots: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """h^2 / 6 times the map from knot values to second derivatives of the natural cubic spline, transposed."""
    inner, result = knots - 2, np.zeros((knots, knots))
    if inner > 0:
        system = 4 * np.eye(inner) + np.eye(inner, k=1) + np.eye(inner, k=-1)
        result[1:-1] = np.linalg.solve(system, np.diff(np.eye(knots), 2, axis=0))  # M h^2 / 6
    return result


class NonLocal(nn.Module):
    """One self-attention block over the coordinates, added to its input (Wang et al. 2018)."""

    def __init__(self, splines: int, rng: Generator, spectral: bool) -> None:
        super().__init__()
        layers = (Linear(splines, splines, rng, "orthogonal", spectral) for _ in range(4))
        self.query, self.key, self.value, self.out = layers

    def forward(self, s: Tensor) -> Tensor:
        """(N, n, e) to the same shape."""
        active = s.relu()
        query, key, value = self.query(active), self.key(active), self.value(active)
        weights = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(s.shape[-1]), dim=-1)
        out: Tensor = s + self.out((weights @ value).relu())
        return out


class Residual(nn.Module):
    """x + Linear(ReLU(Linear(ReLU(x))))."""

    def __init__(self, width: int, rng: Generator, spectral: bool) -> None:
        super().__init__()
        self.first = Linear(width, width, rng, "orthogonal", spectral)
        self.second = Linear(width, width, rng, "orthogonal", spectral)

    def forward(self, x: Tensor) -> Tensor:
        """(N, width) to the same shape."""
        out: Tensor = x + self.second(self.first(x.relu()).relu())
        return out


class SplineNet(nn.Module):
    """Spline embedding, aggregated over the coordinates and joined with the input, then residual blocks."""

    def __init__(self, s: NetworkSettings, n: int, outputs: int, rng: Generator, zero_output: bool) -> None:
        super().__init__()
        self.splines = Splines(n, s.knots, s.splines, s.spline_kind, rng)
        # With one coordinate there is nothing to aggregate.
        attention = s.aggregation == "attention" and n > 1
        self.mix = NonLocal(s.splines, rng, s.spectral_norm) if attention else nn.Identity()
        self.head = nn.Sequential(
            Linear(n + s.splines, s.width, rng, "orthogonal", s.spectral_norm),
            *(Residual(s.width, rng, s.spectral_norm) for _ in range(s.blocks)),
            nn.ReLU(),
            Linear(s.width, outputs, rng, "zero" if zero_output else "orthogonal", s.spectral_norm),
        )

    def forward(self, s: Tensor) -> Tensor:
        """Points (N, n) of the cube to outputs (N, outputs)."""
        pooled = self.mix(self.splines(s)).mean(dim=1)
        out: Tensor = self.head(torch.cat([s, pooled], dim=1))
        return out
