"""The plan of the default, as data."""

import dataclasses

import numpy as np
import pytest

from eglearn import AutoEGL
from eglearn.auto.lanes import CoordinatesPlan, Role
from eglearn.auto.loop import Loop
from eglearn.auto.plan import MANY, Plan, plan
from eglearn.auto.policies import ForecastPlan, SharesPlan
from eglearn.search.registry import SEARCHES
from eglearn.serialize import dumps, loads


def test_the_dimension_decides():
    assert MANY == 64
    assert isinstance(plan(63, 300).policy, SharesPlan)
    assert isinstance(plan(64, 300).policy, ForecastPlan)


@pytest.mark.parametrize("n", [1, 10, 63, 64, 1000])
def test_a_plan_is_plain_data(n):
    made = plan(n, 10_000, m=7)
    assert Plan.from_state(loads(dumps(made.state()))) == made


@pytest.mark.parametrize("n", [10, 100])
def test_planned_searches_are_registered(n):
    made = plan(n)
    names = [p.search for p in made.lanes if hasattr(p, "search")] + [made.noise.search]
    assert all(name in SEARCHES for name in names)


def test_the_population_under_noise_fits_dimension_and_budget():
    def size(n, budget):
        return plan(n, budget).noise.size

    assert size(20, None) == size(20, 150_000) == 200
    assert size(20, 2000) == 40
    assert size(20, 6000) == 60
    assert size(20, 10) == 12
    assert size(1, 10) == 4
    assert size(400, None) == size(400, 150_000) == 1600
    assert size(400, 60_000) == 1200


@pytest.mark.parametrize("n", [3, 64])
def test_m_is_the_batch_of_all_descents(n):
    made = plan(n, m=5)
    descents = [p for p in made.lanes if getattr(p, "search", "") == "trust-region"]
    batches = [p.settings.m for p in descents] + [p.m for p in made.lanes if hasattr(p, "m")]
    assert batches == [5] * (4 if n == 3 else 1)


def test_another_plan_runs_in_place_of_the_default():
    """The first descent with another radius; the plan is part of the state."""
    made = plan(3, 100, m=4)
    first = made.lanes[0]
    changed = dataclasses.replace(first, settings=first.settings.changed(radius=0.01))
    opt = AutoEGL([(-1, 1)] * 3, budget=100, plan=dataclasses.replace(made, lanes=(changed, *made.lanes[1:])))
    x = np.vstack([opt.ask(2), opt.ask(2)])
    np.testing.assert_allclose(np.linalg.norm(x[1:] - x[0], axis=1), 0.01)
    assert AutoEGL.from_state(loads(dumps(opt.state()))).settings == opt.settings


def test_the_first_descent_is_found_by_its_role_wherever_the_plan_has_it():
    made = plan(4, 1000)
    last = dataclasses.replace(made, lanes=(*made.lanes[1:], made.lanes[0]))
    rng, start = np.random.default_rng(0), np.full(4, -0.3)
    loops = [Loop.begun(np.random.default_rng(0), start, p, 1000) for p in (made, last)]
    assert loops[1].lane.role is Role.FIRST
    used = 0
    while used < 3000:
        u = loops[0].propose()
        np.testing.assert_array_equal(loops[1].propose(), u)
        y = np.sum(np.cos(5 * u) + u**2, axis=1) + rng.random()
        used += len(y)
        for loop in loops:
            loop.learn(u, y)


def test_a_policy_refuses_lanes_that_it_cannot_run():
    few, many = plan(4, 1000), plan(64, 1000)
    with pytest.raises(ValueError, match="SharesPlan begins with a first descent"):
        Loop.begun(np.random.default_rng(0), np.zeros(4), dataclasses.replace(few, lanes=few.lanes[1:]), 1000)
    mixed = dataclasses.replace(many, lanes=(*many.lanes, CoordinatesPlan()))
    with pytest.raises(ValueError, match="begins all lanes at once, which a coordinate search cannot"):
        Loop.begun(np.random.default_rng(0), np.zeros(64), mixed, 1000)
