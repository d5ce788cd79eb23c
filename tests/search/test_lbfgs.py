import itertools

import numpy as np
import pytest
from tests.search.driver import continues_exactly, ellipsoid, rosenbrock, rotation, run

from eglearn.search.base import Reason
from eglearn.search.lbfgs import LBFGS, LBFGSSettings, Stage


def descent(n, **changes):
    return LBFGS(np.random.default_rng(0), np.full(n, -0.3), LBFGSSettings(**changes))


def sphere(u):
    return np.sum((u - 0.2) ** 2, axis=1)


@pytest.mark.parametrize(("fun", "limit"), [(rosenbrock, 6000), (ellipsoid, 8000)])
def test_curved_valleys_and_bad_conditions_are_no_obstacle(fun, limit):
    p = descent(30)
    run(p, fun, limit)
    assert p.best_y < 1e-6
    assert fun(p.best_u[None])[0] == pytest.approx(p.best_y, rel=1e-6, abs=1e-20)


def test_a_sphere_takes_little_more_than_two_gradients():
    p = descent(100)
    while not p.best_y < 1e-10:
        u = p.propose()
        p.learn(u, sphere(u))
    assert p.used < 250


def test_batches_hold_at_most_m_samples_and_the_start_comes_first():
    p = descent(10, m=4)
    batches = run(p, sphere, 32)
    start = np.full(10, -0.3)
    np.testing.assert_array_equal(batches[0][0], start)
    # A second line, since on the first one the sphere's values are as on a straight one.
    assert [len(u) for u in batches] == [11, 10, 4, 4, 2, 8]
    first, second, third, path = batches[2:]
    np.testing.assert_allclose(np.vstack([first, second, third]) - start, p.radius * np.eye(10), atol=1e-15)
    assert 1e-8 <= p.radius < 1e-7
    # Along the slope, here the diagonal.
    assert len(path) == 8
    np.testing.assert_allclose(path[-1] - start, np.full(10, 0.125), rtol=1e-5)


def test_a_sum_over_coordinates_is_scaled_by_their_curvatures():
    weights = 10.0 ** np.linspace(0, 6, 60)
    p = descent(60)
    while not p.best_y < 1e-8:
        u = p.propose()
        p.learn(u, (u - 0.1) ** 2 @ weights)
    assert p.used < 40 * 60


def test_a_known_value_is_not_asked_for_again():
    start = np.full(4, -0.3)
    p = LBFGS(np.random.default_rng(0), start, value=float(sphere(start[None])[0]))
    assert not (p.propose() == start).all(axis=1).any()


def test_minimum_in_a_corner_and_on_a_face():
    p = descent(5)
    run(p, lambda u: u @ np.arange(1.0, 6.0), 300)
    np.testing.assert_array_equal(p.best_u, -np.ones(5))
    aim = np.array([1.4, 0.3, -0.2, -1.5, 0.1])
    p = descent(5)
    run(p, lambda u: np.sum((u - aim) ** 2 * np.arange(1, 6), axis=1))
    assert p.done is Reason.CONVERGED
    np.testing.assert_allclose(p.best_u, np.clip(aim, -1, 1), atol=1e-6)


def test_after_forward_differences_central_ones():
    """The former are off by half of the step times the curvature, which matters at last."""
    weights = 10.0 ** np.linspace(0, 8, 6)
    p = descent(6)
    run(p, lambda u: 1.0 + (u - 0.1) ** 2 @ weights)
    assert p.done is Reason.CONVERGED
    assert p.best_y - 1 < 1e-12


def rotated(n, condition):
    q = rotation(n)
    return lambda u: ((u - 0.1) @ q) ** 2 @ condition ** np.linspace(0, 1, n)


def single(fun):
    return lambda u: fun(u).astype(np.float32).astype(float)


def test_values_of_single_precision():
    """Differences of doubles would be noise."""
    p = descent(60)
    run(p, single(lambda u: rotated(60, 100.0)(u) + 1), 40 * 60)
    assert p.best_y - 1 < 1e-3
    assert 1e-5 < p.radius < 1e-1


def test_values_with_a_large_offset():
    p = descent(60)
    run(p, lambda u: 100 * rotated(60, 100.0)(u) + 1e12, 40 * 60)
    assert rotated(60, 100.0)(p.best_u[None])[0] < 2e-3


def test_rounding_is_measured_again_where_values_are_much_smaller():
    p = descent(20)
    seen = []
    while not p.best_y < 1e-3:
        u = p.propose()
        p.learn(u, rotated(20, 100.0)(u))
        if p.measured not in seen:
            seen.append(p.measured)
    assert len(seen) > 3
    assert all(after < 0.1 * before for before, after in itertools.pairwise(seen))


def test_rounding_is_measured_again_where_no_step_gains():
    p = descent(5)
    level, before = 0, None
    while p.done is None:
        if p.level != level and before is Stage.SHORTER:
            assert p.stage is Stage.ROUNDING
        level, before = p.level, p.stage
        u = p.propose()
        p.learn(u, rotated(5, 100.0)(u) + 1)


def test_slopes_beside_a_plateau_are_looked_for_far_away():
    p = descent(3)
    for _ in range(4):
        assert p.stage is Stage.ROUNDING
        p.learn(u := p.propose(), np.ones(len(u)))
    assert (p.stage, p.radius) == (Stage.GRADIENT, pytest.approx(1e-2))


def test_values_that_become_large_and_negative():
    """Singles that begin next to 0 are more exact there than later."""
    ellipsoid = rotated(60, 100.0)
    first = ellipsoid(np.full((1, 60), -0.3))[0]
    p = descent(60)
    run(p, single(lambda u: 1e3 * (ellipsoid(u) - first) + 0.01), 20 * 60)
    assert 1e-9 < p.rounding < 1e-4
    assert abs(p.measured) > 1e3
    assert ellipsoid(p.best_u[None])[0] < 0.5


def test_where_a_point_of_the_line_fails_the_rounding_stays():
    p = descent(4)
    p.rounding = 1e-9
    u = p.propose()
    p.learn(u, np.append(sphere(u[:-1]), np.nan))
    assert (p.stage, p.rounding) == (Stage.GRADIENT, 1e-9)


def test_beside_a_plateau_finer_points_are_tried_again():
    p = descent(4)
    for _ in range(4):
        u = p.propose()
        p.learn(u, np.ones(len(u)))
    assert p.spacing == 2


def test_failed_samples_leave_their_coordinates_as_they_are():
    coin = np.random.default_rng(1)

    def often(u):
        y = sphere(u)
        if len(u) < 7:  # the start is not one of them
            y[coin.random(len(u)) < 0.3] = np.nan
        return y

    p = descent(6)
    run(p, often, 3000)
    assert p.best_y < 1e-6
    assert np.isfinite(p.g).all()


def test_a_search_resumes_within_a_gradient():
    assert continues_exactly(lambda: descent(5, m=3), rosenbrock, (13, 16, 40, 200))


def test_past_that_misleads_is_forgotten():
    """A bad condition with small waves: coarse differences and old curvatures lead nowhere at last."""

    def waves(x):
        h, a, b = np.log(np.abs(x)), np.where(x > 0, 10, 5.5), np.where(x > 0, 7.9, 3.1)
        return np.sign(x) * np.exp(h + 0.049 * (np.sin(a * h) + np.sin(b * h)))

    q = rotation(30)
    p = descent(30)
    run(p, lambda u: waves(5 * (u - 0.1) @ q) ** 2 @ np.append(1e6, np.ones(29)), 20_000)
    assert p.best_y < 1e-4


@pytest.mark.parametrize("steep", [True, False])
def test_unknown_curvature_is_tried_both_ways(steep):
    """A sum over coordinates, where each pair tells about all; one steep direction, where coordinates tell nothing."""
    n = 200
    scales = 10.0 ** np.linspace(0, 6, n)
    direction = np.random.default_rng(0).standard_normal(n)
    direction *= 1e3 / np.linalg.norm(direction)

    def fun(u):
        x = u - 0.1
        return np.sum(x**2, axis=1) + (x @ direction) ** 2 if steep else x**2 @ scales

    p = descent(n)
    run(p, fun, 20 * n)
    assert p.best_y < 1e-6


def test_pairs_that_overflow_in_a_smaller_unit_are_forgotten():
    p = descent(2)
    p.value, p.exponent, p.g = 0.0, 1000, np.ones(2)
    p.S, p.Y = np.eye(2), np.array([[1e300, 0.0], [0.0, 1e-300]])
    p.offsets, p.values = np.full(2, 1e-8), np.full(2, 1e-300)
    p._learn_gradient()
    np.testing.assert_array_equal(p.S, [[0.0, 1.0]])
    assert np.isfinite(p.Y).all()
