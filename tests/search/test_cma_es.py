import numpy as np
import pytest
from scipy.optimize import minimize
from tests.search.driver import ellipsoid, rotation, run

from eglearn.search.base import Reason
from eglearn.search.cma_es import CMAES, CMAESSettings


def evolution(n, seed=0, **changes):
    return CMAES(np.random.default_rng(seed), np.full(n, -0.3), CMAESSettings(**changes))


def test_an_ill_conditioned_ellipsoid_is_solved():
    for seed in range(2):
        p = evolution(10, seed)
        run(p, ellipsoid, 9000)
        assert p.best_y < 1e-8


def test_the_model_helps_small_populations_and_is_off_for_large_ones():
    used = []
    for largest in (2.0, 0.5):  # batches with a model, in usual ones
        p = evolution(10, model_up_to=largest)
        while not p.best_y < 1e-8:
            u = p.propose()
            p.learn(u, ellipsoid(u))
        used.append(p.used)
    assert used[0] < 0.8 * used[1]
    p = evolution(10, size=40)
    run(p, ellipsoid, 1000)
    assert len(p.y) == 0


def test_the_mean_moves_to_a_model_point_that_is_the_best():
    p = evolution(6)
    jumps = 0
    for _ in range(40):
        u = p.propose()
        y = ellipsoid(u)
        wins, trust = p.injected is not None and np.argmin(y) == 0, p.trust
        p.learn(u, y)
        if wins and 1.5 * trust >= 1:
            np.testing.assert_array_equal(p.mean, u[0])
            jumps += 1
    assert jumps > 3


def test_a_model_point_in_the_better_half_of_those_that_did_not_fail_keeps_its_trust():
    p = CMAES(np.random.default_rng(0), np.zeros(3))
    while p.injected is None:
        u = p.propose()
        p.learn(u, np.sum((u - 0.3) ** 2, axis=1))
    trust, u = p.trust, p.propose()
    y = np.full(len(u), np.nan)
    y[:3] = 2.0, 1.0, 3.0
    p.learn(u, y)
    assert p.trust == trust


def test_a_search_that_never_had_a_value_has_failed_however_narrow_it_is():
    p = CMAES(np.random.default_rng(0), np.zeros(3), CMAESSettings(sigma=1e-11))
    u = p.propose()
    p.learn(u, np.full(len(u), np.nan))
    assert p.done is Reason.FAILED


def test_large_populations_alone_adapt_too():
    p = evolution(5, size=32)
    run(p, ellipsoid, 20_000)
    assert p.best_y < 1e-8


def test_a_degenerate_distribution_ends_the_search():
    p = evolution(4)
    p.D = np.array([1e-9, 1.0, 1.0, 1.0])
    p.C = np.diag(p.D**2)
    u = p.propose()
    p.learn(u, np.arange(float(len(u))))
    assert p.done is Reason.DEGENERATE


def test_a_minimum_on_ten_faces_of_a_rotated_ellipsoid_is_found():
    n, R = 20, rotation(20)
    scales, centre = 10.0 ** np.linspace(0, 1, n), np.where(np.arange(n) % 2, 1.5, 0.2)
    fun = lambda u: np.sum(((u - centre) @ R * scales) ** 2, axis=1)  # noqa: E731
    lowest = minimize(lambda u: fun(u[None])[0], np.zeros(n), bounds=[(-1, 1)] * n, tol=1e-14).fun
    for seed in range(2):
        p = evolution(n, seed)
        run(p, fun, 8000)
        assert p.best_y - lowest < 1e-3 * lowest
        assert (np.abs(p.mean) <= 1).all()


def test_a_distribution_that_leaves_the_cube_comes_back_as_its_mirror_image():
    p = evolution(3)
    p.mean, p.C = np.array([1.25, 0.5, -1.5]), np.array([[2.0, 0.5, 0.3], [0.5, 1.0, -0.2], [0.3, -0.2, 1.0]])
    p.path_c, p.path_s = np.ones(3), np.arange(3.0)
    C = p.C
    p._mirror()
    np.testing.assert_array_equal(p.mean, [0.75, 0.5, -0.5])
    sign = np.array([-1.0, 1.0, -1.0])
    np.testing.assert_array_equal(p.C, C * np.outer(sign, sign))
    np.testing.assert_array_equal(p.path_c, sign)
    np.testing.assert_array_equal(p.path_s, sign * np.arange(3.0))


def test_answers_are_learned_from_where_the_samples_were_drawn():
    p = evolution(2, sigma=0.8)
    u = p.propose()
    drawn = p.batch.u.copy()
    assert (np.abs(u) <= 1).all()
    assert (np.abs(drawn) > 1).any()
    p.learn(u[:-1], np.arange(len(u) - 1.0))
    np.testing.assert_array_equal(p.batch.u, drawn)


def test_rounded_answers_stay_beside_what_was_drawn():
    p = evolution(2, sigma=0.8)
    u = p.propose()
    drawn = p.batch.u.copy()
    p.learn(u[:-1].astype(np.float32).astype(np.float64), np.arange(len(u) - 1.0))
    assert p.batch.u == pytest.approx(drawn, abs=1e-6)
    assert (p.batch.u != drawn).any()
