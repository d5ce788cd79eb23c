"""Runs that go on where the last digits are others: another number of threads, another processor."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from tests.test_run import BOX, f, same, table

from eglearn import EGL, AutoEGL, Status, minimize
from eglearn.algorithms import ALGORITHMS, AskTell
from eglearn.cli import main
from eglearn.environment import environment
from eglearn.report import write_report
from eglearn.store import History

BUDGET = 500


def stop_at(batch):
    def callback(intermediate_result):
        if intermediate_result.nit == batch:
            raise StopIteration

    return callback


def with_other_digits(monkeypatch, size):
    """Shift all points that are asked for, as another processor would, by a share of the cube's half width."""
    ask = AskTell.ask

    def shifted(self, u):
        return self.box.to_x(np.clip(u + size * np.sin(1e4 * u + self.nit), -1, 1))

    def ask_shifted(self, k=None):
        with monkeypatch.context() as patch:
            patch.setattr(AskTell, "_to_x", shifted)
            return ask(self, k)

    monkeypatch.setattr(AskTell, "ask", ask_shifted)


def fails(x):
    """One point in four, anywhere."""
    return int(abs(x[0]) * 1e7) % 4 == 0


@pytest.fixture
def counted():
    calls = []

    def objective(x):
        calls.append(x.copy())
        if fails(x):
            raise ValueError("no mesh")
        return float(np.sum((x - 1) ** 2))

    objective.calls = calls
    return objective


@pytest.mark.parametrize("keep", ["all", "none"])
@pytest.mark.parametrize(("width", "stopped"), [(1, 3), (1, 33), (8, 30), (8, 300)])
@pytest.mark.parametrize("size", [1e-9, 1e-3])
def test_a_run_goes_on_with_other_digits(tmp_path, monkeypatch, counted, size, stopped, keep, width):
    options = {"bounds": BOX, "budget": BUDGET, "store": tmp_path / "run.egl", "keep_x": keep, "width": width}
    first = minimize(counted, **options, callback=stop_at(stopped))
    stored = table_without_x(options["store"])
    with monkeypatch.context() as patch:
        with_other_digits(patch, size)
        part = minimize(counted, **options, callback=stop_at(stopped + 5))
        assert part.nfev == len(counted.calls) == len(table_without_x(options["store"]))
        again = minimize(counted, **options)
    # Nothing is lost or evaluated again, and the budget is met exactly.
    assert again.status in (Status.BUDGET, Status.CONVERGED)
    assert again.nfev == len(counted.calls) == len(table_without_x(options["store"])) <= BUDGET
    assert set(stored.values()) <= set(table_without_x(options["store"]).values())
    failed = sum(error is not None for _, error, _ in table_without_x(options["store"]).values())
    assert again.n_failed == failed > 0
    if keep == "all":
        assert again.fun <= first.fun
        assert again.fun == min(float(np.sum((x - 1) ** 2)) for x in counted.calls if not fails(x))
    moved = [index for index, _ in table_without_x(options["store"]) if index < 0]
    if size == 1e-9 and keep == "all":
        assert not moved  # each stored point answered the one that was asked for
    else:
        assert moved
        assert len(moved) <= len(stored)
    # Whoever comes back with the old digits can go on, too; and a finished run stays as it is.
    third = minimize(counted, **options)
    assert third.nfev == len(counted.calls) <= BUDGET
    write_report(options["store"], tmp_path / "run.html")
    assert main(["show", str(options["store"])]) == 0


def table_without_x(path):
    rows = History(path).evaluations()
    return {(e.index, e.order): (np.float64(e.outcome.y).tobytes(), e.outcome.error, e.at) for e in rows}


@pytest.mark.parametrize("width", [1, 8])
def test_with_the_same_digits_a_run_that_changed_course_is_continued_exactly(tmp_path, monkeypatch, width):
    """What was set aside is learned from at the same place, however often the run is continued after that."""
    ends = []
    each = 1 if width == 1 else 8  # stops are counted in groups of answers
    for name, stops in (("often.egl", (35, 36, 37, 44, 61, 62)), ("once.egl", ())):
        options = {"bounds": BOX, "budget": BUDGET, "store": tmp_path / name, "width": width}
        minimize(f, **options, callback=stop_at(33 * each))
        with monkeypatch.context() as patch:
            with_other_digits(patch, 1e-3)
            for stop in stops:
                minimize(f, **options, callback=stop_at(stop * each))
            ends.append(minimize(f, **options))
    assert same(*ends)
    assert table(tmp_path / "often.egl") == table(tmp_path / "once.egl")


def test_a_change_is_told_once(tmp_path, monkeypatch, caplog):
    minimize(f, BOX, budget=200, store=tmp_path / "run.egl", callback=stop_at(4))
    here = environment()
    there = here | {"threads": "77", "kernel": "Other"}
    monkeypatch.setattr(AutoEGL, "_environment", lambda self: there)
    minimize(f, BOX, budget=200, store=tmp_path / "run.egl")
    (text,) = caplog.messages
    assert f"kernel was {here['kernel']!r} when" in text
    assert "is 'Other' now, threads was" in text
    assert text.endswith("the last digits may differ")


def test_a_change_of_course_is_told(tmp_path, monkeypatch, caplog):
    minimize(f, BOX, budget=300, store=tmp_path / "run.egl", callback=stop_at(20))
    with_other_digits(monkeypatch, 1e-3)
    minimize(f, BOX, budget=300, store=tmp_path / "run.egl")
    assert len([text for text in caplog.messages if "the search asks for other points" in text]) == 1


def test_a_budget_that_ends_while_values_are_set_aside_can_grow(tmp_path, monkeypatch, counted):
    minimize(counted, BOX, budget=150, store=tmp_path / "run.egl")
    with_other_digits(monkeypatch, 1e-3)
    again = minimize(counted, BOX, budget=150, store=tmp_path / "run.egl")
    assert (again.nfev, again.status, len(counted.calls)) == (150, Status.BUDGET, 150)
    for _ in range(2):
        more = minimize(counted, BOX, budget=400, store=tmp_path / "run.egl")
        assert (more.nfev, more.status, len(counted.calls)) == (400, Status.BUDGET, 400)


CHILD = """
import sys
import numpy as np
from eglearn import minimize
from eglearn.environment import environment
from eglearn.cli import main
from eglearn.report import write_report
rng = np.random.default_rng(1)
A = rng.standard_normal((30, 30))
def f(x):
    return float(np.sum((A * (x - 0.3)).sum(axis=1) ** 2))
calls = []
def objective(x):
    calls.append(1)
    if len(calls) > int(sys.argv[2]):
        raise KeyboardInterrupt
    return f(x)
result = minimize(objective, [(-5, 5)] * 30, budget=800, store=sys.argv[1])
print(environment()["kernel"], result.nfev, len(calls), result.status.name)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of OpenBLAS can be chosen on Linux")
def test_a_run_goes_on_with_another_kernel_and_other_threads(tmp_path):
    def run(calls, **env):
        command = [sys.executable, "-c", CHILD, tmp_path / "run.egl", str(calls)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | env, timeout=100)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), done.stderr

    run(450, OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1")
    (kernel, nfev, calls, status), err = run(10**6, OPENBLAS_NUM_THREADS="2")
    assert (nfev, status) == ("800", "BUDGET")
    assert int(calls) == 800 - 450  # all that had been evaluated counts
    assert err.count("the last digits may differ") == 1
    assert "threads was '1'" in err
    if kernel != "Haswell":
        assert "kernel was 'Haswell'" in err


@pytest.mark.parametrize("kind", list(ALGORITHMS.values()))
@pytest.mark.parametrize("asked", [0, 1, 5])
def test_an_optimiser_can_be_pickled(kind, asked):
    optimiser = kind(BOX, budget=300, seed=3)
    for _ in range(asked):
        if optimiser.stop() is None:
            x = optimiser.ask()
            optimiser.tell(x, [f(p) if p[0] <= 3 else np.nan for p in x])
    if optimiser.stop() is None:
        x = optimiser.ask()
        optimiser.tell(x[:1], [7.5])
    optimiser.tell(np.array([0.1, 0.2, 0.3, 0.4]), 3.25)
    copy = pickle.loads(pickle.dumps(optimiser))
    assert type(copy) is kind
    for _ in range(4):
        assert copy.stop() == optimiser.stop()
        if optimiser.stop() is not None:
            break
        x = optimiser.ask()
        assert np.array_equal(x, copy.ask())
        for one in (optimiser, copy):
            one.tell(x, np.sum(x**2, axis=1))
    assert (copy.nfev, copy.nit, copy.best_y) == (optimiser.nfev, optimiser.nit, optimiser.best_y)


@pytest.mark.parametrize("by_number", [False, True])
def test_points_told_in_order_but_rounded_answer_those_that_were_asked(monkeypatch, by_number):
    """Close points are not exchanged, also where all of them are within the tolerance of each other."""
    optimiser, learned = EGL([(0, 1)] * 2, budget=100), {}
    m = optimiser.search.natural()
    x = 0.5 + 1e-8 * np.arange(m)[:, None] + np.zeros((m, 2))
    with monkeypatch.context() as patch:
        patch.setattr(optimiser, "_to_x", lambda u: x.copy())
        assert len(optimiser.ask()) == m
    monkeypatch.setattr(optimiser.search, "learn", lambda u, y, indices: learned.update(zip(indices, u, strict=True)))
    there = x[::-1] + 3e-9
    optimiser.answer(range(m), np.zeros(m), there) if by_number else optimiser.tell(there, np.zeros(m))
    assert list(learned) == list(range(m))
    np.testing.assert_array_equal(list(learned.values()), optimiser.box.to_u(there))


def test_adopted_values_use_up_budget_and_are_learned_from_once():
    optimiser = EGL([(0, 1)] * 2, budget=5, seed=0)
    x = optimiser.ask()
    places = np.array([[0.25, 0.5], [0.75, 0.5], [np.nan, np.nan], [0.5, 0.5]])
    optimiser.adopt(places, np.array([2.0, 1.0, 0.5, np.nan]))
    assert (optimiser.nfev, optimiser.n_failed, optimiser.best_y) == (4, 1, 1.0)
    assert np.array_equal(optimiser.ask(), x[:1])  # what is left of the budget
    optimiser.adopt(places[:1], np.array([2.0]))
    assert optimiser.stop() == Status.BUDGET
    optimiser.extend(60)
    assert np.array_equal(optimiser.ask()[:5], x)
    assert (optimiser.nfev, len(optimiser.open()[0])) == (5, 5)
