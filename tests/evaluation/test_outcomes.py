"""What every kind of worker has in common: one outcome a point, the same values, failures as records."""

import math
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from eglearn.evaluation import make_evaluator

KINDS = ["serial", "one process", "two processes", "threads", "threads, timeout", "map"]


@pytest.fixture
def options(request):
    """Arguments of make_evaluator for a kind of worker."""
    with ThreadPoolExecutor(3) as threads:
        yield {
            "serial": {"workers": 1},
            "one process": {"workers": 1, "timeout": 60},
            "two processes": {"workers": 2},
            "eight processes": {"workers": 8},
            "threads": {"workers": threads},
            "threads, timeout": {"workers": threads, "timeout": 60},
            "map": {"workers": map},
        }[request.param]


every_kind = pytest.mark.parametrize("options", KINDS, indirect=True)


def odd_objective():
    class Odd:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("no array here")

    def f(x):
        match int(x[0]):
            case 0:
                return np.zeros(3)
            case 1:
                return None
            case 2:
                return 1.0 + 2.0j
            case 3:
                return "3"
            case 4:
                return math.inf
            case 5:
                return -np.float64(np.inf)
            case 6:
                return math.nan
            case 7:
                raise ValueError("two\nlines")
            case 8:
                raise SystemExit(3)
            case 9:
                return Odd()
            case 10:
                return np.array([[7.5]])
            case 11:
                return True
            case 12:
                return np.float32(0.5)
            case 13:
                return 3
            case _:
                return float(x[0])

    return f


EXPECTED_ERRORS = [
    "the objective returned an array of shape (3,), not one number",
    "the objective returned None (NoneType), not a number",
    "the objective returned (1+2j) (complex), not a number",
    "the objective returned '3' (str), not a number",
    "the objective returned inf",
    "the objective returned -inf",
    "the objective returned nan",
    "the objective raised ValueError: two lines",
    "the objective raised SystemExit: 3",
    "the objective returned a Odd, not a number",
]


@every_kind
def test_odd_values_are_failures_with_a_reason_and_spare_the_others(options, run):
    outcomes = run(make_evaluator(odd_objective(), **options), np.arange(16.0)[:, None])
    assert [outcome.error for outcome in outcomes] == EXPECTED_ERRORS + [None] * 6
    assert all(math.isnan(outcome.y) for outcome in outcomes[:10])
    assert [outcome.y for outcome in outcomes[10:]] == [7.5, 1.0, 0.5, 3.0, 14.0, 15.0]
    assert [outcome.attempts for outcome in outcomes] == [1] * 16
    assert all(outcome.worker and outcome.seconds >= 0.0 for outcome in outcomes)


@every_kind
def test_all_points_fail(options, run):
    def f(x):
        raise ArithmeticError

    outcomes = run(make_evaluator(f, retries=2, **options), np.zeros((7, 2)))
    assert {outcome.error for outcome in outcomes} == {"the objective raised ArithmeticError"}
    assert [outcome.attempts for outcome in outcomes] == [3] * 7


@pytest.mark.parametrize("options", [*KINDS, "eight processes"], indirect=True)
def test_values_depend_neither_on_workers_nor_on_the_order_of_completion(options, run):
    x = np.random.default_rng(0).normal(size=(40, 11)) * 10.0 ** np.arange(-5, 6)

    def f(x):
        time.sleep(random.choice([0.0, 0.001, 0.004]))
        return np.sin(x).sum() * np.exp(-x @ x)

    evaluator = make_evaluator(f, **options)
    first = [outcome.y for outcome in run(evaluator, x, close=False)]
    second = [outcome.y for outcome in run(evaluator, x[::-1])]
    expected = [np.sin(row).sum() * np.exp(-row @ row) for row in x]
    assert first == expected  # bit for bit
    assert second == expected[::-1]


@every_kind
def test_a_flaky_point_succeeds_at_its_second_attempt(options, run, tmp_path):
    def f(x):
        seen = tmp_path / str(int(x[0]))
        if int(x[0]) % 3 == 0 and not seen.exists():
            seen.touch()
            raise OSError("the licence server is busy")
        return float(x[0])

    outcomes = run(make_evaluator(f, retries=1, **options), np.arange(10.0)[:, None])
    assert [outcome.y for outcome in outcomes] == list(range(10))
    assert [outcome.error for outcome in outcomes] == [None] * 10
    assert [outcome.attempts for outcome in outcomes] == [2 if row % 3 == 0 else 1 for row in range(10)]


@every_kind
def test_the_objective_may_write_into_its_argument(options, run):
    def f(x):
        x += 1.0
        return x.sum()

    x = np.arange(12.0).reshape(4, 3)
    assert [outcome.y for outcome in run(make_evaluator(f, **options), x)] == [6.0, 15.0, 24.0, 33.0]
    assert (x == np.arange(12.0).reshape(4, 3)).all()


@every_kind
def test_lambdas_closures_and_an_empty_batch(options, run):
    shift = np.array([1.0, 2.0])
    evaluator = make_evaluator(lambda x: (x - shift) @ (x - shift), **options)
    assert run(evaluator, np.empty((0, 2)), close=False) == []
    assert [outcome.y for outcome in run(evaluator, np.array([[1.0, 2.0], [4.0, 6.0]]))] == [0.0, 25.0]
    evaluator.close()  # a second time


def test_vectorized_calls_once_and_retries_only_what_failed(run):
    calls = []

    def f(x):
        calls.append(len(x))
        return np.where((x[:, 0] > 1) & (len(calls) < 2), np.nan, x[:, 0])

    outcomes = run(make_evaluator(f, vectorized=True, retries=1), np.arange(4.0)[:, None])
    assert [(outcome.y, outcome.attempts) for outcome in outcomes] == [(0, 1), (1, 1), (2, 2), (3, 2)]
    assert calls == [4, 2]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda x: np.zeros(3), "the vectorized objective returned 3 values for 2 points"),
        (lambda x: 1 / 0, "the objective raised ZeroDivisionError: division by zero"),
        (lambda x: None, "the vectorized objective returned one NoneType, not 2 values"),
        (lambda x: 3.0, "the vectorized objective returned one float, not 2 values"),
        (lambda x: np.float64(3), "the vectorized objective returned one float64, not 2 values"),
    ],
)
def test_a_vectorized_call_that_fails_fails_the_batch(answer, error, run):
    outcomes = run(make_evaluator(answer, vectorized=True), np.zeros((2, 1)))
    assert [outcome.error for outcome in outcomes] == [error] * 2
