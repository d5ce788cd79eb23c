"""Scouting for a first place that could lead anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..state import Stateful


@dataclass
class Scout(Stateful):
    """While nothing is known but failures, or but one value, random points of the whole cube are tried."""

    u: Array  # where the one value that is known was found first, at first the start
    level: float = math.nan  # that value
    lost: bool = False  # whether nothing is known yet that could lead anywhere
    scouting: bool = False  # whether the points of the current batch are random ones

    def look(self, u: Array, y: Array) -> bool:
        """Whether this leads nowhere: nothing is known, or several points and all have one value."""
        good = np.isfinite(y)
        alone = math.isnan(self.level) and good.sum() == 1
        if math.isnan(self.level) and good.any():
            first = int(np.argmax(good))
            self.u, self.level = u[first].copy(), float(y[first])
        return not alone and bool(np.all(y[good] == self.level))

    def best(self, u: Array, y: Array) -> Array:
        """The place to begin at: the best of these points, or the one known before."""
        lowest = int(np.nanargmin(y))
        return self.u if self.level <= y[lowest] else u[lowest]
