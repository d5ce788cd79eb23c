"""Runs that are killed, continued, or spread over workers."""

import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from eglearn import EGLSettings, IGLSettings, Status, minimize
from eglearn.algorithms import ALGORITHMS
from eglearn.store import History

BOX = [(-5, 5)] * 4
KILLS = int(os.environ.get("EGLEARN_KILLS", "8"))


def f(x):
    if x[0] > 3:
        raise ValueError("too far")
    return float(np.sum((x - 1) ** 2 + 1 - np.cos(3 * (x - 1))))


def table(path):
    """Everything that a run determines: x, y, status of each evaluation, by index."""
    rows = {}
    for e in History(path).evaluations():
        rows[e.index] = (e.x.tobytes(), np.float64(e.outcome.y).tobytes(), e.outcome.error)
    return rows


def same(a, b):
    return a.fun == b.fun and np.array_equal(a.x, b.x) and np.array_equal(a.x_favorite, b.x_favorite)


CHILD = """
import sys, time
import numpy as np
from eglearn import minimize
from tests.test_run import BOX, f
path, log, pause, workers = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
def logged(x):
    value = f(x)
    time.sleep(pause)
    with open(log, "a") as file:
        file.write(x.tobytes().hex() + "\\n")
    return value
print("ready", flush=True)
result = minimize(logged, BOX, budget=800, seed=5, store=path, workers=workers)
print(result.fun.hex(), result.x.tobytes().hex(), flush=True)
"""


def child(path, log, pause=0.0, workers=1):
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, path, log, str(pause), str(workers)], stdout=subprocess.PIPE, text=True, env=env
    )


def test_a_run_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path, survived):
    whole = minimize(f, BOX, budget=800, seed=5, store=tmp_path / "whole.egl")
    path, log = tmp_path / "killed.egl", tmp_path / "log"
    rng = random.Random(0)
    kills = 0
    while True:
        process = child(path, log, pause=0.006)
        process.stdout.readline()  # the imports are done
        try:
            process.wait(timeout=rng.uniform(0.01, 8 / KILLS) if kills < KILLS else 60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            process.stdout.close()
            kills += 1
            continue
        value, x = process.stdout.read().split()
        process.stdout.close()
        break
    assert kills == KILLS
    assert process.returncode == 0
    assert (value, x) == (whole.fun.hex(), whole.x.tobytes().hex())
    assert table(path) == table(tmp_path / "whole.egl")
    survived("kills", kills)


def test_finished_points_are_not_evaluated_again(tmp_path):
    """A slow objective, killed in the middle of a batch: at most the point in flight is evaluated twice."""
    path, log = tmp_path / "run.egl", tmp_path / "log"
    process = child(path, log, pause=0.02)
    process.stdout.readline()
    time.sleep(0.5)
    process.kill()
    process.wait()
    process.stdout.close()
    done = len(table(path))
    assert 5 < done < 100
    process = child(path, log, pause=0.0)
    process.communicate()
    good = sum(error is None for _, _, error in table(path).values())
    assert len(table(path)) == 800
    assert good <= len(log.read_text().split()) <= good + 1  # failed ones are not logged


@pytest.mark.parametrize("variant", ["affine", "fc", "igl"])
def test_interrupted_and_continued_equals_uninterrupted(tmp_path, variant):
    options = {"budget": 600, "seed": 1}
    if variant == "igl":
        options |= {"algorithm": "igl", "settings": IGLSettings(training_steps=3)}
    elif variant == "fc":
        options |= {"algorithm": "egl", "settings": EGLSettings(model="fc", training_steps=3)}
    whole = minimize(f, BOX, **options)

    def stop_at(batch):
        def callback(intermediate_result):
            if intermediate_result.nit == batch:
                raise StopIteration

        return callback

    for batch in (3, 22, 25):  # before, just after and after the first checkpoint
        part = minimize(f, BOX, **options, store=tmp_path / "run.egl", callback=stop_at(batch))
        assert (part.status, part.nit) == (Status.CALLBACK, batch)
    again = minimize(f, BOX, **options, store=tmp_path / "run.egl")
    assert same(again, whole)
    assert (again.nfev, again.nit, again.n_failed) == (whole.nfev, whole.nit, whole.n_failed)
    assert again.message == whole.message
    calls = []
    third = minimize(lambda x: calls.append(x), BOX, **options, store=tmp_path / "run.egl", fingerprint="any")
    assert same(third, whole)
    assert calls == []


def test_ctrl_c_in_the_middle_of_a_batch_continues_exactly(tmp_path):
    whole = minimize(f, BOX, budget=300)
    calls = []

    def interrupted(x):
        calls.append(1)
        if len(calls) == 101:
            raise KeyboardInterrupt
        return f(x)

    part = minimize(interrupted, BOX, budget=300, store=tmp_path / "run.egl")
    assert (part.status, part.nfev) == (Status.INTERRUPTED, 100)
    assert same(minimize(interrupted, BOX, budget=300, store=tmp_path / "run.egl"), whole)
    assert len(calls) == 301


def shuffled_map(function, points):
    """Works in random order, answers in order."""
    points = list(points)
    order = random.Random(7).sample(range(len(points)), len(points))
    values = {k: function(points[k]) for k in order}
    return [values[k] for k in range(len(points))]


def uneven(x):
    time.sleep(0.002 * (hash(x.tobytes()) % 3))
    return f(x)


@pytest.mark.parametrize("width", [1, 6])
def test_ordered_answers_make_the_run_independent_of_the_workers(tmp_path, width):
    options = {"budget": 200, "seed": 3, "width": width, "ordered": True}
    reference = minimize(f, BOX, **options, store=tmp_path / "one.egl")
    with concurrent.futures.ThreadPoolExecutor(5) as threads:
        for name, workers in {"2": 2, "8": 8, "threads": threads, "map": shuffled_map}.items():
            result = minimize(uneven, BOX, **options, workers=workers, store=tmp_path / f"{name}.egl")
            assert same(result, reference), name
            assert table(tmp_path / f"{name}.egl") == table(tmp_path / "one.egl")


def test_dask_does_not_change_the_run():
    distributed = pytest.importorskip("distributed")
    reference = minimize(f, BOX, budget=120, seed=3)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert same(minimize(f, BOX, budget=120, seed=3, workers=client, width=1), reference)


def test_retries_never_exceed_the_budget(tmp_path):
    def dies(x):
        if x[1] > 0.5:
            os.kill(os.getpid(), signal.SIGKILL)
        return f(x)

    result = minimize(dies, BOX, budget=30, workers=2, retries=1, store=tmp_path / "run.egl")
    evaluations = list(History(tmp_path / "run.egl").evaluations())
    assert len(evaluations) == result.nfev == 30
    assert {e.outcome.attempts for e in evaluations} == {1, 2}
    assert result.n_failed == sum(e.outcome.error is not None for e in evaluations) > 0
    assert np.isfinite(result.fun)


def test_all_failed_says_how_many_and_why(tmp_path):
    def bad(x):
        raise OSError("no licence left")

    result = minimize(bad, BOX, budget=500, workers=2, store=tmp_path / "run.egl")
    assert result.status is Status.ALL_FAILED
    assert 30 <= result.nfev < 60
    assert (
        f"{result.nfev} evaluations failed, the first because the objective raised OSError: no licence left."
        in result.message
    )


def test_errors_that_end_the_run_are_tried_again(tmp_path):
    """on_error="raise": the failed point is not stored, so a repaired objective continues with it."""
    path = tmp_path / "run.egl"
    with pytest.raises(Exception, match="too far"):
        minimize(f, BOX, budget=4000, on_error="raise", store=path)

    def repaired(x):
        return f(np.minimum(x, 3))

    assert minimize(repaired, BOX, budget=4000, on_error="raise", store=path, fingerprint="any").nfev == 4000


def test_penalties_survive_a_resume(tmp_path):
    whole = minimize(f, BOX, budget=500, on_error=100.0)
    stop = iter(range(100))

    def callback(x):
        if next(stop) == 24:
            raise StopIteration

    minimize(f, BOX, budget=500, on_error=100.0, store=tmp_path / "run.egl", callback=callback)
    again = minimize(f, BOX, budget=500, on_error=100.0, store=tmp_path / "run.egl")
    assert same(again, whole)
    assert (again.n_failed, again.message) == (whole.n_failed, whole.message)


def test_a_target_that_was_reached_costs_nothing_more(tmp_path, monkeypatch):
    """Also if the batch that reached it has a checkpoint."""
    monkeypatch.setattr("eglearn.loop._CHECKPOINT_EVERY", 1)
    calls = []

    def counted(x):
        calls.append(1)
        return float(np.sum(x**2))

    for target in np.geomspace(10, 1e-6, 5):
        path = tmp_path / f"{target}.egl"
        first = minimize(counted, [(-5, 5)] * 3, np.ones(3), budget=400, target=target, store=path)
        assert first.status is Status.TARGET
        calls.clear()
        again = minimize(counted, [(-5, 5)] * 3, np.ones(3), budget=400, target=target, store=path)
        assert (again.status, again.nfev, again.fun) == (first.status, first.nfev, first.fun)
        assert not calls


@pytest.mark.parametrize("algorithm", ALGORITHMS.values())
def test_fixed_coordinates_only(tmp_path, algorithm):
    result = minimize(lambda x: 3.0, [(1, 1), (2, 2)], budget=5, algorithm=algorithm, store=tmp_path / "run.egl")
    assert (result.fun, result.nfev, result.x.tolist()) == (3.0, 1, [1.0, 2.0])


def children():
    """Processes that this thread has started and that are still there."""
    return set(Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children").read_text().split())


def test_a_library_call_leaves_nothing_behind(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    threads, before = threading.active_count(), children()
    minimize(f, BOX, budget=60, workers=2, timeout=5.0, store="run.egl")
    assert [p.name for p in tmp_path.iterdir()] == ["run.egl"]
    assert threading.active_count() == threads
    assert capfd.readouterr() == ("", "")
    assert children() <= before


def test_a_resumed_run_first_catches_up_with_its_store(tmp_path):
    """A time limit counts only once something new was evaluated, and what the store tells of old batches stays."""
    path = tmp_path / "run.egl"
    stop = iter(range(100))

    def callback(x):
        if next(stop) == 9:
            raise StopIteration

    before = minimize(f, BOX, budget=400, store=path, callback=callback)
    rows = History(path).progress()
    after = minimize(f, BOX, budget=400, store=path, max_seconds=1e-9)
    assert after.status is Status.TIME
    assert (after.nit, after.fun <= before.fun) == (before.nit + 1, True)
    assert History(path).progress()[: len(rows)] == rows


def test_a_store_that_knows_more_than_is_asked_for_loses_nothing(tmp_path):
    """Neither a target nor a callback that comes later ends a run in its past, and none hears of it again."""
    path, seen = tmp_path / "run.egl", []
    whole = minimize(f, BOX, budget=60, store=path)

    def stop(intermediate_result):
        seen.append(intermediate_result)
        raise StopIteration

    for later in ({"target": 10 * whole.fun}, {"callback": stop}):
        again = minimize(f, BOX, budget=60, store=path, **later)
        assert same(again, whole)
        assert again.nfev == 60
    assert seen == []
