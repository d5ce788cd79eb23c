"""Ctrl-C and SIGTERM lose nothing, and nobody outlives a run that is killed."""

import functools
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.batches import evaluate

from eglearn import Status, minimize
from eglearn.evaluation import interrupts, make_evaluator
from eglearn.evaluation.interrupts import handled, keeps
from eglearn.store import History, StoreError

BOX = [(-5, 5)] * 3
ROUNDS = 80 if "EGLEARN_SOAK" in os.environ else 25


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def eventually(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Interrupt:
    """A callback: some time after the first batch this process gets SIGINT."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))

    def __call__(self, x):
        if not self.timer.ident:
            self.timer.start()


@pytest.mark.parametrize("with_store", [False, True])
def test_ctrl_c_loses_no_evaluation_of_a_fast_objective(with_store, tmp_path):
    """The objective is written in C: no instruction of Python's lies between its end and its count."""
    rng = random.Random(1)
    for k in range(ROUNDS):
        counter = itertools.count()
        store = tmp_path / f"{k}.egl" if with_store else None
        later = Interrupt(rng.uniform(0.0, 0.02))
        result = minimize(functools.partial(next, counter), BOX, budget=10**6, store=store, callback=later)
        assert result.status is Status.INTERRUPTED
        assert result.nfev == next(counter)
        if with_store:
            assert len(list(History(store).evaluations(with_x=False))) == result.nfev


def test_ctrl_c_in_a_python_function_loses_at_most_the_call_that_it_ended():
    rng = random.Random(2)
    for _ in range(ROUNDS // 2):
        done = []
        later = Interrupt(rng.uniform(0.0, 0.02))
        result = minimize(lambda x, done=done: done.append(float(x @ x)) or done[-1], BOX, budget=10**6, callback=later)
        assert result.status is Status.INTERRUPTED
        assert len(done) - 1 <= result.nfev <= len(done)
        assert result.fun == min(done[: result.nfev])


def test_ctrl_c_with_a_vectorized_objective_loses_no_batch():
    for k in range(20):
        counter = itertools.count()

        def many(x, counter=counter):
            return [next(counter) for _ in x]

        result = minimize(many, BOX, budget=10**6, vectorized=True, callback=Interrupt(0.001 * k))
        assert result.status is Status.INTERRUPTED
        assert next(counter) - result.nfev <= 200  # the call that was interrupted, if any


def test_ctrl_c_while_workers_work_keeps_what_they_have_finished(tmp_path):
    log = tmp_path / "log"

    def f(x):
        with log.open("ab", buffering=0) as file:
            file.write(b".")
        return float(x @ x)

    for k in range(3):
        log.write_bytes(b"")
        result = minimize(f, BOX, budget=10**6, workers=2, callback=Interrupt(0.2 + 0.05 * k))
        assert result.status is Status.INTERRUPTED
        assert log.stat().st_size - 2 <= result.nfev <= log.stat().st_size
        assert result.nfev > 0


class Done(Executor):
    """All futures have ended when they are handed out."""

    def submit(self, task, item):
        future = Future()
        future.set_result(task(item))
        return future


@keeps
def collect(evaluator, count):
    """Send this process SIGINT after the first outcome, where it may not interrupt."""
    outcomes = []
    try:
        for outcome in evaluate(evaluator, np.zeros((count, 1))):
            outcomes.append(outcome)
            if len(outcomes) == 1:
                os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        return outcomes, True
    return outcomes, False


def test_points_that_an_executor_has_finished_are_handed_over_before_an_interruption():
    with handled() as own:
        assert [len(got) for got in collect(make_evaluator(lambda x: 1.0, workers=Done()), 6)[:1]] == [6]
        own.acted()
    with handled() as own:
        outcomes, interrupted = collect(make_evaluator(lambda x: 1.0, workers=map), 6)
        assert (len(outcomes), interrupted) == (1, True)
        own.acted()
    with handled() as own:
        outcomes, interrupted = collect(make_evaluator(lambda x: 1.0), 1)
        assert (len(outcomes), interrupted) == (1, False)  # the batch is complete: it is for the run to end
        own.acted()


def test_a_failure_that_the_interruption_has_caused_is_no_failure(tmp_path):
    def f(x):
        if len(calls) == 12:
            os.kill(os.getpid(), signal.SIGINT)
        calls.append(1)
        return float(x @ x)

    def clumsy(x):
        try:
            return f(x)
        except KeyboardInterrupt:
            raise RuntimeError("simulator stopped") from None

    calls = []
    result = minimize(clumsy, BOX, budget=100, store=tmp_path / "run.egl")
    assert (result.status, result.nfev, result.n_failed) == (Status.INTERRUPTED, 12, 0)


def test_a_second_signal_interrupts_anywhere_unless_it_is_an_echo(monkeypatch):
    @keeps
    def busy(pause):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(pause)

    with handled() as own:
        busy(0.0)
        own.acted()
    monkeypatch.setattr(interrupts, "ECHO", 0.05)
    with pytest.raises(KeyboardInterrupt), handled():
        busy(0.1)


def test_a_signal_that_comes_too_late_for_the_run_is_the_callers():
    @keeps
    def late():
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), handled():
        late()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_within_a_run_is_interrupted_with_it():
    inner = []

    def f(x):
        if len(inner) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        inner.append(minimize(lambda z: float(z @ z), BOX, budget=20).status)
        return 1.0 + x @ x

    result = minimize(f, BOX, budget=100)
    assert result.status is Status.INTERRUPTED
    assert len(inner) <= 4


def test_handlers_of_the_user_are_left_alone_and_ours_are_removed():
    seen = []

    def mine(number, frame):
        seen.append(number)

    def f(x):
        if not seen:
            os.kill(os.getpid(), signal.SIGTERM)
        return float(x @ x)

    before = signal.signal(signal.SIGTERM, mine)
    try:
        assert minimize(f, BOX, budget=30).status is Status.BUDGET
        assert seen == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)
    during = []
    minimize(lambda x: during.append(signal.getsignal(signal.SIGTERM)) or 1.0, BOX, budget=1)
    assert during[0] not in (signal.SIG_DFL, None)
    assert signal.getsignal(signal.SIGTERM) == before == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_installs_nothing():
    results, during = [], []

    def f(x):
        during.append(signal.getsignal(signal.SIGTERM))
        return float(x @ x)

    thread = threading.Thread(target=lambda: results.append(minimize(f, BOX, budget=20)))
    thread.start()
    thread.join()
    assert results[0].nfev == 20
    assert set(during) == {signal.SIG_DFL}


def die(_):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def test_a_fork_of_the_run_dies_by_a_signal_as_it_always_did():
    """A worker that an executor forks while the run goes on has inherited the run's handlers."""
    ended = []

    def f(x):
        pid = os.fork()
        if pid == 0:
            die(None)
            os._exit(0)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        return float(x @ x)

    assert minimize(f, BOX, budget=2).nfev == 2
    assert ended == [-signal.SIGTERM] * 2


RUN = """
import signal, sys, time
import numpy as np
from eglearn import minimize
def f(x):
    time.sleep(0.002)
    return float(x @ x)
print("ready", flush=True)
result = minimize(f, [(-5, 5)] * 3, budget=10**6, store=sys.argv[1], workers=int(sys.argv[2]))
print(result.status.name, result.nfev, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)
"""


def _evaluated(path):
    with suppress(StoreError):  # while the file is being made
        return len(list(History(path).evaluations()))
    return 0


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_ends_a_run_like_ctrl_c(workers, tmp_path):
    path = tmp_path / "run.egl"
    process = subprocess.Popen([sys.executable, "-c", RUN, path, str(workers)], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    assert eventually(lambda: _evaluated(path) > 5)
    process.terminate()
    out, _ = process.communicate(timeout=30)
    status, nfev, restored = out.split()
    assert (process.returncode, status, restored) == (0, "INTERRUPTED", "True")
    assert len(list(History(path).evaluations())) == int(nfev) > 0
    assert History(path).result()["status"] == Status.INTERRUPTED


KILLED = """
import ctypes, os, subprocess, sys, time
from contextlib import suppress
from pathlib import Path
from eglearn import minimize
from eglearn.evaluation import Command
here, kind = Path(sys.argv[1]), sys.argv[2]
def note(name, pid):
    (here / f"{name}.part").write_text(str(pid))
    (here / f"{name}.part").rename(here / name)
def f(x):
    if kind == "child of the objective":
        child = subprocess.Popen(["sleep", "1000"])
        note("helper", child.pid)
        note("worker", os.getpid())
        child.wait()
    note("worker", os.getpid())
    ctypes.PyDLL(None).sleep(1000)  # holds Python's lock
if kind == "forked":
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    note("fork", pid)
if kind in ("program", "forked"):
    script = f"echo $$ > {here}/part; mv {here}/part {here}/worker; trap '' TERM HUP INT; while :; do sleep 1; done"
    minimize(Command(["sh", "-c", script]), [(-5, 5)], budget=10)
else:
    minimize(f, [(-5, 5)], budget=10, workers=2)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["program", "lock", "child of the objective", "forked"])
def test_nobody_outlives_a_run_that_is_killed(kind, how, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path, kind], start_new_session=True)
    expected = ["worker", "helper"] if kind.startswith("child") else ["worker"]
    assert eventually(lambda: all((tmp_path / name).exists() for name in expected))
    pids = [int((tmp_path / name).read_text()) for name in expected]
    assert all(alive(pid) for pid in pids)
    time.sleep(0.2)  # the guard is awake
    process.send_signal(how)
    process.wait(timeout=30)
    assert process.returncode == (0 if how == signal.SIGTERM else -signal.SIGKILL)
    assert eventually(lambda: not any(alive(pid) for pid in pids), 10)
    if kind == "forked":
        os.kill(int((tmp_path / "fork").read_text()), signal.SIGKILL)
    assert eventually(lambda: not guards(process.pid))


def guards(parent):
    return [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if (words := path.read_bytes().split(b"\0"))[-2:-1] == [str(parent).encode()] and b"guard.py" in words[-3]
    ]


def test_an_executor_whose_workers_were_forked_by_the_run_can_be_ended():
    with ProcessPoolExecutor(1) as executor:
        result = minimize(square, BOX, budget=20, workers=executor)
        assert result.nfev == 20
        (pid,) = executor._processes
        os.kill(pid, signal.SIGTERM)
        assert eventually(lambda: not alive(pid))


def square(x):
    return float(x @ x)
