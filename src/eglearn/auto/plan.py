"""The plan of the default: which lanes, with which settings, for a dimension and a budget.

This is the only place that knows how many dimensions are many. A plan is data: experiments change it by name, and
``AutoEGL(..., plan=...)`` runs it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..search.base import default_batch
from ..search.trust_region import TrustRegionSettings
from ..settings import Settings
from .lanes import Coordinates, CoordinatesPlan, Lane, Place, Population, RestartPlan, Restarts, Role
from .large_lanes import Descents, DescentsPlan, Evolution, EvolutionPlan
from .opening import Opening, OpeningPlan
from .policies import Forecast, ForecastPlan, Policy, Shares, SharesPlan

# From so many dimensions on, what a model of all curvature costs, in evaluations and in time, is not worth it.
MANY = 64

# From so many on, a gradient for each step is cheaper than to learn a whole quadratic, which below takes less than 100
# evaluations; but the budget must pay for a few gradients.
QUADRATIC, GRADIENTS = 13, 5

# Below, so many evaluations per dimension tell whether such a quadratic predicts anything.
PREDICTS = 3.0

LanePlan = RestartPlan | OpeningPlan | CoordinatesPlan | DescentsPlan | EvolutionPlan


@dataclass(frozen=True, kw_only=True)
class NoisePlan(Settings):
    """What runs once noise was found that matters."""

    search: str = "cma-es"
    size: int  # points in a batch, at first
    sigma: float = 0.4  # the first standard deviation,
    near: float = 0.4
    """... and that around a point that has gained."""
    cube: float = 0.8  # random points are drawn from this share of the cube
    pace: float = 0.0  # pace of a diagonal evolution strategy; 0: not used


@dataclass(frozen=True, kw_only=True)
class Plan(Settings):
    """Which lanes run, who goes on, and what follows under noise."""

    lanes: tuple[LanePlan, ...]
    policy: SharesPlan | ForecastPlan
    noise: NoisePlan
    beside: tuple[
        RestartPlan, ...
    ] = ()  # restarts beside the lanes, where more evaluations are in flight than these use

    def make_lanes(self) -> list[Lane]:
        """Lanes that have not begun."""
        return [_lane(p) for p in self.lanes]

    def make_policy(self) -> Policy:
        """The policy, at its beginning."""
        return Shares(self.policy) if isinstance(self.policy, SharesPlan) else Forecast(self.policy)


def _lane(p: LanePlan) -> Lane:
    if isinstance(p, OpeningPlan):
        return Opening(p)
    if isinstance(p, CoordinatesPlan):
        return Coordinates(p)
    if isinstance(p, DescentsPlan):
        return Descents(p)
    if isinstance(p, EvolutionPlan):
        return Evolution(p)
    return Restarts(p, p.role)


def plan(n: int, budget: int | None = None, m: int | None = None, width: int = 1) -> Plan:
    """The default's plan.

    Parameters
    ----------
    n : int
        Dimension.
    budget : int or None
        Evaluations; None: very many.
    m : int or None
        Points in a batch of the descents; None: 4 + 3 ln n.
    width : int
        Evaluations in flight: descents take as many more in each turn as they take for each step.

    Examples
    --------
    >>> [lane.role.value for lane in plan(10, 1000).make_lanes()][:3]
    ['first descent', 'coordinate search', 'visit']
    """
    if n < MANY:
        more = max(1.0, width / (m or default_batch(n)))
        lanes, noise = _few(n, budget, m, more, width), NoisePlan(size=_noisy_size(n, budget, 10))
        beside = tuple(p for p in lanes if isinstance(p, RestartPlan) and p.shares and not p.planned)
        return Plan(lanes=lanes, policy=_shares(n, budget, more), noise=noise, beside=beside)
    noise = NoisePlan(search="diagonal-es", size=_noisy_size(n, budget, 4), near=0.1, pace=1.0)
    beside = (RestartPlan(search="diagonal-es", scale=0.4, population=Population.DOUBLED),)
    return Plan(lanes=(DescentsPlan(m=m), EvolutionPlan()), policy=ForecastPlan(), noise=noise, beside=beside)


def _shares(n: int, budget: int | None, more: float) -> SharesPlan:
    # A smooth function is known to be one once its curvature is about known; others then have most of the budget left.
    proof = min(max(30 * n, n**2), math.inf if budget is None else budget / 3)
    return SharesPlan(slice=int(more * (4 * n**2 + 100 * n)), looked=int(more * 20 * n), proof=int(more * proof))


def _few(n: int, budget: int | None, m: int | None, more: float, width: int) -> tuple[LanePlan, ...]:
    """A descent, coordinate search, restarts of CMA-ES as in BIPOP-CMA-ES (Hansen 2009), of descents, and zooms."""
    descent = TrustRegionSettings(m=m)
    # The first descent may take what a Hessian takes, but leaves most of the budget to others where that is large.
    first = 9 * n * n + 100 * n
    if budget is not None:
        first = min(first, max(100 * n, budget // 4))
    gradients = width == 1 and m is None and (budget is None or budget >= GRADIENTS * n)
    return (
        OpeningPlan(limit=int(more * first), earliest=PREDICTS if n < QUADRATIC else 0.0) if gradients else RestartPlan(
            role=Role.FIRST, search="trust-region", settings=descent, place=Place.START,
            limit=int(more * first), shares=False, again=False,
        ),
        CoordinatesPlan(m=m),
        RestartPlan(
            role=Role.VISIT, search="trust-region", settings=descent, place=Place.BEST, scale=0.1,
            limit=_shares(n, budget, more).slice, shares=False, again=False,
        ),
        RestartPlan(role=Role.START, search="cma-es", place=Place.START, scale=0.4, fine=0.003, shares=False),
        # Large populations only pay after some doublings, so they get a fair share before they have found the best.
        RestartPlan(role=Role.LARGE, search="cma-es", scale=0.4, population=Population.DOUBLED, fewest=4.0),
        RestartPlan(
            role=Role.SMALL, search="cma-es", scale=0.4, decades=2.0, population=Population.BETWEEN,
            least=int(more * 500), gives_up=True,
        ),
        RestartPlan(
            role=Role.RANDOM, search="trust-region", settings=descent, cube=1.0, scale=0.1, decades=1.5,
            least=int(more * 20 * n), gives_up=True, again=False,
        ),
        # A zoom takes long before it gains: what restarts find soon comes first.
        RestartPlan(
            role=Role.ZOOM, search="gaussian-continuation", place=Place.BEST, planned=1 / 8, plan_per_n=300.0,
            waits=2.0, most=2.0,
        ),
    )  # fmt: skip


def _noisy_size(n: int, budget: int | None, per_n: int) -> int:
    """Points in a batch under noise: in proportion to the dimension (Arnold and Beyer 2002, for a sphere).

    In 20-D, under noise as large as the value: with 4 per dimension a covariance matrix wanders and the search may
    diverge, with 30 it takes too long. Variances alone take fewer: in 100 and 400-D, 4 is best under such noise, 1 or 2
    under less. The budget must pay for 50 batches; below 64-D for 100, if they have more than 2 points per dimension.
    """
    size = per_n * n
    if budget is not None:
        size = min(size, budget // 50, max(budget // 100, 2 * n) if n < MANY else size)
    return max(size, default_batch(n))
