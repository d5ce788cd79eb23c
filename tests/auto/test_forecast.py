"""Who goes on in many dimensions: the lane that is expected to get lowest."""

import numpy as np
import pytest
from tests.auto.driver import few_directions, kinds_in_turn, many_loop, sphere, step
from tests.search.driver import continues_exactly, rastrigin, rosenbrock, rotated_rastrigin, run

from eglearn.auto.lanes import Role
from eglearn.learning.values import ENTERS
from eglearn.search.active_subspace import ActiveSubspace
from eglearn.search.base import Reason
from eglearn.search.coordinate_search import CoordinateSearch
from eglearn.search.diagonal_es import DiagonalES
from eglearn.search.subspace_trust_region import SubspaceTrustRegion


def test_both_lanes_have_turns_and_the_one_that_gets_lower_has_more():
    rows = kinds_in_turn(many_loop(64), rosenbrock, 6000)
    assert [kind for kind, _ in rows[:3]] == [SubspaceTrustRegion, ActiveSubspace, DiagonalES]
    evolution = sum(count for kind, count in rows if kind is DiagonalES)
    assert 0.03 * 6000 < evolution < 0.15 * 6000
    rows = kinds_in_turn(many_loop(20, budget=8000), rotated_rastrigin, 8000)
    evolution = sum(count for kind, count in rows if kind is DiagonalES)
    assert evolution > 0.4 * 8000


def begin_evolution(loop):
    """Without a probe before it."""
    loop.lanes[1].role = Role.EVOLUTION
    loop.lanes[1]._evolve(loop.board, loop.board.start, 0.4)
    return loop.lanes[1].search


def share_of_evolution(descent, evolution, limit=10_000):
    """Where each lane gets values that depend only on the evaluations it had."""
    loop, had = many_loop(20, budget=limit), [0, 0]
    begin_evolution(loop)
    while loop.used < limit:
        turn, u = loop.policy.turn, loop.propose()
        at = had[turn] + np.arange(len(u))
        loop.learn(u, (evolution if turn else descent)(at))
        had[turn] += len(u)
    return had[1] / loop.used


def test_a_descent_that_stands_still_yields_though_it_is_lower():
    assert 0.25 < share_of_evolution(lambda at: 0 * at, lambda at: 1 + 0.5 ** (at / 100)) < 0.6


def test_the_lane_that_is_foreseen_to_be_lower_has_more():
    """160 evaluations ahead; the evolution is higher until it has had its share."""
    assert share_of_evolution(lambda at: 1 - 0.001 * at, lambda at: 3 - 0.02 * at) > 0.9
    assert share_of_evolution(lambda at: 1 - 0.001 * at, lambda at: 3 - 0.001 * at) == pytest.approx(1 / 8, abs=0.03)


def test_falls_are_expected_to_shrink_as_they_did():
    """The evolution falls steeply and levels off at 10; if it went on as in its last turn it would soon be below 9."""
    assert share_of_evolution(lambda at: 9 - 0.0001 * at, lambda at: 10 + 1e6 * 0.5 ** (at / 50), limit=1500) < 0.3


def share_of_spread(spread, falls=1e-6):
    """Of an evolution whose lowest values stay above those of a descent that creeps; the others are higher."""
    return share_of_evolution(lambda at: 1 - 1e-6 * at, lambda at: 1.3 - falls * at + spread * (at % 4 > 0))


def test_an_evolution_whose_samples_are_spread_out_is_expected_to_get_lower():
    """By 9 % of their spread: in 160 of 10,000 evaluations they come closer by a twentieth."""
    assert share_of_spread(1.0) == pytest.approx(1 / 8, abs=0.03)
    assert share_of_spread(10.0) > 0.8


def test_less_is_expected_of_samples_that_do_not_get_lower():
    assert share_of_spread(10.0, falls=0.0) < 0.35


def test_lucky_turns_after_unlucky_ones_are_no_falls():
    """Samples are spread out, and the lowest go up and down but never lower."""
    luck = np.random.default_rng(0).random(1000)

    def evolution(at):
        return 1.3 + 0.1 * luck[at // 24] + 100 * (at % 4 > 0)

    assert share_of_evolution(lambda at: 1 - 1e-6 * at, evolution) < 0.2


def test_a_long_time_in_vain_is_no_error():
    loop = many_loop(20, budget=4000)
    run(loop, rotated_rastrigin, 1000)
    loop.policy.vain = 5000
    run(loop, lambda u: 1e3 + rotated_rastrigin(u), 2000)
    assert loop.policy.vain > 5000


def test_a_new_evolution_has_had_no_turns_in_vain():
    loop = many_loop(64, budget=30_000)
    board, policy, lanes = loop.board, loop.policy, loop.lanes
    policy.turn, policy.levels, policy.forecasts, policy.rates = 1, [5.0, 2.0], [4.0, 1.0], [0.1, 0.2]
    policy.lowest, policy.vain, policy.turn_used, policy.evolved, board.used = 2.0, 9, 40, 3_000, 10_000
    begin_evolution(loop).done = Reason.STAGNANT
    policy._follow(board, lanes, lanes[1])
    assert lanes[1].search.done is None
    assert (policy.rates, policy.lowest, policy.vain) == ([0.1, 0.0], np.inf, 0)
    assert (policy.turn_used, policy.evolved) == (0, 3_040)
    policy.after(board, lanes, np.full(90, 9.0))  # a turn, wide at first, and above the last
    assert policy.levels == [5.0, 2.0]
    assert 1.5 < policy.forecasts[1] < 1.9  # half of what it is expected to fall by


def test_the_probe_for_few_directions_is_no_turn_of_the_evolution():
    """Its values, around random points, tell nothing about what the evolution will reach."""
    loop = many_loop(128, budget=6000, start=-0.2)
    while not isinstance(loop.lanes[1].search, DiagonalES):
        step(loop, few_directions)
    policy = loop.policy
    assert (policy.turn, policy.turn_used, policy.lowest, policy.evolved) == (1, 0, np.inf, 0)
    assert loop.lanes[1].born == loop.used


def test_line_searches_are_not_interrupted():
    loop, interrupted = many_loop(10), []
    while loop.used < 8000:
        p, _ = step(loop, rastrigin)
        interrupted += [loop.policy.turn == 1] * (isinstance(p, CoordinateSearch) and p.done is None)
    assert len(interrupted) > 5
    assert not any(interrupted)


@pytest.mark.parametrize(("used", "behind", "tried"), [(1004, True, False), (1005, True, True), (1005, False, False)])
def test_line_searches_come_when_the_descent_is_behind_for_long(used, behind, tried):
    """Long is five times what the first test takes, 201 evaluations in 20-D."""
    loop = many_loop(20, budget=20_000)
    run(loop, sphere, 300)
    begin_evolution(loop)
    loop.board.used, loop.lanes[0].descended, policy = used, not behind, loop.policy
    policy.turn, policy.turn_used, policy.row = 1, 20, 1000
    policy._end_turn(loop.board, loop.lanes, np.ones(5))
    assert policy.turn == 0
    assert (type(loop.lanes[0].search) is CoordinateSearch) is tried


def test_turns_do_not_double_for_ever():
    loop = many_loop(2)
    run(loop, lambda u: np.abs(u - 0.1) @ [1.0, 2.0], 4_000)
    assert loop.policy.rounds == 3


def test_a_lane_whose_values_all_fail_yields():
    loop = many_loop(10)
    while loop.used < 2000:
        u = loop.propose()
        loop.learn(u, np.full(len(u), np.nan) if loop.policy.turn == 1 else sphere(u))
    assert loop.policy.forecasts[1] == np.inf
    assert loop.board.best_y < 1e-12


@pytest.mark.parametrize("fun", [rosenbrock, rastrigin, rotated_rastrigin])
def test_resume_in_every_kind_of_search(fun):
    assert continues_exactly(lambda: many_loop(6), fun, (1, 30, 300, 520, 900, 1700, 4000), more=250)


def test_values_times_a_power_of_two_change_nothing_in_any_search():
    def points(power):
        loop, kinds, asked = many_loop(3, seed=1), set(), []
        while loop.used < 3000:
            search, u = step(loop, lambda u: rotated_rastrigin(u) * 2.0**power)
            kinds.add(type(search))
            asked.append(u)
        assert len(kinds) == 5
        return np.concatenate(asked)

    plain = points(0)
    for power in (-600, 600):
        np.testing.assert_array_equal(points(power), plain)


@pytest.mark.parametrize("scale", [1e307, 1e-300])
def test_values_near_the_limits_of_floats_are_searched_as_well(scale):
    loop = many_loop(10)
    run(loop, lambda u: ENTERS * scale * sphere(u), 3000)
    assert loop.board.best_y < 1e-6 * scale


EXTREMES = {
    "near overflow": lambda u: 1.7e308 * np.sin(1e3 * u.sum(axis=1)),
    "denormal": lambda u: 1e-310 * sphere(u),
    "large offset": lambda u: 1e15 + sphere(u),
    "plateaus": lambda u: np.round(sphere(u)),
    "cliff": lambda u: np.exp(500 * u[:, 0]) + sphere(u),
    "often failed": lambda u: np.where(np.sin(1e6 * u.sum(axis=1)) > 0, np.nan, sphere(u)),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("n", [1, 3, 20])
def test_extreme_values(name, n):
    """Warnings are errors: nothing overflows on the way, and proposals are in the cube."""
    loop = many_loop(n, start=0.1)
    fun = EXTREMES[name]
    u = loop.propose()
    first = ENTERS * fun(u)
    loop.learn(u, first)
    run(loop, lambda u: ENTERS * fun(u), 1500)
    assert np.isnan(first).all() or loop.board.best_y <= np.nanmin(first)
