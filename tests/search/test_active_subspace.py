import numpy as np
import pytest
from tests.search.driver import continues_exactly, rosenbrock, rotated_rastrigin, rotation, run

from eglearn.search.active_subspace import ActiveSubspace, directions_in
from eglearn.search.base import Reason
from eglearn.search.diagonal_es import DiagonalES, DiagonalESSettings

STEEP = rotation(128)[:3]


def few(u):
    """Three directions out of 128 are a thousand times as curved as the others."""
    return 1e3 * np.sum((u @ STEEP.T - 0.3) ** 2, axis=1) + np.sum((u - 0.1) ** 2, axis=1)


def probe(n=128, seed=0):
    return ActiveSubspace(np.random.default_rng(seed), np.full(n, -0.2))


def test_few_steep_directions_are_found():
    for seed in range(5):
        p = probe(seed=seed)
        run(p, few)
        assert (p.done, p.used) == (Reason.FEW_DIRECTIONS, 4 * 129)
        found = p.directions
        np.testing.assert_allclose(found.T @ found, np.eye(found.shape[1]), atol=1e-12)
        assert (np.linalg.norm(STEEP @ found, axis=1) > 0.99).all()
        # Curvatures of 1,000 and 1: a root of 32 for directions that are known exactly, less for evenly spread ones.
        assert (1 / 1000) ** 0.5 < p.shortening < 0.5


@pytest.mark.parametrize(
    "fun", [rosenbrock, rotated_rastrigin, lambda u: np.sum(u**2, axis=1), lambda u: u.sum(axis=1)]
)
def test_where_all_directions_matter_that_is_cheap_to_find_out(fun):
    for seed in range(5):
        p = probe(seed=seed)
        run(p, fun)
        assert p.done is Reason.MANY_DIRECTIONS
        assert p.directions.shape == (128, 0)
    assert p.used == 4 * (1 + 32)


def test_the_way_down_is_no_direction_to_shorten():
    """A steep slope is common to all gradients; what differs is spread evenly."""
    p = probe()
    run(p, lambda u: 1e3 * (u @ STEEP[0]) + np.sum(u**2, axis=1))
    assert p.done is Reason.MANY_DIRECTIONS


def test_failed_neighbours_are_left_out_and_failed_points_end_it():
    p = probe()
    rng = np.random.default_rng(1)

    def sometimes(u):
        y = few(u)
        y[4:][rng.random(len(y) - 4) < 0.05] = np.nan
        return y

    run(p, sometimes)
    assert p.done is Reason.FEW_DIRECTIONS
    p = probe()
    run(p, lambda u: np.where(np.arange(len(u)) == 1, np.nan, few(u)))
    assert p.done is Reason.MANY_DIRECTIONS


def test_large_batches_come_in_parts(monkeypatch):
    whole, parts = probe(), probe()
    run(whole, few)
    monkeypatch.setattr("eglearn.search.active_subspace.BATCH_NUMBERS", 128 * 10)
    sizes = [len(u) for u in run(parts, few)]
    assert max(sizes) == 14
    np.testing.assert_allclose(parts.directions, whole.directions, atol=1e-6)  # sums are rounded by batch
    assert (parts.done, parts.used) == (whole.done, whole.used)
    assert continues_exactly(probe, few, [0, 50, 200], more=300)


def test_directions_are_counted():
    rng = np.random.default_rng(0)
    for d in (5, 10, 20):  # of six gradients, four directions at the least can be told
        counts = [directions_in(rng.standard_normal((6, d)) @ rng.standard_normal((d, 400))) for _ in range(20)]
        assert np.median(counts) == pytest.approx(d, rel=0.35)
    assert directions_in(np.ones((4, 30))) == 30


def test_an_evolution_is_shorter_along_given_directions():
    V, settings = STEEP.T, DiagonalESSettings(sigma=0.01, size=2000)
    p = DiagonalES(np.random.default_rng(0), np.zeros(128), settings)
    p.shorten(V, 0.1)
    u = p.propose() / 0.01
    assert np.std(u @ V) == pytest.approx(0.1, rel=0.05)
    assert np.std(u @ rotation(128)[3:].T) == pytest.approx(1, rel=0.05)
    p.learn(0.01 * u, p.rng.standard_normal(2000))  # by chance the mean moves alike in all directions
    assert np.std(p.mean @ V) < 0.3 * np.std(p.mean @ rotation(128)[3:].T)


def test_an_evolution_with_the_directions_gets_lower():
    """Both with as many evaluations, those for the directions included."""
    found = probe()
    run(found, few)
    with_them = DiagonalES(np.random.default_rng(0), np.full(128, -0.2))
    with_them.shorten(found.directions, found.shortening)
    run(with_them, few, 8000 - found.used)
    without = DiagonalES(np.random.default_rng(0), np.full(128, -0.2))
    run(without, few, 8000)
    assert with_them.best_y < 0.5 * without.best_y
