import numpy as np
from tests.search.driver import ellipsoid, run

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
