"""The latent space of the faces: w of the generator, whitened, so that z ~ N(0, I) makes faces."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..space import N
from .stylegan import StyleGAN

TRUNCATION = 0.7
"""Share of the spread of w that z has. At 1, the generator's own, many faces are torn (Karras and others 2019)."""

_SAMPLES = 20_000


@dataclass(frozen=True)
class Latent:
    """Mean (512,) of w, and the symmetric square root (512, 512) of its covariance."""

    mean: Tensor
    root: Tensor

    def w(self, z: Tensor) -> Tensor:
        """W = mean + 0.7 Sigma^(1/2) z."""
        return self.mean + TRUNCATION * z @ self.root


def measure(gan: StyleGAN, seed: int) -> Latent:
    """Mean and covariance of w, over 20,000 samples of the mapping network."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        w = gan.mapping(torch.randn(_SAMPLES, N, generator=rng)).double()
    values, vectors = torch.linalg.eigh(torch.cov(w.T))
    root = vectors * values.clamp(min=0).sqrt() @ vectors.T
    return Latent(w.mean(0).float(), root.float())
