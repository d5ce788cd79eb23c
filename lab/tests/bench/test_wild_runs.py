"""Runs on the laboratory's own suites: what an algorithm sees, what is kept, and how it is compared."""

import math
import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from eglearn_lab.bench import wild_runs
from eglearn_lab.bench.algorithms import ALGORITHMS, Run
from eglearn_lab.bench.problems import _RunOver
from eglearn_lab.bench.wild_report import collect, duel, family_table, problem_table, rank_table, sections, text
from eglearn_lab.bench.wild_runs import WildJob, WildObjective, WildRuns, jobs, load_runs, problems_of
from eglearn_lab.runner import run_jobs
from eglearn_lab.suites.base import Problem

TOY = """
from dataclasses import replace
import numpy as np
from eglearn_lab.bench import wild_runs
from eglearn_lab.suites.base import Problem

def toy():
    bowl = Problem(np.array([0.0, 10.0]), np.array([1.0, 30.0]), np.array([0.25, 25.0]), budget=40,
                   build=lambda rng: lambda x: float((x[0] - 0.5) ** 2 + (x[1] / 20 - 0.7) ** 2), best_known=0.0)
    noisy = replace(bowl, noisy=True, build=lambda rng: lambda x: float(
        (x[0] - 0.5) ** 2 + (0 if rng is None else 1 + rng.random())))
    return [replace(bowl, name="bowl", family="smooth"), replace(noisy, name="noisy", family="noisy"),
            replace(bowl, name="aside", family="smooth", set_aside=True)]

wild_runs.SUITES["toy"] = toy
"""


def problem(objective, **rest):
    return Problem(np.zeros(2), np.array([1.0, 100.0]), np.array([0.5, 25.0]), 3, lambda rng: objective, **rest)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "bench_toy.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{':'.join(sys.path)}")
    monkeypatch.setattr(wild_runs, "SUITES", dict(wild_runs.SUITES))
    __import__("bench_toy")
    yield tmp_path
    sys.modules.pop("bench_toy", None)
    problems_of.cache_clear()


def test_an_algorithm_sees_the_box_scaled_and_is_projected():
    seen = []
    fun = WildObjective(problem(lambda x: seen.append(x) or float(x.sum())), 0, failures=True)
    assert fun.x0.tolist() == [0.0, -2.5]
    assert fun(fun.x0) == 25.5
    assert fun([5.0, 99.0]) == 101.0
    assert fun(np.array([-5.0, -5.0])) == 0.0
    np.testing.assert_array_equal(seen, [[0.5, 25.0], [1.0, 100.0], [0.0, 0.0]])
    assert (fun.best, fun.best_x.tolist()) == (0.0, [-5.0, -5.0])
    with pytest.raises(_RunOver):
        fun(fun.x0)


@pytest.mark.parametrize("failure", [math.nan, math.inf, RuntimeError("no")])
def test_a_failure_is_nan_for_ours_and_the_worst_value_for_the_others(failure):
    values = [7.0, failure, failure]

    def objective(x):
        y = values.pop(0)
        if isinstance(y, Exception):
            raise y
        return y

    fun = WildObjective(problem(objective, fails=True), 0, failures=False)
    assert [fun(fun.x0), fun(fun.x0)] == [7.0, 7.0]
    values[:] = [7.0, failure]
    ours = WildObjective(problem(objective, fails=True), 0, failures=True)
    assert ours(ours.x0) == 7.0
    assert math.isnan(ours(ours.x0))
    assert (ours.failed, ours.best) == (1, 7.0)


def test_an_error_in_a_problem_is_no_failure():
    def objective(x):
        raise ZeroDivisionError

    fun = WildObjective(problem(objective), 0, failures=True)
    with pytest.raises(ZeroDivisionError):
        fun(fun.x0)


def test_only_the_half_that_is_asked_for_runs():
    names = {p.name for p in problems_of("wild").values() if p.set_aside}
    development, last = jobs("wild", ["auto"], [0]), jobs("wild", ["auto"], [0], set_aside=True)
    assert len(development) == len(last) == 30
    assert not names & {job.problem for job in development}
    assert {job.problem for job in last} == names


def test_slow_algorithms_are_left_out_of_large_problems():
    ran = {job.problem for job in jobs("wild", ["cobyqa-restarts"], [0])}
    assert "truss-10" in ran
    assert "regression-969" not in ran


def test_bipop_begins_at_x0():
    pytest.importorskip("cma")
    first = []
    fun = WildObjective(problem(lambda x: first.append(x) or float(x @ x)), 0, failures=False)
    fun.budget = 200
    fun.lower, fun.upper, fun.x0 = fun.lower, fun.upper, np.array([4.9, -4.9])
    with pytest.raises(_RunOver):
        ALGORITHMS["bipop-cma-x0"].function(Run(fun, 1))
    begun = np.array([(x - [0.5, 50.0]) / [0.1, 10.0] for x in first[:6]]).mean(axis=0)
    assert begun[0] > 0 > begun[1]


def test_a_stopped_benchmark_goes_on_and_is_compared(toy):
    work, todo = WildRuns(("bench_toy",)), jobs("toy", ["random", "nelder-mead-restarts", "auto"], [0, 1])
    assert len(todo) == 12
    run_jobs(toy / "out", work, todo[:5])
    table = run_jobs(toy / "out", work, todo)
    assert table.num_rows == 12
    rows = load_runs(toy / "out")
    assert {row["status"] for row in rows} == {"budget"}
    assert all(row["trace_best"][-1] == row["best"] and row["trace_evaluations"][-1] == 40 for row in rows)
    # Noise is never below 1: a noisy run is judged without it.
    assert all(row["judged"] < 1 < row["best"] for row in rows if row["problem"] == "noisy")
    v = collect(rows, ["auto", "random", "nelder-mead-restarts"])
    assert v.problems == ("bowl", "noisy")
    assert sum(duel(v, "auto", "random")) == 2
    assert duel(v, "auto", "random")[::-1] == duel(v, "random", "auto")
    assert next(title for title, _ in sections(rows)) == "Ranks at the end of the budget"
    assert [row[0].text for row in family_table(v).rows] == ["smooth", "noisy"]
    assert problem_table(v).rows[0][0].text == "bowl"


def test_a_run_is_the_same_again(toy):
    first, second = (WildRuns().attempt(WildJob("toy", "noisy", "cma", 3)) for _ in range(2))
    assert first["status"] == "budget"
    assert first["trace_best"] == second["trace_best"]


def rows_of(values):
    """Final values by algorithm and problem."""
    return [
        {"suite": "toy", "problem": p, "algorithm": a, "seed": 0, "judged": y, "cpu_optimiser": 0.1, "budget": 40,
         "trace_evaluations": [1, 40], "trace_best": [9.0, y]}
        for a, line in values.items() for p, y in line.items()
    ]  # fmt: skip


def test_ranks(toy):
    v = collect(
        rows_of({"auto": {"bowl": 1e-9, "noisy": 3.0}, "cma": {"bowl": 0.0, "noisy": 4.0}, "few": {"bowl": 1.0}})
    )
    table = rank_table(v)
    ranks = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    # On the bowl both are at the floor: equal. "few" did not run everywhere: it has no rank.
    assert ranks["auto"][0].startswith("1.25")
    assert ranks["cma"][:2] == ["1.75 [1.50, 2.00]", "1 / 1 / 0"]
    assert ranks["few"] == ["", "1 / 0 / 0", "", "1"]
    assert "| cma |" in text(table)
    assert (
        rank_table(collect(rows_of({"auto": {"bowl": 5.0}, "cma": {"bowl": 1.0}}), share=0.1)).rows[0][1].text[:4]
        == "1.50"
    )
