"""A run obeys what is wished of it, and nothing else in its control file."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eglearn import Result, Status, minimize
from eglearn.control import Wishes, is_running, wish, wishes
from eglearn.report.record import Record
from eglearn.store import History, StoreMismatch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a store needs POSIX file locks")


def bowl(x: np.ndarray) -> float:
    return float(np.sum((x - 0.3) ** 2))


def started(store: Path, **options: Any) -> tuple[threading.Thread, list[Result]]:
    """A slow run in a thread, which has begun, and its result when it has ended."""
    results: list[Result] = []

    def slow(x: np.ndarray) -> float:
        time.sleep(0.002)
        return bowl(x)

    thread = threading.Thread(
        target=lambda: results.append(minimize(slow, [(-1, 1)] * 3, store=store, fingerprint="slow", **options))
    )
    thread.start()
    until(lambda: store.exists() and count(store) > 20)
    return thread, results


def count(store: Path) -> int:
    try:
        return sum(1 for _ in History(store).evaluations(with_x=False))
    except Exception:
        return 0


def until(true: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_stop(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    thread, results = started(store, budget=100_000)
    wish(store, stop=True)
    thread.join(20)
    assert results[0].status is Status.INTERRUPTED
    assert "stopped by eglearn ui" in results[0].message
    assert not list(tmp_path.glob("*-control*"))
    # it can be resumed, and is the run that it would have been
    again = minimize(bowl, [(-1, 1)] * 3, budget=100_000, store=store, fingerprint="slow", max_seconds=0.1)
    assert again.nfev >= results[0].nfev


def test_pause_and_go_on_change_nothing_but_the_time(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    thread, results = started(store, budget=400)
    wish(store, pause=True)
    until(lambda: History(store).paused() is not None)
    before = count(store)
    time.sleep(0.5)
    assert count(store) == before
    assert thread.is_alive()
    wish(store, pause=False)
    thread.join(30)
    plain = minimize(bowl, [(-1, 1)] * 3, budget=400, store=tmp_path / "plain.egl")
    assert results[0].x.tolist() == plain.x.tolist()
    assert results[0].nfev == 400
    history = History(store)
    assert history.paused() is None
    times = Record(history).times
    assert times.paused >= 0.45
    begun = history.begun()
    assert len(begun) == 2


def test_a_pause_is_no_run_time(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    thread, results = started(store, budget=10**6, max_seconds=1.0)
    wish(store, pause=True)
    time.sleep(1.5)
    before = count(store)
    wish(store, pause=False)
    thread.join(20)
    assert results[0].status is Status.TIME
    assert results[0].nfev > before


def test_a_larger_budget(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    thread, results = started(store, budget=100)
    wish(store, budget=60)  # fewer: no wish
    wish(store, budget=250)
    thread.join(20)
    assert results[0].nfev == 250
    assert History(store).budgets == [100, 250]


def test_a_larger_budget_is_kept_by_a_run_that_stops_before_it(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    thread, results = started(store, budget=300)
    wish(store, budget=400, stop=True)
    thread.join(20)
    assert results[0].nfev < 300
    assert results[0].budget == 400
    assert (History(store).budgets, History(store).given) == ([300, 400], 300)
    # The same call goes on up to there, and is the run that had this budget from its old end on.
    result = minimize(bowl, [(-1, 1)] * 3, budget=300, store=store, fingerprint="slow")
    minimize(bowl, [(-1, 1)] * 3, budget=300, store=tmp_path / "plain.egl")
    plain = minimize(bowl, [(-1, 1)] * 3, budget=400, store=tmp_path / "plain.egl")
    assert (result.nfev, result.budget, result.x.tolist()) == (400, 400, plain.x.tolist())
    # A call can give more, and what a call has given cannot shrink.
    assert minimize(bowl, [(-1, 1)] * 3, budget=500, store=store, fingerprint="slow").nfev == 500
    with pytest.raises(StoreMismatch, match="a budget can only grow: 400 is too few, give it 500 or more"):
        minimize(bowl, [(-1, 1)] * 3, budget=400, store=store, fingerprint="slow")


def test_a_larger_budget_is_kept_by_a_run_that_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    code = (
        "import time\nfrom eglearn import minimize\n"
        "def slow(x):\n    time.sleep(0.01 if x[0] == 0 else 60)\n    return float((x**2).sum())\n"
        f"minimize(slow, [(-1, 1)] * 3, budget=100, store={str(store)!r}, fingerprint='slow')"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    until(lambda: store.exists() and count(store) > 0)
    time.sleep(0.2)
    wish(store, budget=200, pause=True, stop=True)  # while it waits for a slow evaluation
    process.kill()
    process.wait(20)
    assert History(store).budgets == [100]
    result = minimize(bowl, [(-1, 1)] * 3, budget=100, store=store, fingerprint="slow")
    assert (result.nfev, History(store).budgets) == (200, [100, 200])


def test_a_larger_budget_is_kept_by_a_run_that_is_interrupted_in_a_pause(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    thread, results = started(store, budget=300)
    wish(store, pause=True)
    until(lambda: History(store).paused() is not None)
    wish(store, budget=400)
    until(lambda: History(store).budgets == [300, 400])  # while it waits
    wish(store, stop=True)
    thread.join(20)
    assert results[0].status is Status.INTERRUPTED


def test_old_wishes_are_not_obeyed(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    wish(store, stop=True, budget=10_000)
    assert minimize(bowl, [(-1, 1)] * 3, budget=100, store=store).nfev == 100
    assert wishes(store) == Wishes()


@pytest.mark.parametrize(
    "text",
    ["", "no", "[]", "null", '{"pause": 1}', '{"stop": "yes"}', '{"budget": true}', '{"budget": 1e9}', "[" * 900,
     '{"stop": true' + " " * 2000 + "}", "\udcff"],
)  # fmt: skip
def test_what_cannot_be_understood_is_no_wish(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.egl-control"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert wishes(tmp_path / "run.egl") == Wishes()
    path.unlink()
    path.mkdir()
    assert wishes(tmp_path / "run.egl") == Wishes()


def test_wishes_add_up_and_leave_no_parts(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    wish(store, pause=True)
    wish(store, budget=7)
    assert wish(store, pause=False) == wishes(store) == Wishes(budget=7)
    (file,) = tmp_path.iterdir()
    assert file.name == "run.egl-control"
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text()) == {"pause": False, "stop": False, "budget": 7}


def test_a_signal_ends_a_pause(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    code = (
        "import sys, time, numpy as np\nfrom eglearn import minimize\n"
        "def f(x):\n    time.sleep(0.002)\n    return float(np.sum(x**2))\n"
        f"print(minimize(f, [(-1, 1)] * 3, budget=100_000, store={str(store)!r}).status.name)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    until(lambda: store.exists() and count(store) > 5)
    assert is_running(History(store))
    wish(store, pause=True)
    until(lambda: History(store).paused() is not None)
    process.terminate()
    out, _ = process.communicate(timeout=20)
    assert out.strip() == "INTERRUPTED"
    assert History(store).paused() is None
    assert not is_running(History(store))


def test_with_evaluations_in_flight(tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    (tmp_path / "slow.py").write_text(
        "import time\ndef f(x):\n    time.sleep(0.01)\n    return float((x**2).sum())\n", encoding="utf-8"
    )
    code = (
        "from eglearn import minimize\nif __name__ == '__main__':\n"
        "    result = minimize('slow:f', [(-1, 1)] * 3, budget=150, store='run.egl', workers=2)\n"
        "    print(result.status.name, result.nfev)"
    )
    (tmp_path / "run.py").write_text(code, encoding="utf-8")
    process = subprocess.Popen([sys.executable, "run.py"], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    until(lambda: store.exists() and count(store) > 5)
    wish(store, pause=True, budget=200)
    until(lambda: History(store).paused() is not None)
    held = count(store)
    time.sleep(0.5)
    assert count(store) == held  # what was in flight has ended, and waits to be told
    wish(store, pause=False)
    out, _ = process.communicate(timeout=60)
    assert out.split() == ["BUDGET", "200"]
    assert count(store) == 200
