import numpy as np
import pytest
from tests.search.driver import continues_exactly, ellipsoid, rastrigin, rosenbrock, rotated_rastrigin, run

from eglearn.search.base import Reason
from eglearn.search.quasi_newton import Purpose, QuasiNewton, QuasiNewtonSettings


def descent(n, start=-0.3, **changes):
    return QuasiNewton(np.random.default_rng(0), np.full(n, start), QuasiNewtonSettings(**changes))


def evaluations(p, fun, target):
    while not p.best_y < target:
        assert p.done is None
        u = p.propose()
        p.learn(u, fun(u))
    return p.used


def sphere(u):
    return np.sum((u - 0.2) ** 2, axis=1)


def discus(u):
    """One direction, no axis, is a million times as steep as the others."""
    n = u.shape[1]
    v = np.cos(np.arange(n)) / np.linalg.norm(np.cos(np.arange(n)))
    x = u - 0.2
    return np.sum(x**2, axis=1) + 1e6 * (x @ v) ** 2


def test_a_sphere_takes_little_more_than_two_gradients():
    assert evaluations(descent(30), sphere, 1e-10) < 75


def test_a_steep_direction_does_not_hide_the_others():
    assert evaluations(descent(20), discus, 1e-2) < 7 * 20


@pytest.mark.parametrize(("fun", "gradients"), [(rosenbrock, 80), (ellipsoid, 30)])
def test_curved_valleys_and_bad_conditions_are_no_obstacle(fun, gradients):
    p = descent(10)
    assert evaluations(p, fun, 1e-6) < gradients * 13
    assert fun(p.best_u[None])[0] == pytest.approx(p.best_y, rel=1e-6, abs=1e-20)


def test_each_of_the_two_matrices_finds_steps():
    p, seconds = descent(10), []
    while p.gradients < 40:
        u, before, second = p.propose(), p.best_gain, p.second
        path = p.purpose is Purpose.PATH
        p.learn(u, rosenbrock(u))
        if path and p.best_gain > before:
            seconds.append(second)
    assert 3 < sum(seconds) < len(seconds) - 3


def test_a_vertex_takes_little_more_than_a_gradient():
    p = descent(20)
    slopes = np.linspace(1, 9, 20)
    assert evaluations(p, lambda u: u @ slopes, -slopes.sum() + 1e-9) < 20 + 8
    np.testing.assert_array_equal(p.best_u, -np.ones(20))


@pytest.mark.parametrize("n", [10, 20, 40])
@pytest.mark.parametrize("fun", [rastrigin, rotated_rastrigin])
def test_ripples_end_it_soon(n, fun):
    """Curvature in a ripple does not reach far."""
    for seed in range(3):
        p = QuasiNewton(np.random.default_rng(0), np.random.default_rng(seed).uniform(-0.9, 0.9, n))
        run(p, fun, 20 * n)
        assert p.done is Reason.STAGNANT
        assert p.used < 8 * n


def test_steps_of_values_end_it_after_a_few_differences_near_and_farther_apart():
    p = descent(10, start=-0.28)
    while p.done is None:
        u = p.propose(1)
        p.learn(u, np.floor(8 * sphere(u)))
    assert p.done is Reason.FLAT
    assert p.used == 1 + 4 + 4


def test_it_waits_for_differences_in_flight_before_it_takes_longer_ones():
    p, fun = descent(10, start=-0.28), lambda u: np.floor(8 * sphere(u))
    start = p.propose()
    p.learn(start, fun(start))
    near = p.propose(10)
    for row in range(10):
        p.learn(near[row : row + 1], fun(near[row : row + 1]), np.array([1 + row]))
    farther = p.propose(1)
    assert np.abs(farther - start).max() > 100 * np.abs(near - start).max()
    assert (p.used, p.asked, p.done) == (11, 12, None)


FEW_DIGITS = {
    "single precision": lambda y: y.astype(np.float32).astype(float),
    "six digits": lambda y: np.array([float(f"{v:.6g}") for v in y]),
    "eight decimals": lambda y: np.round(y, 8),
    "a remainder": lambda y: (y + 465.8) - 465.8,
}


@pytest.mark.parametrize("few_digits", FEW_DIGITS.values(), ids=FEW_DIGITS)
@pytest.mark.parametrize(("fun", "target"), [(ellipsoid, 1e-4), (discus, 1e-2)])
def test_values_with_few_digits_take_longer_differences_and_few_more_evaluations(few_digits, fun, target):
    exact = evaluations(descent(16), fun, target)
    assert evaluations(descent(16), lambda u: few_digits(fun(u)), target) < 3 * exact


def test_a_failed_difference_ends_it_and_a_failed_step_is_a_bad_one():
    p = descent(6)
    run(p, lambda u: np.where(u[:, 2] > -0.3, np.nan, sphere(u)), 100)
    assert p.done is Reason.FAILED
    assert p.used <= 7
    p = descent(6)
    assert evaluations(p, lambda u: np.where(u[:, 0] > 0.21, np.nan, sphere(u)), 1e-8) < 60


def test_it_begins_at_the_best_known_point_and_does_not_ask_for_it_again():
    p, known = descent(6), np.array([np.full(6, 0.1), np.full(6, 0.9)])
    p.natural()
    p.hear(known, sphere(known))
    np.testing.assert_allclose(p.propose(6) - known[0], np.diag(np.diag(p.batch.u - known[0])), atol=1e-300)
    assert 0 < np.ptp(p.batch.u) < 1e-6


def test_it_goes_on_from_any_moment():
    continues_exactly(lambda: descent(5), rosenbrock, [0, 1, 3, 7, 8, 20, 61])


def test_differences_to_both_sides_follow_where_no_step_gains_any_more():
    """A large constant hides what differences to one side would still tell."""

    def raised(u):
        return 1e6 + ellipsoid(u)

    p = descent(10)
    run(p, raised)
    assert p.done is Reason.CONVERGED
    assert p.central
    assert ellipsoid(p.best_u[None])[0] < 1e-6
