"""While nothing is known that could lead anywhere, the whole cube is searched for a first place."""

import numpy as np
import pytest
from tests.auto.driver import sphere
from tests.auto.noisy_driver import auto
from tests.search.driver import continues_exactly


def test_while_all_fails_the_whole_cube_is_sampled():
    s = auto(3)
    u = s.propose()
    s.learn(u, np.full(len(u), np.nan))
    assert s.scout.lost
    batches = []
    for _ in range(20):
        batches.append(s.propose())
        s.learn(batches[-1], np.full(len(batches[-1]), np.nan))
    assert (np.ptp(np.concatenate(batches), axis=0) > 1.8).all()
    u = s.propose()
    s.learn(u, np.where(np.arange(len(u)) == 2, 1.0, np.nan))
    np.testing.assert_array_equal(s.loop.board.start, u[2])
    assert np.linalg.norm(s.propose()[0] - u[2]) < 0.21  # the first radius


def test_a_flat_beginning_is_left_for_the_whole_cube():
    s = auto(3)
    for _ in range(7):
        assert not s.scout.lost
        u = s.propose(1)
        s.learn(u, np.full(1, 30.0))
    assert s.scout.lost
    assert (np.max(np.abs(s.propose()), axis=1) > 0.5).any()


def test_scouting_resumes():
    def fun(u):
        return np.where(np.max(np.abs(u - 0.5), axis=1) < 0.35, sphere(u), 30.0)

    assert continues_exactly(lambda: auto(3), fun, (0, 10, 40), more=300)


@pytest.mark.parametrize("values", [np.nan, 7.0])
def test_a_point_from_elsewhere_is_where_a_lost_search_begins(values):
    s = auto(64)
    u = s.propose()
    s.learn(u, np.full(len(u), np.nan))
    scouts = s.propose()
    s.hear(np.full((1, 64), 0.5), np.array([0.16]))
    y = np.full(len(scouts), np.nan)
    y[1] = values
    s.learn(scouts, y)
    assert not s.scout.lost
    assert s.loop.board.best_y == 0.16
    np.testing.assert_array_equal(s.propose()[0], np.full(64, 0.5))
