import numpy as np
import pytest
from tests.search.driver import ellipsoid, rosenbrock, run

from eglearn.search.base import Reason
from eglearn.search.trust_region import TrustRegion, TrustRegionSettings


def descent(n, seed=0, **changes):
    return TrustRegion(np.random.default_rng(seed), np.full(n, -0.3), TrustRegionSettings(**changes))


@pytest.mark.parametrize("fun", [rosenbrock, ellipsoid])
def test_curved_valleys_and_bad_conditions_are_no_obstacle(fun):
    for seed in range(3):
        p = descent(10, seed)
        run(p, fun, 3980)
        assert p.best_y < 1e-8
        assert fun(p.best_u[None])[0] == pytest.approx(p.best_y, rel=1e-6, abs=1e-20)


def test_the_batch_is_candidate_and_samples_at_the_radius():
    p = descent(6, m=5)
    first, *rest = run(p, lambda u: np.sum(u**2, axis=1), 30)
    assert first.shape == (7, 6)
    np.testing.assert_array_equal(first[0], np.full(6, -0.3))
    offsets = first[1:] - first[0]
    np.testing.assert_allclose(offsets @ offsets.T, 0.04 * np.eye(6), atol=1e-15)
    assert {b.shape for b in rest} == {(5, 6)}


def test_the_metric_is_earned():
    """At first only the steepest direction is shortened, later most of them."""
    p = descent(10)
    ratios = []
    for limit in (40, 400):
        run(p, ellipsoid, limit)
        lengths = np.linalg.eigvalsh(p.A)
        ratios.append(np.sum(lengths < 0.99))
        np.testing.assert_allclose(p.A @ p.inverse, np.eye(10), atol=1e-6)
    assert ratios[0] <= 3
    assert ratios[1] >= 5


def test_minimum_in_a_corner_and_on_a_face():
    p = descent(5)
    run(p, lambda u: u @ np.arange(1.0, 6.0), 300)
    np.testing.assert_array_equal(p.best_u, -np.ones(5))
    aim = np.array([1.4, 0.3, -0.2, -1.5, 0.1])
    p = descent(5)
    run(p, lambda u: np.sum((u - aim) ** 2, axis=1))
    assert p.done is Reason.CONVERGED
    np.testing.assert_allclose(p.best_u, np.clip(aim, -1, 1), atol=1e-6)


def test_a_failed_candidate_is_a_bad_step_and_a_failed_sample_is_left_out():
    p = descent(4)
    fun = lambda u: np.sum(u**2, axis=1)  # noqa: E731
    run(p, fun, 1)
    u = p.propose()
    y = fun(u)
    y[[0, 2]] = np.nan
    known, delta = len(p.y), p.delta
    p.learn(u, y)
    assert p.delta == delta / 2
    assert len(p.y) == known + len(u) - 2
    u = p.propose()
    p.learn(u, np.full(len(u), np.nan))
    assert p.done is None
    run(p, fun)
    assert p.best_y < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_steps_along_faces_stay_in_the_trust_region(seed):
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((3, 3)))[0] * np.sqrt([1.0, 1e3, 1e5])
    p = descent(3, seed)
    while p.done is None and p.used < 600:
        u = p.propose()
        assert p.reach <= 1 + 1e-9
        p.learn(u, np.sum(((u - [1.5, -1.2, 0.3]) @ q) ** 2, axis=1))


def test_in_one_dimension_no_point_is_evaluated_twice():
    places = np.concatenate(run(descent(1), lambda u: np.cosh(u[:, 0] - 0.4), 60)).ravel()
    assert len(np.unique(places)) == len(places)
