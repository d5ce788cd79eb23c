from zlib import crc32

import numpy as np
import pytest
from tests.search.driver import centre, continues_exactly, ellipsoid, rosenbrock, rotated_rastrigin, run

from eglearn import AutoEGL, Status, minimize
from eglearn.auto.noise import Repeats
from eglearn.auto.race import Race
from eglearn.auto.watched import Watched, noisy_size
from eglearn.search import CMAES, LBFGS, DiagonalES
from eglearn.search.stopping import reason_to_stop


def bowl(u):
    return np.sum((u - centre(u.shape[1])) ** 2, axis=1)


class Noise:
    """An objective with noise from its own generator; copies of a run need copies of it."""

    def __init__(self, kind, fun=bowl, seed=0):
        self.kind, self.fun, self.rng = kind, fun, np.random.default_rng(seed)

    def __call__(self, u):
        y, rng = self.fun(u), self.rng
        k = len(y)
        if self.kind == "severe":
            return y * np.exp(rng.standard_normal(k))
        if self.kind == "slight":
            return y * np.exp(0.01 * rng.standard_normal(k))
        if self.kind == "rare":
            struck = rng.random(k) < 0.2
            return y + struck * rng.standard_cauchy(k)
        return y + 0.1 * rng.standard_normal(k)


def by_place(u):
    """Values that look noisy but depend on the point alone, to the last bit: a run can be repeated."""
    cells = np.array([crc32(row.tobytes()) % 1000 for row in u]) / 1000
    return bowl(u) * (0.2 + cells)


def schedule(n, seed=0, budget=None):
    return Watched(np.random.default_rng(seed), np.full(n, -0.3), budget=budget)


@pytest.mark.parametrize(("fun", "n"), [(rosenbrock, 4), (ellipsoid, 4), (rotated_rastrigin, 4), (rosenbrock, 70)])
def test_a_deterministic_run_is_the_same_but_for_some_repeated_points(fun, n):
    plain, s = schedule(n), schedule(n)
    plain.repeats.due = np.inf
    repeated = 0
    while s.used < 8000:
        expected, u = plain.propose(), s.propose()
        np.testing.assert_array_equal(u[: len(expected)], expected)
        repeated += len(u) - len(expected)
        plain.learn(expected, fun(expected))
        s.learn(u, fun(u))
        assert not s.repeats.differed
    assert 1 <= repeated <= 11


def test_rounding_is_no_noise():
    rng = np.random.default_rng(0)
    s = schedule(4)
    run(s, lambda u: (7 + ellipsoid(u)) * (1 + 4e-16 * rng.standard_normal(len(u))), 6000)
    assert not s.repeats.differed


def test_tiny_noise_does_not_matter_while_it_is_below_the_differences():
    rng = np.random.default_rng(0)
    s = schedule(4)
    run(s, lambda u: rotated_rastrigin(u) + 1e-6 * rng.standard_normal(len(u)), 3000)
    assert s.repeats.differed
    assert s.noisy is None


def test_slight_noise_does_not_stop_a_descent_that_gains():
    s = schedule(10)
    run(s, Noise("slight"), 800)
    assert s.repeats.differed
    assert s.noisy is None
    assert bowl(s.search.best_u[None])[0] < 1e-6


@pytest.mark.parametrize("kind", ["severe", "rare", "additive"])
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_is_found_and_borne(kind, seed):
    noise = Noise(kind, seed=seed)
    s = schedule(5, seed, budget=12_000)
    first, lowest = bowl(s.search.start[None])[0], np.inf
    while s.used < 12_000:
        batch = s.propose()
        y = noise(batch)
        lowest = min(lowest, y.min())
        s.learn(batch, y)
    assert s.noisy is not None
    assert isinstance(s.noisy, CMAES)
    u, value = s.favorite
    gap = bowl(u[None])[0]
    assert gap < (1e-3 if kind == "severe" else 1e-2) * first
    assert lowest < value  # the lowest value is luck
    assert abs(value - gap) < 0.1


def test_the_recommended_point_is_better_than_the_luckiest():
    for seed in range(2):
        noise = Noise("rare", seed=seed)
        opt = AutoEGL([(-1, 1)] * 5, np.full(5, -0.3), budget=4000, seed=seed)
        while not opt.stop():
            x = opt.ask()
            opt.tell(x, noise(x))
        luckiest, recommended = bowl(np.stack([opt.best_x, opt.x_favorite]))
        assert recommended < 0.01 * luckiest
        assert opt.best_y < -1
        assert opt.progress()["noisy"] == 1
        assert abs(opt.progress()["candidate"]) < 0.1


def test_a_result_tells_both_points():
    noise = Noise("severe")
    result = minimize(lambda x: noise(x[None])[0], [(-1, 1)] * 3, np.full(3, -0.3), budget=2000)
    assert result.progress["noisy"] == 1
    assert result.fun < result.progress["candidate"]
    assert bowl(result.x_favorite[None])[0] < 1e-3


def test_runs_under_noise_can_be_resumed():
    s = schedule(3)
    run(s, by_place, 900)
    assert s.noisy is None  # it repeats itself
    assert continues_exactly(lambda: noisy_schedule(3), by_place, (30, 700, 3000), more=400)


def noisy_schedule(n):
    s = schedule(n)
    s.repeats.strikes = 3
    return s


def test_a_start_that_is_never_beaten_is_recommended():
    """Under noise, and far below its surroundings."""
    noise = Noise("severe", lambda u: np.where((u == -0.3).all(axis=1), 0.01, 1 + bowl(u)))
    s = schedule(4)
    run(s, noise, 5000)
    assert s.noisy is not None
    np.testing.assert_array_equal(s.favorite[0], s.search.start)
    assert 0.01 < s.favorite[1] < 0.05  # by twenty values, not by the lowest


def test_trials_that_fail_tell_nothing():
    s = noisy_schedule(3)
    for _ in range(3):
        u = s.propose()
        s.learn(u, np.where((u == s.search.start).all(axis=1), np.nan, bowl(u)))
    assert isinstance(s.noisy, CMAES)
    assert np.isnan(s.ended_value)
    np.testing.assert_array_equal(s.favorite[0], s.noisy.mean)


def test_values_times_a_power_of_two_change_nothing():
    def points(power):
        s, noise, asked = schedule(3, seed=1), Noise("severe"), []
        while s.used < 3000:
            u = s.propose()
            asked.append(u)
            s.learn(u, noise(u) * 2.0**power)
        assert s.noisy is not None
        return np.concatenate(asked)

    plain = points(0)
    for power in (-600, 600):
        np.testing.assert_array_equal(points(power), plain)


def test_failed_evaluations_are_left_out():
    rng, noise = np.random.default_rng(0), Noise("severe")
    s = schedule(4, budget=8000)
    s.repeats.strikes = 3
    run(s, lambda u: np.where(rng.random(len(u)) < 0.3, np.nan, noise(u)), 8000)
    assert s.noisy is not None
    assert bowl(s.favorite[0][None])[0] < 1e-2


def test_the_best_of_several_passes_is_recommended():
    s = noisy_schedule(2)
    run(s, lambda u: 1 + bowl(u), 10_000)
    assert s.restarts
    assert bowl(s.favorite[0][None])[0] < 1e-10
    # The next pass has begun far away.
    s._begin(np.array([0.9, -0.9]), 0.01)
    u = s.propose()
    s.learn(u, 1 + bowl(u))
    assert s.value > 1.1
    assert s.favorite[1] == s.ended_value < 1.1


def test_one_lucky_value_of_a_mean_recommends_nothing():
    s = noisy_schedule(3)
    for _ in range(10):
        u = s.propose()
        s.learn(u, 1 + bowl(u))
    s._next(s.noisy)
    s._begin(np.full(3, 0.9), 0.01)
    recommended = s.favorite[0].copy()
    for batch in range(20):
        u = s.propose()
        s.learn(u, np.where(np.arange(len(u)) == 0, 0.5 if batch == 0 else 100.0, 100 + bowl(u)))
        np.testing.assert_array_equal(s.favorite[0], recommended)


def test_several_good_values_of_a_mean_recommend_it():
    s = noisy_schedule(3)
    for _ in range(10):
        u = s.propose()
        s.learn(u, 1 + bowl(u))
    for _ in range(5):
        u = s.propose()
        s.learn(u, bowl(u))
    np.testing.assert_array_equal(s.favorite[0], s.noisy.mean)


def test_a_pass_that_stagnates_goes_on_with_twice_as_many_points():
    s = noisy_schedule(2)
    u = s.propose()
    s.learn(u, bowl(u))
    mean, size = s.noisy.mean, s.size
    s.noisy.done = "stagnant"
    s._next(s.noisy)
    assert s.noisy.size == 2 * size
    np.testing.assert_array_equal(s.noisy.mean, mean)


def test_the_population_fits_dimension_and_budget():
    assert noisy_size(20, None) == noisy_size(20, 150_000) == 200
    assert noisy_size(20, 2000) == 40
    assert noisy_size(20, 10) == 12
    assert noisy_size(1, 10) == 4
    assert noisy_size(400, None) == noisy_size(400, 150_000) == 1600
    assert noisy_size(400, 60_000) == 1200


def test_a_mean_is_recommended_though_its_samples_are_worse_than_the_start():
    """In many dimensions, those of a wide distribution are."""
    noise, s = Noise("severe"), noisy_schedule(200)
    first = bowl(s.search.start[None])[0]
    samples = []
    while s.used < 12_000:
        u = s.propose()
        s.learn(u, noise(u))
        samples.append(bowl(u))
    assert isinstance(s.noisy, DiagonalES)
    u, value = s.favorite
    gap = bowl(u[None])[0]
    assert gap < 0.9 * first < first < np.median(samples[-1])
    assert value < np.median(samples[-1])


def test_in_many_dimensions_what_a_descent_has_gained_is_not_lost():
    """Noise is slight beside the first values, and large beside what is left."""
    for seed in range(3):
        s, rng = schedule(100, seed, budget=3000), np.random.default_rng(seed)
        first = bowl(s.search.start[None])[0]

        def fun(u, rng=rng, first=first):
            return bowl(u) + 1e-3 * first * rng.standard_normal(len(u))

        run(s, fun, 600)
        s.repeats.strikes = 3
        u = s.propose()
        s.learn(u, fun(u))
        gained = bowl(s.noisy.mean[None])[0]
        run(s, fun, 2000)
        assert bowl(s.favorite[0][None])[0] < 0.2 * gained < 0.02 * first


def test_the_last_batch_cut_by_the_budget_moves_nothing():
    s = noisy_schedule(3)
    run(s, bowl, 400)
    recommended = s.favorite[0].copy()
    for left in (1, 2):
        u = s.propose()[:left]
        s.learn(u, bowl(u) if left == 1 else np.array([0.1, np.nan]))
        np.testing.assert_array_equal(s.favorite[0], recommended)


def test_a_batch_cut_by_the_budget_may_lack_the_repetition():
    r = Repeats(np.zeros(2))
    u = np.arange(10.0).reshape(5, 2)
    r.take(u, np.arange(5.0))
    batch = r.add(u, 5)
    assert len(batch) == 6
    np.testing.assert_array_equal(batch[5], u[0])
    rest, y = r.take(batch[:5], np.arange(5.0))
    assert len(rest) == len(y) == 5
    assert not r.differed
    assert len(r.add(u, 5)) == 5  # not yet due
    assert len(r.add(u, 10)) == 6
    r.take(batch, np.append(np.arange(5.0), np.nan))  # a failure tells nothing
    assert not r.differed
    assert len(r.add(u, 20)) == 6
    r.take(batch, np.append(np.arange(5.0), 0.5))
    assert r.differed


@pytest.mark.parametrize("seed", range(4))
def test_failures_around_the_minimum_under_noise(seed):
    """A pass that begins where all fails must not end the search, nor be what it recommends."""
    noise = np.random.default_rng(seed)

    def fun(x):
        far = np.max(np.abs(x - 1))
        return np.nan if far > 1.2 else np.sum((x - 1) ** 2) * np.exp(0.5 * noise.standard_normal())

    result = minimize(fun, [(-5, 5)] * 4, np.zeros(4), budget=15_000, seed=seed)
    assert result.status is Status.BUDGET
    assert result.progress["noisy"]
    assert np.max(np.abs(result.x_favorite - 1)) < 0.1


def test_while_all_fails_the_whole_cube_is_sampled():
    s = schedule(3)
    u = s.propose()
    s.learn(u, np.full(len(u), np.nan))
    assert s.lost
    batches = []
    for _ in range(20):
        batches.append(s.propose())
        s.learn(batches[-1], np.full(len(batches[-1]), np.nan))
    assert (np.ptp(np.concatenate(batches), axis=0) > 1.8).all()
    u = s.propose()
    s.learn(u, np.where(np.arange(len(u)) == 2, 1.0, np.nan))
    np.testing.assert_array_equal(s.propose()[0], u[2])


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e12])
def test_noise_above_a_large_offset_is_noise(offset):
    noise = np.random.default_rng(0)
    result = minimize(
        lambda x: offset + np.sum(x**2) + 0.1 * noise.standard_normal(), [(-5, 5)] * 5, np.ones(5), budget=4000
    )
    assert result.progress["noisy"]


def test_noise_in_many_dimensions():
    noise = Noise("severe")
    s = schedule(70, budget=15_000)
    first = bowl(s.search.start[None])[0]
    run(s, noise, 15_000)
    assert isinstance(s.search, Race)
    assert s.noisy is not None
    assert bowl(s.favorite[0][None])[0] < 0.25 * first
    assert continues_exactly(lambda: noisy_schedule(70), by_place, (30, 2000), more=400)


def test_a_flat_beginning_is_left_for_the_whole_cube_exactly():
    """Also when it is resumed, and with a better point from elsewhere in the meantime."""

    def fun(u):
        return np.where(np.max(np.abs(u - 0.5), axis=1) < 0.35, bowl(u), 30.0)

    assert continues_exactly(lambda: schedule(3), fun, (0, 10, 40), more=300)
    s = schedule(3)
    u = s.propose()
    s.learn(u, np.full(len(u), 30.0))
    assert s.lost
    assert (np.max(np.abs(s.propose()), axis=1) > 0.5).any()


@pytest.mark.parametrize("values", [np.nan, 7.0])
def test_a_point_from_elsewhere_is_where_a_lost_search_begins(values):
    s = schedule(64)
    u = s.propose()
    s.learn(u, np.full(len(u), np.nan))
    scouts = s.propose()
    s.note_foreign(np.full(64, 0.5), 0.16)
    y = np.full(len(scouts), np.nan)
    y[1] = values
    s.learn(scouts, y)
    assert not s.lost
    assert s.search.best_y == 0.16
    np.testing.assert_array_equal(s.propose()[0], np.full(64, 0.5))


def test_noise_is_not_told_by_neighbours():
    """Values of a quasi-Newton pass' differences are nearly the same, so that any noise exceeds their spread."""
    s = schedule(70)
    run(s, rosenbrock, 2000)
    s.search.passes[0] = LBFGS(s.rng, s.search.best_u, s.search.best_y)
    for turn, extra in ((1, 1), (0, 0)):
        s.repeats.known, s.repeats.due, s.search.turn = False, 0, turn
        size = len(s.search.propose())
        assert len(s.propose()) == size + extra
        assert s.repeats.row == size * extra


def test_where_means_fail_the_lowest_point_is_recommended():
    s = noisy_schedule(3)
    for _ in range(3):
        u = s.propose()
        y = bowl(u)
        y[0] = np.nan
        s.learn(u, np.where((u == s.search.start).all(axis=1), np.nan, y))
    assert s.noisy is not None
    u, value = s.favorite
    assert np.isnan(value)
    np.testing.assert_array_equal(u, s.search.best_u)


@pytest.mark.parametrize("n", [5, 70])
def test_passes_under_noise_are_led_by_medians(n):
    """A single lucky value changes nothing."""
    s = noisy_schedule(n)
    for _ in range(4):
        u = s.propose()
        y = bowl(u)
        y[1] = -1e6
        s.learn(u, y)
    assert s.noisy.noisy
    assert min(s.noisy.history) > -1


def test_where_the_search_under_noise_begins():
    r = Repeats(np.zeros(2))
    r.u, r.first, r.before = np.ones(2), 3.0, 2.0
    np.testing.assert_array_equal(r.try_best(np.zeros(2)), np.ones(2))
    r.before = 4.0
    np.testing.assert_array_equal(r.try_best(np.zeros(2)), np.zeros(2))


def test_a_pass_that_failed_is_followed_by_a_closer_one_where_values_are():
    s = noisy_schedule(3)
    u = s.propose()
    s.learn(u, bowl(u))
    s._begin(np.full(3, 0.9), 0.4)
    u = s.propose()
    s.learn(u, np.full(len(u), np.nan))
    np.testing.assert_array_equal(s.noisy.mean, s.ended_u)
    assert s.noisy.sigma == 0.2


def test_values_whose_differences_overflow_have_quantiles():
    huge = 1.7e308 * np.array([-1.0, 1.0])
    history = []
    assert reason_to_stop(history, huge, 1, 0.1, noisy=True) is None
    assert history == [0.0]
    repeats = Repeats(np.zeros(2))
    repeats.strikes = 3
    repeats.try_best(np.zeros(2))
    u = repeats.add(np.ones((4, 2)), 0)
    repeats.take(u, np.concatenate([np.ones(4), np.repeat(huge, [15, 5])]))  # the quantile is between both
    assert -1.0e308 < repeats.y < -0.8e308


def test_values_near_the_largest_float_have_a_median():
    s = schedule(1)
    run(s, lambda u: np.full(len(u), 1.7e308) * (1 - 1e-3 * u[:, 0] ** 2), 300)
    assert np.isfinite(s.repeats.middle)
