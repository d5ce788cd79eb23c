"""Gaussian continuation: above ripples, among funnels, under noise and penalties, as its plan says."""

import numpy as np
import pytest
from tests.search.driver import run

from eglearn.search.continuation import GaussianContinuation, GaussianContinuationSettings, Phase
from eglearn.search.trust_region import TrustRegion

N = 10
CENTRE = np.linspace(-0.3, 0.4, N)
ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))[0]


def rastrigin(u):
    """Rotated, with some hundred thousand minima in the cube."""
    x = 5 * (u - CENTRE) @ ROTATION
    return np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x)), axis=1)


def begin(seed=0, start=None, budget=15_000, **settings):
    start = np.full(N, 0.5) if start is None else start
    return GaussianContinuation(
        np.random.default_rng(seed), start, GaussianContinuationSettings(**settings), budget=budget
    )


def test_ripples_do_not_hold_it():
    gaps = []
    for seed in range(4):
        search = begin(seed)
        run(search, rastrigin, 15_000)
        gaps.append(search.best_y)
    descent = TrustRegion(np.random.default_rng(0), np.full(N, 0.5))
    run(descent, rastrigin, 15_000)
    assert sorted(gaps)[1] < 1e-8
    assert max(gaps) < 4 < 20 < descent.best_y


def test_the_radius_falls_geometrically_over_the_plan():
    search = begin(budget=10_000, radius=0.3, last=0.03, per_n=2_000)
    assert search.radius == 0.3
    middle = (10_000 - 1_300) / 2
    run(search, rastrigin, int(middle))
    assert search.radius == pytest.approx(0.3 * 10**-0.5, rel=0.05)
    assert search.descent is None
    run(search, rastrigin, 10_000)
    assert search.descent is not None
    assert search.descent.settings.radius == pytest.approx(0.03, rel=0.05)
    assert search.used <= 10_000


def test_more_evaluations_slow_it_down():
    one, other = begin(budget=5_000), begin(budget=5_000)
    run(one, rastrigin, 2_000)
    other.extend(20_000)
    run(other, rastrigin, 2_000)
    assert other.radius > 1.5 * one.radius


def test_penalties_do_not_move_the_centre():
    def fenced(u):
        return rastrigin(u) + 1e9 * (u[:, 0] > CENTRE[0] + 0.25)

    search = begin(start=CENTRE - 0.3)
    run(search, fenced, 15_000)
    assert search.best_y < 10


def test_noise_is_averaged_out():
    noise = np.random.default_rng(1)
    search = begin(budget=6_000, polish=0.0, last=0.1)
    run(search, lambda u: np.sum((u - CENTRE) ** 2, axis=1) + 0.3 * noise.standard_normal(len(u)), 5_900)
    np.testing.assert_allclose(search.favorite_u, CENTRE, atol=0.1)


def test_failures_are_bad_values():
    def failing(u):
        return np.where(u[:, 1] > CENTRE[1] + 0.1, np.nan, rastrigin(u))

    search = begin(start=CENTRE - 0.2)
    run(search, failing, 15_000)
    assert search.best_y < 10


def test_the_deeper_funnel_is_found():
    """The wide funnel, in which the search begins, is 20 worse at its bottom, beneath ripples of 20 per coordinate."""
    narrow, wide = np.full(N, 0.45), np.full(N, -0.5)

    def funnels(u):
        x, w = 5 * (u - narrow), 5 * (u - wide)
        ripple = 10 * np.sum(1 - np.cos(2 * np.pi * x @ ROTATION), axis=1)
        return np.minimum(np.sum(x**2, axis=1), 20 + 0.8 * np.sum(w**2, axis=1)) + ripple

    search = begin(start=wide + 0.2, budget=20_000)
    alone = begin(start=wide + 0.2, budget=20_000, per_n=5_000)
    run(search, funnels, 20_000)
    run(alone, funnels, 20_000)
    assert search.phase is Phase.DEEPER
    np.testing.assert_allclose(search.best_u, narrow, atol=0.25)
    assert search.best_y < 10 < 15 < alone.best_y


def test_one_funnel_is_recognised():
    search = begin(budget=20_000)
    run(search, lambda u: np.sum((u - CENTRE) ** 2, axis=1), 20_000 // 6 + 1_500)
    assert search.phase is Phase.DEEPER
    assert search.begun < 1.5 * 20_000 / 6


def test_it_tells_how_much_it_explains():
    smooth, rough = begin(), begin()
    run(smooth, lambda u: u @ np.arange(N), 1_000)
    run(rough, lambda u: np.cos(1e5 * u.sum(axis=1)), 1_000)
    assert smooth.progress()["explained"] > 0.9 > 0.1 > rough.progress()["explained"]


def test_many_dimensions_cost_little():
    n = 300
    search = GaussianContinuation(np.random.default_rng(0), np.full(n, 0.5), budget=20_000)
    run(search, lambda u: np.sum((u - 0.1) ** 2, axis=1), 10_000)
    assert search.u.size <= 1_000_000
    assert np.sum((search.favorite_u - 0.1) ** 2) < 0.05 * n * 0.16
