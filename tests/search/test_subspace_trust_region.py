import numpy as np
import pytest
from tests.search.driver import rotation, run

from eglearn.search.lbfgs import LBFGS
from eglearn.search.subspace_trust_region import SubspaceTrustRegion, SubspaceTrustRegionSettings


def subspace(n, seed=0, **changes):
    return SubspaceTrustRegion(np.random.default_rng(seed), np.full(n, -0.3), SubspaceTrustRegionSettings(**changes))


def few(u):
    """A function of four directions of all, condition 1e3."""
    n = u.shape[1]
    weights = np.append(10.0 ** np.linspace(0, 3, 4), np.zeros(n - 4))
    return np.sum(((u - 0.1) @ rotation(n)) ** 2 * weights, axis=1)


def test_a_function_of_few_directions_takes_few_evaluations():
    """A small part of the value that is left to quasi-Newton steps with whole gradients."""
    n = 150
    found = []
    for p in (subspace(n), LBFGS(np.random.default_rng(0), np.full(n, -0.3))):
        run(p, few, 4 * n)
        found.append(p.best_y)
    assert found[0] < 0.1 * found[1]


def test_the_directions_of_a_round_are_orthonormal():
    p = subspace(64)
    q = np.vstack([p._outer(8) for _ in range(8)])
    np.testing.assert_allclose(q @ q.T, np.eye(64), atol=1e-12)


def test_the_batch_is_candidate_and_samples_at_the_radius():
    p = subspace(60, m=9)
    first, second = run(p, lambda u: np.sum(u**2, axis=1), 20)
    assert first.shape == (19, 60)
    assert second.shape == (9, 60)
    np.testing.assert_array_equal(first[0], np.full(60, -0.3))
    offsets = first[1:] - first[0]
    np.testing.assert_allclose(offsets @ offsets.T, 0.04 * np.eye(18), atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_right_after_a_round_of_directions(seed):
    """Before faces of the cube are reached, where samples are cut off; with less than a round it is not."""
    n = 40
    slope = np.linspace(-1, 1, n)
    p = subspace(n, seed)
    run(p, lambda u: u @ slope, 2 * n)
    assert p.g @ slope / np.linalg.norm(p.g) / np.linalg.norm(slope) > 0.9


def test_the_active_directions_are_orthonormal_and_steep():
    n = 60
    p = subspace(n)
    run(p, few, 1200)
    np.testing.assert_allclose(p.V.T @ p.V, np.eye(p.V.shape[1]), atol=1e-10)
    steepest = rotation(n)[:, 3]
    assert np.linalg.norm(p.V.T @ steepest) > 0.9


def test_all_dimensions_in_the_end():
    p = subspace(12)
    run(p, lambda u: np.sum((u - 0.2) ** 2, axis=1), 3000)
    assert p.best_y < 1e-12


def test_failed_samples_are_left_out_and_a_failed_batch_teaches_nothing():
    coin = np.random.default_rng(1)

    def often(u):
        y = np.sum((u - 0.5) ** 2, axis=1)
        y[coin.random(len(y)) < 0.3] = np.nan
        return y

    p = subspace(8)
    while p.used == 0:
        u = p.propose()
        y = often(u)
        y[0] = np.sum((u[0] - 0.5) ** 2)
        p.learn(u, y)
    run(p, often, 4000)
    assert p.best_y < 1e-6
    u = p.propose()
    p.learn(u, np.full(len(u), np.nan))
    assert np.isfinite(p.g).all()


def test_values_that_fall_beyond_comparison():
    """What was learned from huge values is forgotten; it would be infinite in units of the small ones."""
    p = subspace(8)
    for scale in (1e300, 1e300, 1e-300, 1e-300, 1e-300):
        u = p.propose()
        p.learn(u, scale * np.sum((u - 0.5) ** 2, axis=1))
        assert np.isfinite(p.g).all()
        assert np.isfinite(p.H).all()
        p.best_y *= 1e-300 if scale == 1e300 else 1
