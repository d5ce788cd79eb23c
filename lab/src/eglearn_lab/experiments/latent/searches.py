"""The algorithms that search a latent space, and one run of one of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._typing import Array
from ...ours import EGL, IGL, AskTell, AutoEGL, EGLSettings, IGLSettings, Settings

SIGMA = 0.5
"""First step size of CMA-ES: half the spread of z itself."""

_DIFFERENCE = 1e-2
"""Step of forward differences: the networks compute in float32, whose rounding drowns SciPy's 1.5e-8."""


class Spent(Exception):
    """The budget is used."""


@dataclass
class Search:
    """What an algorithm is given: the objective of whole batches, where to start, the box, a seed.

    Every point counts; the one that uses up the budget is the last.
    """

    cost: Callable[[Array], Array]
    """Values (k,) of points (k, n)."""
    start: Array
    limit: float
    """The box is [-limit, limit]^n."""
    budget: int
    seed: int
    best: float = np.inf
    best_z: Array = field(init=False)
    evaluations: int = 0
    trace: list[tuple[int, float]] = field(default_factory=list)
    """Evaluations and the best value so far, at each improvement."""
    cpu_cost: float = 0.0
    """Processor seconds in the objective."""

    def __post_init__(self) -> None:
        self.best_z = self.start.copy()
        self.rng = np.random.default_rng(self.seed)

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.start)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Pairs (low, high)."""
        return [(-self.limit, self.limit)] * self.n

    def __call__(self, z: Array) -> Array:
        """Evaluate points (k, n), all inside the box; the best is remembered."""
        z = np.atleast_2d(z)[: self.budget - self.evaluations]
        if len(z) == 0:
            raise Spent
        begin = time.process_time()
        values = np.asarray(self.cost(z), dtype=float)
        self.cpu_cost += time.process_time() - begin
        for point, value in zip(z, values, strict=True):
            self.evaluations += 1
            if value < self.best:
                self.best, self.best_z = float(value), point.copy()
                self.trace.append((self.evaluations, self.best))
        return values


Algorithm = Callable[[Search], None]


def _ask_tell(search: Search, kind: type[AskTell], settings: Settings | None) -> None:
    optimiser = kind(search.bounds, search.start, budget=search.budget, seed=search.seed, settings=settings)
    while not optimiser.stop():
        z = optimiser.ask()
        optimiser.tell(z, search(z))


def _learner(kind: type[AskTell], settings: Callable[[int], Settings | None]) -> Algorithm:
    return lambda search: _ask_tell(search, kind, settings(search.n))


def random_search(search: Search) -> None:
    """Points of N(0, I), the distribution that the generator was trained for."""
    while True:
        z = search.rng.standard_normal((100, search.n))
        search(np.clip(z, -search.limit, search.limit))


def cma_es(search: Search, **options: Any) -> None:
    """CMA-ES (Hansen's cma) from z_0 with its own population size and bounds, sigma 0.5; restarted where it stops."""
    import cma

    seed = search.seed + 1  # 0 would be the clock
    while True:
        common = {"bounds": [-search.limit, search.limit], "seed": seed, "verbose": -9, "verb_log": 0}
        strategy = cma.CMAEvolutionStrategy(search.start, SIGMA, common | {"maxfevals": np.inf} | options)
        while not strategy.stop():
            z = strategy.ask()
            values = search(np.array(z))
            if len(values) < len(z):
                raise Spent
            strategy.tell(z, values.tolist())
        seed += 1


def conjugate_gradients(search: Search) -> None:
    """SciPy's CG from z_0; a gradient is 512 forward differences, each of which counts.

    Where its line search finds nothing lower it starts again from a point of N(0, I).
    """
    from scipy.optimize import minimize

    def value_and_gradient(z: Array) -> tuple[float, Array]:
        points = np.vstack([z, z + _DIFFERENCE * np.eye(search.n)])
        values = search(np.clip(points, -search.limit, search.limit))
        if len(values) < len(points):
            raise Spent
        return float(values[0]), (values[1:] - values[0]) / _DIFFERENCE

    z = search.start
    while True:
        minimize(value_and_gradient, z, jac=True, method="CG", options={"gtol": 0.0, "maxiter": 10**9})
        z = search.rng.standard_normal(search.n)


# Table 2 with networks that two cores can train. The paper's 60 minibatches of 1024 after each of 300 batches are, for
# the authors' fc network, 1e14 multiplications per run: over an hour at 2e10 per second; the spline network has more.
_AFFORDABLE: dict[str, Any] = {"minibatch": 256, "training_steps": 10}
_FC = _AFFORDABLE | {"model": "fc", "hidden": (256, 256)}
_SPLINE = _AFFORDABLE | {"model": "spline", "splines": 8, "width": 128, "aggregation": "average"}

ALGORITHMS: dict[str, Algorithm] = {
    "random": random_search,
    "cma": cma_es,
    "cg": conjugate_gradients,
    "auto": _learner(AutoEGL, lambda n: None),
    "egl-constant": _learner(EGL, lambda n: EGLSettings(model="constant", m=32)),
    "egl-fc": _learner(EGL, lambda n: EGLSettings.paper_latent(n, pairing="all", **_FC)),
    "egl-spline": _learner(EGL, lambda n: EGLSettings.paper_latent(n, pairing="all", **_SPLINE)),
    "igl-fc": _learner(IGL, lambda n: IGLSettings.paper_latent(n, **_FC)),
}
"""By name, the cheap ones first."""
