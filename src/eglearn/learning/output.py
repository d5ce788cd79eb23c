"""The output map r_k: values y to values v of order one (paper app. D).

The 0.1 and 0.9 quantiles of the newest values go to -1 and 1, linearly; what lies beyond is squashed by a
logarithm. The two quantiles follow the batches by a moving average. (The authors' code averages slope and
offset instead: one flat batch then outweighs all others, and the offset cancels badly.)

Ranks are the other map: the lowest value goes to the smallest normal score, whatever its size.

Nothing here compares with an absolute number: y times a power of two gives the same v to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..state import Stateful
from .recombination import normal_scores, ranked
from .values import ENTERS

OUTPUT_MAPS = ("log", "linear", "ranks", "none")


@dataclass
class OutputMap(Stateful):
    """Maps raw values to regular ones; follows the run by ``update`` and starts afresh by ``reset``.

    >>> output = OutputMap()
    >>> output.update(np.arange(11.0))
    >>> output(np.array([1.0, 5.0, 9.0])).tolist()
    [-1.0, 0.0, 1.0]
    """

    kind: str = "log"
    """Quantile scaling with log squash, without squash, normal scores of the ranks, or the user's own values."""
    quantile: float = 0.1  # the lower one; the upper one is 1 - quantile
    rate: float = 0.1  # weight of the newest batch in the moving average of the quantiles
    low: float = np.nan
    high: float = np.nan  # the moving averages of the quantiles

    def reset(self) -> None:
        """Forget the past: the next batch alone sets the scale."""
        self.low = self.high = np.nan

    def update(self, y: Array) -> None:
        """Move the quantiles towards those of the values ``y`` (finite, at least one)."""
        y = np.sort(y)
        low, high = np.quantile(y, [self.quantile, 1 - self.quantile])
        if low == high:  # more than 80 % ties: the range is all that there is
            low, high = y[0], y[-1]
        if not self.low < self.high:  # nothing known yet, or nothing but one constant
            self.low, self.high = float(low), float(high)
        elif low < high:  # a constant batch says nothing about scale
            self.low += self.rate * (float(low) - self.low)
            self.high += self.rate * (float(high) - self.high)

    def __call__(self, y: Array) -> Array:
        """Mapped values v of raw values y."""
        if self.kind == "none":
            return y / ENTERS
        if self.kind == "ranks":
            return _scores(y)
        half, distance = self._half_spread, y - (self.low / 2 + self.high / 2)
        with np.errstate(over="ignore", divide="ignore"):
            v = distance / half
            if self.kind == "linear":
                return np.clip(v, -np.finfo(float).max, np.finfo(float).max)
            size = np.abs(v)
            outer = np.where(np.isinf(size), np.log(np.abs(distance)) - np.log(half), np.log(np.maximum(size, 1)))
        return np.where(size <= 1, v, np.copysign(1 + outer, v))

    @property
    def _half_spread(self) -> float:
        # A constant function has no spread: the spacing of floats around its value takes its place.
        return max(self.high / 2 - self.low / 2, float(np.spacing(max(abs(self.low), abs(self.high)))))


def _scores(y: Array) -> Array:
    """Normal scores of the ranks, equal for equal values: the mean over their ranks."""
    _, first, group = np.unique(np.sort(y), return_index=True, return_inverse=True)
    means = np.add.reduceat(-normal_scores(len(y)), first) / np.diff(np.append(first, len(y)))
    v = np.empty(len(y))
    v[ranked(y)] = means[group]
    return v
