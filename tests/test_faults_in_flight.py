"""Faults with 32 evaluations in flight: what holds for one holds for all of them, in both modes."""

import math
import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor

import numpy as np
import pytest
from tests.test_flight import replay

from eglearn import Status, minimize
from eglearn.store import History

BOX = [(-5, 5)] * 4
WIDTH = 32
SEEDS = range(20 if "EGLEARN_SOAK" in os.environ else 1)

both_modes = pytest.mark.parametrize("ordered", [False, True])


def fate(x, seed=0):
    """What happens to a point: a function of the point alone."""
    return random.Random(x.tobytes() + bytes([seed])).random()


def bowl(x):
    return float(np.sum((x - 1) ** 2))


def wrong(x, seed=0):
    """A bowl that fails in many ways; None: it does not end, or ends with its worker."""
    u = fate(x, seed)
    if u < 0.05:
        raise ValueError("no mesh")
    if u < 0.08:
        return [np.nan, np.inf, "3"][int(u * 1000) % 3]
    return bowl(x) if u < 0.97 else None


def rows(path):
    return [(e.index, e.x.tolist(), e.outcome.error is None) for e in History(path).evaluations()]


@both_modes
@pytest.mark.parametrize("seed", SEEDS)
def test_faults_cost_their_own_points_only(ordered, seed, tmp_path, survived):
    path, log = tmp_path / "run.egl", tmp_path / "log"

    def f(x):
        with log.open("a") as file:
            file.write(x.tobytes().hex() + "\n")
        y = wrong(x, seed)
        if y is None:
            if fate(x, seed) < 0.99:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(999)
        return y

    options = {"budget": 150, "seed": 3, "width": WIDTH, "ordered": ordered}
    result = minimize(f, BOX, workers=4, timeout=2.0, store=path, **options)
    done = list(History(path).evaluations())
    assert (result.status, result.nfev, len(done)) == (Status.BUDGET, 150, 150)
    failed = [e for e in done if e.outcome.error is not None]
    assert result.n_failed == len(failed)
    assert {e.index for e in failed} == {e.index for e in done if not 0.08 <= fate(e.x, seed) < 0.97}
    assert any("SIGKILL" in e.outcome.error for e in failed)
    assert [e.outcome.y for e in done if e.outcome.error is None] == [bowl(e.x) for e in done if e not in failed]
    begun = Counter(log.read_text().split())
    assert begun == Counter(e.x.tobytes().hex() for e in done)  # none twice, none beyond the budget
    assert replay(path, ordered=ordered).best_y == result.fun
    if ordered:  # the same points on other workers, which fail in other ways
        with ThreadPoolExecutor(3) as threads:
            other = minimize(lambda x: wrong(x, seed), BOX, workers=threads, store=tmp_path / "other.egl", **options)
        assert other.fun == result.fun
        assert sorted(rows(tmp_path / "other.egl")) == sorted(rows(path))
    survived("failures of points with 32 in flight", len(failed))


class Loses(ThreadPoolExecutor):
    """Threads that lose a fifth of the points, and finish in an order of their own."""

    def __init__(self):
        super().__init__(8)
        self.rng, self.begun = random.Random(0), Counter()

    def submit(self, task, item):
        if self.rng.random() < 0.2:
            future = Future()
            future.set_exception(CancelledError())
            return future
        self.begun[item[0]] += 1
        return super().submit(task, item)


@both_modes
def test_lost_points_are_tried_again_and_retries_cost_no_budget(ordered, tmp_path):
    path, tried, lock = tmp_path / "run.egl", Counter(), threading.Lock()

    def f(x):
        with lock:
            tried[x.tobytes()] += 1
            first = tried[x.tobytes()] == 1
        time.sleep(0.003 * fate(x))
        if first and fate(x) < 0.3:
            raise ValueError("not now")
        return bowl(x)

    with Loses() as executor:
        options = {"workers": executor, "width": WIDTH, "ordered": ordered, "retries": 1, "store": path}
        result = minimize(f, BOX, budget=300, seed=3, **options)
    assert (result.status, result.nfev, result.n_failed) == (Status.BUDGET, 300, 0)
    assert set(executor.begun.values()) == {1}
    assert sum(e.outcome.attempts for e in History(path).evaluations()) == tried.total() > 350
    assert replay(path, ordered=ordered).best_y == result.fun


@both_modes
@pytest.mark.parametrize("budget", [1, 31, 33, 70])
def test_a_budget_is_never_exceeded(ordered, budget, tmp_path):
    begun = []
    options = {"budget": budget, "ordered": ordered, "store": tmp_path / "run.egl"}
    with ThreadPoolExecutor(WIDTH) as threads:
        result = minimize(lambda x: begun.append(x) or bowl(x), BOX, workers=threads, **options)
    assert (result.nfev, len(begun), len(rows(tmp_path / "run.egl"))) == (budget, budget, budget)


class Interrupted:
    """An objective that notes what it has finished until this process gets SIGINT, after so many of them."""

    def __init__(self, after=math.inf):
        self.finished, self.after, self.stopped = [], after, False

    def __call__(self, x):
        time.sleep(0.02 * fate(x))
        if not self.stopped:  # else the run is over, and perhaps nobody takes the value
            self.finished.append(x.tobytes())
            if len(self.finished) >= self.after:
                self.stopped = True
                os.kill(os.getpid(), signal.SIGINT)
        return bowl(x)


@both_modes
@pytest.mark.parametrize("seed", SEEDS)
def test_ctrl_c_keeps_what_has_finished_and_the_run_goes_on(ordered, seed, tmp_path, survived):
    path, rng, before = tmp_path / "run.egl", random.Random(seed), Counter()
    options = {"budget": 300, "seed": 3, "ordered": ordered, "store": path, "fingerprint": "any"}
    for _ in range(3):
        f = Interrupted(after=rng.randrange(10, 80))
        with ThreadPoolExecutor(WIDTH) as threads:
            result = minimize(f, BOX, workers=threads, **options)
        assert result.status is Status.INTERRUPTED
        stored = Counter(e.x.tobytes() for e in History(path).evaluations())
        assert result.nfev <= stored.total() < 300
        assert not Counter(f.finished) - (stored - before)  # all is kept, and nothing is evaluated again
        before = stored
    f = Interrupted()
    with ThreadPoolExecutor(WIDTH) as threads:
        result = minimize(f, BOX, workers=threads, **options)
    assert (result.status, len(rows(path))) == (Status.BUDGET, 300)
    assert len(f.finished) == 300 - before.total()
    assert replay(path, ordered=ordered).best_y == result.fun
    survived("interruptions with 32 evaluations in flight", 3)
