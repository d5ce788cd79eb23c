"""Executors and maps that belong to the user."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from tests.batches import evaluate

from eglearn.evaluation import Command, make_evaluator


def points(count):
    return np.arange(float(count))[:, None]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that other processes can import too."""
    (tmp_path / "objectives_for_pools.py").write_text("""
import os, signal
def square(x):
    return float(x[0] ** 2)
def deadly(x):
    if x[0] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(x[0])
""")
    monkeypatch.syspath_prepend(tmp_path)
    return "objectives_for_pools"


@pytest.mark.leaves_traces
def test_a_process_pool_of_the_standard_library(run, module):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        evaluator = make_evaluator(f"{module}:square", workers=executor)
        assert [outcome.y for outcome in run(evaluator, points(5))] == [0.0, 1.0, 4.0, 9.0, 16.0]
        (unsent,) = run(make_evaluator(lambda x: 0.0, workers=executor), points(1))
        assert "the executor lost the point" in unsent.error
        assert unsent.lost
        # With a timeout the objective runs in children of the workers: deaths and hangs cost no worker.
        evaluator = make_evaluator(f"{module}:deadly", workers=executor, timeout=30, retries=1)
        outcomes = run(evaluator, points(5))
        assert outcomes.pop(2)[1:3] == ("the worker was killed by SIGKILL", 2)
        assert [outcome.y for outcome in outcomes] == [0.0, 1.0, 3.0, 4.0]
        # Without it the worker dies and the pool breaks: a failure of points, never of the program.
        evaluator = make_evaluator(f"{module}:deadly", workers=executor, retries=3)
        first = run(evaluator, points(5), close=False)
        assert "the executor is broken (BrokenProcessPool): make a new executor" in first[2].error
        assert first[2].lost
        started = time.monotonic()
        later = run(evaluator, points(50))
        assert all("the executor is broken" in outcome.error for outcome in later)
        assert time.monotonic() - started < 5.0


@pytest.mark.leaves_traces
def test_a_loky_executor_takes_lambdas_and_a_timeout_kills(run):
    loky = pytest.importorskip("loky")
    executor = loky.get_reusable_executor(2, timeout=60)
    try:
        evaluator = make_evaluator(lambda x: x[0] + 1.0, workers=executor)
        assert [outcome.y for outcome in run(evaluator, points(4))] == [1.0, 2.0, 3.0, 4.0]
        evaluator = make_evaluator(lambda x: time.sleep(1000) if x[0] == 1 else x[0], workers=executor, timeout=1.0)
        outcomes = run(evaluator, points(4))
        assert outcomes.pop(1).error == "no answer within the timeout of 1 s"
        assert [outcome.y for outcome in outcomes] == [0.0, 2.0, 3.0]
        assert executor.submit(os.getpid).result() != os.getpid()  # not shut down by close
    finally:
        executor.shutdown(wait=True)


def test_an_executor_that_was_shut_down(run):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    outcomes = run(make_evaluator(lambda x: 0.0, workers=executor), points(3))
    assert [outcome.error for outcome in outcomes] == [
        "the executor lost the point (RuntimeError: cannot schedule new futures after shutdown)"
    ] * 3


class Scripted(Executor):
    """An executor whose futures end as a script says, last submitted first."""

    def __init__(self, fates):
        self.fates, self.futures = list(fates), []

    def submit(self, task, item):
        future = Future()
        self.futures.append(future)
        fate = self.fates[len(self.futures) - 1]
        if fate == "refused":
            raise BrokenProcessPool("gone")
        if fate == "cancelled":
            future.cancel()
            future.set_running_or_notify_cancel()
        elif isinstance(fate, BaseException):
            future.set_exception(fate)
        elif fate == "done":
            future.set_result(task(item))
        return future


def test_whatever_an_executor_does_each_point_gets_one_outcome(run):
    fates = ["done", "cancelled", BrokenProcessPool("x"), KeyError("k"), SystemExit(2), "refused", "done"]
    outcomes = run(make_evaluator(lambda x: x[0], workers=Scripted(fates)), points(7))
    assert [outcome.y for outcome in outcomes if outcome.error is None] == [0.0, 6.0]
    assert [outcome.error for outcome in outcomes[1:5]] == [
        "the executor lost the point (CancelledError)",
        "the executor is broken (BrokenProcessPool): make a new executor, or pass workers=N, where a dead "
        "worker is replaced",
        "the executor lost the point (KeyError: 'k')",
        "the executor lost the point (SystemExit: 2)",
    ]
    assert outcomes[5].error.startswith("the executor is broken")
    assert [outcome.lost for outcome in outcomes] == [False, True, True, True, True, True, False]


def test_a_command_that_exists_only_elsewhere_is_looked_for_there(run):
    evaluator = make_evaluator(Command("no-such-program-here"), workers=map)
    (outcome,) = run(evaluator, points(1))
    assert "the program could not be started" in outcome.error


def test_leaving_early_cancels_what_has_not_begun():
    executor = Scripted(["done", "pending", "pending"])
    outcomes = evaluate(make_evaluator(lambda x: x[0], workers=executor), points(3))
    assert next(outcomes)[0] == 0
    outcomes.close()
    assert [future.cancelled() for future in executor.futures] == [False, True, True]


def test_leaving_early_and_closing_ends_the_programs_of_busy_threads_after_their_point(tools):
    before = tools.children()
    with ThreadPoolExecutor(2) as threads:
        evaluator = make_evaluator(lambda x: time.sleep(x[0]), workers=threads, timeout=30)
        outcomes = evaluate(evaluator, np.array([[0.0], [1.0]]))
        assert next(outcomes)[0] == 0
        outcomes.close()
        evaluator.close()
        assert tools.eventually(lambda: tools.children() == before)


def backwards(function, items):
    return [function(item) for item in reversed(items)]


def breaks_in_the_middle(function, items):
    yield function(items[0])
    raise OSError("cable cut")


@pytest.mark.parametrize(
    ("map_like", "error"),
    [
        (lambda function, items: [function(items[0])], "the map ended without a result for this point"),
        (breaks_in_the_middle, "the map lost the point (OSError: cable cut)"),
        (
            lambda function, items: [function(items[0]), *([None] * 9), function(items[0])],
            "the map returned something else than the results of the function it was given",
        ),
        (lambda function, items: [function(items[0])] * 3, "the map returned something else"),
    ],
)
def test_whatever_a_map_does_each_point_gets_one_outcome(map_like, error, run):
    outcomes = run(make_evaluator(lambda x: x[0] + 5.0, workers=map_like), points(3))
    assert outcomes[0].y == 5.0
    assert all(error in outcome.error and outcome.lost for outcome in outcomes[1:])


def test_a_map_may_return_in_any_order(run):
    outcomes = run(make_evaluator(lambda x: x[0], workers=backwards), points(5))
    assert [outcome.y for outcome in outcomes] == list(range(5))


@pytest.mark.leaves_traces
def test_the_map_of_a_multiprocessing_pool_with_a_timeout(run, module):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        evaluator = make_evaluator(f"{module}:deadly", workers=pool.imap_unordered, timeout=30)
        outcomes = run(evaluator, points(5))
        pool.close()
        pool.join()
    assert outcomes.pop(2).error == f"the worker was killed by {signal.SIGKILL.name}"
    assert [outcome.y for outcome in outcomes] == [0.0, 1.0, 3.0, 4.0]
