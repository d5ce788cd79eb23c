"""What the workers lose is no failure of the objective: it is tried again, or the run ends and can be continued."""

import json
import logging
import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from eglearn import Status, minimize
from eglearn.evaluation import Command
from eglearn.store import History

BOX = [(-5, 5)] * 3

MODULE = """
import os, signal, time
from pathlib import Path
import numpy as np

def f(x):
    time.sleep(float(os.environ.get("SLOW", "0")))
    return float(np.sum((x - 1) ** 2))

def dies_once(x):
    done = Path(os.environ["DONE"])
    if x[0] > 0.5 and not done.exists():
        done.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f(x)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that other processes can import too."""
    (tmp_path / "lost_objectives.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("DONE", str(tmp_path / "done"))
    import lost_objectives

    yield lost_objectives
    del sys.modules["lost_objectives"]


def failures(path):
    return [e for e in History(path).evaluations() if e.outcome.error is not None]


def test_an_executor_that_breaks_ends_the_run_and_a_new_one_continues_it(module, tmp_path):
    path, spawn = tmp_path / "run.egl", multiprocessing.get_context("spawn")
    options = {"budget": 100, "retries": 3, "store": path, "width": 1}
    with ProcessPoolExecutor(2, mp_context=spawn) as executor:
        broken = minimize(module.dies_once, BOX, workers=executor, **options)
        assert broken.status is Status.WORKERS
        assert not broken.success
        assert broken.n_failed == 0
        assert "The workers were lost" in broken.message
        assert "the executor is broken (BrokenProcessPool): make a new executor" in broken.message
        assert History(path).result()["status"] == Status.WORKERS
        assert minimize(module.dies_once, BOX, workers=executor, **options).nfev == broken.nfev < 100
    assert failures(path) == []
    with ProcessPoolExecutor(2, mp_context=spawn) as executor:
        again = minimize(module.dies_once, BOX, workers=executor, **options)
    whole = minimize(module.f, BOX, budget=100)
    assert (again.status, again.nfev, again.n_failed) == (Status.BUDGET, 100, 0)
    assert (again.fun, again.x.tolist()) == (whole.fun, whole.x.tolist())


def test_a_closed_client_and_a_dead_scheduler(module, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    monkeypatch.setenv("SLOW", "0.02")
    whole = minimize(module.f, BOX, budget=60)
    path = tmp_path / "run.egl"
    with dask.config.set({"temporary-directory": str(tmp_path), "distributed.comm.timeouts.connect": "2s"}):
        cluster = Cluster(tmp_path)
        with cluster, distributed.Client(cluster.address) as client:

            def close(intermediate_result):
                if intermediate_result.nit == 2:
                    client.close()

            part = minimize(module.f, BOX, budget=60, workers=client, width=1, store=path, callback=close)
            assert (part.status, part.nit, part.n_failed) == (Status.WORKERS, 2, 0)
            assert "Dask lost the point" in part.message
            with distributed.Client(cluster.address) as client:

                def kill(intermediate_result):
                    if intermediate_result.nit == 4:
                        cluster.scheduler.kill()

                logging.getLogger("distributed").setLevel(logging.CRITICAL)
                part = minimize(module.f, BOX, budget=60, workers=client, width=1, store=path, callback=kill)
                assert part.status is Status.WORKERS
                assert 4 <= part.nit <= 5  # what was on the way when it died may have arrived
    assert failures(path) == []
    again = minimize(module.f, BOX, budget=60, store=path)
    assert (again.nfev, again.n_failed, again.fun) == (60, 0, whole.fun)


class Cluster:
    """A scheduler and a worker, each a process that can be killed."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"

    def __enter__(self):
        self.scheduler = self.start("scheduler", "--port", "0", "--host", "127.0.0.1")
        until = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]
        self.worker = self.start("worker", "--nthreads", "1", "--no-nanny", "--death-timeout", "5")
        return self

    def start(self, what, *words):
        words = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *words]
        return subprocess.Popen([*words, "--scheduler-file", self.file], stderr=subprocess.DEVNULL)

    def __exit__(self, *_):
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait()


class Loses(Executor):
    """Runs tasks at once, but cancels some of them."""

    def __init__(self, which):
        self.which, self.count = which, 0

    def submit(self, task, item):
        self.count += 1
        future = Future()
        if self.which(self.count):
            future.set_exception(CancelledError())
        else:
            future.set_result(task(item))
        return future


def f(x):
    return float(np.sum((x - 1) ** 2))


def test_points_that_are_lost_now_and_then_are_tried_again():
    result = minimize(f, BOX, budget=100, workers=Loses(lambda count: count % 3 == 0))
    assert (result.status, result.n_failed) == (Status.BUDGET, 0)
    assert result.fun == minimize(f, BOX, budget=100).fun


def test_nothing_but_losses_ends_the_run_with_what_there_is():
    executor = Loses(lambda count: count > 30)
    result = minimize(f, BOX, budget=100, workers=executor, on_error="raise")
    assert (result.status, result.nfev, result.n_failed) == (Status.WORKERS, 30, 0)
    assert np.isfinite(result.fun)
    assert executor.count < 60
    shut = ThreadPoolExecutor(1)
    shut.shutdown()
    result = minimize(f, BOX, budget=100, workers=shut, on_error=7.0)
    assert (result.status, result.nfev) == (Status.WORKERS, 0)
    assert "cannot schedule new futures after shutdown" in result.message


def test_a_map_that_fails_ends_the_run_with_what_there_is():
    calls = []

    def breaks(function, items):
        calls.append(1)
        if len(calls) > 3:
            raise OSError("cable cut")
        return map(function, items)

    result = minimize(f, BOX, budget=100, workers=breaks)
    assert (result.status, result.n_failed) == (Status.WORKERS, 0)
    assert "the map lost the point (OSError: cable cut)" in result.message


def test_a_program_that_vanishes_is_no_failure_of_its_points(tmp_path):
    program, path = tmp_path / "program", tmp_path / "run.egl"
    text = '#!/usr/bin/perl\n$| = 1; my $line = <STDIN>; $line =~ /x": \\[([^,\\]]*)/; print $1 ** 2, "\\n";\n'
    program.write_text(text)
    program.chmod(0o755)

    def remove(intermediate_result):
        if intermediate_result.nit == 2:
            program.unlink()

    options = {"budget": 30, "store": path}
    part = minimize(Command([str(program)]), [(-5, 5)], callback=remove, **options)
    assert (part.status, part.nit, part.n_failed) == (Status.WORKERS, 2, 0)
    assert "could not be started" in part.message
    program.write_text(text)
    program.chmod(0o755)
    assert minimize(Command([str(program)]), [(-5, 5)], **options).nfev == 30
    assert failures(path) == []


def test_workers_that_die_before_they_begin_are_no_failures():
    class Deadly:
        def __getstate__(self):
            return {"any": "state"}

        def __setstate__(self, state):
            os._exit(9)

        def __call__(self, x):
            return 1.0

    result = minimize(Deadly(), BOX, budget=100, workers=2)
    assert (result.status, result.nfev) == (Status.WORKERS, 0)
    assert "the worker ended with exit code 9 before it began, 3 times in a row" in result.message
