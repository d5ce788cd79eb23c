"""What holds for both evolution strategies."""

import numpy as np
import pytest
from tests.search.driver import run

from eglearn.search.base import Reason
from eglearn.search.cma_es import CMAES
from eglearn.search.diagonal_es import DiagonalES

pytestmark = pytest.mark.parametrize("kind", [CMAES, DiagonalES])


def begin(kind, n):
    return kind(np.random.default_rng(0), np.full(n, -0.3))


def bowl(u):
    return np.sum((u - 0.2) ** 2, axis=1)


def test_it_ends_by_itself(kind):
    p = begin(kind, 4)
    run(p, bowl)
    assert p.done in (Reason.FLAT, Reason.CONVERGED)
    assert p.best_y < 1e-18
    noise = np.random.default_rng(3)
    p = begin(kind, 4)
    run(p, lambda u: noise.standard_normal(len(u)))
    assert p.done is not None


def test_minimum_on_a_face(kind):
    aim = np.array([1.4, 0.3, -0.2, -1.5])
    p = begin(kind, 4)
    run(p, lambda u: np.sum((u - aim) ** 2, axis=1))
    np.testing.assert_allclose(p.best_u, np.clip(aim, -1, 1), atol=1e-5)


@pytest.mark.parametrize("good", [1, 2, 3, 9])
def test_failures_do_not_drive_the_step_size(kind, good):
    """With values that tell nothing it does not grow, nor fall fast, however many fail."""
    rng = np.random.default_rng(2)
    p = begin(kind, 10)
    for _ in range(60):
        u = p.propose()
        p.learn(u, np.where(rng.permutation(len(u)) < good, rng.random(len(u)), np.nan))
    assert 0.05 < p.radius / 0.4 < 5


def test_it_converges_though_most_samples_fail(kind):
    coin = np.random.default_rng(1)

    def often(u):
        return np.where(coin.random(len(u)) < 0.6, np.nan, bowl(u))

    p = begin(kind, 4)
    run(p, often)
    assert p.best_y < 1e-8
