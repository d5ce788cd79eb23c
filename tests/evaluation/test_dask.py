"""A real Dask cluster: two worker processes on this machine."""

import contextlib
import logging
import math
import os
import random
import signal
import sys
import time

import numpy as np
import pytest
from tests.batches import evaluate

from eglearn.evaluation import Command, make_evaluator

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.leaves_traces


def points(count):
    return np.arange(float(count))[:, None]


@contextlib.contextmanager
def cluster(allowed_failures, directory):
    settings = {
        "distributed.scheduler.allowed-failures": allowed_failures,
        "temporary-directory": str(directory),
    }
    options = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}  # any free port
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, silence_logs=logging.CRITICAL, **options) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The scheduler tells of each death at once."""
    with cluster(0, tmp_path_factory.mktemp("dask")) as client:
        yield client


@pytest.fixture(scope="module")
def patient_client(tmp_path_factory):
    """The scheduler tries a task on two workers before it tells; by default it tries four."""
    with cluster(1, tmp_path_factory.mktemp("dask")) as client:
        yield client


def test_values_and_failures_are_those_of_a_serial_run(client, run):
    def f(x):
        time.sleep(random.choice([0.0, 0.01]))
        if x[0] == 3:
            raise ValueError("three")
        if x[0] == 4:
            sys.exit(1)
        return None if x[0] == 5 else np.sin(x[0])

    remote = run(make_evaluator(f, workers=client, retries=1), points(30))
    local = run(make_evaluator(f, retries=1), points(30))
    for mine, other in zip(remote, local, strict=True):
        assert mine[1:3] == other[1:3]
        assert mine.y == other.y or (math.isnan(mine.y) and math.isnan(other.y))
        assert "Dask" in mine.worker


def test_equal_points_are_evaluated_each_for_itself(client, run, tmp_path):
    def f(x):
        with (tmp_path / "calls").open("a") as calls:
            calls.write("x")
        return 1.0

    evaluator = make_evaluator(f, workers=client)
    run(evaluator, np.ones((5, 2)), close=False)
    run(evaluator, np.ones((5, 2)))
    assert len((tmp_path / "calls").read_text()) == 10


def test_a_timeout_kills_what_hangs_and_spares_the_worker(client, run):
    def f(x):
        if x[0] == 1:
            time.sleep(1000)
        if x[0] == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return float(x[0])

    before = client.run(os.getpid)
    evaluator = make_evaluator(f, workers=client, timeout=1.0, retries=1)
    outcomes = run(evaluator, points(8), close=False)
    assert outcomes[1][1:3] == ("no answer within the timeout of 1 s", 2)
    assert outcomes[2][1:3] == ("the worker was killed by SIGKILL", 2)
    assert [outcomes[row].y for row in (0, 3, 4, 5, 6, 7)] == [0, 3, 4, 5, 6, 7]
    assert client.run(os.getpid) == before

    def grandchildren():
        from pathlib import Path

        return [path.read_text() for path in Path("/proc/self/task").glob("*/children") if path.read_text()]

    assert any(client.run(grandchildren).values())
    evaluator.close()
    assert not any(client.run(grandchildren).values())


def test_an_external_program_on_the_cluster(client, run):
    script = 'while read -r line; do case "$line" in *"[3.0]"*) exit 4;; esac; echo 2.5; done'
    outcomes = run(make_evaluator(Command(["sh", "-c", script]), workers=client), points(6))
    assert outcomes.pop(3).error == "the program ended with exit code 4"
    assert {outcome.y for outcome in outcomes} == {2.5}


def test_leaving_early_cancels_the_rest(client, run, tmp_path):
    def f(x):
        (tmp_path / str(int(x[0]))).touch()
        time.sleep(0.2)
        return float(x[0])

    outcomes = evaluate(make_evaluator(f, workers=client), points(40))
    next(outcomes)
    outcomes.close()
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) < 20
    assert client.submit(os.getpid, pure=False).result() != os.getpid()  # the client is left alone


def test_points_that_somebody_cancels_fail_with_a_reason(client):
    evaluator = make_evaluator(lambda x: time.sleep(0.2) or 1.0, workers=client)
    outcomes = evaluate(evaluator, points(6))
    done = [next(outcomes)]
    ours = [distributed.Future(key, client) for key in client.futures if "eglearn" in str(key)]
    client.cancel(ours, force=True)
    done += outcomes
    assert sorted(row for row, _ in done) == list(range(6))
    errors = [outcome.error for _, outcome in done if outcome.error is not None]
    assert errors
    assert all("Dask lost the point" in error for error in errors)


def test_an_asynchronous_client_is_refused():
    class Asynchronous(distributed.Client):
        def __init__(self):
            pass

        def __del__(self):
            pass

        asynchronous = True

    with pytest.raises(ValueError, match="asynchronous=False"):
        make_evaluator(lambda x: 0.0, workers=Asynchronous())


def test_another_client_may_be_the_default_one(client, patient_client, run):
    for mine in (client, patient_client):
        outcomes = run(make_evaluator(lambda x: time.sleep(0.05) or x[0], workers=mine), points(6))
        assert [(outcome.y, outcome.error) for outcome in outcomes] == [(row, None) for row in range(6)]


@pytest.mark.parametrize("who", ["client", "patient_client"])
def test_a_worker_killed_once_costs_no_point(who, run, tmp_path, request):
    client = request.getfixturevalue(who)

    def f(x):
        if x[0] == 5 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return float(x[0])

    outcomes = run(make_evaluator(f, workers=client), points(20))
    assert [(outcome.y, outcome.error, outcome.attempts) for outcome in outcomes] == [
        (row, None, 1) for row in range(20)
    ]


@pytest.mark.timeout(300)  # each death takes Dask seconds to notice, and more where the machine is busy
@pytest.mark.parametrize(("who", "retries"), [("client", 0), ("client", 1), ("patient_client", 0)])
def test_a_poison_point_is_given_up_and_no_innocent_point_is_lost(who, run, retries, request):
    client = request.getfixturevalue(who)

    def f(x):
        if x[0] == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return float(x[0])

    evaluator = make_evaluator(f, workers=client, retries=retries)
    outcomes = run(evaluator, points(20), close=False)
    poison = outcomes.pop(5)
    assert poison.error == "every Dask worker that tried the point died"
    assert poison.attempts == retries + 1
    assert [outcome.error for outcome in outcomes if outcome.error] == []
    assert [outcome.y for outcome in outcomes] == [row for row in range(20) if row != 5]
    assert {outcome.attempts for outcome in outcomes} == {1}
    again = run(evaluator, points(5))  # the cluster is of use afterwards
    assert [outcome.y for outcome in again] == list(range(5))


def process(outcome):
    """The process of the Dask worker that evaluated a point; its threads are named after it."""
    return outcome.worker.rsplit("-", 2)[1]


def test_one_joins_one_is_killed_and_one_stalls(tmp_path):
    """Points in flight are with the scheduler: who joins gets them at once, and who is lost loses nothing."""

    def f(x):
        if x[0] == 0:
            for _ in range(2000):  # until the others are done
                if (tmp_path / "go").exists():
                    break
                time.sleep(0.05)
        time.sleep(0.1)
        return float(x[0])

    options = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"temporary-directory": str(tmp_path)}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, silence_logs=logging.CRITICAL, **options) as local,
        distributed.Client(local) as client,
    ):
        evaluator = make_evaluator(f, workers=client)
        assert evaluator.width == 2
        done, sent = {}, 0

        def until(condition):
            nonlocal sent
            while not condition():
                while sent < len(done) + 8:
                    evaluator.submit(sent, np.array([float(sent)]))
                    sent += 1
                done.update(evaluator.wait())

        until(lambda: len(done) >= 5)
        first = {process(outcome) for outcome in done.values()}
        local.scale(3)
        until(lambda: len({process(outcome) for outcome in done.values()} - first) == 1)
        os.kill(int(process(done[max(done)])), signal.SIGKILL)
        now = len(done)
        until(lambda: len(done) >= now + 20)
        assert 0 not in done
        (tmp_path / "go").touch()
        while len(done) < sent:
            done.update(evaluator.wait())
        evaluator.close()
    assert [(done[row].y, done[row].error, done[row].attempts) for row in range(sent)] == [
        (row, None, 1) for row in range(sent)
    ]
