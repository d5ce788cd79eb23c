"""A mistake in the objective is loud at once; a flaky evaluation is not."""

import itertools
import logging
import multiprocessing
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from eglearn import Status, minimize

BOX = [(-5, 5)] * 3


def typo(x):
    return nmupy.sum(x)  # noqa: F821


def wrong_attribute(x):
    return x.summ()


def wrong_type(x):
    return "a" + x[0] + len(7)


def wrong_import(x):
    import no_such_module_anywhere

    return no_such_module_anywhere.f(x)


def wrong_syntax(x):
    return eval("1 +")


MISTAKES = [
    (typo, NameError, "name 'nmupy' is not defined"),
    (wrong_attribute, AttributeError, "no attribute 'summ'"),
    (wrong_type, TypeError, "must be str|has no len|concatenate|did not contain a loop"),
    (wrong_import, ModuleNotFoundError, "no_such_module_anywhere"),
    (wrong_syntax, SyntaxError, "invalid syntax"),
]


CASES = [
    *itertools.product(MISTAKES, [{}, {"vectorized": True}, {"workers": map}]),
    *itertools.product(MISTAKES[::2], [{"workers": 2}]),
    (MISTAKES[1], {"timeout": 60}),
]


@pytest.mark.parametrize(("mistake", "how"), CASES)
def test_a_mistake_in_the_first_evaluation_is_raised_with_the_users_traceback(mistake, how):
    f, kind, text = mistake
    with pytest.raises(kind, match=text) as caught:
        minimize(f, BOX, budget=500, **how)
    shown = "".join(traceback.format_exception(caught.value))
    assert f"in {f.__name__}" in shown
    assert "the first evaluation ended so, at x = [" in shown
    assert "on_error='skip' would skip such evaluations" in shown


def test_it_costs_one_evaluation_and_is_the_very_exception():
    raised, calls = TypeError("mine"), []

    def f(x):
        calls.append(x)
        raise raised

    with pytest.raises(TypeError) as caught:
        minimize(f, BOX, budget=500)
    assert caught.value is raised
    assert len(calls) == 1


@pytest.mark.parametrize("on_error", ["skip", 1e9])
def test_who_says_what_to_do_with_failures_is_not_surprised(on_error):
    result = minimize(typo, BOX, budget=60, on_error=on_error)
    assert result.n_failed == result.nfev > 1
    assert "NameError: name 'nmupy' is not defined" in result.message


def test_only_the_first_evaluation_and_only_mistakes_are_loud():
    calls = []

    def later(x):
        calls.append(x)
        return typo(x) if len(calls) == 2 else float(x @ x)

    assert minimize(later, BOX, budget=30).n_failed == 1

    def flaky(x):
        raise OSError("licence")

    assert minimize(flaky, BOX, budget=500).status is Status.ALL_FAILED


def test_a_mistake_leaves_a_store_that_the_repaired_objective_goes_on_with(tmp_path):
    broken = True

    def f(x):
        return typo(x) if broken else float(x @ x)

    with pytest.raises(NameError):
        minimize(f, BOX, budget=50, store=tmp_path / "run.egl")
    broken = False
    result = minimize(f, BOX, budget=50, store=tmp_path / "run.egl")
    assert (result.nfev, result.n_failed) == (50, 0)
    broken = True  # the run has begun: what fails now is one of many evaluations
    assert minimize(f, BOX, budget=60, store=tmp_path / "run.egl").n_failed == 10


def test_executors_tell_of_mistakes_too(tmp_path, monkeypatch):
    with ThreadPoolExecutor(2) as threads, pytest.raises(NameError):
        minimize(typo, BOX, budget=500, workers=threads)
    (tmp_path / "mistaken.py").write_text("def f(x):\n    return nmupy.sum(x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        with pytest.raises(NameError) as caught:
            minimize("mistaken:f", BOX, budget=500, workers=executor)
        assert "mistaken.py" in "".join(traceback.format_exception(caught.value))
        with pytest.raises(Exception, match="pickle"):  # what cannot be sent is a mistake, too
            minimize(lambda x: 1.0, BOX, budget=500, workers=executor)
    sys.modules.pop("mistaken", None)


def test_an_exception_of_the_users_own_kind_becomes_the_one_it_is_derived_from(tmp_path):
    class Own(TypeError):
        def __init__(self, text, more):
            super().__init__(text)

    def f(x):
        raise Own("strange", 3)

    with pytest.raises(TypeError, match="strange"):
        minimize(f, BOX, budget=500, workers=2)


def test_equal_values_are_told_of_once(caplog):
    result = minimize(lambda x: 3.0, BOX, budget=500)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("eglearn", logging.WARNING)
    assert "values are 3.0: the objective may not use its argument" in record.getMessage()
    assert result.fun == 3.0


def test_few_equal_values_mean_nothing(caplog):
    values = iter([3.0] * 9)
    minimize(lambda x: next(values, np.sum(x)), BOX, budget=100)
    minimize(lambda x: 3.0, BOX, budget=9)
    minimize(lambda x: 3.0, [(1, 1)], budget=100)
    minimize(lambda x: np.nan, BOX, budget=100)
    assert caplog.records == []


class Parallel:
    """As joblib's: it is called with calls, and answers with a list of their results."""

    def __call__(self, calls):
        return [function(*arguments, **named) for function, arguments, named in calls]


def test_a_parallel_of_joblib_is_understood(monkeypatch):
    fake = type(sys)("joblib")
    fake.Parallel = Parallel
    monkeypatch.setitem(sys.modules, "joblib", fake)
    expected = minimize(lambda x: float(x @ x), BOX, budget=60)
    assert minimize(lambda x: float(x @ x), BOX, budget=60, workers=Parallel()).fun == expected.fun


def test_the_real_joblib():
    joblib = pytest.importorskip("joblib")
    expected = minimize(lambda x: float(x @ x), BOX, budget=60)
    for options in ({"n_jobs": 2}, {"n_jobs": 2, "backend": "threading", "return_as": "generator_unordered"}):
        assert (
            minimize(lambda x: float(x @ x), BOX, budget=60, workers=joblib.Parallel(**options), width=1).fun
            == expected.fun
        )
