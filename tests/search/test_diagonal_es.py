import numpy as np
from tests.search.driver import rastrigin, rotation, run

from eglearn.learning.recombination import score_weights
from eglearn.search.diagonal_es import DiagonalES, DiagonalESSettings


def evolution(n, seed=0, **changes):
    return DiagonalES(np.random.default_rng(seed), np.full(n, -0.3), DiagonalESSettings(**changes))


def stretched(u):
    """Condition 1e6, along the coordinates."""
    return (u - 0.2) ** 2 @ 10.0 ** np.linspace(0, 6, u.shape[1])


def test_an_ill_conditioned_separable_ellipsoid_is_solved():
    for seed in range(2):
        p = evolution(20, seed)
        run(p, stretched, 12_000)
        assert p.best_y < 1e-8


def test_many_faces_at_the_minimum():
    """The slope there would make steps longer and longer if what a face cuts off counted."""
    aim = np.linspace(-1.5, 1.4, 64)
    p = evolution(64)
    run(p, lambda u: np.sum((u - aim) ** 2, axis=1), 24_000)
    np.testing.assert_allclose(p.best_u, np.clip(aim, -1, 1), atol=1e-5)


def test_a_slower_pace_passes_over_ripples():
    best = []
    for pace in (1.0, 0.25):
        p = evolution(64, size=8, pace=pace)
        for batch in range(3750):  # zooming in evenly
            if p.done is None:
                p.narrow(0.4 * 0.05 ** (batch / 3750))
                u = p.propose()
                p.learn(u, rastrigin(u))
        best.append(p.best_y)
    assert best[1] < 0.6 * best[0]


def test_failed_samples_leave_the_others_their_order_statistics():
    p = evolution(5, size=6, sigma=0.1, pace=1.0)
    u = p.propose()
    before = p.mean
    p.learn(u, np.array([np.nan, 3.0, 1.0, np.inf, 2.0, np.nan]))
    np.testing.assert_allclose(p.mean, before + score_weights(3) @ (u[[2, 4, 1]] - before) / 2, rtol=1e-12)


def test_half_of_the_last_step_is_in_the_next():
    p = evolution(5, size=6, sigma=0.1, pace=1.0)
    p.shift = np.full(5, 0.01)
    u, before = p.propose(), p.mean
    p.learn(u, np.arange(6.0))
    np.testing.assert_allclose(p.mean, before + 0.005 + score_weights(6) @ (u - before) / 2, rtol=1e-12)
    np.testing.assert_allclose(p.shift, p.mean - before, rtol=1e-12)


def test_steps_are_forgotten_where_all_samples_failed():
    p = evolution(5, size=6)
    u = p.propose()
    p.learn(u, np.arange(6.0))
    p.learn(p.propose(), np.full(6, np.nan))
    np.testing.assert_array_equal(p.mean, u[0])
    assert not p.shift.any()


def test_rotated_valleys_take_half_the_time_of_steps_without_inertia():
    q = rotation(64, seed=5)
    used = []
    for share in (0.5, 0.0):
        p = evolution(64, pace=1.0, inertia=share)
        used.append(0)
        while not p.best_y <= 1e-2 and used[-1] < 60_000:
            u = p.propose()
            p.learn(u, ((u - 0.1) @ q) ** 2 @ np.geomspace(1, 100, 64))
            used[-1] += len(u)
    assert used[0] < 0.5 * used[1]


def test_narrow_limits_the_step_size():
    p = evolution(5)
    p.narrow(0.5)
    assert p.sigma == 0.4
    p.narrow(0.1)
    assert p.sigma == 0.1


def test_larger_populations_find_better_minima():
    best = []
    for size in (None, 200):
        p = evolution(5, size=size)
        run(p, rastrigin, 40_000)
        assert p.done is not None
        best.append(p.best_y)
    assert best[1] < 1e-8 < best[0]


def test_steps_become_shorter_also_where_few_directions_matter():
    """The length of a path would hardly tell: all but five of 200 coordinates are free."""
    p = evolution(200)
    run(p, lambda u: np.sum((u[:, :5] - 0.2) ** 2, axis=1), 20_000)
    assert p.best_y < 1e-8


def test_two_points_tell_the_step_size():
    p = evolution(20)
    for ahead_is_better in (True, False):
        for _ in range(10):
            u, sigma = p.propose(), p.sigma
            y = np.linspace(1, 2, len(u))
            y[:2] = (0, 3) if ahead_is_better else (3, 0)
            paired = p.paired
            p.learn(u, y)
        assert paired
        assert (p.sigma > sigma) is ahead_is_better


def test_a_pair_that_failed_tells_nothing():
    p = evolution(20)
    u = p.propose()
    assert not p.paired
    p.learn(u, np.arange(len(u), dtype=float))
    u, sigma = p.propose(), p.sigma
    p.learn(u, np.where(np.arange(len(u)) < 2, np.nan, np.arange(len(u))))
    assert p.sigma == sigma
