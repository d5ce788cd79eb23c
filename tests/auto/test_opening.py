"""The first descent in few dimensions: quasi-Newton steps and a trust region."""

import numpy as np
import pytest
from tests.search.driver import ellipsoid, rotated_rastrigin, rotation

from eglearn.auto.lanes import Role
from eglearn.auto.loop import Loop
from eglearn.auto.plan import plan
from eglearn.search.base import Reason
from eglearn.search.quasi_newton import QuasiNewton
from eglearn.search.trust_region import TrustRegion


def begun(n, width=1, m=None, per_n=200):
    return Loop.begun(np.random.default_rng(0), np.full(n, -0.3), plan(n, per_n * n, m, width), per_n * n, width)


def advance(loop, fun, evaluations):
    end = loop.used + evaluations
    while loop.used < end:
        u = loop.propose()
        loop.learn(u, fun(u))


def sphere(u):
    return np.sum((u - 0.2) ** 2, axis=1)


@pytest.mark.parametrize(("n", "width", "m"), [(12, 1, None), (20, 2, None), (20, 1, 5)])
def test_a_trust_region_opens_where_a_quadratic_costs_little_and_where_batches_are_asked_for(n, width, m):
    assert isinstance(begun(n, width, m).search, TrustRegion)


def test_a_budget_that_pays_for_few_gradients_is_left_to_the_trust_region():
    assert isinstance(begun(20, per_n=4).search, TrustRegion)
    assert isinstance(begun(20, per_n=5).search, QuasiNewton)


def test_the_trust_region_takes_over_the_curvature(monkeypatch):
    monkeypatch.setattr("eglearn.auto.plan.QUADRATIC", 5)  # in few dimensions all of the curvature is soon known
    loop = begun(8)
    first = loop.search
    assert isinstance(first, QuasiNewton)
    while loop.search is first:
        advance(loop, ellipsoid, 1)
    trust = loop.search
    assert first.done is Reason.CONVERGED
    assert isinstance(trust, TrustRegion)
    assert loop.lane.role is Role.FIRST
    H = trust.model.H * 2.0**trust.model.exponent
    unit = 0.1 * np.eye(8)
    both = ellipsoid((unit[:, None] + unit[None]).reshape(-1, 8)).reshape(8, 8)
    single, none = ellipsoid(unit), ellipsoid(np.zeros((1, 8)))[0]
    np.testing.assert_allclose(H, (both - single[:, None] - single[None] + none) / 0.01, atol=0.3 * np.abs(H).max())
    assert np.linalg.eigvalsh(trust.A).min() < 0.1  # in the metric of that curvature
    np.testing.assert_array_equal(trust.best_u, first.best_u)
    assert trust.predictable  # the steps have shown that


def mild(u):
    """Condition 5, rotated."""
    n = u.shape[1]
    return np.sum(((u - 0.2) @ rotation(n)) ** 2 * np.linspace(1, 5, n), axis=1)


def kinds_until(fun, n, evaluations, solved=0.0):
    """The kinds of the first descent's searches, each with the evaluations before it began."""
    loop = begun(n)
    kinds = [(type(loop.search), 0)]
    while loop.used < evaluations and loop.lane.role is Role.FIRST and not loop.board.best_y < solved:
        advance(loop, fun, 1)
        if type(loop.search) is not kinds[-1][0] and loop.lane.role is Role.FIRST:
            kinds.append((type(loop.search), loop.used))
    return kinds, loop


@pytest.mark.parametrize("n", [3, 6, 12])
def test_a_trust_region_whose_predictions_come_true_stays(n):
    kinds, loop = kinds_until(mild, n, 100 * n, solved=1e-8)
    assert [kind for kind, _ in kinds] == [TrustRegion]
    assert loop.board.best_y < 1e-8


@pytest.mark.parametrize("n", [5, 10])
def test_quasi_newton_steps_take_the_place_of_a_trust_region_that_predicts_badly(n, monkeypatch):
    kinds, loop = kinds_until(ellipsoid, n, 25 * n)
    assert [kind for kind, _ in kinds[:2]] == [TrustRegion, QuasiNewton]
    assert 3 * n <= kinds[1][1] <= 10 * n
    monkeypatch.setattr("eglearn.auto.plan.PREDICTS", 100.0)  # too late for the trust region to be replaced
    kinds, alone = kinds_until(ellipsoid, n, 25 * n)
    assert [kind for kind, _ in kinds] == [TrustRegion]
    assert loop.board.best_y < 1e-3 * alone.board.best_y


@pytest.mark.parametrize("n", [3, 6, 9])
def test_noise_costs_four_differences_and_the_same_trust_region_goes_on(n):
    rng, loop = np.random.default_rng(1), begun(n)
    trust, taken = loop.search, 0
    while not (taken and loop.search is trust):
        advance(loop, lambda u: sphere(u) + 0.1 * rng.standard_normal(len(u)), 1)
        taken += isinstance(loop.search, QuasiNewton)
    assert taken == min(4, n)
    assert trust.used <= 30 * n
    assert trust.best_y == loop.board.best_y


def test_a_trust_region_that_has_ended_is_not_replaced():
    for done, kind in ((Reason.FLAT, TrustRegion), (None, QuasiNewton)):
        loop = begun(6)
        advance(loop, sphere, 3 * 6)
        loop.search.kept, loop.search.done = [False] * 20, done
        loop.lane.learned(loop.board)
        assert isinstance(loop.search, kind)


def test_quasi_newton_steps_come_once():
    """The trust region after them is not judged again, whatever it predicts."""
    kinds, _ = kinds_until(rotated_rastrigin, 8, 100 * 8)
    assert [kind for kind, _ in kinds] == [TrustRegion, QuasiNewton, TrustRegion]


def test_after_ripples_the_trust_region_looks_as_far_as_ever():
    loop = begun(14)
    advance(loop, rotated_rastrigin, 130)
    assert isinstance(loop.search, TrustRegion)
    assert loop.search.used > 14
    assert not loop.search.earned
    assert not loop.search.smooth


def test_many_known_points_are_samples_few_are_a_start():
    for known, kind in ((30, TrustRegion), (3, QuasiNewton)):
        loop = begun(14)
        u = np.random.default_rng(1).uniform(-1, 1, (known, 14))
        loop.hear(u, sphere(u))
        assert isinstance(loop.search, kind)
        assert loop.search.best_y == sphere(u).min()
        advance(loop, sphere, 40)
        assert loop.board.best_y < 1e-6
