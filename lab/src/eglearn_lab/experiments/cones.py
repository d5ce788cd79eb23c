"""How much of a ball a cone holds: the volume that app. H of the paper bounds."""

from __future__ import annotations

import math

from scipy.special import betainc


def cone_fraction(n: int, aperture: float) -> float:
    """The exact share of a ball's volume inside a cone of the full ``aperture`` (0, pi] from its centre.

    The upper bound printed in the paper's app. H is false for large n.

    Examples
    --------
    >>> round(cone_fraction(2, math.pi / 2), 12)
    0.25
    """
    if n == 1:
        return 0.5
    return float(betainc((n - 1) / 2, 0.5, math.sin(aperture / 2) ** 2) / 2)
