import numpy as np
import pytest
from tests.passes.driver import continues_exactly, ellipsoid, rosenbrock, run

from eglearn.passes import Adaptation


def adaptation(n, seed=0, **changes):
    return Adaptation(np.random.default_rng(seed), np.full(n, -0.3), **changes)


def test_an_ill_conditioned_ellipsoid_is_solved():
    for seed in range(2):
        p = adaptation(10, seed)
        run(p, ellipsoid, 9000)
        assert p.best_y < 1e-8


def test_the_model_helps_small_populations_and_is_off_for_large_ones():
    used = []
    for model in (True, False):
        p = adaptation(10)
        p._uses_model = model
        while not p.best_y < 1e-8:
            u = p.propose()
            p.learn(u, ellipsoid(u))
        used.append(p.used)
    assert used[0] < 0.8 * used[1]
    p = adaptation(10, size=40)
    run(p, ellipsoid, 1000)
    assert len(p.y) == 0


def test_the_mean_moves_to_a_model_point_that_is_the_best():
    p = adaptation(6)
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


def test_large_populations_alone_adapt_too():
    p = adaptation(5, size=32)
    run(p, ellipsoid, 20_000)
    assert p.best_y < 1e-8


def test_it_ends_by_itself():
    p = adaptation(4)
    run(p, lambda u: np.sum((u - 0.2) ** 2, axis=1))
    assert p.done in ("flat", "converged")
    assert p.best_y < 1e-20
    p = adaptation(4)
    run(p, lambda u: np.full(len(u), 7.0))
    assert p.done == "flat"
    noise = np.random.default_rng(3)
    p = adaptation(4)
    run(p, lambda u: noise.standard_normal(len(u)))
    assert p.done is not None


def test_minimum_on_a_face():
    aim = np.array([1.4, 0.3, -0.2, -1.5])
    p = adaptation(4)
    run(p, lambda u: np.sum((u - aim) ** 2, axis=1))
    np.testing.assert_allclose(p.best_u, np.clip(aim, -1, 1), atol=1e-5)


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_dimensions(n):
    p = adaptation(n)
    run(p, lambda u: np.sum((u - 0.5) ** 2, axis=1))
    np.testing.assert_allclose(p.best_u, 0.5, atol=1e-6)


def test_failures():
    coin = np.random.default_rng(1)

    def often(u):
        y = np.sum((u - 0.5) ** 2, axis=1)
        y[coin.random(len(y)) < 0.6] = np.nan
        return y

    p = adaptation(4)
    run(p, often)
    assert p.best_y < 1e-8
    p = adaptation(4)
    u = p.propose()
    p.learn(u, np.full(len(u), np.nan))
    assert p.done == "failed"


def test_resume():
    assert continues_exactly(lambda: adaptation(5), rosenbrock, (1, 100, 900))
    assert continues_exactly(lambda: adaptation(5, size=30), rosenbrock, (200,))
