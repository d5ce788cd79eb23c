"""What a run tells the logger ``eglearn``: at INFO what it does, in words; at DEBUG the numbers behind it.

A search says what it is doing by the entry "doing" of its ``progress()``. Where it says nothing, the kind of the
search that runs is told.
"""

from __future__ import annotations

import logging
import math
from typing import Any

from .result import Result, counted
from .search.base import Search

_LOG = logging.getLogger("eglearn")
_WORDS = {
    "TrustRegion": "a descent in a trust region",
    "SubspaceTrustRegion": "a descent in a trust region of a subspace",
    "QuasiNewton": "a quasi-Newton descent along finite differences",
    "LBFGS": "an L-BFGS descent along finite differences",
    "GaussianContinuation": "a zoom along the mean gradient (Gaussian continuation)",
    "CoordinateSearch": "a search along all coordinates at once",
    "ActiveSubspace": "a look for the few directions that matter",
    "CMAES": "an evolution strategy (CMA-ES)",
    "DiagonalES": "an evolution strategy with a diagonal covariance",
    "ExplicitGradientLearning": "gradient learning (EGL)",
    "IndirectGradientLearning": "value learning (IGL)",
    "ConvergentGradientLearning": "convergent gradient learning",
}


def doing(search: Search) -> str:
    """What a search does, in words, by its kind."""
    active = getattr(search, "active", search)
    name = type(active).__name__
    return _WORDS.get(name, name)


class Narrator:
    """Follows a run through its results and writes to the log what has changed.

    Parameters
    ----------
    algorithm : str
        Its name.
    n, budget : int
        Coordinates that are searched, and evaluations.
    """

    def __init__(self, algorithm: str, n: int, budget: int) -> None:
        self.algorithm, self.n, self.budget = algorithm, n, budget
        self._doing: str | None = None
        self._restarts = self._noisy = 0.0
        self._region = math.inf

    def begin(self, nfev: int, best: float, n_known: int) -> None:
        """The run starts, or goes on after ``nfev`` evaluations."""
        what = f"{self.algorithm} in {counted(self.n, 'coordinate')}, {counted(self.budget, 'evaluation')}"
        if nfev:
            _LOG.info("goes on after %s: %s; lowest value %g", counted(nfev, "evaluation"), what, best)
        else:
            _LOG.info("starts: %s", what + (f"; {counted(n_known, 'point')} known before" if n_known else ""))

    @property
    def talks(self) -> bool:
        """Whether anybody listens."""
        return _LOG.isEnabledFor(logging.INFO)

    def batch(self, result: Result) -> None:
        """A group of answers was told."""
        progress, after = result.progress, f"after {counted(result.nfev, 'evaluation')}, lowest value {result.fun:g}"
        if progress.get("noisy", 0.0) > self._noisy:
            _LOG.info("noise found: from now on large populations and their means count; %s", after)
        restarts, now = progress.get("restarts", 0.0), progress.get("doing")
        if restarts > self._restarts:
            _LOG.info("restart %d%s; %s", restarts, f": {now}" if now else "", after)
        elif now and now != self._doing:
            _LOG.info("%s; %s", now, after)
        region = progress.get("region", math.inf)
        if region < self._region < math.inf:
            _LOG.info("zooms in to %.3g of the box; %s", region, after)
        self._region = region
        self._noisy, self._restarts, self._doing = progress.get("noisy", 0.0), restarts, now
        if _LOG.isEnabledFor(logging.DEBUG):
            numbers = (f"{name} {_shown(value)}" for name, value in progress.items() if name != "doing")
            _LOG.debug("step %d, %s: %s", result.nit, after, ", ".join(numbers))

    def end(self, result: Result) -> None:
        """The run is over."""
        _LOG.info("ends after %s, lowest value %g: %s", counted(result.nfev, "evaluation"), result.fun, result.message)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)
