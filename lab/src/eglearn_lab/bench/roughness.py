"""How smooth a function is at several radii: an early sign of which search will do well.

Samples around a point are explained by a field that is affine in the point, so far as the function is smooth at their
distance. The share of their values that the field predicts when samples are left out one by one depends on the radius:

========================  =================================  =====================================================
wide radius               narrow radius                      what it means
========================  =================================  =====================================================
explained                 explained as well                  smooth: descend
explained                 less, at some narrower radius      ripples, steps or noise on a slope: smooth first
not explained             explained                          many basins without a common slope: local searches
not explained             not explained                      nothing to go by
========================  =================================  =====================================================

It needs some 6 n samples per radius and no scale: values are squashed (log-quantile), which makes penalties harmless.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack

from .._typing import Array
from ..ours import OutputMap

# Shares below this may be chance.
_SLOPE = 0.1
# Share of a sample's variance that the field need not explain: without it a left-out error of few samples is all luck.
_NOISE = 0.05


def explained_share(z: Array, y: Array) -> float:
    """Share of the values (k,) of samples that is predicted from the other samples; 0 if nothing is.

    Parameters
    ----------
    z : (k, n)
        Samples around the point, in units of their radius.
    y : (k,)
        Their values; NaN, failed, is as bad as the worst.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((60, 5))
    >>> explained_share(z, z @ np.arange(5.0)) > 0.9, explained_share(z, np.cos(1e3 * z[:, 0]))
    (True, 0.0)
    """
    good = np.isfinite(y)
    if good.sum() < 3 or np.ptp(y[good] / 2) == 0:
        return 0.0
    output = OutputMap()
    output.update(y[good])
    v = output(y)
    v[~good] = v[good].max()
    rows = np.concatenate([z, z * z], axis=1)
    rows = rows - rows.mean(axis=0)
    unit = np.sqrt(np.mean(rows * rows, axis=0))
    rows = np.divide(rows, unit, out=np.zeros_like(rows), where=unit > 0)
    return max(0.0, 1.0 - float(left_out_errors(rows @ rows.T, v[:, None])[0]))


def roughness(shares: Sequence[float]) -> float:
    """What part of the share at the widest radius is lost at some narrower one: 0 smooth, 1 ripples on a slope.

    It is 0 if next to nothing is explained at the widest radius: then there is no slope.

    Examples
    --------
    >>> round(roughness([0.8, 0.5, 0.2, 0.7]), 9), roughness([0.3, 0.9, 0.9]), roughness([0.05, 0.0])
    (0.75, 0.0, 0.0)
    """
    wide = shares[0]
    return max(0.0, 1.0 - min(shares) / wide) if wide >= _SLOPE else 0.0


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
