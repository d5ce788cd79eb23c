"""The axes of charts: from values to places, and the words at the ticks."""

from __future__ import annotations

import math

import numpy as np

from .._typing import Array

_QUARTER = float(np.finfo(float).max) / 4
_TOLD = 1e-7  # differences, by the size of the values
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Axis:
    """From values to positions 0...1, and where to put the ticks."""

    def __init__(
        self,
        values: Array,
        *,
        log: bool = False,
        zero: bool = False,
        whole: bool = False,
        tight: bool = False,
        least: float = 0.0,
    ) -> None:
        self.log = log
        values = values[np.isfinite(values) & (values > least / 2 if log else True)]
        low, high = (float(np.min(values)), float(np.max(values))) if len(values) else (1.0, 1.0)
        self.whole = whole
        if log:
            low, high = math.log10(low), math.log10(high)
            spare = max(0.04 * (high - low), 0.15 if high - low < 0.5 else 0.0)
            self.low, self.high = low - spare, high + spare
            return
        low, high = (min(low, 0.0), max(high, 1.0) if whole else high) if zero else (low, high)
        # Quarters: the range of two values near the largest float must not overflow. Values that differ by less than
        # labels can tell are drawn in one place; a single value has a twentieth of itself around it.
        least = 0.05 if low == high else _TOLD
        spare = 0.0 if whole or tight else max(0.05 * (high / 4 - low / 4), least * max(abs(low), abs(high)) / 4)
        self.low, self.high = (low / 4 if zero else low / 4 - spare), high / 4 + spare
        if not self.low < self.high:
            self.low, self.high = self.low - 0.25, self.high + 0.25

    def __call__(self, values: Array) -> Array:
        """Positions; what does not fit is put on the edge."""
        with np.errstate(all="ignore"):
            scaled = np.log10(np.maximum(values, 0.0)) if self.log else values * 0.25
            return np.clip((scaled - self.low) / (self.high - self.low), 0.0, 1.0)

    def value(self, places: Array) -> Array:
        """The values at positions of a linear axis."""
        return np.clip(self.low + places * (self.high - self.low), -_QUARTER, _QUARTER) * 4

    def ticks(self) -> list[tuple[float, str]]:
        """Position and label of each tick."""
        low, high = self.low, self.high
        if self.log:
            skip = math.ceil((high - low) / 7)
            powers = range(math.ceil(low), math.floor(high) + 1)
            if high - low >= 2:
                kept = [k for k in powers if k % skip == 0]
                places = [(k - low) / (high - low) for k in kept]
                return list(zip(places, written([(1, k) for k in kept], aligned=False), strict=True))
            round_ones = [(f, k) for k in range(math.floor(low), math.floor(high) + 1) for f in (1, 2, 5)]
            pairs = [(f, k) for f, k in round_ones if low <= math.log10(f) + k <= high]
            if len(pairs) > 2:
                places = [(math.log10(f) + k - low) / (high - low) for f, k in pairs]
                return list(zip(places, written(pairs, aligned=False), strict=True))
            low, high = 10.0**low / 4, 10.0 ** min(high, 308.2) / 4
        step, power = _nice((high - low) / 5 * 4)
        if self.whole and power < 0:
            step, power = 1, 0
        size = step * (10.0**power / 4)
        every = range(math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9) + 1)
        counts = [k for k in every if math.isfinite(4 * k * size)]
        places = self(np.array([4 * k * size for k in counts])).tolist()
        return list(zip(places, written([(k * step, power) for k in counts]), strict=True))


def _nice(step: float) -> tuple[int, int]:
    """The next of 1, 2, 5, 10, ... at or above a step, as digit and power of ten."""
    power = math.floor(math.log10(step))
    size = 10.0**power
    return next(((f, power) for f in (1, 2, 5) if f * size >= step * (1 - 1e-9)), (1, power + 1))


def written(numbers: list[tuple[int, int]], *, aligned: bool = True) -> list[str]:
    """Numbers m 10^k as labels of one axis, all in one style: 0.002 or 20,000 if all fit, else 2×10⁻⁹.

    Aligned ones have the same number of decimals, and the same power of ten.

    Examples
    --------
    >>> written([(0, 3), (5, 3), (10, 3)]), written([(0, -1), (5, -1), (10, -1)])
    (['0', '5,000', '10,000'], ['0.0', '0.5', '1.0'])
    >>> written([(1, -9), (1, 0)], aligned=False), written([(-15, 7), (20, 7)])
    (['10⁻⁹', '1'], ['-1.5×10⁸', '2.0×10⁸'])
    """
    sizes = [len(str(abs(m))) + k for m, k in numbers if m]  # digits before the point
    if all(-2 <= size <= 7 for size in sizes) and all(k >= -7 for _, k in numbers):
        most = max((-k for _, k in numbers), default=0)
        return [f"{m * 10.0**k:,.{max(most if aligned else -k, 0)}f}" for m, k in numbers]
    if not aligned:
        return [_in_powers(m, k, len(str(abs(m))) + k - 1) for m, k in numbers]
    digits = max(max(sizes) - 1 - k for m, k in numbers if m)
    return [_in_powers(m, k, max(sizes) - 1, digits) for m, k in numbers]


def _in_powers(m: int, k: int, power: int, digits: int = 0) -> str:
    """The number m 10^k as a multiple of a power of ten, which stands alone for its own single digit 1."""
    factor = f"{m * 10.0 ** (k - power):.{digits}f}"
    ten = f"10{str(power).translate(_SUPERSCRIPTS)}"
    if power == 0 or m == 0:
        return "0" if m == 0 else factor
    return ten if factor == "1" else f"{factor}×{ten}"
