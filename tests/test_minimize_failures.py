"""minimize(): everything that can go wrong: in a user's function, in the arguments, and by Ctrl-C."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

from eglearn import AutoEGL, Status, minimize
from eglearn.evaluation.base import ObjectiveError

BOX = [(-5, 5)] * 3


def f(x):
    return float(np.sum((x - 1) ** 2))


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
    assert res.nfev == 1 + 9 * 7  # the start, and batches until a tenth of the budget has failed
    assert "64 evaluations failed" in res.message


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


def test_vectorized_with_a_wrong_number_of_values_fails_with_the_reason():
    res = minimize(lambda x: np.ones(3), BOX, budget=300, vectorized=True)
    assert res.status is Status.ALL_FAILED
    assert "returned 3 values for 7 points" in res.message


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


def test_an_exception_in_the_callback_is_the_users():
    with pytest.raises(ZeroDivisionError):
        minimize(f, BOX, budget=100, callback=lambda x: 1 / 0)


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


def test_numbers_beyond_floats_are_failures_of_the_value():
    res = minimize(lambda x: 10**400, BOX, budget=5)
    assert "returned a whole number beyond the largest float" in res.message


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
        ({"bounds": BOX, "retries": -1}, "retries = -1"),
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
