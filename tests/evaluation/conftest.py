"""Shared helpers: collecting outcomes, and proof that nothing is left behind."""

import os
import tempfile
import threading
import time
from pathlib import Path

import pytest
from tests.batches import evaluate


def children(parent=None, guard=False):
    """Process ids of the children of a process, zombies too; without the guard that watches over programs."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = stat.read_text().partition(" (")
        except OSError:  # it ended while we looked
            continue
        if int(rest.rpartition(") ")[2].split()[1]) == (parent or os.getpid()) and (guard or not is_guard(pid)):
            found.add(int(pid))
    return found


def is_guard(pid):
    try:
        return b"evaluation/guard.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def alive(pid):
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def eventually(condition, seconds=10.0):
    """Whether a condition becomes true in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.01)
    return False


class Tools:
    children = staticmethod(children)
    alive = staticmethod(alive)
    eventually = staticmethod(eventually)


@pytest.fixture
def tools():
    return Tools


@pytest.fixture
def run():
    """Evaluate a batch with an evaluator, see that each row comes exactly once, close, give them by row."""

    def run_(evaluator, x, close=True):
        try:
            outcomes = list(evaluate(evaluator, x))
        finally:
            if close:
                evaluator.close()
        assert sorted(row for row, _ in outcomes) == list(range(len(x)))
        return [outcome for _, outcome in sorted(outcomes)]

    return run_


def footprint():
    return {
        "processes": children(guard=True),
        "threads": set(threading.enumerate()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "files": os.listdir() + os.listdir(tempfile.gettempdir()),
    }


@pytest.fixture(autouse=True)
def nothing_left(request, capfd, monkeypatch, tmp_path_factory):
    """Each test here must leave no process, thread, open file, new file or output behind."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    if "leaves_traces" in request.keywords:  # workers that belong to the test, such as a Dask cluster
        yield
        return
    before = footprint()
    yield
    assert footprint() == before
    assert capfd.readouterr() == ("", "")


def pytest_configure(config):
    config.addinivalue_line("markers", "leaves_traces: uses workers of its own, which outlive the test")
