"""On which scale the values of a run are drawn, alike in all charts of a page."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from .axes import Axis
from .markup import number
from .record import Record

_START = "Lowest value so far and value at the candidate"


class Values:
    """The scale of a run's values: linear or logarithmic, as they are or less the best one.

    Parameters
    ----------
    run
        The run; the lowest values so far and the candidates decide, other values only stretch a linear scale.
    """

    def __init__(self, run: Record) -> None:
        y, candidate = run.y, run.series("candidate")
        self.best: Array = np.fmin.accumulate(y) if len(y) else y
        lines = np.concatenate([self.best, candidate])
        lines, values = lines[np.isfinite(lines)], y[np.isfinite(y)]
        self.log, self.floor, self.note = _chosen(lines, values)
        reach = values
        if len(values) and not self.log:  # a few high values must not flatten everything else
            reach = np.minimum(values, max(float(lines.max()), float(np.quantile(values, 0.9, method="lower"))))
        gaps = self.drawn(lines)
        least = float(np.min(gaps[gaps > 0], initial=np.inf)) if self.floor else 0.0
        self.axis = Axis(self.drawn(np.concatenate([lines, reach])), log=self.log, least=least)
        self.label = f"{'value minus best' if self.floor else 'value'}{', log scale' if self.log else ''}"

    def drawn(self, values: Array) -> Array:
        """What is drawn for values."""
        if not self.floor:
            return values
        # Quarters: a difference must not overflow.
        return np.minimum(values / 4 - self.floor / 4, np.finfo(float).max / 4) * 4


def _chosen(lines: Array, values: Array) -> tuple[bool, float, str]:
    """Whether a log scale is called for, what is subtracted for it, and both in words."""
    if not len(lines) or not len(values):
        return False, 0.0, f"{_START}."
    low, high = float(min(lines.min(), values.min())), float(lines.max())
    if low > 0 and high / 30 > low:
        return True, 0.0, f"{_START}, on a log scale."
    gaps = lines / 4 - low / 4
    if gaps.max() > 0 and gaps.max() / 100 > np.quantile(gaps[gaps > 0], 0.1):
        if low == 0:
            return True, 0.0, f"{_START}, on a log scale; zeros are drawn at the bottom."
        return True, low, f"{_START}, minus the best value found ({number(low, 8)}), on a log scale; the bottom is 0."
    return False, 0.0, f"{_START}, on a linear scale; values far above are drawn at the top."
