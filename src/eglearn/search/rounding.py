"""How exact values are, which decides how far apart two must be to tell a slope."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from .._typing import Array
from ..learning.steps import length

# The least rounding, as of doubles whose values are about as large as their curvature, and the largest: steps of
# differences become no longer.
LEAST, MOST = 1e-16, 1e-4
# Distances along a diagonal, in the cube. Nine points, close together so that nothing but errors shows in the fourth
# differences of their values; where these are all 0, the next spacing may tell more.
_NEAR = np.arange(1, 9)
SPACINGS = (2.0**-34, 2.0**-28, 2.0**-22, 2.0**-16)
# Three points whose values tell the curvature.
_FAR = 2.0**-7
POINTS = len(_NEAR) + 2
# The variance of fourth differences of independent errors, by that of the errors: 1 + 16 + 36 + 16 + 1.
_FOURTH = 70


def diagonal(rng: np.random.Generator, x: Array, spacing: float) -> Array:
    """(10, n): points on a random diagonal through x, in the cube."""
    signs = rng.choice([-1.0, 1.0], len(x))
    signs[np.abs(x + 2 * _FAR * signs) > 1] *= -1
    return x + np.outer(np.append(spacing * _NEAR, [_FAR, 2 * _FAR]), signs)


def rounding(value: float, y: Array, n: int) -> float:
    """Errors of values over their curvature along a coordinate; the step of a difference should be a power of that.

    The errors are told by fourth differences, a part of what Moré and Wild do (2011, Estimating computational noise).
    Those of the points count, too, where the box is far from 0 and the points fall on steps of x. ``y`` (10,) are the
    values at the points of ``diagonal``; 0 if no errors show, NaN if an evaluation failed.

    >>> u = np.vstack([np.full(80, 0.3), diagonal(np.random.default_rng(0), np.full(80, 0.3), SPACINGS[2])])
    >>> y = (u**2).sum(axis=1)
    >>> single = y.astype(np.float32).astype(float)
    >>> f"{rounding(y[0], y[1:], 80):.0e} {rounding(single[0], single[1:], 80):.0e}"
    '2e-16 9e-08'
    """
    if not np.isfinite(y).all():
        return math.nan
    with np.errstate(all="ignore"):
        v = y - value
        bends = np.diff(np.append(0.0, v[: len(_NEAR)]), 4)
        if not bends.any():
            return 0.0
        error = length(bends) / math.sqrt(_FOURTH * len(bends))
        ratio = error * n * _FAR**2 / np.abs(np.diff(np.append(0.0, v[len(_NEAR) :]), 2)[0])
    return LEAST if math.isnan(ratio) else min(max(float(ratio), LEAST), MOST)


def granularity(values: Array) -> float:
    """The largest power of 2 or of 10 that all values are multiples of; 0 if all are 0.

    It is much more than a unit in the last place where values are of single precision, were printed with few digits, or
    are what a subtraction left of larger ones.

    >>> granularity(np.array([0.7, 0.1]) / 3) < 1e-16
    True
    >>> granularity(np.array([0.731, 12.5])), granularity((np.array([0.7, 0.3]) + 2.0**20) - 2.0**20) == 2.0**-32
    (0.001, True)
    """
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(values[np.isfinite(values) & (values != 0)])
        digits = np.ldexp(mantissa, 53).astype(np.int64)
        binary = np.min(np.ldexp((digits & -digits).astype(np.float64), exponent - 53), initial=math.inf)
    decimal = min((_last_digit(v) for v in values.tolist() if math.isfinite(v) and v), default=0)
    return max(float(binary), 10.0**decimal) if math.isfinite(binary) else 0.0


def _last_digit(value: float) -> int:
    """The power of ten of the last digit, as Python prints it."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0
