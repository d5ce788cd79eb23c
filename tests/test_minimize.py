"""minimize(): SciPy's habits, and everything that can go wrong in a user's function."""

import inspect
import itertools
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
import scipy.optimize

from eglearn import EGL, IGL, AutoEGL, EGLSettings, Result, Status, minimize
from eglearn.evaluation.base import ObjectiveError


def f(x):
    return float(np.sum((x - 1) ** 2))


BOX = [(-5, 5)] * 3


def test_result_has_the_fields_of_scipy():
    res = minimize(f, BOX, budget=300)
    assert isinstance(res, Result)
    assert res.success is True
    assert (res.nfev, res.status, res.n_failed) == (300, Status.BUDGET, 0)
    assert res.fun == f(res.x) < 1e-2
    assert res["x"] is res.x
    assert res.message == "The budget of 300 evaluations is used."
    assert {"x", "fun", "nfev", "nit", "status", "message", "success"} <= set(res)
    assert "success: True" in str(res)
    with pytest.raises(KeyError):
        res["nonsense"]


@pytest.mark.parametrize(
    "bounds",
    [
        BOX,
        np.array(BOX),
        scipy.optimize.Bounds([-5] * 3, [5] * 3),
        (np.full(3, -5), np.full(3, 5)),
        ([-5, -5, -5], [5, 5, 5]),
    ],
)
def test_all_forms_of_bounds_give_the_same_run(bounds):
    assert minimize(f, bounds, budget=100).fun == minimize(f, BOX, budget=100).fun


def test_starts_at_x0_in_the_users_units():
    seen = []
    minimize(lambda x: seen.append(x) or f(x), [(0, 10), (-1, 1)], [7.5, 0.25], budget=5)
    np.testing.assert_array_equal(seen[0], [7.5, 0.25])


def test_objective_may_write_into_its_argument():
    def rude(x):
        value = f(x)
        x[:] = np.nan
        return value

    assert minimize(rude, BOX, budget=200).fun == minimize(f, BOX, budget=200).fun


def test_vectorized_equals_serial():
    shapes = set()

    def many(x):
        shapes.add(x.ndim)
        return np.sum((x - 1) ** 2, axis=1)

    assert minimize(many, BOX, budget=300, vectorized=True).fun == pytest.approx(minimize(f, BOX, budget=300).fun)
    assert shapes == {2}


def test_vectorized_with_a_wrong_number_of_values_fails_with_the_reason():
    res = minimize(lambda x: np.ones(3), BOX, budget=300, vectorized=True)
    assert res.status is Status.ALL_FAILED
    assert "returned 3 values for 7 points" in res.message


@pytest.mark.parametrize("budget", [0, 1, 5, 17])
def test_small_budgets(budget):
    calls = []
    res = minimize(lambda x: calls.append(1) or f(x), BOX, budget=budget)
    assert len(calls) == res.nfev == budget
    if budget == 0:
        assert np.isnan(res.fun)
        assert not res.success
        assert "nothing was evaluated" in res.message
        np.testing.assert_array_equal(res.x, [0, 0, 0])


def test_one_dimension():
    assert minimize(lambda x: (x[0] - 2) ** 2, [(-5, 5)], budget=400).x[0] == pytest.approx(2, abs=1e-7)


BAD = {
    "nan": (lambda x: np.nan, "returned nan"),
    "inf": (lambda x: np.inf, "returned inf"),
    "none": (lambda x: None, "None"),
    "text": (lambda x: "3.0", "'3.0' (str)"),
    "complex": (lambda x: 1j, "1j (complex)"),
    "vector": (lambda x: x, "shape (3,)"),
    "exception": (lambda x: 1 / 0, "ZeroDivisionError: float division by zero"),
}


@pytest.mark.parametrize("kind", BAD)
def test_some_evaluations_fail(kind):
    """One in five fails; the run goes on, counts them, and finds the minimum all the same."""
    bad, words = BAD[kind]
    calls = []

    def flaky(x):
        calls.append(1)
        return bad(x * 0.0) if len(calls) % 5 == 3 else f(x)

    if kind == "exception":
        words = "ZeroDivisionError"
    res = minimize(flaky, BOX, budget=600)
    assert res.n_failed == 120
    assert res.nfev == len(calls) == 600
    assert res.fun < 1e-2
    assert res.success
    assert "120 evaluations failed" in res.message
    assert words in res.message


@pytest.mark.parametrize("kind", BAD)
def test_all_evaluations_fail(kind):
    res = minimize(BAD[kind][0], BOX, budget=600)
    assert res.status is Status.ALL_FAILED
    assert np.isnan(res.fun)
    assert not res.success
    assert 60 <= res.nfev < 70
    assert f"{res.nfev} evaluations failed" in res.message


def test_the_few_points_that_do_not_fail_are_found():
    """A slab of a twentieth of the box, without its centre."""

    def slab(x):
        return np.sum(x**2) if 3 < x[0] < 3.5 else np.nan

    for seed in range(5):
        res = minimize(slab, [(-5, 5)] * 5, budget=1000, seed=seed)
        assert res.status is Status.BUDGET
        assert res.fun < 20


def test_a_point_from_elsewhere_is_where_to_search_if_the_start_fails():
    opt = AutoEGL([(-5, 5)] * 5, budget=300)
    opt.tell(np.full(5, 3.0), 45.0)
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, np.where(np.min(x, axis=1) > 2, np.sum(x**2, axis=1), np.nan))
    assert opt.best_y < 25  # random points with a value are rarer than one in a hundred


@pytest.mark.parametrize("penalty", [1e10, 1e300, sys.float_info.max])
@pytest.mark.parametrize("n", [3, 10, 64])
def test_huge_penalties_beside_the_minimum(n, penalty):
    def f(x):
        if x[0] > 0.6:
            raise ArithmeticError("too far")
        return np.sum((x - 0.5) ** 2 * np.linspace(1, 100, n))

    res = minimize(f, [(-5, 5)] * n, np.full(n, -0.75), budget=150 * n, on_error=penalty)
    assert res.status is Status.BUDGET
    assert res.fun < 1e-6


@pytest.mark.parametrize("bounds", [[(-np.inf, np.inf)] * 5, [(0, np.inf)] * 5, [(-0.1, 0.3)] * 5])
@pytest.mark.parametrize("algorithm", [AutoEGL, EGL])
def test_the_result_is_a_point_that_was_evaluated(bounds, algorithm):
    values = {}

    def steep(x):
        values[x.tobytes()] = y = 1e9 * np.sum(np.abs(x - 0.123))
        return y

    for seed in range(3):
        res = minimize(steep, bounds, np.full(5, 0.2), scale=1.0, budget=300, seed=seed, algorithm=algorithm)
        assert values[res.x.tobytes()] == res.fun


def test_the_best_point_is_asked_for_again_to_the_last_bit():
    """The default evaluates it again to find noise; rounding on the way to x would look like it."""
    beside = 0
    for seed in range(10):
        opt = AutoEGL([(-np.inf, np.inf)] * 5, np.full(5, 0.2), scale=1.0, budget=100, seed=seed)
        x = opt.ask()
        opt.tell(x, np.sum(np.abs(x - 0.123), axis=1))
        assert opt.x_favorite.tobytes() == opt.best_x.tobytes()
        assert opt.best_x.tobytes() in {point.tobytes() for point in x}
        beside += opt.box.to_x(opt.best_u[None])[0].tobytes() != opt.best_x.tobytes()
    assert beside > 0


def test_what_a_callback_sees():
    seen = []
    res = minimize(f, BOX, budget=100, callback=lambda intermediate_result: seen.append(intermediate_result))
    assert {r.status for r in seen[:-1]} == {Status.RUNNING}
    assert seen[1].message == f"The run is in progress, after {seen[1].nfev} evaluations."
    assert seen[-1].status is Status.BUDGET
    seen.clear()
    res = minimize(
        f, BOX, budget=100, target=1e3, callback=lambda intermediate_result: seen.append(intermediate_result)
    )
    assert [r.status for r in seen] == [Status.TARGET]
    assert res.status is Status.TARGET


def test_on_error_raise():
    with pytest.raises(ObjectiveError, match=r"returned nan, at x = \[0. 0. 0.\]"):
        minimize(lambda x: np.nan, BOX, budget=10, on_error="raise")


def test_on_error_penalty():
    res = minimize(lambda x: np.nan if x[0] < 0 else f(x), BOX, budget=400, on_error=1e6)
    assert res.fun < 1e-2
    assert res.n_failed > 0


def test_a_penalty_is_no_value_that_was_found():
    res = minimize(lambda x: np.nan, BOX, budget=50, on_error=7)
    assert (res.n_failed, res.success, res.status) == (50, False, Status.BUDGET)
    assert np.isnan(res.fun)
    assert "50 evaluations failed, the first because the objective returned nan." in res.message
    res = minimize(lambda x: np.nan if x[0] < -1 else f(x) + 1000, BOX, budget=300, on_error=0.0)
    assert not res.success
    assert res.message.endswith("No value is below on_error = 0, which stands for failed ones: choose a larger one.")
    res = minimize(lambda x: np.nan, BOX, budget=50, on_error=0.0, target=1.0)
    assert res.status is Status.BUDGET


def test_retries_cost_no_budget():
    calls = []

    def flaky(x):  # every other call fails
        calls.append(x.tobytes())
        return np.nan if len(calls) % 2 else f(x)

    res = minimize(flaky, BOX, budget=60, retries=1)
    assert (res.nfev, res.n_failed, len(calls)) == (60, 0, 120)
    assert calls[::2] == calls[1::2]  # each is tried again at once


def test_callback_by_name_and_by_position():
    results, points = [], []
    minimize(f, BOX, budget=100, callback=lambda intermediate_result: results.append(intermediate_result))
    minimize(f, BOX, budget=100, callback=lambda xk: points.append(xk))
    assert [r.nit for r in results] == list(range(1, len(results) + 1))
    assert results[-1].nfev == 100
    np.testing.assert_array_equal(points[-1], results[-1].x)
    assert all(a.fun >= b.fun for a, b in itertools.pairwise(results))


def test_callback_stops_the_run():
    def stop(intermediate_result):
        if intermediate_result.nit == 3:
            raise StopIteration

    res = minimize(f, BOX, budget=1000, callback=stop)
    assert (res.status, res.nit, res.success) == (Status.CALLBACK, 3, True)


def test_an_exception_in_the_callback_is_the_users():
    with pytest.raises(ZeroDivisionError):
        minimize(f, BOX, budget=100, callback=lambda x: 1 / 0)


def test_target_and_time():
    res = minimize(f, BOX, budget=10**6, target=1e-3)
    assert res.status is Status.TARGET
    assert res.fun <= 1e-3
    res = minimize(lambda x: time.sleep(0.001) or f(x), BOX, budget=10**6, max_seconds=0.2)
    assert res.status is Status.TIME
    assert res.success


def test_ctrl_c_returns_the_best_so_far():
    def slow(x):
        time.sleep(0.002)
        return f(x)

    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    res = minimize(slow, BOX, budget=10**6)
    timer.join()
    assert res.status is Status.INTERRUPTED
    assert not res.success
    assert np.isfinite(res.fun)
    assert 10 < res.nfev < 10**5


@pytest.mark.parametrize("stop", [9, 21])
def test_ctrl_c_loses_no_finished_evaluation(stop):
    calls = []

    def interrupted(x):
        if len(calls) == stop:
            raise KeyboardInterrupt
        calls.append(f(x))
        return calls[-1]

    res = minimize(interrupted, BOX, budget=100)
    assert res.nfev == stop
    assert res.fun == min(calls)


def test_infinite_bounds():
    target = np.array([30.0, -4.0, 0.5])
    res = minimize(
        lambda x: np.sum((x - target) ** 2),
        [(None, None), (-np.inf, 2), (0, None)],
        [0.0, 0.0, 1.0],
        scale=10.0,
        budget=3000,
    )
    np.testing.assert_allclose(res.x, target, atol=1e-6)
    with pytest.raises(ValueError, match="needs x0 and scale"):
        minimize(f, [(None, None)], budget=10)
    with pytest.raises(ValueError, match="needs scale"):
        minimize(f, [(None, None)], [0.0], budget=10)


def test_unbounded_problems_need_no_bounds_argument():
    res = minimize(f, None, [0.0, 0.0], scale=1.0, budget=1000)
    np.testing.assert_allclose(res.x, 1, atol=1e-6)


def test_fixed_coordinates():
    res = minimize(f, [(-5, 5), (3, 3)], budget=300)
    assert res.x[1] == 3
    assert res.fun == pytest.approx(4, abs=1e-4)
    res = minimize(f, [(2, 2), (3, 3)], budget=300)
    assert (res.status, res.nfev, res.fun) == (Status.CONVERGED, 1, 5.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bounds": BOX, "x0": [6, 0, 0]}, r"x0\[0\] = 6 is outside its bounds \(-5, 5\)"),
        ({"bounds": BOX, "x0": [0, 0]}, "x0 has 2 coordinates, but bounds have 3"),
        ({"bounds": [(1, 0)]}, "low must not exceed high"),
        ({"bounds": []}, "bounds are empty"),
        ({"bounds": BOX, "on_error": "ignore"}, "on_error = 'ignore'"),
        ({"bounds": BOX, "on_error": np.nan}, "on_error = nan"),
        ({"bounds": BOX, "x0": [0, np.nan, 0]}, r"x0\[1\] = nan: it must be a finite number"),
        ({"bounds": None, "x0": [0, 0], "scale": "wide"}, "scale = 'wide': it must be one positive number"),
        ({"bounds": BOX, "timeout": "1"}, "timeout='1' must be a positive number"),
        ({"bounds": BOX, "timeout": True}, "timeout=True must be a positive number"),
        ({"bounds": BOX, "vectorized": "no"}, "vectorized = 'no': it must be True or False"),
        ({"bounds": BOX, "about": 3}, "about = 3: it must be a mapping"),
        ({"bounds": BOX, "about": {"a": object()}}, r"about\['a'\] = .*: it must be JSON data"),
        ({"bounds": BOX, "retries": -1}, "retries=-1"),
        ({"bounds": BOX, "max_seconds": 0}, "max_seconds = 0"),
        ({"bounds": BOX, "budget": "many"}, "budget = 'many'"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words) as caught:
        minimize(f, **({"budget": 10} | arguments))
    assert "\n" not in str(caught.value)


def test_an_objective_that_is_not_callable():
    with pytest.raises(TypeError, match="the objective 3 is not callable"):
        minimize(3, BOX, budget=10)


def test_other_algorithms_and_settings():
    res = minimize(f, BOX, budget=200, algorithm=IGL)
    assert res.nfev == 200
    res = minimize(f, BOX, budget=200, algorithm="egl", settings=EGLSettings(model="constant"))
    assert res.fun < 1


def test_silent(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = threading.active_count()
    minimize(f, BOX, budget=200)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == before


def test_signature_is_documented():
    documented = inspect.getdoc(minimize)
    for name in inspect.signature(minimize).parameters:
        assert f"\n{name}" in documented or f" {name}" in documented


def test_numbers_beyond_floats_are_failures_of_the_value():
    res = minimize(lambda x: 10**400, BOX, budget=5)
    assert "returned a whole number beyond the largest float" in res.message


@pytest.mark.parametrize("seed", range(4))
def test_a_flat_start_is_left_for_the_whole_box(seed):
    """One ball is lower than all else, which is flat: 4 of 1,000 points of the box are inside."""
    res = minimize(lambda x: float(np.sum((x - 3) ** 2) > 1), BOX, np.full(3, -3.0), budget=2000, seed=seed)
    assert res.fun == 0


def test_a_start_on_the_lowest_plateau_is_where_to_stay():
    opt = AutoEGL(BOX, np.full(3, -3.0), budget=1000)
    while opt._search.scout.lost or not opt.nfev:
        x = opt.ask()
        opt.tell(x, np.max(np.abs(x + 3), axis=1) > 1.8)
    np.testing.assert_array_equal(opt.best_x, np.full(3, -3.0))
    assert np.max(np.abs(opt.ask()[0] + 3)) <= 1.1  # within the first radius
