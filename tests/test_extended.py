"""Runs that are given more evaluations than they were begun with."""

import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.test_run import BOX, f, same

from eglearn import EGL, IGL, AutoEGL, ConvergentEGL, Status, minimize
from eglearn.cli.summary import summarise
from eglearn.report.record import Record
from eglearn.serialize import dumps, loads
from eglearn.store import History, StoreMismatch


def finish(opt, fun):
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, [value(fun, point) for point in x])


def value(fun, x):
    try:
        return fun(x)
    except ValueError:
        return np.nan


def points(path):
    return [(e.order, e.index, e.x.tobytes(), e.outcome.y) for e in History(path).evaluations()]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 400), st.integers(0, 200), st.sampled_from([1, 3, 8, 70]), st.sampled_from(["bowl", "half", "luck"])
)
def test_whatever_the_budgets_were(first, more, n, kind):
    luck = np.random.default_rng(0)

    def fun(x):
        y = float(np.sum((x - 0.7) ** 2 + 1 - np.cos(6 * (x - 0.7))))
        return np.nan if kind == "half" and x[0] > 0 else y * (luck.lognormal() if kind == "luck" else 1)

    opt = AutoEGL([(-5, 5)] * n, budget=first)
    for budget in (first, first + more, first + more + 100):
        opt.extend(budget)
        opt = AutoEGL.from_state(loads(dumps(opt.state())))
        finish(opt, fun)
        assert opt.nfev == budget


@pytest.mark.parametrize("algorithm", [EGL, IGL, ConvergentEGL, AutoEGL])
@pytest.mark.parametrize("first", [50, 77])
def test_it_is_the_run_that_the_larger_budget_would_have_made(algorithm, first):
    """Whatever the old budget cut short; in few dimensions and without noise AutoEGL plans nothing."""

    def evaluated(*budgets):
        points, opt = [], algorithm(BOX, budget=budgets[0])
        for budget in budgets:
            opt.extend(budget)
            opt = algorithm.from_state(loads(dumps(opt.state())))
            while not opt.stop():
                x = opt.ask()
                points.extend(x)
                opt.tell(x, [value(f, point) for point in x])
        return np.array(points)

    np.testing.assert_array_equal(evaluated(first, first + 1, 150), evaluated(150))


def test_noise_is_judged_by_whole_batches():
    """The old budget ends among the repetitions that tell the first value under noise: here after one of them."""

    def recommended(seed, *budgets):
        luck = np.random.default_rng(seed)
        opt = AutoEGL([(-5, 5)] * 2, budget=budgets[0], seed=seed)
        for budget in budgets:
            opt.extend(budget)
            finish(opt, lambda x: float(np.sum((x - 1.5) ** 2)) + 5 * luck.standard_normal())
        return opt.x_favorite

    errors = [np.abs(recommended(seed, first, 4000) - 1.5).max() for seed in range(4) for first in (32, 59)]
    assert np.median(errors) < 1.2  # 0.8 over 32 such runs; the noise is as large as the value at a distance of 2.2


def test_more_is_worth_it():
    def rosenbrock(x):
        return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))

    opt = AutoEGL([(-5, 5)] * 10, budget=500)
    finish(opt, rosenbrock)
    assert opt.best_y > 1e-3
    opt.extend(4000)
    finish(opt, rosenbrock)
    assert opt.best_y < 1e-9


def test_in_many_dimensions_the_plan_knows():
    opt = AutoEGL([(-5, 5)] * 70, budget=500)
    opt.extend(5000)
    assert opt._search.budget == opt._search.loop.board.budget == 5000


def test_it_cannot_become_less():
    opt = AutoEGL(BOX, budget=50)
    with pytest.raises(ValueError, match="budget = 49: it is 50 already, and can only grow"):
        opt.extend(49)
    with pytest.raises(ValueError, match=r"budget = 60.5: it must be a whole number"):
        opt.extend(60.5)
    opt.extend(50)
    assert opt.budget == 50


def test_a_fixed_point_stays_one():
    opt = AutoEGL([(1, 1)] * 2, budget=1)
    opt.extend(5)
    finish(opt, f)
    assert opt.nfev == 1


@pytest.fixture
def extended(tmp_path):
    """A run of 300 evaluations that got 700 afterwards: its result, file and points."""
    path = tmp_path / "whole.egl"
    first = minimize(f, BOX, budget=300, store=path)
    begun = points(path)
    assert first.nfev == len(begun) == 300
    result = minimize(f, BOX, budget=700, store=path)
    assert points(path)[:300] == begun
    return result, path, points(path)


def test_a_stored_run_goes_on(extended, tmp_path, caplog):
    result, path, evaluated = extended
    assert (result.nfev, len(evaluated)) == (700, 700)
    text = "\n".join(record.getMessage() for record in caplog.get_records("setup"))
    assert f"{path} holds a run of 300 evaluations: it continues to 700" in text
    assert History(path).identity["budget"] == 700
    assert History(path).budgets == [300, 700]
    # The same call again finds the result, without an evaluation.
    assert same(minimize(lambda x: 1 / 0, BOX, budget=700, store=path, fingerprint="any"), result)
    # It is what ask and tell make of it.
    opt = AutoEGL(BOX, budget=300)
    finish(opt, f)
    opt.extend(700)
    finish(opt, f)
    assert (opt.best_y, opt.nfev) == (result.fun, 700)
    with pytest.raises(StoreMismatch, match="a budget can only grow: 300 is too few, give it 700 or more"):
        minimize(f, BOX, budget=300, store=path)


def test_what_is_hopeless_depends_on_the_budget(tmp_path):
    def island(x):
        return float(np.sum(x)) if np.all(np.abs(x - 3.5) < 0.35) else np.nan

    path = tmp_path / "run.egl"
    assert minimize(island, [(-5, 5)] * 2, budget=40, store=path).status is Status.ALL_FAILED
    result = minimize(island, [(-5, 5)] * 2, budget=5000, store=path)
    assert (result.status, result.nfev) == (Status.BUDGET, 5000)
    assert result.fun < 7


def test_a_budget_counts_when_the_run_comes_to_it(tmp_path):
    path = tmp_path / "run.egl"
    reached = minimize(f, BOX, budget=100, store=path, target=1e9)
    assert same(minimize(f, BOX, budget=10**9, store=path, target=1e9), reached)
    assert History(path).budgets == [100]
    assert minimize(f, BOX, budget=100, store=path).nfev == 100


def test_killed_after_it_was_extended_it_has_no_result(extended):
    """The file holds that of its first end until then."""
    path = extended[1]
    assert summarise(path)["status"] == "BUDGET"
    assert Record(History(path)).result["nfev"] == 700
    code = "import os, sys; from tests.test_extended import *; "
    code += "minimize(lambda x: os._exit(1), BOX, budget=900, store=sys.argv[1], fingerprint='any')"
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == 1
    assert (summarise(path)["status"], summarise(path)["budget"]) == ("stopped without a result: resume it", 900)
    assert Record(History(path)).result is None


@pytest.mark.parametrize("interrupted", [50, 299, 301, 650])
def test_interrupted_and_continued_it_is_the_same(extended, tmp_path, interrupted):
    """Whether it is interrupted before or after, and whenever the larger budget is asked for."""
    calls = []

    def stops(x):
        calls.append(x)
        if len(calls) > interrupted:
            raise KeyboardInterrupt
        return f(x)

    path = tmp_path / "parts.egl"
    for budget in (300, 700):
        minimize(stops, BOX, budget=budget, store=path, fingerprint="any")
    assert len(points(path)) == interrupted
    assert same(minimize(f, BOX, budget=700, store=path, fingerprint="any"), extended[0])
    assert points(path) == extended[2]


def test_without_checkpoints_it_is_learned_again(extended):
    result, path, evaluated = extended
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM checkpoints")
    db.close()
    assert same(minimize(lambda x: 1 / 0, BOX, budget=700, store=path, fingerprint="any"), result)
    assert points(path) == evaluated


def test_where_something_else_differs_nothing_is_extended(tmp_path):
    path = tmp_path / "run.egl"
    minimize(f, BOX, budget=100, store=path)
    before = path.read_bytes()
    with pytest.raises(StoreMismatch, match="budget is 100 there and 200 here; seed is 0 there and 1 here"):
        minimize(f, BOX, budget=200, seed=1, store=path)
    assert path.read_bytes() == before
