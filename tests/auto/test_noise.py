"""How noise is noticed."""

import numpy as np
import pytest
from tests.auto.noisy_driver import Noise, auto
from tests.search.driver import ellipsoid, rosenbrock, rotated_rastrigin, run

from eglearn import minimize
from eglearn.auto.noise import Repeats
from eglearn.learning.values import ENTERS
from eglearn.search.lbfgs import LBFGS
from eglearn.search.stopping import reason_to_stop


@pytest.mark.parametrize(("fun", "n"), [(rosenbrock, 4), (ellipsoid, 4), (rotated_rastrigin, 4), (rosenbrock, 70)])
def test_a_deterministic_run_is_the_same_but_for_some_repeated_points(fun, n):
    plain, s = auto(n), auto(n)
    plain.repeats.due = np.inf

    def one_by_one(u):
        """The last bits of a function may depend on how many points it is given."""
        return np.concatenate([fun(x[None]) for x in u])

    repeated = 0
    while s.used < 8000:
        expected, u = plain.propose(), s.propose()
        np.testing.assert_array_equal(u[len(u) - len(expected) :], expected)
        repeated += len(u) - len(expected)
        plain.learn(expected, one_by_one(expected))
        s.learn(u, one_by_one(u))
        assert not s.repeats.differed
    assert 1 <= repeated <= 11


def test_rounding_is_no_noise():
    rng = np.random.default_rng(0)
    s = auto(4)
    run(s, lambda u: (7 + ellipsoid(u)) * (1 + 4e-16 * rng.standard_normal(len(u))), 6000)
    assert not s.repeats.differed


def test_tiny_noise_does_not_matter_while_it_is_below_the_differences():
    rng = np.random.default_rng(0)
    s = auto(4)
    run(s, lambda u: rotated_rastrigin(u) + 1e-6 * rng.standard_normal(len(u)), 3000)
    assert s.repeats.differed
    assert s.noisy is None


def test_slight_noise_does_not_stop_a_descent_that_gains():
    s, noise = auto(10), Noise("slight")
    run(s, noise, 800)
    assert s.repeats.differed
    assert s.noisy is None
    assert noise.fun(s.best_u[None])[0] < 1e-6


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e12])
def test_noise_above_a_large_offset_is_noise(offset):
    noise = np.random.default_rng(0)
    result = minimize(
        lambda x: offset + np.sum(x**2) + 0.1 * noise.standard_normal(), [(-5, 5)] * 5, np.ones(5), budget=4000
    )
    assert result.progress["noisy"]


def test_when_the_lowest_point_is_repeated():
    r = Repeats(np.zeros(2))
    u = np.arange(10.0).reshape(5, 2)
    assert r.due_now(5, True) == 0  # nothing is known
    r.look(u, np.arange(5.0), 5)
    assert r.due_now(5, False) == 0  # values that tell no spread
    assert r.due_now(5, True) == 1
    np.testing.assert_array_equal(r.repeat(1, 5), u[:1])
    assert r.due_now(100, True) == 0  # one at a time
    r.judge(np.nan)  # a failure tells nothing
    assert not r.differed
    assert r.due_now(9, True) == 0  # not yet due
    assert r.due_now(10, True) == 1
    r.repeat(1, 10)
    r.judge(0.0)
    assert r.due_now(1000, True) == 0  # known to repeat itself
    r.look(u[:1], np.array([-1.0]), 5)
    r.repeat(r.due_now(1000, True), 1000)
    r.judge(-0.5)
    assert r.differed


def test_a_lower_point_that_comes_meanwhile_is_not_known_to_repeat_itself():
    r = Repeats(np.zeros(2))
    r.look(np.arange(10.0).reshape(5, 2), np.arange(5.0), 5)
    r.repeat(1, 5)
    r.look(np.ones((1, 2)), np.array([-1.0]), 5)
    r.judge(0.0)
    assert not r.differed
    assert not r.known


def test_noise_is_not_told_by_neighbours():
    """Values at the ends of a difference are nearly the same, so that any noise exceeds their spread."""
    s = auto(70)
    run(s, rosenbrock, 2000)
    board = s.loop.board
    s.loop.lanes[0].search = LBFGS(s.rng, board.best_u, value=board.best_y)
    for turn, extra in ((1, 1), (0, 0)):
        s.repeats.known, s.repeats.due, s.loop.policy.turn = False, 0, turn
        size = s.loop.search.natural()
        u = s.propose()
        assert len(u) == size + extra
        assert (u[0] == s.repeats.u).all() == bool(extra)
        s.learn(u, rosenbrock(u))


def test_where_the_search_under_noise_begins():
    r = Repeats(np.zeros(2))
    r.u, r.first, r.before = np.ones(2), 3.0, 2.0
    np.testing.assert_array_equal(r.try_best(np.zeros(2)), np.ones(2))
    r.before = 4.0
    np.testing.assert_array_equal(r.try_best(np.zeros(2)), np.zeros(2))


def test_the_largest_floats_have_quantiles_as_they_enter():
    """Warnings are errors: their differences would overflow as they are."""
    huge = ENTERS * 1.7e308 * np.array([-1.0, 1.0])
    history = []
    assert reason_to_stop(history, huge, 1, 0.1, noisy=True) is None
    assert history == [0.0]
    repeats = Repeats(np.zeros(2))
    repeats.strikes = 3
    repeats.try_best(np.zeros(2))
    assert len(repeats.repeat(repeats.due_now(0, True), 0)) == 20
    for y in np.repeat(huge, [15, 5]):  # the quantile is between both
        repeats.judge(y)
    assert -1.0e308 * ENTERS < repeats.trial_value < -0.8e308 * ENTERS


def test_values_near_the_largest_float_have_a_median():
    s = auto(1)
    run(s, lambda u: ENTERS * np.full(len(u), 1.7e308) * (1 - 1e-3 * u[:, 0] ** 2), 300)
    assert np.isfinite(s.repeats.middle)
