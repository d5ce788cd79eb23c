"""The output map r_k: values y to values v of order one (paper app. D).

The 0.1 and 0.9 quantiles of the newest values go to -1 and 1, linearly; what lies beyond is squashed by a
logarithm. The two quantiles follow the batches by a moving average. (The authors' code averages slope and
offset instead: one flat batch then outweighs all others, and the offset cancels badly.)

Nothing here compares with an absolute number: y times a power of two gives the same v to the last bit.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array, State

OUTPUT_MAPS = ("log", "linear", "none")


class OutputMap:
    """Maps raw values to regular ones; follows the run by ``update`` and starts afresh by ``reset``.

    Parameters
    ----------
    kind : {"log", "linear", "none"}
        Quantile scaling with log squash, without squash, or no map at all.
    quantile : float
        The lower quantile; the upper one is 1 - quantile.
    rate : float
        Weight of the newest batch in the moving average of the quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> output = OutputMap()
    >>> output.update(np.arange(11.0))
    >>> output(np.array([1.0, 5.0, 9.0])).tolist()
    [-1.0, 0.0, 1.0]
    """

    def __init__(self, kind: str = "log", quantile: float = 0.1, rate: float = 0.1) -> None:
        self.kind, self.quantile, self.rate = kind, quantile, rate
        self.reset()

    def reset(self) -> None:
        """Forget the past: the next batch alone sets the scale."""
        # Quarters of y throughout: differences of values near the largest float must not overflow.
        self._low = self._high = np.nan

    def update(self, y: Array) -> None:
        """Move the quantiles towards those of the values ``y`` (finite, at least one)."""
        quarter = np.sort(y * 0.25)
        low, high = np.quantile(quarter, [self.quantile, 1 - self.quantile])
        if low == high:  # more than 80 % ties: the range is all that there is
            low, high = quarter[0], quarter[-1]
        if not self._low < self._high:  # nothing known yet, or nothing but one constant
            self._low, self._high = float(low), float(high)
        elif low < high:  # a constant batch says nothing about scale
            self._low += self.rate * (float(low) - self._low)
            self._high += self.rate * (float(high) - self._high)

    def __call__(self, y: Array) -> Array:
        """Mapped values v of raw values y."""
        if self.kind == "none":
            return y.copy()
        middle = self._low / 2 + self._high / 2
        half = self._half_spread
        distance = y * 0.25 - middle
        with np.errstate(over="ignore", divide="ignore"):
            v = distance / half
            if self.kind == "linear":
                return np.clip(v, -np.finfo(float).max, np.finfo(float).max)
            size = np.abs(v)
            outer = np.where(np.isinf(size), np.log(np.abs(distance)) - np.log(half), np.log(np.maximum(size, 1)))
        mapped: Array = np.where(size <= 1, v, np.copysign(1 + outer, v))
        return mapped

    @property
    def _half_spread(self) -> float:
        # A constant function has no spread: the spacing of floats around its value takes its place.
        return max(self._high / 2 - self._low / 2, float(np.spacing(max(abs(self._low), abs(self._high)))))

    def inverse(self, v: Array) -> Array:
        """Raw values y of mapped values v."""
        if self.kind == "none":
            return v.copy()
        size = np.abs(v)
        linear = v if self.kind == "linear" else np.where(size <= 1, v, np.copysign(np.exp(size - 1), v))
        return 4 * (self._low / 2 + self._high / 2 + linear * self._half_spread)

    def slope(self, v: Array) -> Array:
        """dr/dy where the mapped value is ``v``: the first factor of the paper's eq. for the true gradient."""
        if self.kind == "none":
            return np.ones_like(v)
        linear = 0.25 / self._half_spread
        if self.kind == "linear":
            return np.full_like(v, linear)
        slope: Array = linear * np.exp(-np.maximum(np.abs(v) - 1, 0))
        return slope

    def state(self) -> State:
        """The moving averages."""
        return {"low": self._low, "high": self._high}

    def load_state(self, state: State) -> None:
        """Go on from ``state``."""
        self._low, self._high = state["low"], state["high"]
