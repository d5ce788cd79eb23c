import numpy as np
import pytest
from tests.search.driver import centre, continues_exactly, rastrigin, rotated_rastrigin, run

from eglearn.search import CoordinateSearch


def axes(fun, start, seed=0):
    return CoordinateSearch(np.random.default_rng(seed), start, float(fun(start[None])[0]))


def test_a_separable_function_with_many_minima_is_solved():
    start = np.full(10, 0.37)
    p = axes(rastrigin, start)
    run(p, rastrigin)
    assert p.done == "separable"
    assert p.ratio == pytest.approx(1)
    assert p.used <= 1010
    np.testing.assert_allclose(p.best_u, centre(10), atol=0.01)  # in the right basin of all coordinates


def test_a_rotated_one_is_given_up_early():
    given_up = 0
    for seed in range(5):
        start = np.random.default_rng(seed).uniform(-0.5, 0.5, 10)
        p = axes(rotated_rastrigin, start)
        run(p, rotated_rastrigin)
        given_up += p.done == "not separable" and p.used <= 111
    assert given_up >= 4


def test_a_start_better_than_the_grid_is_no_reason_to_give_up():
    """In a local minimum near the best, none of ten points along a coordinate is better."""
    start = centre(10).copy()
    start[0] += 0.2
    start[2] -= 0.2
    p = axes(rastrigin, start)
    batch = p.propose()
    assert (rastrigin(batch) > rastrigin(start[None])).all()
    p.learn(batch, rastrigin(batch))
    assert p.testing
    run(p, rastrigin)
    assert p.done == "separable"
    np.testing.assert_allclose(p.best_u, centre(10), atol=0.01)
    c = centre(10)
    p = axes(rotated_rastrigin, c)
    run(p, rotated_rastrigin)
    assert (p.done, p.used) == ("not separable", 101)


def pairs(u):
    """Tilted double wells, in which each coordinate meets its neighbour: moved together, they disturb one another."""
    wells = np.sum((4 * u**2 - 1) ** 2 + 0.3 * u, axis=1)
    return wells + 3 * np.sum((u[:, ::2] + 0.5) * (u[:, 1::2] - 0.5), axis=1)


def test_interacting_neighbours_are_moved_one_at_a_time():
    start = np.full(10, 0.5)
    p = axes(pairs, start)
    u = p.propose()
    p.learn(u, pairs(u))
    together = pairs(p.propose())[0]
    run(p, pairs, 101)
    assert p.waiting
    while p.waiting:
        u = p.propose()
        assert len(u) == 1
        p.learn(u, pairs(u))
    assert p.moved_y == pairs(p.moved[None])[0] < together
    assert p.ratio >= 0.5
    assert p.done is None
    run(p, pairs)
    assert p.best_y < -2


def test_moves_that_do_not_repeat_end_the_pass():
    """Values that are never seen again: no coordinate's move helps, and the test is not begun anew."""
    rng = np.random.default_rng(0)
    p = CoordinateSearch(rng, np.zeros(6), 0.0)
    u = p.propose()
    p.learn(u, rng.uniform(-2, -1, len(u)))
    while p.done is None:
        assert p.used <= 70
        u = p.propose()
        p.learn(u, np.full(len(u), np.nan if p.used % 2 else 5.0))
    assert p.done == "not separable"


def test_a_trusted_start_that_is_the_best_is_searched_further():
    c = centre(4)
    p = axes(rotated_rastrigin, c)
    run(p, rotated_rastrigin)
    assert p.done == "not separable"
    p = CoordinateSearch(np.random.default_rng(0), c, float(rotated_rastrigin(c[None])[0]), trusted=True)
    run(p, rotated_rastrigin)
    assert (p.done, p.points.shape[1]) == ("separable", 101)


def test_points_differ_from_the_centre_in_one_coordinate():
    start = np.linspace(-1, 1, 5)
    p = axes(rastrigin, start)
    for u in run(p, rastrigin):
        moved = np.sum(u != start, axis=1)
        assert len(u) == 1 or (moved <= 1).all()
    assert p.points.shape == p.values.shape == (5, 101)
    assert (np.diff(p.points, axis=1) >= 0).all()
    for j in range(5):
        u = np.tile(start, (101, 1))
        u[:, j] = p.points[j]
        np.testing.assert_array_equal(rastrigin(u), p.values[j])


@pytest.mark.parametrize("level", [0.0, 1e308, -1e308, 5e-324])
def test_constant_values(level):
    p = axes(lambda u: np.full(len(u), level), np.zeros(3))
    run(p, lambda u: np.full(len(u), level))
    assert p.done == "not separable"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_dimensions_have_batches_of_at_least_four(n):
    p = axes(rastrigin, np.full(n, 0.9))
    batches = run(p, rastrigin)
    assert p.done == "separable"
    assert p.points.shape[1] == 101
    assert sum(4 > len(u) > 1 for u in batches) <= 1
    assert sum(len(u) == 1 for u in batches) <= 6


def test_huge_values_and_failures():
    def fun(u):
        y = np.sign(u[:, 0]) * 1.7e308
        y[::3] = np.nan
        return y

    p = CoordinateSearch(np.random.default_rng(0), np.full(4, 0.5), 1.7e308)
    run(p, fun)
    assert p.done is not None
    assert p.best_y == -1.7e308
    p = CoordinateSearch(np.random.default_rng(0), np.full(4, 0.5), 1.0)
    u = p.propose()
    p.learn(u, np.full(len(u), np.nan))
    assert p.done == "failed"


def test_profiles_of_many_coordinates_come_in_parts(monkeypatch):
    def points():
        p = CoordinateSearch(np.random.default_rng(0), np.full(7, -0.3), float(rastrigin(np.full((1, 7), -0.3))[0]))
        batches = run(p, rastrigin, 3000)
        assert p.done == "separable"
        return [len(u) for u in batches], np.concatenate(batches)

    sizes, whole = points()
    assert max(sizes) > 50
    monkeypatch.setattr("eglearn.search.coordinate_search.NUMBERS", 7 * 11)
    sizes, parts = points()
    assert max(sizes) == 11
    np.testing.assert_array_equal(parts, whole)


def test_resume():
    start = np.full(4, 0.37)
    assert continues_exactly(lambda: axes(rastrigin, start), rastrigin, (1, 40, 41, 130, 300))
    assert continues_exactly(lambda: axes(pairs, start), pairs, (1, 40, 41, 42, 43, 130, 300))
