"""Searches: each places samples, learns a gradient from their values, steps along it and adapts its scale."""

from __future__ import annotations

from .active_subspace import ActiveSubspace
from .base import Search
from .cma_es import CMAES
from .coordinate_search import CoordinateSearch
from .diagonal_es import DiagonalES
from .lbfgs import LBFGS
from .subspace_trust_region import SubspaceTrustRegion
from .trust_region import TrustRegion

__all__ = [
    "CMAES",
    "LBFGS",
    "ActiveSubspace",
    "CoordinateSearch",
    "DiagonalES",
    "Search",
    "SubspaceTrustRegion",
    "TrustRegion",
]
