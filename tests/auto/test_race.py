import numpy as np
import pytest
from tests.search.driver import centre, continues_exactly, rastrigin, rosenbrock, rotated_rastrigin, run

from eglearn import AutoEGL, Status
from eglearn.auto.race import Race
from eglearn.auto.schedule import Schedule
from eglearn.search import LBFGS, ActiveSubspace, CoordinateSearch, DiagonalES, SubspaceTrustRegion


def race(n, seed=0, **changes):
    return Race(np.random.default_rng(seed), np.full(n, -0.3), **changes)


def turns(r, fun, limit):
    """Kinds of passes with evaluations, in order."""
    rows = []
    while r.used < limit:
        p = r.active
        u = r.propose()
        r.learn(u, fun(u))
        if rows and rows[-1][0] is p:
            rows[-1][1] += len(u)
        else:
            rows.append([p, len(u)])
    return [(type(p), count) for p, count in rows]


def sphere(u):
    return np.sum((u - centre(u.shape[1])) ** 2, axis=1)


def test_both_have_turns_and_the_one_that_gets_lower_has_more():
    rows = turns(race(64), rosenbrock, 6000)
    assert [kind for kind, _ in rows[:3]] == [SubspaceTrustRegion, ActiveSubspace, DiagonalES]
    evolution = sum(count for kind, count in rows if kind is DiagonalES)
    assert 0.03 * 6000 < evolution < 0.15 * 6000
    rows = turns(race(20, budget=8000), rotated_rastrigin, 8000)
    evolution = sum(count for kind, count in rows if kind is DiagonalES)
    assert evolution > 0.4 * 8000


def share_of_evolution(descent, evolution, limit=10_000):
    """Where each search gets values that depend only on the evaluations it had."""
    r, had = race(20, budget=limit), [0, 0]
    r.passes[1] = r._evolution(r.start)
    while r.used < limit:
        turn, u = r.turn, r.propose()
        at = had[turn] + np.arange(len(u))
        r.learn(u, (evolution if turn else descent)(at))
        had[turn] += len(u)
    return had[1] / r.used


def test_a_descent_that_stands_still_yields_though_it_is_lower():
    assert 0.25 < share_of_evolution(lambda at: 0 * at, lambda at: 1 + 0.5 ** (at / 100)) < 0.6


def test_the_search_that_is_foreseen_to_be_lower_has_more():
    """160 evaluations ahead; the evolution is higher until it has had its share."""
    assert share_of_evolution(lambda at: 1 - 0.001 * at, lambda at: 3 - 0.02 * at) > 0.9
    assert share_of_evolution(lambda at: 1 - 0.001 * at, lambda at: 3 - 0.001 * at) == pytest.approx(1 / 8, abs=0.03)


def test_falls_are_expected_to_shrink_as_they_did():
    """The evolution falls steeply and levels off at 10; if it went on as in its last turn it would soon be below 9."""
    assert share_of_evolution(lambda at: 9 - 0.0001 * at, lambda at: 10 + 1e6 * 0.5 ** (at / 50), limit=1500) < 0.3


def share_of_spread(spread, falls=1e-6):
    """Of an evolution whose lowest values stay above those of a descent that creeps; the others are higher."""
    return share_of_evolution(lambda at: 1 - 1e-6 * at, lambda at: 1.3 - falls * at + spread * (at % 4 > 0))


def test_an_evolution_whose_samples_are_spread_out_is_expected_to_get_lower():
    """By 9 % of their spread: in 160 of 10,000 evaluations they come closer by a twentieth."""
    assert share_of_spread(1.0) == pytest.approx(1 / 8, abs=0.03)
    assert share_of_spread(10.0) > 0.8


def test_less_is_expected_of_samples_that_do_not_get_lower():
    assert share_of_spread(10.0, falls=0.0) < 0.35


def test_a_long_time_in_vain_is_no_error():
    r = race(20, budget=4000)
    run(r, rotated_rastrigin, 1000)
    r.vain = 5000
    run(r, lambda u: 1e3 + rotated_rastrigin(u), 2000)
    assert r.vain > 5000


def test_lucky_turns_after_unlucky_ones_are_no_falls():
    """Samples are spread out, and the lowest go up and down but never lower."""
    luck = np.random.default_rng(0).random(1000)

    def evolution(at):
        return 1.3 + 0.1 * luck[at // 24] + 100 * (at % 4 > 0)

    assert share_of_evolution(lambda at: 1 - 1e-6 * at, evolution) < 0.2


def test_line_searches_are_not_interrupted():
    r = race(10)
    interrupted = []
    while r.used < 8000:
        p, u = r.active, r.propose()
        r.learn(u, rastrigin(u))
        interrupted += [r.turn == 1] * (isinstance(p, CoordinateSearch) and p.done is None)
    assert len(interrupted) > 5
    assert not any(interrupted)


def test_long_races_go_on():
    """The length of turns must not double for ever."""
    r = race(2)
    run(r, lambda u: np.abs(u - 0.1) @ [1.0, 2.0], 4_000)
    assert 2**r.rounds <= 8


def test_a_new_evolution_zooms_in_from_its_start():
    r = race(64, budget=3_000)
    r.used = 1_000
    r.passes[1] = r._next_evolution(r.passes[1])
    assert r._widest(1_000) == 0.4
    assert r._widest(3_000) == pytest.approx(0.02)


def test_a_new_evolution_has_had_no_turns_in_vain():
    r = race(64, budget=30_000)
    r.turn, r.levels, r.forecasts, r.rates = 1, [5.0, 2.0], [4.0, 1.0], [0.1, 0.2]
    r.lowest, r.vain, r.turn_used, r.used, r.evolved = 2.0, 9, 40, 10_000, 3_000
    r.passes[1] = DiagonalES(r.rng, r.start)
    r.passes[1].done = "stagnant"
    r.passes[1] = r._next_evolution(r.passes[1])
    assert (r.rates, r.lowest, r.vain) == ([0.1, 0.0], np.inf, 0)
    assert (r.turn_used, r.evolved) == (0, 3_040)
    r._after(np.full(90, 4 * 9.0), new=False)  # a turn, wide at first, and above the last
    assert r.levels == [5.0, 2.0]
    assert 1.5 < r.forecasts[1] < 1.9  # half of what it is expected to fall by


def test_a_search_whose_values_all_fail_yields():
    r = race(10)
    while r.used < 2000:
        u = r.propose()
        r.learn(u, np.full(len(u), np.nan) if r.turn == 1 else sphere(u))
    assert r.forecasts[1] == np.inf
    assert r.best_y < 1e-12


def test_values_near_the_limits_of_floats_do_not_stop_the_race():
    for scale in (1e307, 1e-300):
        r = race(10)
        run(r, lambda u, scale=scale: scale * sphere(u), 3000)
        assert r.best_y < 1e-6 * scale


def test_descents_follow_each_other():
    r = race(10)
    kinds = [kind for kind, _ in turns(r, rotated_rastrigin, 8000) if kind not in (ActiveSubspace, DiagonalES)]
    assert [kinds[i] for i in range(len(kinds)) if i == 0 or kinds[i] is not kinds[i - 1]][:4] == [
        SubspaceTrustRegion, LBFGS, CoordinateSearch, SubspaceTrustRegion,
    ]  # fmt: skip
    assert kinds.count(CoordinateSearch) <= 2
    assert r.restarts


def test_separable_functions_are_solved_by_line_searches():
    r = race(10)
    run(r, rastrigin, 6000)
    assert r.best_y < 1e-8


def test_line_searches_are_tried_only_if_the_budget_is_large_beside_them():
    for budget, kind in (
        (2100, CoordinateSearch),
        (1900, SubspaceTrustRegion),
    ):  # the first test takes 101 evaluations in 10-D
        r = race(10, budget=budget)
        run(r, sphere, 200)
        assert type(r._next_descent(LBFGS(r.rng, r.best_u))) is kind


def test_populations_double():
    r = race(2)
    sizes = []
    while r.used < 40_000:
        if isinstance(r.passes[1], DiagonalES) and (not sizes or sizes[-1] != r.passes[1].size):
            sizes.append(r.passes[1].size)
        u = r.propose()
        r.learn(u, rotated_rastrigin(u))
    assert len(sizes) >= 3
    assert sizes == [6 * 2**k for k in range(len(sizes))]


def test_the_evolution_zooms_in_until_the_budget_is_used():
    """On values without any slope its step size would stay."""
    noise = np.random.default_rng(0)
    r = race(64, budget=3_000)
    while r.used < 3_000:
        p, u = r.active, r.propose()
        r.learn(u, noise.standard_normal(len(u)))
        if p is r.passes[1] and isinstance(p, DiagonalES):
            assert p.sigma <= 0.4 * 0.05 ** ((r.used - r.born) / (3_000 - r.born)) * (1 + 1e-9)
    assert r.doublings == 0
    assert r.passes[1].sigma > 0.01


def test_the_pace_of_the_evolution_follows_from_the_budget():
    def pace(budget):
        r = race(100, budget=budget)
        return r._evolution(r.start).pace

    assert pace(200) == pace(1_000) == 2
    assert pace(5_000) == 1
    assert pace(40_000) == pytest.approx(0.25)
    assert pace(10**6) == 0.1
    assert pace(None) == pace(0) == 1


@pytest.mark.parametrize("fun", [rosenbrock, rastrigin, rotated_rastrigin])
def test_resume_in_every_kind_of_pass(fun):
    assert continues_exactly(lambda: race(6), fun, (1, 30, 300, 520, 900, 1700, 4000), more=250)


def test_after_a_better_foreign_point_a_descent_begins_there():
    r = race(6)
    run(r, rotated_rastrigin, 700)
    place = centre(6) + 0.001
    r.note_foreign(place, float(rotated_rastrigin(place[None])[0]))
    assert not r.descended
    run(r, rotated_rastrigin, 30_000)
    assert r.best_y < 1e-8


def test_values_times_a_power_of_two_change_nothing_in_any_pass():
    def points(power):
        r = race(3, seed=1)
        kinds, asked = set(), []
        while r.used < 3000:
            kinds.add(type(r.active))
            u = r.propose()
            asked.append(u)
            r.learn(u, rotated_rastrigin(u) * 2.0**power)
        assert len(kinds) == 5
        return np.concatenate(asked)

    plain = points(0)
    for power in (-600, 600):
        np.testing.assert_array_equal(points(power), plain)


def test_a_restart_after_failures_begins_where_values_are():
    r = race(5)
    run(r, rotated_rastrigin, 3000)
    r.failed = True
    for p in (r._next_evolution(r.passes[1]), r._next_descent(r.passes[1])):
        np.testing.assert_array_equal(p.best_u, r.best_u)


def test_half_of_the_box_fails():
    def fun(x):
        y = np.sum((x - 0.7) ** 2, axis=1)
        y[np.sum(x, axis=1) < 0] = np.nan
        return y

    opt = AutoEGL([(-1, 1)] * 64, np.full(64, 0.2), budget=5000)
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, fun(x))
    assert opt.stop() is Status.BUDGET
    assert opt.best_y < 1e-8


@pytest.mark.parametrize(("n", "kind"), [(63, Schedule), (64, Race)])
def test_the_dimension_decides(n, kind):
    opt = AutoEGL([(-1, 1)] * n, np.full(n, 0.4), budget=300)
    assert isinstance(opt._search.search, kind)
    opt.tell(opt.ask(), sphere(opt.ask()))
    copy = AutoEGL.from_state(opt.state())
    assert isinstance(copy._search.search, kind)
    np.testing.assert_array_equal(copy.ask(), opt.ask())


def test_five_hundred_dimensions():
    opt = AutoEGL([(-5, 5)] * 500, np.full(500, 2.0), budget=6000)
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, np.sum((x - 1) ** 2, axis=1))
    assert opt.best_y < 1e-3


EXTREMES = {
    "near overflow": lambda u: 1.7e308 * np.sin(1e3 * u.sum(axis=1)),
    "denormal": lambda u: 1e-310 * sphere(u),
    "large offset": lambda u: 1e15 + sphere(u),
    "plateaus": lambda u: np.round(sphere(u)),
    "cliff": lambda u: np.exp(500 * u[:, 0]) + sphere(u),
    "often failed": lambda u: np.where(np.sin(1e6 * u.sum(axis=1)) > 0, np.nan, sphere(u)),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("n", [1, 3, 20])
def test_extreme_values(name, n):
    """Warnings are errors: nothing overflows on the way, and proposals are in the cube."""
    r = Race(np.random.default_rng(0), np.full(n, 0.1))
    first = EXTREMES[name](r.propose())
    run(r, EXTREMES[name], 1500)
    assert np.isnan(first).all() or r.best_y <= np.nanmin(first)


@pytest.mark.parametrize("budget", [0, 1, 2, 20, 33, 130, 137, 330, 400])
def test_any_budget(budget):
    opt = AutoEGL([(-1, 1)] * 64, budget=budget)
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, sphere(x))
    assert opt.nfev == budget


@pytest.mark.parametrize(("used", "behind", "tried"), [(1004, True, False), (1005, True, True), (1005, False, False)])
def test_line_searches_come_when_the_descent_is_behind_for_long(used, behind, tried):
    """Long is five times what the first test takes, 201 evaluations in 20-D."""
    r = race(20, budget=20_000)
    run(r, sphere, 300)
    r.used, r.turn, r.turn_used, r.row, r.descended = used, 1, 20, 1000, not behind
    r._end_turn(np.ones(5))
    assert r.turn == 0
    assert (type(r.passes[0]) is CoordinateSearch) is tried


def test_an_evolution_that_failed_begins_closer_with_as_many_points():
    """Values are known only around the start: a wide distribution fails as a whole."""

    def fun(u):
        return np.where(np.max(np.abs(u + 0.3), axis=1) < 0.3, rastrigin(u), np.nan)

    r = race(80, budget=8_000)
    failed = 0
    while r.used < 8_000:
        u = r.propose()
        y = fun(u)
        failed += np.isnan(y).sum()
        r.learn(u, y)
    assert failed < 0.3 * r.used
    assert r.doublings <= 1


def test_a_quasi_newton_step_is_not_judged_before_its_end():
    r = race(64, budget=20_000)
    r.passes[0] = LBFGS(r.rng, r.start)
    while r.turn == 0:
        p = r.active
        u = r.propose()
        r.learn(u, sphere(u))
        assert r.used < 200
    assert p.value < sphere(r.start[None])[0]
    assert (p.stage, p.begins) == ("gradient", True)
