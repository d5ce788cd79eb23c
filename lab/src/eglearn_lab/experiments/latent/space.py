"""The space that is searched, the same for all generators here: a box around N(0, I), and where searches begin."""

from __future__ import annotations

import numpy as np

from ..._typing import Array

N = 512
"""Dimension of the latent space."""
LIMIT = 5.0
"""The search is inside [-5, 5]^512, the box of the authors' code; z is drawn from N(0, I)."""
_START_SEED = 20200712


def start() -> Array:
    """z_0, one sample of N(0, I) at which every search begins."""
    return np.random.default_rng(_START_SEED).standard_normal(N)


def bounds() -> list[tuple[float, float]]:
    """The box of the search."""
    return [(-LIMIT, LIMIT)] * N
