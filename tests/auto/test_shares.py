"""Who goes on in few dimensions: shares by success."""

from collections import Counter

import numpy as np
import pytest
from tests.auto.driver import few_loop, lane, put, step
from tests.search.driver import (
    centre,
    continues_exactly,
    ellipsoid,
    kinks,
    rastrigin,
    rosenbrock,
    rotated_rastrigin,
    run,
)

from eglearn.auto.lanes import Role
from eglearn.search.base import Reason
from eglearn.search.cma_es import CMAES
from eglearn.search.trust_region import TrustRegion

RESTARTS = (Role.LARGE, Role.SMALL, Role.RANDOM, Role.ZOOM)
KINDS = {Role.RANDOM: "TrustRegion", Role.ZOOM: "GaussianContinuation"}


def turns(loop, fun, limit):
    """Evaluations by role and kind of search."""
    count = Counter()
    while loop.used < limit:
        role = loop.lane.role
        search, u = step(loop, fun)
        count[role, type(search).__name__] += len(u)
    return count


def by_restart(loop, values):
    """Those of the lanes that take part in the shares."""
    return [values[lane(loop, role)[0]] for role in RESTARTS]


def test_shares_of_the_evaluations():
    loop = few_loop(4)
    count = turns(loop, rotated_rastrigin, 30_000)
    assert count[Role.FIRST, "TrustRegion"] < 500
    assert count[Role.COORDINATES, "CoordinateSearch"] < 500
    policy = loop.policy
    spent, reached = by_restart(loop, policy.spent), by_restart(loop, policy.reached)
    running = loop.lanes[policy.current].search.used
    for role, used in zip(RESTARTS, spent, strict=True):
        assert count[role, KINDS.get(role, "CMAES")] == pytest.approx(used, abs=running)
    free, best = spent[:3], int(np.argmin(reached[:3]))  # a zoom comes in large pieces
    assert max(free) == free[best]  # the kind that found the best value has most
    assert min(spent) > 1000  # and none has nothing


def test_the_lane_that_lags_behind_its_share_is_next():
    loop = few_loop(4)
    policy, rest = loop.policy, [0] * 4
    assert [one.role for one in loop.lanes[4:]] == list(RESTARTS)

    def chosen():
        return loop.lanes[policy._lagging(loop.board, loop.lanes)].role

    assert chosen() is Role.LARGE
    policy.spent, policy.reached = [*rest, 800, 200, 100, 100], [*rest, 1.0, 2.0, 3.0, 4.0]
    assert chosen() is Role.LARGE
    policy.spent = [*rest, 900, 200, 100, 100]
    assert chosen() is Role.SMALL
    policy.reached = [*rest, 3.0, 2.0, 1.0, 4.0]
    assert chosen() is Role.RANDOM


def test_large_populations_get_at_least_half_of_what_the_best_kind_gets():
    loop = few_loop(4)
    policy, rest = loop.policy, [0] * 4
    policy.reached, chosen = [*rest, 3.0, 1.0, 2.0, 4.0], loop.policy._lagging
    policy.spent = [*rest, 399, 801, 201, 101]
    assert loop.lanes[chosen(loop.board, loop.lanes)].role is Role.LARGE
    policy.spent = [*rest, 401, 799, 201, 101]
    assert loop.lanes[chosen(loop.board, loop.lanes)].role is Role.SMALL


def test_a_zoom_that_has_found_the_best_gets_less_than_other_kinds_and_only_while_its_plan_can_be_paid():
    loop = few_loop(4, budget=80_000)
    policy, rest, zoom = loop.policy, [0] * 4, lane(loop, Role.ZOOM)[1]
    policy.reached, policy.spent = [*rest, 2.0, 3.0, 4.0, 1.0], [*rest, 8_000, 2_000, 2_000, 3_500]
    chosen = lambda: loop.lanes[policy._lagging(loop.board, loop.lanes)].role  # noqa: E731
    loop.board.used = 19_900  # not yet twice the 10,000 of its plan
    assert chosen() is not Role.ZOOM
    loop.board.used = 20_100
    assert chosen() is Role.ZOOM
    policy.spent[-1] = 4_500  # half of that is more than a quarter of 8,000
    assert chosen() is not Role.ZOOM
    policy.spent[-1], zoom.begun, loop.board.used = 3_500, 1, 69_000
    assert zoom.to_plan(loop.board, 1) == 20_000
    assert chosen() is Role.ZOOM
    loop.board.used = 71_000
    assert chosen() is not Role.ZOOM


def test_a_hopeless_small_restart_ends_early():
    loop = few_loop(4)
    turns(loop, rotated_rastrigin, 3000)
    loop.board.best_y, loop.board.best_u = -1e6, centre(4)
    policy = loop.policy
    for role in (Role.SMALL, Role.RANDOM):
        one = put(loop, role, search := TrustRegion(loop.rng, np.full(4, 0.8)))
        turns(loop, rotated_rastrigin, loop.used + 200)
        assert search.used < 250
        assert loop.lanes[policy.current].search is not search
    one = put(loop, Role.LARGE, search := CMAES(loop.rng, np.full(4, 0.8)))
    turns(loop, rotated_rastrigin, loop.used + 300)
    assert loop.lanes[policy.current] is one
    assert one.search is search


def slow(u):
    """Always a little better: a descent never ends."""
    slow.level *= 0.999
    return slow.level * (1 + 0.1 * np.sum((u - centre(u.shape[1])) ** 2, axis=1))


def test_a_first_descent_that_goes_on_gaining_gets_a_third():
    slow.level = 1.0
    loop = few_loop(3)
    count = turns(loop, slow, 6500)
    assert loop.board.restarts
    assert sum(n for (role, _), n in count.items() if role is Role.FIRST) == loop.policy.descent_used
    assert 0.25 < loop.policy.descent_used / loop.used < 0.4


def test_a_descent_that_ends_is_left():
    loop = few_loop(4)
    count = turns(loop, ellipsoid, 6000)
    descent = loop.lanes[0].search
    assert loop.board.best_y < 1e-10
    assert descent.done is Reason.CONVERGED
    assert sum(n for (role, _), n in count.items() if role is Role.FIRST) == loop.policy.descent_used < 2000


@pytest.mark.parametrize(("budget", "yields"), [(None, 300), (300, 100)])
def test_a_first_descent_whose_predictions_fail_yields(budget, yields):
    for came_true in (False, True):
        loop = few_loop(10, budget=budget)
        while loop.used < yields + 100:
            if isinstance(loop.search, TrustRegion) and loop.lane.role is Role.FIRST:
                loop.search.kept = [came_true] * 20  # by themselves, so few predictions tell little
            step(loop, kinks)
        assert loop.policy.proven is came_true
        assert (loop.lane.role is Role.FIRST) is came_true
        assert loop.policy.descent_used == pytest.approx(yields + (100 if came_true else 30), abs=30)


def test_a_kind_of_restart_that_found_nothing_is_not_the_best():
    loop = few_loop(3)
    policy, k = loop.policy, lane(loop, Role.LARGE)[0]
    failed, good = (TrustRegion(np.random.default_rng(0), np.zeros(3)) for _ in range(2))
    failed.used = good.used = 8
    good.best_y = 3.0
    policy._finish(loop.board, loop.lanes, put(loop, Role.LARGE, failed))
    assert (policy.spent[k], policy.reached[k]) == (8, np.inf)
    policy._finish(loop.board, loop.lanes, put(loop, Role.LARGE, good))
    assert (policy.spent[k], policy.reached[k]) == (16, 3)


@pytest.mark.parametrize("fun", [rosenbrock, rastrigin, rotated_rastrigin])
def test_resume_in_every_lane(fun):
    assert continues_exactly(lambda: few_loop(4), fun, (30, 300, 520, 900, 1700, 4000), more=250)


def test_after_a_better_point_from_elsewhere_a_descent_begins_there():
    loop = few_loop(4)
    run(loop, rotated_rastrigin, 700)
    place = centre(4) + 0.001
    loop.hear(place[None], rotated_rastrigin(place[None]))
    visit = lane(loop, Role.VISIT)[1]
    assert visit.due
    while loop.lane is not visit:
        step(loop, rotated_rastrigin)
    assert not visit.due
    _, u = step(loop, rotated_rastrigin)
    np.testing.assert_array_equal(u[0], place)
    run(loop, rotated_rastrigin, 8000)
    assert loop.board.best_y < 1e-12


def test_no_visit_where_the_first_descent_has_gone_on_from_there():
    loop = few_loop(4)
    place = centre(4) + 0.1
    loop.hear(place[None], rosenbrock(place[None]))
    visit = lane(loop, Role.VISIT)[1]
    assert visit.due
    run(loop, rosenbrock, 50)
    assert loop.board.best_y < rosenbrock(place[None])[0]
    assert not visit.due


def test_a_restart_after_failures_begins_where_values_are():
    loop = few_loop(3)
    run(loop, rotated_rastrigin, 3000)
    loop.board.failures = 100
    loop.policy._begin_next(loop.board, loop.lanes)
    np.testing.assert_array_equal(loop.search.best_u, loop.board.best_u)


def test_values_times_a_power_of_two_change_nothing_in_any_lane():
    """To the last bit, through all kinds of searches."""

    def points(power):
        loop, kinds, asked = few_loop(2, seed=1), set(), []
        while loop.used < 2000:
            search, u = step(loop, lambda u: rotated_rastrigin(u) * 2.0**power)
            kinds.add(type(search))
            asked.append(u)
        assert len(kinds) == 4
        return np.concatenate(asked)

    plain = points(0)
    for power in (-600, 600):
        np.testing.assert_array_equal(points(power), plain)
