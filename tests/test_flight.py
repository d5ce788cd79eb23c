"""Many evaluations in flight: answers in any order, and runs that are exact all the same."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn import Status, minimize
from eglearn.algorithms import ALGORITHMS
from eglearn.evaluation import Outcome, make_evaluator
from eglearn.loop import RunLoop
from eglearn.serialize import dumps, loads
from eglearn.store import History, Store, StoreMismatch

BOX = [(-5, 5)] * 4
KILLS = int(os.environ.get("EGLEARN_KILLS", "8")) // 4


def f(x):
    if x[0] > 4:
        raise ValueError("too far")
    return float(np.sum((x - 1) ** 2 + 1 - np.cos(3 * (x - 1))))


def value(x):
    try:
        return f(x)
    except ValueError:
        return np.nan


def replay(path, algorithm="auto", box=BOX, ordered=False):
    """Make the run of a file again from its answers alone; each point must be the stored one, to the last bit."""
    history = History(path)
    width, budgets = history.identity["width"], list(history.budgets)
    opt = ALGORITHMS[algorithm](box, budget=budgets.pop(0), seed=history.identity["seed"], width=width)
    points = {}

    def ask():
        if opt.stop() is Status.BUDGET and budgets:
            opt.extend(budgets.pop(0))
        if len(points) < width and opt.stop() is None:
            first = opt.asked
            points.update(enumerate(opt.ask(width - len(points)), start=first))

    told = sorted(history.evaluations(), key=lambda e: e.index if ordered else e.order)
    ask()
    for e in told:
        assert points.pop(e.index).tobytes() == e.x.tobytes()
        opt.answer([e.index], [e.outcome.y])
        ask()
    return opt


class Anyhow:
    """An evaluator in whose hands points end in an order drawn at random; some are lost for the first time."""

    width = 1

    def __init__(self, seed, loses=False):
        self.rng, self.loses = random.Random(seed), loses
        self.flying, self.submitted, self.lost = {}, [], set()

    def submit(self, index, x):
        assert index not in self.flying
        self.flying[index] = x.copy()
        self.submitted.append(index)

    def wait(self, block=True):
        arrived = []
        for _ in range(self.rng.randint(1 if block else 0, 3)):
            if self.flying:
                index = self.rng.choice(list(self.flying))
                x = self.flying.pop(index)
                if self.loses and index not in self.lost and self.rng.random() < 0.2:
                    self.lost.add(index)
                    arrived.append((index, Outcome(np.nan, "gone", lost=True)))
                else:
                    y = value(x)
                    arrived.append((index, Outcome(y, None if np.isfinite(y) else "too far")))
        return arrived

    def cancel(self):
        self.flying.clear()

    def close(self):
        pass


def run(evaluator, budget, width, *, algorithm="auto", ordered=False, store=None, steps=10**9, carried=False):
    """A run in this process that is killed after some steps; ``carried``: its state goes through bytes at each."""
    kind = ALGORITHMS[algorithm]
    first = budget if store is None else store.budgets[0]
    opt = kind(BOX, budget=first, seed=3, width=width)
    loop = RunLoop(opt, budget, evaluator, store, width=width, ordered=ordered, on_error=None, limits={})
    loop.resume()
    while loop.stop() is None and steps:
        loop.step()
        steps -= 1
        if carried:
            loop.optimiser = kind.from_state(loads(dumps(loop.optimiser.state())))
        assert loop.optimiser.nfev + len(loop.arrived) + len(loop.flying) <= budget
        assert width == 1 or len(loop.open) <= width
    return loop


def opened(path, width, ordered=False, budget=150):
    return Store(path, {"seed": 3, "width": width, "ordered": ordered, "budget": budget})


some = settings(max_examples=40 if "EGLEARN_SOAK" in os.environ else 6, deadline=None)
widths = st.sampled_from([2, 3, 8, 33])
algorithms = st.sampled_from(["auto", "cma-es", "trust-region", "egl"])


@some
@given(st.integers(0, 999), widths, algorithms, st.booleans())
def test_in_whatever_order_answers_come_a_replay_is_exact(tmp_path_factory, seed, width, algorithm, loses):
    path = tmp_path_factory.mktemp("flight") / "run.egl"
    evaluator = Anyhow(seed, loses)
    with opened(path, width) as store:
        loop = run(evaluator, 150, width, algorithm=algorithm, store=store)
    assert loop.optimiser.nfev <= 150
    assert len(evaluator.submitted) == loop.optimiser.nfev + len(evaluator.lost)  # no point twice but what was lost
    again = replay(path, algorithm)
    assert (again.nfev, again.best_y) == (loop.optimiser.nfev, loop.optimiser.best_y)
    assert dumps(again.state()) == dumps(loop.optimiser.state())


@some
@given(st.integers(0, 999), widths, algorithms, st.booleans())
def test_a_state_in_the_middle_is_whole(seed, width, algorithm, ordered):
    straight, carried = (
        run(Anyhow(seed), 120, width, algorithm=algorithm, ordered=ordered, carried=carried).optimiser
        for carried in (False, True)
    )
    assert dumps(straight.state()) == dumps(carried.state())


@some
@given(st.tuples(st.integers(0, 999), st.integers(0, 999)), widths, algorithms)
def test_ordered_runs_do_not_depend_on_who_finishes_first(seeds, width, algorithm):
    one, other = (run(Anyhow(seed), 120, width, algorithm=algorithm, ordered=True).optimiser for seed in seeds)
    assert dumps(one.state()) == dumps(other.state())


@some
@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 70)), min_size=1, max_size=5),
    st.sampled_from([1, 2, 8, 33]),
    algorithms,
    st.booleans(),
)
def test_killed_at_any_step_it_goes_on_from_the_recorded_order(tmp_path_factory, parts, width, algorithm, ordered):
    path = tmp_path_factory.mktemp("flight") / "run.egl"
    before = []
    for seed, steps in [*parts, (0, 10**9)]:
        evaluator = Anyhow(seed)
        with opened(path, width, ordered) as store:
            loop = run(evaluator, 150, width, algorithm=algorithm, ordered=ordered, store=store, steps=steps)
        rows = [(e.order, e.index, e.x.tobytes(), e.outcome.y) for e in History(path).evaluations()]
        assert str(rows[: len(before)]) == str(before)  # NaN is not equal to itself
        assert not {index for _, index, _, _ in before} & set(evaluator.submitted)
        before = rows
    if width > 1:
        again = replay(path, algorithm, ordered=ordered)
    else:
        again = run(Anyhow(1), 150, 1, algorithm=algorithm).optimiser
    assert dumps(again.state()) == dumps(loop.optimiser.state())


@some
@given(st.integers(0, 999), st.integers(1, 149), widths)
def test_a_budget_that_is_raised_later(tmp_path_factory, seed, first, width):
    path = tmp_path_factory.mktemp("flight") / "run.egl"
    for budget in (first, 150, 150):
        with opened(path, width, budget=budget) as store:
            evaluator = Anyhow(seed)
            assert run(evaluator, budget, width, store=store).optimiser.nfev == budget
    assert evaluator.submitted == []
    assert replay(path).nfev == 150


def heavy_tailed(x):
    time.sleep(min(0.4, 0.004 * random.Random(x.tobytes()).paretovariate(1.1)))
    return f(x)


def test_processes_are_kept_busy_and_their_order_is_kept(tmp_path):
    path = tmp_path / "run.egl"
    result = minimize(heavy_tailed, BOX, budget=240, seed=3, workers=8, store=path)
    assert (result.status, result.nfev, result.nit) == (Status.BUDGET, 240, 240)
    indices = [e.index for e in History(path).evaluations()]
    assert sorted(indices) == list(range(240))
    assert indices != sorted(indices)
    assert replay(path).best_y == result.fun
    # It goes on with the same width on any number of workers, and without an evaluation.
    again = minimize(lambda x: 1 / 0, BOX, budget=240, seed=3, workers=3, store=path, fingerprint="any")
    assert (again.fun, again.x.tolist(), again.nit) == (result.fun, result.x.tolist(), 240)
    with pytest.raises(StoreMismatch, match="width is 8 there and 3 here"):
        minimize(heavy_tailed, BOX, budget=240, seed=3, width=3, store=path)
    with pytest.raises(StoreMismatch, match="ordered is False there and True here"):
        minimize(heavy_tailed, BOX, budget=240, seed=3, ordered=True, store=path)


class NeverWaits:
    """What the loop knows of an optimiser, around points drawn at random."""

    n, nfev, asked, best_y = 4, 0, 0, np.nan
    box = SimpleNamespace(n=4)

    def __init__(self, budget):
        self.budget, self.told = budget, []

    def ask(self, k):
        k = min(k, self.budget - self.asked)
        self.asked += k
        return np.random.default_rng(self.asked).uniform(-5, 5, (k, 4))

    def answer(self, indices, y, x):
        self.told += indices
        self.nfev += len(indices)

    def stop(self):
        return Status.BUDGET if self.nfev == self.budget else None


def test_one_slow_evaluation_holds_back_nobody():
    """The first point ends only when fifty others were told."""
    opt, slow = NeverWaits(60), []

    def f(x):
        if not slow:
            slow.append(x)
            until = time.monotonic() + 60
            while len(opt.told) < 50 and time.monotonic() < until:
                time.sleep(0.01)
        return float(x @ x)

    with ThreadPoolExecutor(4) as threads:
        evaluator = make_evaluator(f, workers=threads)
        assert evaluator.width == 4
        loop = RunLoop(opt, 60, evaluator, None, width=4, ordered=False, on_error=None, limits={})
        while loop.stop() is None:
            loop.step()
    assert opt.told.index(0) >= 50
    assert sorted(opt.told) == list(range(60))


def test_a_worker_that_dies_and_one_that_hangs_cost_their_points_only(tmp_path):
    path = tmp_path / "run.egl"

    def f(x):
        for name, harm in (("killed", lambda: os.kill(os.getpid(), signal.SIGKILL)), ("hung", lambda: time.sleep(999))):
            with suppress(FileExistsError):
                os.close(os.open(tmp_path / name, os.O_CREAT | os.O_EXCL))
                harm()
        time.sleep(0.01)
        return float(x @ x)

    result = minimize(f, BOX, budget=80, workers=4, timeout=2.0, store=path)
    assert (result.nfev, result.n_failed) == (80, 2)
    errors = [e.outcome.error for e in History(path).evaluations() if e.outcome.error is not None]
    assert sorted(errors) == ["no answer within the timeout of 2 s", "the worker was killed by SIGKILL"]
    replay(path)


CHILD = """
import os, random, sys, time
from concurrent.futures import ThreadPoolExecutor
from eglearn import minimize
from tests.test_flight import BOX, f
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def logged(x):
    os.write(log, x.tobytes().hex().encode() + b"\\n")
    time.sleep(min(0.2, 0.01 * random.paretovariate(1.5)))
    return f(x)
with ThreadPoolExecutor(int(sys.argv[3])) as threads:
    print("ready", flush=True)
    result = minimize(logged, BOX, budget=1000, seed=3, store=sys.argv[1], workers=threads, fingerprint="any",
                      width=32, ordered=sys.argv[4] == "True")
print(result.fun.hex(), flush=True)
"""


@pytest.mark.parametrize("ordered", [False, True])
def test_killed_at_random_moments_with_many_in_flight(ordered, tmp_path, survived):
    """Nothing is evaluated twice but what was in flight, and the run is the one of the recorded order."""
    path, rng = tmp_path / "run.egl", random.Random(0)
    stored = []
    for part in range(KILLS + 1):
        log = tmp_path / f"log{part}"
        command = [sys.executable, "-c", CHILD, path, log, str(rng.choice([3, 32, 40])), str(ordered)]
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        process.stdout.readline()
        if part < KILLS:
            time.sleep(rng.uniform(0.05, 0.6))
            process.kill()
        out, _ = process.communicate(timeout=100)
        begun = Counter(log.read_text().split() if log.exists() else ())  # a search may ask for a point twice
        rows = [(e.order, e.index, e.x.tobytes().hex()) for e in History(path).evaluations()]
        assert rows[: len(stored)] == stored
        new = Counter(x for _, _, x in rows[len(stored) :])
        assert not new - begun
        assert (begun - new).total() <= (32 if part < KILLS else 0)  # in flight
        stored = rows
    assert len(stored) == 1000
    assert float.fromhex(out) == replay(path, ordered=ordered).best_y
    survived("kills with 32 evaluations in flight", KILLS)


@pytest.mark.parametrize("algorithm", ["auto", "cma-es"])
def test_a_damaged_value_is_evaluated_again_and_nothing_else(tmp_path, algorithm):
    path, evaluator = tmp_path / "run.egl", Anyhow(5)
    with opened(path, 8) as store:
        run(Anyhow(4), 150, 8, algorithm=algorithm, store=store)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE evaluations SET y = 'x' WHERE \"index\" = 40")
    db.close()
    with opened(path, 8) as store:
        assert run(evaluator, 150, 8, algorithm=algorithm, store=store).optimiser.nfev == 150
    assert len(evaluator.submitted) == 1
    assert len(list(History(path).evaluations())) == 150


def test_progress_is_thin_in_long_runs(tmp_path):
    path = tmp_path / "run.egl"
    minimize(lambda x: np.sum(x**2, axis=1), [(-5, 5)] * 2, budget=20_000, vectorized=True, store=path, keep_x="none")
    told = [row["nfev"] for row in History(path).progress()]
    assert 500 < len(told) < 4_000
    assert told[0] < 20
    assert told[-1] > 19_900


@pytest.mark.parametrize("width", [0, -3, 2.5, "4", True])
def test_a_width_that_is_none_is_refused(width):
    with pytest.raises(ValueError, match="width = "):
        minimize(f, BOX, budget=10, width=width)


def test_a_callback_hears_of_each_answer():
    seen = []
    minimize(f, BOX, budget=30, width=4, callback=lambda intermediate_result: seen.append(intermediate_result.nfev))
    assert seen == list(range(1, 31))


def test_a_target_ends_the_run_though_others_are_in_flight(tmp_path):
    path = tmp_path / "run.egl"
    with ThreadPoolExecutor(8) as threads:
        result = minimize(heavy_tailed, BOX, budget=400, seed=3, workers=threads, target=20.0, store=path)
    assert (result.status, result.fun <= 20.0) == (Status.TARGET, True)
    assert result.nfev == len(list(History(path).evaluations()))
    assert minimize(heavy_tailed, BOX, budget=400, seed=3, target=20.0, store=path).nfev == result.nfev
    assert minimize(heavy_tailed, BOX, budget=60, seed=3, width=8, store=tmp_path / "b.egl").nfev == 60
