"""Samples of Gaussian processes: landscapes without structure but their smoothness.

Random Fourier features (Rahimi and Recht 2007): sqrt(2 / m) sum of a_i cos(w_i x + b_i), a_i normal, w_i from the
spectrum of the kernel: normal for the Gaussian kernel, Student's t with 5 degrees of freedom for Matérn's of order 5/2.
"""

from __future__ import annotations

import numpy as np

from ..base import Array, Objective, Problem, uniform_box, with_noise

FEATURES = 1000


def _sample(n: int, length: float, budget: int, matern: bool = False, deviation: float = 0.0) -> Problem:
    rng = np.random.default_rng(100 + n)
    w = rng.standard_normal((FEATURES, n)) / length
    if matern:
        w /= np.sqrt(rng.chisquare(5, (FEATURES, 1)) / 5)
    phase = rng.uniform(0, 2 * np.pi, FEATURES)
    height = rng.standard_normal(FEATURES) * np.sqrt(2 / FEATURES)

    def value(x: Array) -> float:
        return float(height @ np.cos(w @ x + phase))

    def build(rng: np.random.Generator | None) -> Objective:
        return with_noise(value, rng, deviation)

    return Problem(*uniform_box(n, -1, 1), x0=np.full(n, 0.1), budget=budget, build=build, noisy=deviation > 0)


def gaussian_5() -> Problem:
    """Response surface of 5 factors, a sample of a Gaussian process of length 0.7 in [-1, 1]^5. 100 experiments."""
    return _sample(5, 0.7, 100)


def gaussian_8() -> Problem:
    """Response surface of 8 factors, a sample of a Gaussian process of length 0.9 in [-1, 1]^8. 200 experiments."""
    return _sample(8, 0.9, 200)


def gaussian_12_noisy() -> Problem:
    """Response surface of 12 factors, length 1.2, measured with error 0.1 (range about 6). 1,000 experiments."""
    return _sample(12, 1.2, 1_000, deviation=0.1)


def matern_20_noisy() -> Problem:
    """Response surface of 20 factors, rough (Matérn 5/2), length 1.5, measured with error 0.1. 2,000 experiments."""
    return _sample(20, 1.5, 2_000, matern=True, deviation=0.1)


PROBLEMS = (gaussian_5, gaussian_8, gaussian_12_noisy, matern_20_noisy)
