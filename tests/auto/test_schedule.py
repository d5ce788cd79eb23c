from collections import Counter

import numpy as np
import pytest
from tests.search.driver import centre, continues_exactly, ellipsoid, rastrigin, rosenbrock, rotated_rastrigin, run

from eglearn import AutoEGL, Settings, Status
from eglearn.auto.schedule import Schedule
from eglearn.search import CMAES, CoordinateSearch, TrustRegion


def schedule(n, seed=0):
    return Schedule(np.random.default_rng(seed), np.full(n, -0.3))


def turns(s, fun, limit):
    """Evaluations by role and kind."""
    count = Counter()
    while s.used < limit:
        name = "first" if s.descending else s.role, type(s.active).__name__
        u = s.propose()
        s.learn(u, fun(u))
        count[name] += len(u)
    return count


def test_shares_of_the_evaluations():
    s = schedule(4)
    count = turns(s, rotated_rastrigin, 30_000)
    assert count["first", "TrustRegion"] < 500
    assert count["axes", "CoordinateSearch"] < 500
    spent = dict(zip(("large", "small", "descent"), s.spent, strict=True))
    for kind, used in spent.items():
        assert count[kind, "TrustRegion" if kind == "descent" else "CMAES"] == pytest.approx(used, abs=s.current.used)
    shares = sorted(s.spent, reverse=True)
    assert shares[0] == s.spent[int(np.argmin(s.reached))]  # the kind that found the best value has most
    assert shares[2] > 1000  # and none has nothing


def test_the_kind_that_lags_behind_its_share_is_next():
    s = schedule(4)
    assert s._next_kind() == "large"
    s.spent, s.reached = [800, 200, 100], [1.0, 2.0, 3.0]
    assert s._next_kind() == "large"
    s.spent = [900, 200, 100]
    assert s._next_kind() == "small"
    s.reached = [3.0, 2.0, 1.0]
    assert s._next_kind() == "descent"


def test_a_hopeless_small_restart_ends_early():
    s = schedule(4)
    turns(s, rotated_rastrigin, 3000)
    s.best_y, s.best_u = -1e6, centre(4)
    for role in ("small", "descent"):
        s._begin(role, TrustRegion(s.rng, np.full(4, 0.8)))
        p = s.current
        turns(s, rotated_rastrigin, s.used + 200)
        assert p.used < 250
        assert s.current is not p
    s._begin("large", CMAES(s.rng, np.full(4, 0.8)))
    p = s.current
    turns(s, rotated_rastrigin, s.used + 300)
    assert s.current is p


def neighbours(u):
    """Double wells in which neighbours disturb one another."""
    return np.sum((4 * u**2 - 1) ** 2 + 0.3 * u, axis=1) + 3 * np.sum((u[:, ::2] + 0.5) * (u[:, 1::2] - 0.5), axis=1)


@pytest.mark.parametrize(("budget", "most"), [(4_000, 120), (100_000, 10_000)])
def test_line_searches_along_interacting_coordinates_must_be_cheap_beside_the_budget(budget, most):
    s = Schedule(np.random.default_rng(0), np.full(10, 0.5), budget=budget)
    s._begin("axes", CoordinateSearch(s.rng, s.start, float(neighbours(s.start[None])[0])))
    first = s.current
    run(s, neighbours, 3000)
    assert not first.adds_up
    assert first.used <= most
    assert (first.used > 500) == (budget == 100_000)


def test_line_searches_that_won_are_followed_by_a_fine_pass():
    s = schedule(4)
    while s.restarts == 0:
        u = s.propose()
        s.learn(u, rastrigin(u))
    assert s.exact
    assert s.current.sigma < 0.01
    np.testing.assert_array_equal(s.current.mean, s.best_u)
    s = schedule(4)
    while s.restarts == 0:
        u = s.propose()
        s.learn(u, rosenbrock(u))
    assert not s.exact
    assert s.current.sigma == 0.4


def slow(u):
    """Always a little better: a descent never ends."""
    slow.level *= 0.999
    return slow.level * (1 + 0.1 * np.sum((u - centre(u.shape[1])) ** 2, axis=1))


def test_a_first_descent_that_goes_on_gaining_gets_a_third():
    slow.level = 1.0
    s = schedule(3)
    count = turns(s, slow, 20_000)
    assert s.restarts
    assert count["first", "TrustRegion"] == s.descent_used
    assert 0.25 < s.descent_used / s.used < 0.4


def test_a_descent_that_ends_is_left():
    s = schedule(4)
    count = turns(s, ellipsoid, 6000)
    assert s.best_y < 1e-10
    assert s.descent.done == "converged"
    assert count["first", "TrustRegion"] == s.descent.used < 2000


def test_populations_double():
    s = schedule(3)
    sizes = []
    while s.used < 20_000:
        if s.role == "large" and (not sizes or sizes[-1] is not s.current):
            sizes.append(s.current)
        s.reached[0] = -np.inf  # most evaluations to large populations
        u = s.propose()
        s.learn(u, rotated_rastrigin(u))
    sizes = [p.size for p in sizes]
    assert len(sizes) >= 3
    assert sizes == [7 * 2 ** (k + 1) for k in range(len(sizes))]


@pytest.mark.parametrize("fun", [rosenbrock, rastrigin, rotated_rastrigin])
def test_resume_in_every_kind_of_pass(fun):
    assert continues_exactly(lambda: schedule(4), fun, (30, 300, 520, 900, 1700, 4000), more=250)


def test_after_a_better_foreign_point_a_descent_begins_there():
    s = schedule(4)
    run(s, rotated_rastrigin, 700)
    place = centre(4) + 0.001
    s.note_foreign(place, float(rotated_rastrigin(place[None])[0]))
    run(s, rotated_rastrigin, 8000)
    assert s.best_y < 1e-12
    assert not s.found


def test_a_restart_after_failures_begins_where_values_are():
    s = schedule(3)
    run(s, rotated_rastrigin, 3000)
    s.failed = True
    s._restart()
    np.testing.assert_array_equal(s.current.best_u, s.best_u)


def test_half_of_the_box_fails():
    def fun(x):
        y = np.sum((x - 0.7) ** 2, axis=1)
        y[np.sum(x, axis=1) < 0] = np.nan
        return y

    opt = AutoEGL([(-1, 1)] * 3, budget=5000)
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, fun(x))
    assert opt.stop() is Status.BUDGET
    assert opt.best_y < 1e-12


def test_rastrigin_as_a_whole():
    opt = AutoEGL([(-5, 5)] * 5, np.full(5, 4.2), budget=3000, seed=2)
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, rastrigin(x / 5))
    assert opt.best_y < 1e-10
    assert opt.nfev == 3000
    np.testing.assert_array_equal(opt.x_favorite, opt.best_x)
    assert set(opt.progress()) == {"candidate", "epsilon", "restarts", "noisy"}


def test_a_hundred_dimensions():
    opt = AutoEGL([(-5, 5)] * 100, np.full(100, 2.0), budget=1500)
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, np.sum(x**2, axis=1))
    assert opt.best_y < 1e-3


def test_values_times_a_power_of_two_change_nothing_in_any_pass():
    """To the last bit, through all kinds of passes."""

    def points(power):
        s = schedule(2, seed=1)
        kinds, asked = set(), []
        while s.used < 2000:
            kinds.add(type(s.active))
            u = s.propose()
            asked.append(u)
            s.learn(u, rotated_rastrigin(u) * 2.0**power)
        assert len(kinds) == 3
        return np.concatenate(asked)

    plain = points(0)
    for power in (-600, 600):
        np.testing.assert_array_equal(points(power), plain)


def test_an_offset_does_not_change_what_ends_a_pass():
    """Up to rounding: the passes of a run with values around 1000 are as long as without."""
    lengths = []
    for offset in (0.0, 1000.0):
        s = schedule(3)
        p = CoordinateSearch(s.rng, s.start, float(rastrigin(s.start[None])[0]) + offset)
        run(p, lambda u, offset=offset: rastrigin(u) + offset)
        lengths.append((p.used, p.done))
    assert lengths[0] == lengths[1]


def test_only_m_is_used_of_the_settings():
    opt = AutoEGL([(-1, 1)] * 3, budget=100, settings=Settings(m=9))
    opt.tell(opt.ask(), np.arange(4.0))
    assert len(opt.ask()) == 10  # the best one again
    with pytest.raises(ValueError, match=r"Settings\.epsilon = 0\.5: AutoEGL uses only m"):
        AutoEGL([(-1, 1)] * 3, budget=100, settings=Settings(epsilon=0.5))


def test_line_searches_are_tried_only_if_the_budget_is_large_beside_them():
    for budget, tried in ((1000, True), (800, False)):  # the first test takes 41 evaluations in 4-D
        s = Schedule(np.random.default_rng(0), np.full(4, -0.3), budget=budget)
        assert bool(turns(s, rastrigin, budget)["axes", "CoordinateSearch"]) is tried


def test_a_kind_of_restart_that_found_nothing_is_not_the_best():
    s = Schedule(np.random.default_rng(0), np.zeros(3))
    failed, good = (TrustRegion(np.random.default_rng(0), np.zeros(3)) for _ in range(2))
    failed.used = good.used = 8
    good.best_y = 3.0
    s._account(0, failed)
    assert s.reached[0] == np.inf
    s._account(0, good)
    assert s.reached[0] == 3


def test_an_adaptation_that_failed_begins_closer_with_as_many_points():
    s = schedule(5)
    run(s, lambda u: np.sum((u + 0.3) ** 2, axis=1), 500)
    p = CMAES(s.rng, np.full(5, 0.8), 0.4, 40)
    s._begin("large", p, 1000)
    u = s.propose()
    s.learn(u, np.full(len(u), np.nan))
    assert s.current is not p
    assert (s.role, s.limit, s.current.size, s.current.sigma) == ("large", 1000, 40, 0.2)
    assert s.spent == [40, 0, 0]
    np.testing.assert_array_equal(s.current.mean, s.best_u)
