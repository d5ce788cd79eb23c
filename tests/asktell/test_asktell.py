"""Ask and tell: any pieces, any order, any values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn import EGL, AutoEGL, EGLSettings, Status
from eglearn.algorithms import ALGORITHMS
from eglearn.serialize import dumps


def f(x):
    return np.sum((np.atleast_2d(x) - 1) ** 2, axis=1)


def new(n=4, budget=500, **changes):
    return EGL([(-5, 5)] * n, budget=budget, seed=3, settings=EGLSettings(**changes))


def finish(opt, fun=f):
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, fun(x))
    return opt


def fingerprint(opt):
    return dumps(opt.state())


ENDING = ["trust-region", "quasi-newton", "coordinate-search", "active-subspace", "gaussian-continuation"]
"""Searches of the default that leave the rest of a budget to others."""


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in ENDING])
def test_budget_is_met_exactly(name):
    for budget in (1, 7, 100, 333):
        opt = finish(ALGORITHMS[name]([(-5, 5)] * 3, budget=budget))
        assert opt.nfev == budget
        assert opt.stop() is Status.BUDGET


@pytest.mark.parametrize("name", ENDING)
def test_a_search_that_ends_before_its_budget_says_so(name):
    for budget in (1, 3):
        opt = finish(ALGORITHMS[name]([(-5, 5)] * 3, budget=budget))
        assert (opt.nfev, opt.stop()) == (budget, Status.BUDGET)
    opt = finish(ALGORITHMS[name]([(-5, 5)] * 3, budget=1000))
    assert opt.nfev < 1000
    assert opt.stop() is Status.CONVERGED
    with pytest.raises(RuntimeError, match="CONVERGED"):
        opt.ask()


def test_ask_again_gives_the_open_points():
    opt = new()
    x = opt.ask()
    np.testing.assert_array_equal(opt.ask(), x)
    opt.tell(x[2:5], f(x[2:5]))
    np.testing.assert_array_equal(opt.ask(), np.delete(x, [2, 3, 4], axis=0))


def test_pieces_and_order_do_not_matter():
    whole = finish(new())
    rng = np.random.default_rng(0)
    pieces = new()
    while not pieces.stop():
        x = pieces.ask()
        part = rng.permutation(len(x))[: rng.integers(1, len(x) + 1)]
        pieces.tell(x[part], f(x[part]))
    assert fingerprint(pieces) == fingerprint(whole)


def test_candidate_is_the_first_row():
    opt = new()
    np.testing.assert_array_equal(opt.ask()[0], np.zeros(4))
    for _ in range(5):
        x = opt.ask()
        np.testing.assert_array_equal(x[0], opt.x_favorite)
        opt.tell(x, f(x))


def test_single_points_and_lists():
    opt = new()
    x = opt.ask()
    opt.tell(x[0], f(x[0])[0])
    opt.tell([list(p) for p in x[1:3]], list(f(x[1:3])))
    assert opt.nfev == 3


def test_failed_candidate_sends_the_run_back_to_the_best():
    opt = new()
    x = opt.ask()
    y = f(x)
    opt.tell(x, y)
    best = x[np.argmin(y)]
    x = opt.ask()
    y = f(x) + 100  # no new best
    y[0] = np.nan
    opt.tell(x, y)
    np.testing.assert_allclose(opt.ask()[0], best, atol=1e-12)
    assert opt.n_failed == 1


def test_failed_candidates_count_as_no_improvement():
    """A run in which each candidate fails must still zoom in."""
    for rule in ("row", "mean", "best"):
        opt = new(shrink_rule=rule)
        while not opt.stop():
            x = opt.ask()
            y = f(x)
            y[0] = np.nan
            opt.tell(x, y)
        assert opt.progress()["region"] < 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
def test_non_finite_values_are_failures(bad):
    opt = new()
    x = opt.ask()
    y = list(f(x))
    y[3] = bad
    opt.tell(x, y)
    assert opt.n_failed == 1
    assert np.isfinite(opt.best_y)


@pytest.mark.parametrize(("n", "budget", "limit"), [(2, 200, 30), (2, 600, 60), (8, 200, 80), (2, 50_000, 1000)])
def test_nothing_but_failures_ends_the_run(n, budget, limit):
    """At 30 points, 10 n or a tenth of the budget, the most of these, but at 1,000 at the latest."""
    opt = AutoEGL([(-5, 5)] * n, budget=budget)
    while opt.stop() is None:
        assert opt.nfev < limit
        x = opt.ask()
        opt.tell(x, np.full(len(x), np.nan))
    assert opt.stop() is Status.ALL_FAILED
    assert limit <= opt.nfev < limit + 20
    with pytest.raises(RuntimeError, match="ALL_FAILED"):
        opt.ask()


def test_one_success_between_failures_keeps_the_run_alive():
    opt = new()
    for k in range(6):
        x = opt.ask()
        y = np.full(len(x), np.nan)
        if k % 2:
            y[5] = 1.0
        opt.tell(x, y)
    assert opt.stop() is None


def test_foreign_points_count_for_the_best_but_not_for_the_budget():
    opt = new()
    opt.tell(np.ones((1, 4)), [0.0])
    assert opt.best_y == 0
    np.testing.assert_array_equal(opt.best_x, np.ones(4))
    assert opt.nfev == 0
    finish(opt)
    assert opt.nfev == 500


def test_foreign_points_are_learned_from():
    """Points that show a slope the batch does not know must turn the step."""
    x0 = np.zeros(2)
    steps = []
    for told in (False, True):
        opt = EGL([(-1, 1)] * 2, x0, budget=100, seed=0, settings=EGLSettings(m=4, ridge=1e-3))
        if told:
            rng = np.random.default_rng(0)
            extra = rng.uniform(-0.5, 0.5, (40, 2))
            opt.tell(extra, 3 * extra[:, 1])
        x = opt.ask()
        opt.tell(x, x[:, 0] * 0)
        steps.append(opt.ask()[0])
    np.testing.assert_array_equal(steps[0], x0)
    assert steps[1][1] < -0.1


def test_points_rounded_on_their_way_are_recognised():
    opt = new()
    while not opt.stop():
        x = opt.ask().astype(np.float32)
        opt.tell(x, f(x.astype(float)))
    assert opt.nfev == 500
    assert opt.best_y < 0.05


def test_told_twice_is_a_second_measurement_not_an_answer_for_another():
    opt = new()
    x = opt.ask()
    opt.tell(x[:1], [1.0])
    opt.tell(x[:1], [2.0])
    assert opt.nfev == 1
    np.testing.assert_array_equal(opt.ask(), x[1:])


def test_equal_points_of_a_batch_each_get_an_answer():
    """Projected samples can coincide in a corner."""
    opt = EGL([(0, 1)], [0.0], budget=60, settings=EGLSettings(m=16, epsilon=5.0))
    x = opt.ask()
    assert len(np.unique(x)) < len(x)
    opt.tell(x, x[:, 0])
    assert opt.nfev == len(x)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.zeros((2, 3)), [1, 2], r"\(2, 3\).*\(k, 4\)"),
        (np.zeros((2, 4)), [1], r"\(1,\) for 2 points"),
        (np.zeros((1, 4)), ["a"], "y must be numbers"),
        (np.zeros((1, 4)), [1j], "y must be numbers"),
        (np.full((1, 4), 6.0), [1.0], "outside the bounds"),
        (np.full((1, 4), np.nan), [1.0], "outside the bounds"),
    ],
)
def test_bad_input_is_refused_and_costs_nothing(x, y, words):
    opt = new()
    opt.ask()
    before = fingerprint(opt)
    with pytest.raises(ValueError, match=words):
        opt.tell(x, y)
    assert fingerprint(opt) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": -1}, "budget = -1"),
        ({"budget": 1.5}, "budget = 1.5"),
        ({"budget": True}, "budget = True"),
        ({"budget": 10, "seed": -1}, "seed = -1"),
        ({"budget": 10, "seed": 0.5}, "seed = 0.5"),
        ({"budget": 10, "x0": [9, 9]}, r"x0\[0\] = 9"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        EGL([(-5, 5)] * 2, **arguments)
    with pytest.raises(TypeError, match="settings has the type dict: the algorithm 'egl' takes EGLSettings"):
        EGL([(-5, 5)] * 2, budget=3, settings={"m": 3})


def test_all_coordinates_fixed():
    opt = EGL([(2, 2), (3, 3)], budget=10)
    x = opt.ask()
    np.testing.assert_array_equal(x, [[2, 3]])
    opt.tell(x, [5.0])
    assert opt.stop() is Status.CONVERGED
    assert (opt.best_y, opt.nfev) == (5.0, 1)


def test_fixed_coordinates_never_move():
    opt = EGL([(-5, 5), (2, 2), (-5, 5)], budget=300)
    while not opt.stop():
        x = opt.ask()
        assert (x[:, 1] == 2).all()
        opt.tell(x, f(x))
    assert opt.best_y == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(("y", "kind"), [(["3"] * 10, "str"), (np.full(10, 1 + 5j), "complex128")])
def test_text_and_complex_numbers_are_no_values(y, kind):
    opt = AutoEGL([(-5, 5)] * 3, budget=100)
    x = opt.ask()
    with pytest.raises(ValueError, match=rf"y must be numbers.*it holds {kind}"):
        opt.tell(x, y[: len(x)])
    assert opt.nfev == 0


def test_convergence_to_the_resolution_of_floats_is_a_reason_to_stop():
    opt = finish(EGL([(1e12, 1e12 + 1)] * 2, budget=10**6, settings=EGLSettings(n_max=1)), lambda x: f(x - 1e12))
    assert opt.stop() is Status.CONVERGED
    assert opt.nfev < 10**5


values = st.one_of(
    st.floats(-1e3, 1e3),
    st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 0.0, -0.0, 1.0]),
)


@given(data=st.data(), rule=st.sampled_from(["row", "mean", "best"]), region=st.sampled_from(["tanh", "linear"]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_any_sequence_of_tells_is_survived(data, rule, region):
    """Whatever is told, points stay inside, counts are right, nothing is raised."""
    n = data.draw(st.integers(1, 3))
    opt = EGL(
        [(-1.0, 2.0)] * n,
        budget=60,
        settings=EGLSettings(m=5, shrink_rule=rule, region=region, n_max=2, jump=data.draw(st.booleans())),
    )
    for _ in range(60):
        if opt.stop():
            break
        x = opt.ask()
        assert ((x >= -1) & (x <= 2)).all()
        part = data.draw(st.lists(st.integers(0, len(x) - 1), min_size=1, max_size=len(x)))  # with repetitions
        if data.draw(st.booleans()):
            opt.tell(data.draw(st.lists(st.floats(-1, 2), min_size=n, max_size=n)), data.draw(values))
        before = opt.nfev
        opt.tell(x[part], [data.draw(values) for _ in part])
        assert 0 <= opt.nfev - before <= len(part)
        assert opt.nfev <= 60
        assert np.isfinite(opt.x_favorite).all()
        assert np.isfinite(list(opt.state()["search"]["gradient"])).all()


def test_an_answer_can_say_where_the_point_really_was():
    # On a grid, the search learns where the values are, not where it asked for them.
    def evaluated(moved):
        opt = AutoEGL([(-4, 5)] * 2, x0=[3, 3], budget=60, seed=0)
        while not opt.stop():
            first, x = opt.asked, opt.ask(1)
            grid = np.round(x)
            opt.answer(range(first, opt.asked), np.sum(grid**2, axis=1), grid if moved else None)
        return opt

    assert evaluated(True).best_x.tolist() == [0, 0]
    assert np.array_equal(evaluated(True).best_x, np.round(evaluated(True).best_x))
    assert not np.array_equal(evaluated(False).best_x, np.round(evaluated(False).best_x))
