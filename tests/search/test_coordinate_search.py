import numpy as np
import pytest
from tests.search.driver import centre, continues_exactly, rastrigin, rotated_rastrigin, run

from eglearn.learning.values import ENTERS
from eglearn.search.base import Reason
from eglearn.search.coordinate_search import CoordinateSearch, CoordinateSearchSettings


def lines(fun, start, **changes):
    settings = CoordinateSearchSettings(**changes)
    return CoordinateSearch(np.random.default_rng(0), start, settings, value=float(fun(start[None])[0]))


def test_a_separable_function_with_many_minima_is_solved():
    start = np.full(10, 0.37)
    p = lines(rastrigin, start)
    run(p, rastrigin)
    assert p.done is Reason.SEPARABLE
    assert p.ratio == pytest.approx(1)
    assert p.used <= 1010
    np.testing.assert_allclose(p.best_u, centre(10), atol=0.01)  # in the right basin of all coordinates


def test_a_rotated_one_is_given_up_early():
    given_up = 0
    for seed in range(5):
        start = np.random.default_rng(seed).uniform(-0.5, 0.5, 10)
        p = lines(rotated_rastrigin, start)
        run(p, rotated_rastrigin)
        given_up += p.done is Reason.NOT_SEPARABLE and p.used <= 111
    assert given_up >= 4


def test_a_start_better_than_the_grid_is_no_reason_to_give_up():
    """In a local minimum near the best, none of ten points along a coordinate is better."""
    start = centre(10).copy()
    start[0] += 0.2
    start[2] -= 0.2
    p = lines(rastrigin, start)
    batch = p.propose()
    assert (rastrigin(batch) > rastrigin(start[None])).all()
    p.learn(batch, rastrigin(batch))
    assert p.testing
    run(p, rastrigin)
    assert p.done is Reason.SEPARABLE
    np.testing.assert_allclose(p.best_u, centre(10), atol=0.01)
    c = centre(10)
    p = lines(rotated_rastrigin, c)
    run(p, rotated_rastrigin)
    assert (p.done, p.used) == (Reason.NOT_SEPARABLE, 101)


def test_a_gain_of_next_to_nothing_is_not_followed_up():
    """The start is the minimum of a sum, but for one point of each coordinate's grid that is a little lower."""
    start = centre(10)
    grid = lines(rastrigin, start).propose().reshape(10, 10, 10)
    other = np.array([grid[..., i][grid[..., i] != start[i]][0] for i in range(10)])

    def bowl(u):
        return np.sum(np.where(u == other, -1e-5, np.abs(u - start)), axis=1)

    p = lines(bowl, start)
    run(p, bowl)
    assert (p.done, p.used) == (Reason.NOT_SEPARABLE, 101)
    assert p.ratio == pytest.approx(1)
    p = lines(bowl, start, worth=1e-9)
    run(p, bowl)
    assert p.done is Reason.SEPARABLE


def pairs(u):
    """Tilted double wells, in which each coordinate meets its neighbour: moved together, they disturb one another."""
    wells = np.sum((4 * u**2 - 1) ** 2 + 0.3 * u, axis=1)
    return wells + 3 * np.sum((u[:, ::2] + 0.5) * (u[:, 1::2] - 0.5), axis=1)


def test_interacting_neighbours_are_moved_one_at_a_time():
    start = np.full(10, 0.5)
    p = lines(pairs, start)
    u = p.propose()
    p.learn(u, pairs(u))
    u = p.propose()
    together = pairs(u)[0]
    p.learn(u, pairs(u))
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


def test_moves_that_do_not_repeat_end_the_search():
    """Values that are never seen again: no coordinate's move helps, and the test is not begun anew."""
    rng = np.random.default_rng(0)
    p = CoordinateSearch(rng, np.zeros(6), value=0.0)
    u = p.propose()
    p.learn(u, rng.uniform(-2, -1, len(u)))
    while p.done is None:
        assert p.used <= 70
        u = p.propose()
        p.learn(u, np.full(len(u), np.nan if p.used % 2 else 5.0))
    assert p.done is Reason.NOT_SEPARABLE


def test_a_trusted_start_that_is_the_best_is_searched_further():
    c = centre(4)
    p = lines(rotated_rastrigin, c)
    run(p, rotated_rastrigin)
    assert p.done is Reason.NOT_SEPARABLE
    p = lines(rotated_rastrigin, c, trusted=True)
    run(p, rotated_rastrigin)
    assert (p.done, p.points.shape[1]) == (Reason.SEPARABLE, 101)


def test_points_differ_from_the_centre_in_one_coordinate():
    start = np.linspace(-1, 1, 5)
    p = lines(rastrigin, start)
    for u in run(p, rastrigin):
        moved = np.sum(u != start, axis=1)
        assert len(u) == 1 or (moved <= 1).all()
    assert p.points.shape == p.values.shape == (5, 101)
    assert (np.diff(p.points, axis=1) >= 0).all()
    for j in range(5):
        u = np.tile(start, (101, 1))
        u[:, j] = p.points[j]
        np.testing.assert_array_equal(rastrigin(u), p.values[j])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_dimensions_have_batches_of_at_least_four(n):
    p = lines(rastrigin, np.full(n, 0.9))
    batches = run(p, rastrigin)
    assert p.done is Reason.SEPARABLE
    assert p.points.shape[1] == 101
    assert sum(4 > len(u) > 1 for u in batches) <= 1
    assert sum(len(u) == 1 for u in batches) <= 6


def test_huge_values_and_failures():
    def fun(u):
        y = ENTERS * np.sign(u[:, 0]) * 1.7e308
        y[::3] = np.nan
        return y

    p = CoordinateSearch(np.random.default_rng(0), np.full(4, 0.5), value=ENTERS * 1.7e308)
    run(p, fun)
    assert p.done is not None
    assert p.best_y == -ENTERS * 1.7e308


def test_a_grid_that_fails_as_a_whole_ends_the_search():
    p = lines(rastrigin, np.full(4, 0.5))
    u = p.propose()
    p.learn(u, np.full(len(u), np.nan))
    assert p.done is Reason.FAILED


def test_profiles_of_many_coordinates_come_in_parts(monkeypatch):
    def points():
        p = lines(rastrigin, np.full(7, -0.3))
        batches = run(p, rastrigin, 3000)
        assert p.done is Reason.SEPARABLE
        return [len(u) for u in batches], np.concatenate(batches)

    sizes, whole = points()
    assert max(sizes) > 50
    monkeypatch.setattr("eglearn.search.coordinate_search.BATCH_NUMBERS", 7 * 11)
    sizes, parts = points()
    assert max(sizes) == 11
    np.testing.assert_array_equal(parts, whole)


def test_a_search_resumes_between_moves_of_single_coordinates():
    start = np.full(10, 0.5)
    for moment in (101, 102, 104):
        p = lines(pairs, start)
        run(p, pairs, moment)
        assert p.waiting
    assert continues_exactly(lambda: lines(pairs, start), pairs, (101, 102, 104))
