import numpy as np
import pytest
from tests.search.driver import continues_exactly, rosenbrock, rotated_rastrigin, rotation, run

from eglearn.auto.race import Race
from eglearn.search import ActiveSubspace, DiagonalES
from eglearn.search.active_subspace import directions_in

STEEP = rotation(128)[:3]


def few(u):
    """Three directions out of 128 are a thousand times as curved as the others."""
    return 1e3 * np.sum((u @ STEEP.T - 0.3) ** 2, axis=1) + np.sum((u - 0.1) ** 2, axis=1)


def slopes(n=128, seed=0):
    return ActiveSubspace(np.random.default_rng(seed), np.full(n, -0.2), 0.4)


def test_few_steep_directions_are_found():
    for seed in range(5):
        p = slopes(seed=seed)
        run(p, few)
        assert (p.done, p.used) == ("few", 4 * 129)
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
        p = slopes(seed=seed)
        run(p, fun)
        assert p.done == "many"
        assert p.directions.shape == (128, 0)
    assert p.used == 4 * (1 + 32)


def test_the_way_down_is_no_direction_to_shorten():
    """A steep slope is common to all gradients; what differs is spread evenly."""
    p = slopes()
    run(p, lambda u: 1e3 * (u @ STEEP[0]) + np.sum(u**2, axis=1))
    assert p.done == "many"


@pytest.mark.parametrize("scale", [1e306, 1e-300])
def test_values_of_any_size_tell_the_same(scale):
    p, q = slopes(), slopes()
    run(p, few)
    run(q, lambda u: scale * 1e-3 * few(u))
    assert q.done == "few"
    np.testing.assert_allclose(q.shortening, p.shortening, rtol=1e-6)


def test_failed_neighbours_are_left_out_and_failed_points_end_it():
    p = slopes()
    rng = np.random.default_rng(1)

    def sometimes(u):
        y = few(u)
        y[4:][rng.random(len(y) - 4) < 0.05] = np.nan
        return y

    run(p, sometimes)
    assert p.done == "few"
    p = slopes()
    run(p, lambda u: np.where(np.arange(len(u)) == 1, np.nan, few(u)))
    assert p.done == "many"


def test_samples_stay_in_the_cube():
    p = ActiveSubspace(np.random.default_rng(0), np.full(64, 0.99), 0.4)
    for u in run(p, lambda u: np.sum(u[:, :2] ** 2, axis=1)):
        assert (np.abs(u) <= 1).all()


def test_a_batch_that_the_budget_cuts_short_is_no_error():
    p = slopes()
    u = p.propose()[:50]
    p.learn(u, few(u))
    assert p.done is None


def test_it_goes_on_exactly():
    assert continues_exactly(slopes, few, [0, 100, 300], more=600)


def test_large_batches_come_in_parts(monkeypatch):
    whole, parts = slopes(), slopes()
    run(whole, few)
    monkeypatch.setattr("eglearn.search.active_subspace.NUMBERS", 128 * 10)
    sizes = [len(u) for u in run(parts, few)]
    assert max(sizes) == 14
    np.testing.assert_allclose(parts.directions, whole.directions, atol=1e-6)  # sums are rounded by batch
    assert (parts.done, parts.used) == (whole.done, whole.used)
    assert continues_exactly(slopes, few, [0, 50, 200], more=300)


def test_directions_are_counted():
    rng = np.random.default_rng(0)
    for d in (5, 10, 20):  # of six gradients, four directions at the least can be told
        counts = [directions_in(rng.standard_normal((6, d)) @ rng.standard_normal((d, 400))) for _ in range(20)]
        assert np.median(counts) == pytest.approx(d, rel=0.35)
    assert directions_in(np.ones((4, 30))) == 30


def test_an_evolution_is_shorter_along_given_directions():
    V = STEEP.T
    p = DiagonalES(np.random.default_rng(0), np.zeros(128), 0.01, 2000, directions=V, shortening=0.1)
    u = p.propose() / 0.01
    assert np.std(u @ V) == pytest.approx(0.1, rel=0.05)
    assert np.std(u @ rotation(128)[3:].T) == pytest.approx(1, rel=0.05)
    p.learn(0.01 * u, p.rng.standard_normal(2000))  # by chance the mean moves alike in all directions
    assert np.std(p.mean @ V) < 0.3 * np.std(p.mean @ rotation(128)[3:].T)


def test_an_evolution_with_the_directions_gets_lower():
    """Both with as many evaluations, those for the directions included."""
    found = slopes()
    run(found, few)
    with_them = DiagonalES(
        np.random.default_rng(0), np.full(128, -0.2), directions=found.directions, shortening=found.shortening
    )
    run(with_them, few, 8000 - found.used)
    without = DiagonalES(np.random.default_rng(0), np.full(128, -0.2))
    run(without, few, 8000)
    assert with_them.best_y < 0.5 * without.best_y


def test_the_race_looks_for_few_directions_if_the_budget_allows_for_it():
    for budget, first in ((None, ActiveSubspace), (16 * 128, ActiveSubspace), (16 * 128 - 1, DiagonalES)):
        r = Race(np.random.default_rng(0), np.full(128, -0.2), budget=budget)
        assert type(r.passes[1]) is first
    r = Race(np.random.default_rng(0), np.full(128, -0.2), budget=6000)
    run(r, few, 3000)
    assert isinstance(r.passes[1], DiagonalES)
    assert r.passes[1].directions.shape[1] >= 3
    assert r.passes[1].shortening < 0.5
    first = r.passes[1]
    first.done = "stagnant"
    again = r._next_evolution(first)
    np.testing.assert_array_equal(again.directions, first.directions)


def test_the_search_for_directions_is_no_turn_of_the_evolution():
    """Its values, around random points, tell nothing about what the evolution will reach."""
    r = Race(np.random.default_rng(0), np.full(128, -0.2), budget=6000)
    while not isinstance(r.passes[1], DiagonalES):
        u = r.propose()
        r.learn(u, few(u))
    assert (r.turn, r.turn_used, r.lowest) == (1, 0, np.inf)
    assert r.born == r.used
