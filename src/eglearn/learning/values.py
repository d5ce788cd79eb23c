"""Values inside a search.

Values enter a search as quarters (``ENTERS``), so that the difference of any two floats is finite: nothing inside has
to think of overflow again. The factor is a power of two: no digit changes.
"""

from __future__ import annotations

import math

import numpy as np

from .._typing import Array

ENTERS = 0.25
"""What a user's value is multiplied with where it enters a search; what leaves is divided by it."""


def exponent_of(values: Array) -> int:
    """The power of two above all of ``values``; a unit by which division is exact.

    >>> exponent_of(np.array([0.3, -5.0]))
    3
    """
    return int(math.frexp(float(np.max(np.abs(values), initial=0.0)))[1])


def in_units(values: Array, exponent: int) -> Array:
    """Values in units of 2^exponent; infinite where they are beyond comparison with the unit."""
    with np.errstate(over="ignore"):
        scaled: Array = np.ldexp(values, -exponent)
    return scaled
