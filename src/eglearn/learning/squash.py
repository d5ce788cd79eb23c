"""Values for models that learn from differences: as they are, or with those far above the best squashed.

The paper's output map (app. D) tames penalties and clashes of ten orders of magnitude, but bends a smooth function. So
a map is chosen: differences from the best value up to a limit stay as they are, those beyond grow ever more slowly,

    v(d) = d                                                if abs(d) <= limit,
    v(d) = sign(d) limit (1 + ln(1 + ln(abs(d) / limit)))   beyond.

It is monotone, with a continuous slope, and of slope 1 around the best point, so that curvature learned with one limit
stays right with another. One logarithm is not enough: a penalty of 1e9 would still be 20 times the limit, a wall that
the model cannot bend to; with two it is 4 times. The limit is used if the model predicts squashed values better than
raw ones when each sample is left out in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from .._typing import Array
from ..state import Stateful

# The limit is this quantile of the differences.
_QUANTILE = 0.25
# Another map must predict clearly better: the error of a choice from few samples is of this size.
_CLEARLY = 0.8
# With fewer samples than this there is nothing to choose from.
_FEWEST = 8
# Share of a sample's variance that the model need not explain: without it a left-out error of few samples is all luck.
_NOISE = 0.05


def squashed(d: Array, limit: float) -> Array:
    """Differences, those beyond the limit squashed.

    >>> squashed(np.array([-1.0, 2.0, 2e9]), 2.0).round(2).tolist()
    [-1.0, 2.0, 8.16]
    """
    if not 0 < limit < math.inf:
        return d
    size = np.maximum(np.abs(d), limit)
    beyond = limit * (1 + np.log1p(np.log(size) - math.log(limit)))
    return np.where(size <= limit, d, np.copysign(beyond, d))


@dataclass
class Squash(Stateful):
    """The map of differences from the best value; ``choose`` it before each fit.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((40, 3))
    >>> d = z @ [1.0, 2.0, 3.0]
    >>> squash = Squash()
    >>> squash.choose(d, 1 + z @ z.T)
    >>> squash.limit
    inf
    >>> d[d > 3] += 1e9
    >>> squash.choose(d, 1 + z @ z.T)
    >>> bool(squash.limit < 100)
    True
    """

    limit: float = math.inf

    def __call__(self, d: Array) -> Array:
        """Mapped differences (k,) of differences."""
        return squashed(d, self.limit)

    def choose(self, d: Array, K: Array) -> None:
        """Choose the map from samples: differences (k,) and the model's kernel (k, k) between their points."""
        size = np.abs(d[d != 0])
        if len(size) < _FEWEST:
            return
        limit = float(np.quantile(size, _QUANTILE))
        raw, mapped = left_out_errors(K, np.stack([d, squashed(d, limit)], axis=1))
        if math.isinf(self.limit):
            self.limit = limit if mapped < _CLEARLY * raw else math.inf
        else:
            self.limit = math.inf if raw < _CLEARLY * mapped else limit


def left_out_errors(K: Array, v: Array) -> Array:
    """Share of each column's variance (k, c) that is not predicted when samples are left out one by one.

    For a kernel K the error at a left-out sample is (K^-1 v)_i / (K^-1)_ii, from one factorisation for all columns.
    """
    unit = np.max(np.abs(v), axis=0, initial=0.0)
    unit[unit == 0] = 1.0
    spread = v / unit
    spread -= spread.mean(axis=0)
    damped = K + _NOISE * np.trace(K) / len(K) * np.eye(len(K))
    factor, trouble = lapack.dpotrf(damped, lower=1)
    if trouble != 0:
        return np.ones(v.shape[1])
    inverse, _ = lapack.dpotri(factor, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    wrong = (inverse @ spread) / np.diag(inverse)[:, None]
    variance = np.sum(spread * spread, axis=0)
    return np.asarray(np.where(variance > 0, np.sum(wrong * wrong, axis=0) / np.maximum(variance, 1e-300), 1.0))
