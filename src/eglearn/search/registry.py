"""All searches by name. A new search is one file and one line here; one line of a plan makes it part of the default."""

from __future__ import annotations

from .active_subspace import ActiveSubspace
from .base import Search
from .cma_es import CMAES
from .continuation import GaussianContinuation
from .convergent import ConvergentGradientLearning
from .coordinate_search import CoordinateSearch
from .diagonal_es import DiagonalES
from .egl import ExplicitGradientLearning
from .igl import IndirectGradientLearning
from .lbfgs import LBFGS
from .quasi_newton import QuasiNewton
from .subspace_trust_region import SubspaceTrustRegion
from .trust_region import TrustRegion

SEARCHES: dict[str, type[Search]] = {
    "egl": ExplicitGradientLearning,
    "igl": IndirectGradientLearning,
    "convergent-egl": ConvergentGradientLearning,
    "gaussian-continuation": GaussianContinuation,
    "trust-region": TrustRegion,
    "subspace-trust-region": SubspaceTrustRegion,
    "l-bfgs": LBFGS,
    "quasi-newton": QuasiNewton,
    "cma-es": CMAES,
    "diagonal-es": DiagonalES,
    "coordinate-search": CoordinateSearch,
    "active-subspace": ActiveSubspace,
}
"""The paper's algorithms, and those of the default."""
