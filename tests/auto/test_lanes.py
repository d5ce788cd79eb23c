"""How the searches of a lane begin, and which follows which."""

import numpy as np
import pytest
from tests.auto.driver import few_directions, few_loop, go_on, kinds_in_turn, lane, many_loop, put, sphere, step
from tests.search.driver import centre, rastrigin, rosenbrock, rotated_rastrigin, run

from eglearn.auto.lanes import Role
from eglearn.search.active_subspace import ActiveSubspace
from eglearn.search.base import Reason
from eglearn.search.coordinate_search import CoordinateSearch
from eglearn.search.diagonal_es import DiagonalES
from eglearn.search.lbfgs import LBFGS, Stage
from eglearn.search.subspace_trust_region import SubspaceTrustRegion

# --- few dimensions --------------------------------------------------------------------------------------------------


def neighbours(u):
    """Double wells in which neighbours disturb one another."""
    return np.sum((4 * u**2 - 1) ** 2 + 0.3 * u, axis=1) + 3 * np.sum((u[:, ::2] + 0.5) * (u[:, 1::2] - 0.5), axis=1)


@pytest.mark.parametrize(("budget", "most"), [(4_000, 120), (100_000, 10_000)])
def test_line_searches_along_interacting_coordinates_must_be_cheap_beside_the_budget(budget, most):
    loop = few_loop(10, budget=budget, start=0.5)
    start = loop.board.start
    first = CoordinateSearch(loop.rng, start, value=float(neighbours(start[None])[0]))
    put(loop, Role.COORDINATES, first)
    run(loop, neighbours, 3000)
    assert not first.adds_up
    assert first.used <= most
    assert (first.used > 500) == (budget == 100_000)


@pytest.mark.parametrize(("budget", "tried"), [(1000, True), (800, False)])  # the first test takes 41 in 4-D
def test_line_searches_are_tried_only_if_the_budget_is_large_beside_them(budget, tried):
    loop, kinds = few_loop(4, budget=budget), set()
    while loop.used < budget:
        kinds.add(type(step(loop, rastrigin)[0]))
    assert (CoordinateSearch in kinds) is tried


@pytest.mark.parametrize(("budget", "trusted"), [(3_000, False), (50_000, True)])
def test_later_line_searches_must_show_that_they_gain_unless_they_cost_little(budget, trusted):
    loop = few_loop(4, budget=budget)
    run(loop, rastrigin, 20)
    coordinates = lane(loop, Role.COORDINATES)[1]
    for later in (False, True):
        assert coordinates.begin(loop.board)
        assert coordinates.running.settings.trusted is (later and trusted)


def test_line_searches_that_won_are_followed_by_a_fine_evolution():
    loop = few_loop(4)
    while loop.board.restarts == 0:
        step(loop, rastrigin)
    assert loop.board.exact
    assert loop.lane.role is Role.START
    assert loop.search.sigma < 0.01
    np.testing.assert_array_equal(loop.search.mean, loop.board.best_u)
    loop = few_loop(4)
    while loop.board.restarts == 0:
        step(loop, rosenbrock)
    assert not loop.board.exact
    assert loop.search.sigma == 0.4
    np.testing.assert_array_equal(loop.search.mean, loop.board.start)


def test_an_offset_does_not_change_how_long_line_searches_are():
    lengths = []
    for offset in (0.0, 1000.0):
        start = np.full(3, -0.3)
        p = CoordinateSearch(np.random.default_rng(0), start, value=float(rastrigin(start[None])[0]) + offset)
        run(p, lambda u, offset=offset: rastrigin(u) + offset)
        lengths.append((p.used, p.done))
    assert lengths[0] == lengths[1]


def test_large_populations_double():
    loop = few_loop(3)
    k, large = lane(loop, Role.LARGE)
    searches = []
    while loop.used < 40_000:
        if loop.lane is large and (not searches or searches[-1] is not large.search):
            searches.append(large.search)
        loop.policy.reached[k] = -np.inf  # most evaluations to large populations
        step(loop, rotated_rastrigin)
    sizes = [p.size for p in searches]
    assert len(sizes) >= 3
    assert sizes == [7 * 2 ** (k + 1) for k in range(len(sizes))]


def test_an_evolution_that_failed_begins_closer_with_as_many_points():
    loop = few_loop(5)
    run(loop, lambda u: np.sum((u + 0.3) ** 2, axis=1), 500)
    k, large = lane(loop, Role.LARGE)
    loop.board.doublings = 1
    large.begin(loop.board)
    large.limit = 1000
    p = put(loop, Role.LARGE, large.search, large.limit).search
    assert (p.size, p.sigma) == (4 * 8, 0.4)
    step(loop, lambda u: np.full(len(u), np.nan))
    assert p.done is Reason.FAILED
    assert loop.lane is large
    assert large.search is not p
    assert (large.limit, large.search.size, large.search.sigma) == (1000, 32, 0.2)
    assert loop.policy.spent[k] == 32
    np.testing.assert_array_equal(large.search.mean, loop.board.best_u)


# --- many dimensions -------------------------------------------------------------------------------------------------


def test_descents_follow_each_other():
    loop = many_loop(10)
    rows = kinds_in_turn(loop, rotated_rastrigin, 8000)
    kinds = [kind for kind, _ in rows if kind not in (ActiveSubspace, DiagonalES)]
    changes = [kind for i, kind in enumerate(kinds) if i == 0 or kind is not kinds[i - 1]]
    assert changes[:4] == [SubspaceTrustRegion, LBFGS, CoordinateSearch, SubspaceTrustRegion]
    assert kinds.count(CoordinateSearch) <= 2
    assert loop.board.restarts


def test_separable_functions_are_solved_by_line_searches():
    loop = many_loop(10)
    run(loop, rastrigin, 6000)
    assert loop.board.best_y < 1e-8


@pytest.mark.parametrize(("budget", "kind"), [(2100, CoordinateSearch), (1900, SubspaceTrustRegion)])
def test_a_descent_is_followed_by_line_searches_if_the_budget_is_large_beside_them(budget, kind):
    """The first test takes 101 evaluations in 10-D."""
    loop = many_loop(10, budget=budget)
    run(loop, sphere, 200)
    descents = loop.lanes[0]
    descents.search = LBFGS(loop.rng, loop.board.best_u)
    go_on(descents, loop.board)
    assert type(descents.search) is kind


def test_after_a_better_point_from_elsewhere_a_descent_begins_there():
    loop = many_loop(6)
    run(loop, rotated_rastrigin, 700)
    place = centre(6) + 0.001
    loop.hear(place[None], rotated_rastrigin(place[None]))
    assert not loop.lanes[0].descended
    run(loop, rotated_rastrigin, 30_000)
    assert loop.board.best_y < 1e-8


def test_restarts_after_failures_begin_where_values_are():
    loop = many_loop(5)
    run(loop, rotated_rastrigin, 3000)
    loop.board.failures = 100
    descents, evolution = loop.lanes
    assert isinstance(evolution.search, DiagonalES)
    descents.search = CoordinateSearch(loop.rng, loop.board.start)  # after it, a descent begins
    for one in (evolution, descents):
        before = one.search
        go_on(one, loop.board)
        assert one.search is not before
        np.testing.assert_array_equal(one.search.best_u, loop.board.best_u)


def test_a_quasi_newton_step_is_not_judged_before_its_end():
    loop = many_loop(64, budget=20_000)
    p = loop.lanes[0].search = LBFGS(loop.rng, loop.board.start)
    while loop.policy.turn == 0:
        assert step(loop, sphere)[0] is p
        assert loop.used < 200
    assert p.value < sphere(loop.board.start[None])[0]
    assert (p.stage, p.begins) == (Stage.GRADIENT, True)


def test_the_populations_of_evolutions_double():
    loop, sizes = many_loop(2), []
    while loop.used < 40_000:
        search = loop.lanes[1].search
        if isinstance(search, DiagonalES) and (not sizes or sizes[-1] != search.size):
            sizes.append(search.size)
        step(loop, rotated_rastrigin)
    assert len(sizes) >= 3
    assert sizes == [6 * 2**k for k in range(len(sizes))]


def test_the_evolution_zooms_in_until_the_budget_is_used():
    """On values without any slope its step size would stay."""
    noise = np.random.default_rng(0)
    loop = many_loop(64, budget=3_000)
    evolution = loop.lanes[1]
    while loop.used < 3_000:
        p, _ = step(loop, lambda u: noise.standard_normal(len(u)))
        if p is evolution.search and isinstance(p, DiagonalES):
            gone = (loop.used - evolution.born) / (3_000 - evolution.born)
            assert p.sigma <= 0.4 * 0.05**gone * (1 + 1e-9)
    assert loop.board.doublings == 0
    assert evolution.search.sigma > 0.01


def test_a_new_evolution_zooms_in_from_its_start():
    loop = many_loop(64, budget=3_000)
    board, evolution = loop.board, loop.lanes[1]
    board.used = 1_000
    go_on(evolution, board)
    assert evolution.widest(board, 1_000) == 0.4
    assert evolution.widest(board, 3_000) == pytest.approx(0.02)


def test_the_pace_of_the_evolution_follows_from_the_budget():
    def pace(budget):
        loop = many_loop(100, budget=budget)
        loop.lanes[1]._evolve(loop.board, loop.board.start, 0.4)
        return loop.lanes[1].search.settings.pace

    assert pace(200) == pace(1_000) == 2
    assert pace(5_000) == 1
    assert pace(40_000) == pytest.approx(0.25)
    assert pace(10**6) == 0.1
    assert pace(None) == pace(0) == 1


def test_an_evolution_whose_wide_samples_fail_begins_closer():
    """Values are known only around the start: a wide distribution fails as a whole."""

    def fun(u):
        return np.where(np.max(np.abs(u + 0.3), axis=1) < 0.3, rastrigin(u), np.nan)

    loop, failed = many_loop(80, budget=8_000), 0
    while loop.used < 8_000:
        u = loop.propose()
        y = fun(u)
        failed += np.isnan(y).sum()
        loop.learn(u, y)
    assert failed < 0.3 * loop.used
    assert loop.board.doublings <= 1


# --- the probe for few directions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "kind"), [(None, ActiveSubspace), (16 * 128, ActiveSubspace), (16 * 128 - 1, DiagonalES)]
)
def test_few_directions_are_looked_for_if_the_budget_allows_for_it(budget, kind):
    assert type(many_loop(128, budget=budget).lanes[1].search) is kind


def test_all_evolutions_are_shorter_along_the_directions_that_were_found():
    loop = many_loop(128, budget=6000, start=-0.2)
    run(loop, few_directions, 3000)
    evolution = loop.lanes[1]
    first = evolution.search
    assert isinstance(first, DiagonalES)
    assert first.directions.shape[1] >= 3
    assert first.shortening < 0.5
    first.done = Reason.STAGNANT
    go_on(evolution, loop.board)
    assert evolution.search is not first
    np.testing.assert_array_equal(evolution.search.directions, first.directions)
    assert evolution.search.shortening == first.shortening
