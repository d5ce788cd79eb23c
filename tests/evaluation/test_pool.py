"""Local worker processes: deaths, hangs and what they cost."""

import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.batches import evaluate

from eglearn.evaluation import make_evaluator, pool
from eglearn.evaluation.pool import Pool
from eglearn.evaluation.python_worker import PythonWorker, pack


def points(count):
    return np.arange(float(count))[:, None]


def test_a_worker_killed_mid_batch_costs_only_its_own_point(run):
    def f(x):
        if x[0] == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return float(x[0])

    outcomes = run(make_evaluator(f, workers=2), points(16))
    poison = outcomes.pop(5)
    assert math.isnan(poison.y)
    assert poison.error == "the worker was killed by SIGKILL"
    assert poison.attempts == 1
    assert [outcome.y for outcome in outcomes] == [row for row in range(16) if row != 5]
    assert {outcome.attempts for outcome in outcomes} == {1}


@pytest.mark.parametrize("workers", [1, 3])
def test_a_poison_point_is_given_up_after_its_retries_and_nobody_else_is_charged(workers, run, tmp_path):
    def f(x):
        with (tmp_path / "calls").open("a") as calls:
            calls.write(f"{int(x[0])}\n")
        if x[0] == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        return float(x[0])

    evaluator = make_evaluator(f, workers=workers, retries=2, timeout=60)
    outcomes = run(evaluator, points(9))
    assert [outcome.attempts for outcome in outcomes] == [1, 1, 3, 1, 1, 1, 1, 1, 1]
    assert outcomes[2].error == "the worker was killed by SIGSEGV"
    assert [row for row, outcome in enumerate(outcomes) if outcome.error is None] == [0, 1, 3, 4, 5, 6, 7, 8]
    called = sorted(map(int, (tmp_path / "calls").read_text().split()))
    assert called == [0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8]  # the reported attempts are the true ones


def test_every_point_kills_its_worker(run):
    def f(x):
        os._exit(7)

    outcomes = run(make_evaluator(f, workers=2), points(4))
    assert [outcome.error for outcome in outcomes] == ["the worker ended with exit code 7"] * 4
    assert [outcome.attempts for outcome in outcomes] == [1] * 4


def test_a_hanging_point_is_killed_and_holds_up_nobody(run):
    def f(x):
        if x[0] == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # nothing but SIGKILL ends this
            time.sleep(1000)
        return float(x[0])

    started = time.monotonic()
    order = []
    evaluator = make_evaluator(f, workers=2, timeout=1.0, retries=1)
    for row, outcome in evaluate(evaluator, points(12)):
        order.append(row)
        if row == 0:
            assert outcome.error == "no answer within the timeout of 1 s"
            assert outcome.attempts == 2
            assert 1.0 <= outcome.seconds < 10.0
        else:
            assert (outcome.y, outcome.attempts) == (row, 1)
    evaluator.close()
    assert order[-1] == 0
    assert len(order) == 12
    assert 2.0 <= time.monotonic() - started < 30.0


def test_loading_the_objective_is_not_counted_as_evaluation(run):
    class SlowToLoad:
        def __setstate__(self, state):
            time.sleep(1.0)

        def __getstate__(self):
            return {"any": "state"}

        def __call__(self, x):
            return 1.0

    (outcome,) = run(make_evaluator(SlowToLoad(), timeout=0.7), points(1))
    assert outcome.error is None


def test_the_objective_is_sent_once_to_each_worker_not_once_a_point(run, tmp_path):
    class Counted:
        def __getstate__(self):
            return {"where": tmp_path}

        def __setstate__(self, state):
            with (state["where"] / "loads").open("a") as loads:
                loads.write("x")

        def __call__(self, x):
            time.sleep(0.01)
            return 1.0

    run(make_evaluator(Counted(), workers=2), points(60))
    assert (tmp_path / "loads").read_text() in ("x", "xx")


def test_a_dead_worker_is_noticed_although_its_child_keeps_the_pipe_open(run, tools, tmp_path):
    def f(x):
        if x[0] == 1 and (child := os.fork()):
            (tmp_path / "child").write_text(str(child))
            os.kill(os.getpid(), signal.SIGKILL)
        elif x[0] == 1:
            time.sleep(1000)
        return 0.0

    outcomes = run(make_evaluator(f, workers=2), points(3))
    assert [outcome.error for outcome in outcomes] == [None, "the worker was killed by SIGKILL", None]
    assert tools.eventually(lambda: not tools.alive(int((tmp_path / "child").read_text())))


def test_an_objective_that_cannot_be_loaded_fails_points_with_the_reason(run, tmp_path, monkeypatch):
    (tmp_path / "only_here_once.py").write_text("def f(x): return 1.0")
    monkeypatch.syspath_prepend(tmp_path)
    evaluator = make_evaluator("only_here_once:f", workers=2)
    (tmp_path / "only_here_once.py").unlink()
    outcomes = run(evaluator, points(3))
    reason = "the worker could not load the objective (ModuleNotFoundError: No module named 'only_here_once')"
    assert [outcome.error for outcome in outcomes] == [reason] * 3


def test_workers_that_die_while_they_start_are_not_started_for_ever(run, tmp_path):
    class Deadly:
        def __getstate__(self):
            return {"where": tmp_path}

        def __setstate__(self, state):
            with (state["where"] / "loads").open("a") as loads:
                loads.write("x")
            os._exit(9)

        def __call__(self, x):
            return 1.0

    outcomes = run(make_evaluator(Deadly(), workers=2, retries=5), points(4))
    reason = "the worker ended with exit code 9 before it began, 3 times in a row"
    assert [(outcome.error, outcome.lost) for outcome in outcomes] == [(reason, True)] * 4
    assert 3 <= len((tmp_path / "loads").read_text()) <= 4


def test_one_worker_does_all_the_work_if_no_second_one_can_be_started(run, monkeypatch):
    monkeypatch.setattr(pool, "HEARTBEAT", 0.01)  # the second start fails often before the first is ready

    class OnlyOne(PythonWorker):
        started = 0

        def start(self):
            type(self).started += 1
            if self.started > 1:
                raise OSError("no more processes")
            return super().start()

    outcomes = run(Pool(OnlyOne(pack(lambda x: time.sleep(0.1) or x[0])), 2), points(6))
    assert [outcome.y for outcome in outcomes] == list(range(6))
    assert 4 <= OnlyOne.started <= 7


def test_no_worker_can_be_started(run, monkeypatch):
    monkeypatch.setattr(pool, "HEARTBEAT", 0.01)

    class NotOne(PythonWorker):
        def start(self):
            raise OSError("no processes")

    outcomes = run(Pool(NotOne(b""), 2), points(3))
    reason = "the worker could not be started (no processes), 3 times in a row"
    assert [outcome[1:3] for outcome in outcomes] == [(reason, 0)] * 3
    assert all(outcome.lost for outcome in outcomes)


def test_a_worker_that_died_between_batches_is_replaced_without_charge(run):
    evaluator = make_evaluator(lambda x: float(os.getpid()), timeout=60)
    (first,) = run(evaluator, points(1), close=False)
    for pause in (0.0, 0.001, 0.05):  # the point may still reach the dying worker, or find it dead
        os.kill(int(first.y), signal.SIGKILL)
        time.sleep(pause)
        (second,) = run(evaluator, points(1), close=False)
        assert (second.error, second.attempts) == (None, 1)
        assert second.y != first.y
        first = second
    evaluator.close()


def test_deaths_are_noticed_where_the_system_has_no_waitid(run, monkeypatch):
    monkeypatch.delattr(os, "waitid")

    def f(x):
        if x[0] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return float(x[0])

    outcomes = run(make_evaluator(f, workers=2, retries=1), points(3))
    assert outcomes[1][1:3] == ("the worker was killed by SIGKILL", 2)
    assert [outcomes[0].y, outcomes[2].y] == [0.0, 2.0]


def test_no_more_workers_are_started_than_there_are_points(run, tools):
    before = tools.children()
    evaluator = make_evaluator(lambda x: 0.0, workers=8)
    assert tools.children() == before
    run(evaluator, points(1), close=False)
    assert len(tools.children() - before) == 1
    evaluator.close()


def test_long_points_larger_than_a_pipe_holds(run):
    x = np.random.default_rng(1).normal(size=(6, 50_000))
    outcomes = run(make_evaluator(lambda x: x[-1], workers=2), x)
    assert [outcome.y for outcome in outcomes] == list(x[:, -1])


def test_outcomes_arrive_as_they_finish(tmp_path):
    def f(x):
        for _ in range(3000):  # the first point is done only when the others have arrived
            if x[0] > 0 or (tmp_path / "go").exists():
                return float(x[0])
            time.sleep(0.01)

    evaluator = make_evaluator(f, workers=2)
    outcomes = evaluate(evaluator, points(5))
    assert sorted(next(outcomes)[0] for _ in range(4)) == [1, 2, 3, 4]
    (tmp_path / "go").touch()
    row, outcome = next(outcomes)
    assert (row, outcome.y) == (0, 0.0)
    assert next(outcomes, None) is None
    evaluator.close()


def test_leaving_a_batch_early_stops_it_and_the_next_batch_is_clean(run, tools, tmp_path):
    before = tools.children()

    def f(x):
        if x[0] == 1:
            (tmp_path / "hanging").touch()
            time.sleep(1000)
        while x[0] == 0 and not (tmp_path / "hanging").exists():
            time.sleep(0.01)
        return float(x[0])

    evaluator = make_evaluator(f, workers=2)
    outcomes = evaluate(evaluator, points(2))
    assert next(outcomes)[0] == 0
    outcomes.close()
    assert len(tools.children() - before) == 1  # the one that hung is gone
    assert [outcome.y for outcome in run(evaluator, np.array([[7.0], [8.0], [9.0]]))] == [7.0, 8.0, 9.0]


def test_workers_ignore_an_interrupt(run):
    def f(x):
        os.kill(os.getpid(), signal.SIGINT)
        return 1.0

    assert [outcome.error for outcome in run(make_evaluator(f, workers=2), points(3))] == [None] * 3


def test_a_forgotten_evaluator_takes_its_workers_with_it(run, tools):
    before = tools.children()
    evaluator = make_evaluator(lambda x: 0.0, workers=2)
    run(evaluator, points(4), close=False)
    assert tools.children() > before
    del evaluator
    assert tools.children() == before


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # newer Pythons warn when there are threads
def test_a_fork_of_this_process_does_not_stop_the_workers(run):
    evaluator = make_evaluator(lambda x: float(os.getpid()), timeout=60)
    (first,) = run(evaluator, points(1), close=False)
    code = os.fork()
    if code == 0:
        evaluator.close()
        os._exit(0)
    os.waitpid(code, 0)
    (second,) = run(evaluator, points(1))
    assert second.y == first.y


def script(text, tmp_path, **options):
    path = tmp_path / "script.py"
    path.write_text(text)
    return subprocess.Popen([sys.executable, path], stdout=-1, stderr=-1, text=True, **options)


HANGING = """
import os, time, numpy as np
from eglearn.evaluation import make_evaluator
from pathlib import Path
def f(x):
    Path({here!r}, f"pid{{int(x[0])}}").write_text(str(os.getpid()))
    time.sleep(1000)
evaluator = make_evaluator(f, workers=2)
try:
    for i in range(2):
        evaluator.submit(i, np.array([float(i)]))
    evaluator.wait()
finally:
    {last}
"""


def hang(tmp_path, tools, last):
    """A script whose two workers hang, and the ids of the workers."""
    parent = script(HANGING.format(here=str(tmp_path), last=last), tmp_path, start_new_session=True)
    files = [tmp_path / "pid0", tmp_path / "pid1"]
    assert tools.eventually(lambda: all(file.exists() and file.read_text() for file in files))
    return parent, [int(file.read_text()) for file in files]


@pytest.mark.parametrize("last", ["evaluator.close()", "pass"])
def test_ctrl_c_while_waiting_leaves_cleanly(last, tmp_path, tools):
    parent, workers = hang(tmp_path, tools, last)
    os.killpg(parent.pid, signal.SIGINT)
    out, err = parent.communicate(timeout=20)
    assert out == ""
    assert err.count("Traceback") == 1
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert not any(tools.alive(pid) for pid in workers)


def test_workers_end_when_their_parent_is_killed(tmp_path, tools):
    parent, workers = hang(tmp_path, tools, "pass")
    parent.kill()
    parent.communicate(timeout=20)
    assert tools.eventually(lambda: not any(tools.alive(pid) for pid in workers))


def test_a_plain_script_needs_no_main_guard_and_prints_of_the_objective_are_shown(tmp_path):
    text = """
import numpy as np
from eglearn.evaluation import make_evaluator
scale = 2.0
def helper(x):
    return scale * x[0]
def f(x):
    print("at", x[0])
    return helper(x)
evaluator = make_evaluator(f, workers=2)
for i in (1, 2):
    evaluator.submit(i, np.array([float(i)]))
outcomes = []
while len(outcomes) < 2:
    outcomes += evaluator.wait()
print(sorted(outcome.y for _, outcome in outcomes))
"""
    out, err = script(text, tmp_path).communicate(timeout=20)
    assert sorted(out.splitlines()) == ["[2.0, 4.0]", "at 1.0", "at 2.0"]
    assert err == ""
