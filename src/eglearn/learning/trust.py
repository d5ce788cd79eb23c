"""The trust-region rule, and the metric in which a region is a ball."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..settings import BELOW_ONE, POSITIVE, Settings, setting


@dataclass(frozen=True, kw_only=True)
class TrustSettings(Settings):
    """When a radius grows and shrinks (Conn, Gould, Toint 2000, chapter 6)."""

    good: float = setting(0.7, "actual over predicted gain from which on the radius may grow", "Conn et al.: 0.9")
    fair: float = setting(0.25, "ratio above which samples surround the candidate", "ours")
    bad: float = setting(0.1, "ratio below which the radius shrinks", "Conn et al.")
    grow: float = setting(2.0, "factor of a growing radius", "Conn et al.")
    shrink: float = setting(0.5, "factor of a shrinking radius", "Conn et al.", BELOW_ONE)
    far: float = setting(0.9, "length of the step over the radius from which on the radius may grow", "ours")
    near: float = setting(0.3, "length of the step over the radius below which the radius follows it", "ours")
    largest: float = setting(1.0, "the largest radius", "ours: half of the cube", POSITIVE)

    def ratio(self, gain: float, predicted: float) -> float:
        """Actual over predicted gain; -1 if the candidate failed or nothing was predicted.

        >>> TrustSettings().ratio(1.0, 2.0), TrustSettings().ratio(math.nan, 2.0)
        (0.5, -1.0)
        """
        return gain / predicted if predicted > 0 and not math.isnan(gain) else -1.0

    def cut(self, radius: float, reach: float, gain: float, slope: float) -> float:
        """The next radius after a bad step: up to the minimum of the parabola along it, between a tenth and half.

        The parabola falls with ``slope`` per step at its beginning, and has fallen by ``gain`` at its end.

        >>> TrustSettings().cut(0.2, 1.0, -3.0, 1.0), TrustSettings().cut(0.2, 1.0, -99.0, 1.0)
        (0.025, 0.020000000000000004)
        """
        curvature = slope - gain
        shortest = self.shrink if math.isnan(gain) or curvature <= 0 else slope / (2 * curvature)
        return radius * min(max(shortest, 0.1), self.shrink) * min(1.0, max(reach, 0.1))

    def radius(self, radius: float, ratio: float, reach: float) -> float:
        """The next radius, after a step of ``reach`` radii whose gain was ``ratio`` times the predicted one.

        >>> TrustSettings().radius(0.2, 0.9, 1.0), TrustSettings().radius(0.2, -1.0, 1.0)
        (0.4, 0.1)
        """
        if ratio > self.good and reach > self.far:
            return min(self.grow * radius, self.largest)
        if ratio < self.bad:
            return radius * self.shrink
        if reach < self.near:
            return radius * max(self.shrink, 2 * reach)
        return radius


def rounding_metric(curvature: Array, V: Array, flat: float, condition: float) -> tuple[Array, Array]:
    """A and its inverse: directions steeper than ``flat`` are as much shorter as makes them equal.

    The directions are the columns of V, orthonormal; ratios of curvatures are divided out at most to ``condition``.
    Where nothing is flat, the identity.
    """
    if flat <= 0:
        return np.eye(len(V)), np.eye(len(V))
    factor = np.sqrt(np.clip(np.abs(curvature) / flat, 1.0, condition))
    return (V / factor) @ V.T, (V * factor) @ V.T
