"""What an objective may return or raise: a number, or a failure of that point with a short reason; never more."""

import asyncio
import math
import os
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tests.batches import evaluate

from eglearn import Status, minimize
from eglearn.evaluation import make_evaluator
from eglearn.evaluation.base import checked

BOX = [(-5, 5)] * 2


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (Fraction(1, 4), 0.25),
        (Decimal("0.25"), 0.25),
        (np.array([Fraction(1, 4)]), 0.25),
        ([Decimal("0.25")], 0.25),
        (np.ma.array([0.25]), 0.25),
        (np.longdouble(0.25), 0.25),
        (np.bool_(True), 1.0),
    ],
)
def test_numbers_of_other_kinds(value, number):
    assert checked(value) == (number, None)
    (outcome,) = evaluate(make_evaluator(lambda x: value, vectorized=False), np.zeros((1, 1)))
    assert outcome[1].y == number
    (outcome,) = evaluate(make_evaluator(lambda x: [value], vectorized=True), np.zeros((1, 1)))
    assert outcome[1].y == number


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.ma.masked, "a masked value"),
        (np.ma.array([1.0], mask=[True]), "a masked value"),
        (np.ma.array(1.0, mask=True), "a masked value"),
        (Decimal("sNaN"), "not a number"),
        (Decimal("NaN"), "returned nan"),
        (Decimal("1e400"), "returned inf"),
        (Fraction(10**400), "a number beyond the largest float"),
        (np.datetime64("2020-01-01", "ns"), "not a number"),
        ([None], "[None] (list), not a number"),
        ([[1.0], [2.0, 3.0]], "a list, not a number"),
    ],
)
def test_what_is_no_number(value, reason):
    y, error = checked(value)
    assert math.isnan(y)
    assert reason in error


def test_a_masked_value_is_not_the_best_ever():
    result = minimize(lambda x: np.ma.masked if x[0] > 0 else 5 + x @ x, BOX, budget=60)
    assert result.fun >= 5
    assert result.n_failed > 0
    many = minimize(lambda x: np.ma.masked_where(x[:, 0] > 0, 5 + x[:, 0] ** 2), BOX, budget=60, vectorized=True)
    assert many.fun >= 5
    assert many.n_failed > 0


class Mute(ValueError):
    def __str__(self):
        raise RuntimeError("no words")


class Odd:
    def __repr__(self):
        raise RuntimeError("no words")

    def __len__(self):
        raise RuntimeError("no length")


RAISED = [Mute(), asyncio.CancelledError(), GeneratorExit(), SystemExit(3), StopIteration(), RecursionError()]


@pytest.mark.parametrize("how", ["serial", "vectorized", "worker", "threads"])
def test_whatever_is_raised_fails_that_point_or_that_call(how, run):
    def raises(x):
        if x.ndim == 2:
            raise RAISED[int(x[0, 0])]
        if x[0] < len(RAISED):
            raise RAISED[int(x[0])]
        return 1.0

    with ThreadPoolExecutor(2) as threads:
        kind = {"worker": {"timeout": 60}, "vectorized": {"vectorized": True}, "threads": {"workers": threads}}
        evaluator = make_evaluator(raises, **kind.get(how, {}))
        if how == "vectorized":
            for start in range(len(RAISED)):
                outcomes = run(evaluator, np.full((2, 1), float(start)), close=False)
                assert {o.error.split()[3].rstrip(":") for o in outcomes} == {type(RAISED[start]).__name__}
            evaluator.close()
            return
        outcomes = run(evaluator, np.arange(len(RAISED) + 1.0)[:, None])
        assert outcomes.pop().y == 1.0
        named = [outcome.error.split()[3].rstrip(":") for outcome in outcomes]
        assert named == [type(error).__name__ for error in RAISED]
        assert outcomes[0].error == "the objective raised Mute: its text cannot be shown"


def test_what_the_user_wants_to_end_the_run_ends_it():
    class Alarm(BaseException):
        pass

    def rings(x):
        raise Alarm

    with pytest.raises(Alarm):
        minimize(rings, BOX, budget=10)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda x: [1.0, [2.0, 3.0]], "the vectorized objective returned a list without values (ValueError"),
        (lambda x: Odd(), "the vectorized objective returned one Odd, not 2 values"),
        (lambda x: {0: 1.0, 1: 2.0}, "the vectorized objective returned one dict, not 2 values"),
        (lambda x: {1.0, 2.0}, "the vectorized objective returned one set, not 2 values"),
        (lambda x: b"12", "the vectorized objective returned one bytes, not 2 values"),
        (lambda x: np.float64(1.0), "the vectorized objective returned one float64, not 2 values"),
    ],
)
def test_a_ragged_or_odd_vectorized_result_fails_that_call(answer, reason, run):
    for outcome in run(make_evaluator(answer, vectorized=True), np.zeros((2, 1))):
        assert reason in outcome.error


def test_single_odd_values_of_a_vectorized_call_fail_alone(run):
    outcomes = run(make_evaluator(lambda x: [1.0, Odd(), "3"], vectorized=True), np.zeros((3, 1)))
    assert [outcome.error is None for outcome in outcomes] == [True, False, False]


@pytest.mark.parametrize("workers", [1, 2])
def test_long_texts_do_not_fill_the_store(workers, tmp_path):
    def verbose(x):
        raise OSError("first " + "x" * 5_000_000 + " last")

    result = minimize(verbose, BOX, budget=60, workers=workers, store=tmp_path / "run.egl")
    assert result.status is Status.ALL_FAILED
    assert os.path.getsize(tmp_path / "run.egl") < 500_000
    assert "OSError: first xxx" in result.message
    assert "xxx last" in result.message


ODD = [np.ma.masked, Odd(), Odd, object(), Ellipsis, float, lambda: 0, iter(()), memoryview(b"1"), [Odd(), Odd()]]
dtypes = st.sampled_from(["?", "i1", "u8", "f2", "f4", "f8", "c16", "O", "M8[ns]", "S2", "U2"])
odd_values = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.integers(min_value=10**308, max_value=10**320)
    | st.complex_numbers()
    | st.fractions()
    | st.decimals()
    | st.text()
    | st.binary()
    | dtypes.map(lambda kind: np.zeros((2, 1), kind))
    | dtypes.map(lambda kind: np.zeros((), kind))
    | npst.arrays("f8", npst.array_shapes(min_dims=0, max_dims=2, max_side=2))
)
returned = odd_values | st.lists(odd_values, max_size=3) | st.dictionaries(st.integers(), odd_values, max_size=2)


@pytest.mark.parametrize("which", range(len(ODD)))
def test_odd_objects_are_failures(which):
    judge(ODD[which])


@given(value=returned)
@settings(max_examples=400, deadline=None)
@pytest.mark.filterwarnings("ignore")  # conversions that lose something may warn
def test_whatever_is_returned_is_a_finite_value_or_a_short_reason(value):
    judge(value)


def judge(value):
    for evaluator, x in (
        (make_evaluator(lambda x: value), np.zeros((1, 1))),
        (make_evaluator(lambda x: value, vectorized=True), np.zeros((2, 1))),
    ):
        outcomes = list(evaluate(evaluator, x))
        assert [row for row, _ in outcomes] == list(range(len(x)))
        for _, outcome in outcomes:
            assert (outcome.error is None) == math.isfinite(outcome.y)
            assert outcome.error is None or 0 < len(outcome.error) <= 2000
            assert type(outcome.y) is float
            assert not outcome.lost
