"""Ranks as an output map: weights of sorted samples, and the rates of learning from them.

The mean-gradient of ranks has a closed form: for samples z_k of a normal distribution it is the sum of w_k z_k, where
w_k depends on the rank of sample k alone (Stein's identity). So evolution strategies learn a constant gradient field.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from .._typing import Array


def ranked(y: Array) -> npt.NDArray[np.intp]:
    """Rows of values, the lowest first; failed ones, NaN, are the last.

    >>> ranked(np.array([3.0, np.nan, 1.0])).tolist()
    [2, 0, 1]
    """
    return np.argsort(y, kind="stable")


def normal_scores(size: int) -> Array:
    """About the expected order statistics of a normal distribution, the largest first (Blom 1958).

    >>> normal_scores(3).round(2)
    array([ 0.87,  0.  , -0.87])
    """
    return np.asarray(ndtri((size - np.arange(size) - 0.375) / (size + 0.25)))


def score_weights(size: int) -> Array:
    """Weights of all ranks, the best first: optimal in many dimensions (Arnold 2006).

    The positive ones sum to 1, the negative ones to -1.

    >>> score_weights(4).round(2)
    array([ 0.78,  0.22, -0.22, -0.78])
    """
    if size == 1:
        return np.ones(1)
    scores = normal_scores(size)
    return np.asarray(scores / scores[scores > 0].sum())


def log_weights(size: int) -> tuple[Array, Array]:
    """CMA-ES's raw weights (Hansen 2016, eq. 49): of the better half, with the sum 1, and of the worse half."""
    raw = math.log((size + 1) / 2) - np.log(np.arange(1, size + 1))
    mu = max(size // 2, 1)
    return raw[:mu] / raw[:mu].sum() if size > 1 else np.ones(1), raw[mu:]


def expected_length(n: int) -> float:
    """Of a standard normal vector, about (Hansen 2016, p. 28).

    >>> round(expected_length(100), 3)
    9.975
    """
    return math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))


@dataclass(frozen=True)
class Rates:
    """How fast a covariance matrix and a step size learn (Hansen 2016, table 1)."""

    mu_eff: float  # how many samples the weighted mean is worth
    cc: float  # of the path of the covariance matrix (eq. 56)
    c1: float  # of the rank-one update (eq. 57)
    cmu: float  # of the rank-mu update (eq. 58)
    cs: float
    damping: float  # of the step size (eq. 55)

    @classmethod
    def of(cls, n: int, positive: Array, faster: float = 1.0) -> Rates:
        """For positive weights in ``n`` dimensions; a diagonal matrix learns (n + 2) / 3 times as fast (Ros 2008)."""
        mu_eff = 1 / float(np.sum(positive**2))
        c1 = min(1.0, faster * 2 / ((n + 1.3) ** 2 + mu_eff))
        cmu = min(1 - c1, faster * 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((n + 2) ** 2 + mu_eff))
        cs = (mu_eff + 2) / (n + mu_eff + 5)
        damping = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (n + 1)) - 1) + cs
        return cls(mu_eff, (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n), c1, cmu, cs, damping)
