"""What a run does about its file: one that is refused, damaged, full, or of another run."""

import functools
import resource
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.test_run import BOX, child, f, same

from eglearn import AutoSettings, minimize
from eglearn.evaluation import Command
from eglearn.store import StoreError, StoreMismatch


def test_another_run_is_refused_by_name(tmp_path):
    path = tmp_path / "run.egl"
    minimize(f, BOX, budget=100, store=path)
    before = path.read_bytes()
    with pytest.raises(StoreMismatch, match=r"holds a run of 100 evaluations, .*: 99 is too few"):
        minimize(f, BOX, budget=99, store=path)
    with pytest.raises(StoreMismatch, match="seed"):
        minimize(f, BOX, budget=100, seed=1, store=path)
    with pytest.raises(StoreMismatch, match=r"settings\.m is None there and 4 here"):
        minimize(f, BOX, budget=100, settings=AutoSettings(m=4), store=path)
    assert path.read_bytes() == before


def test_a_run_without_a_seed_cannot_be_stored(tmp_path):
    with pytest.raises(ValueError, match="needs a seed"):
        minimize(f, BOX, budget=10, seed=None, store=tmp_path / "run.egl")


def test_a_store_that_cannot_be_made_costs_no_evaluation(tmp_path):
    calls = []
    for path in (tmp_path / "missing" / "run.egl", tmp_path):
        with pytest.raises(StoreError, match=path.name):
            minimize(lambda x: calls.append(1) or 0.0, BOX, budget=10, store=path)
    assert calls == []


def test_second_process_is_refused(tmp_path):
    process = child(tmp_path / "run.egl", tmp_path / "log", pause=0.05)
    process.stdout.readline()
    time.sleep(0.5)
    with pytest.raises(StoreError, match=str(process.pid)):
        minimize(f, BOX, budget=800, seed=5, store=tmp_path / "run.egl", fingerprint="any")
    process.kill()
    process.wait()
    process.stdout.close()


FULL = """
import resource, signal, sys
import numpy as np
from eglearn import minimize
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
result = minimize(lambda x: float(np.sum(x**2)), [(-5, 5)] * 300, [1.0] * 300, budget=5000, store=sys.argv[1])
print(result.status.name, np.isfinite(result.fun), 10 < result.nfev < 5000, not result.success, result.message)
"""


def test_a_full_disk_ends_the_run_with_its_result(tmp_path):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FULL, tmp_path / "run.egl"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("STORE True True True"), done.stderr
    assert "run.egl" in done.stdout


def test_a_damaged_checkpoint_is_passed_over(tmp_path, caplog):
    path = tmp_path / "run.egl"
    whole = minimize(f, BOX, budget=800)
    stop = iter(range(1000))

    def callback(x):
        if next(stop) == 430:
            raise StopIteration

    minimize(f, BOX, budget=800, store=path, callback=callback)
    with sqlite3.connect(path) as db:
        (newest,) = db.execute("SELECT max(told) FROM checkpoints").fetchone()
        db.execute("UPDATE checkpoints SET state = substr(state, 1, 999) WHERE told = ?", (newest,))
    db.close()
    assert same(minimize(f, BOX, budget=800, store=path), whole)
    assert f"checkpoint after {newest} answers" in caplog.text


def test_points_need_not_be_kept(tmp_path):
    whole = minimize(f, BOX, budget=300)
    for keep in ("improvements", "none"):
        path = tmp_path / f"{keep}.egl"
        minimize(f, BOX, budget=300, store=path, keep_x=keep, target=10.0)
        assert same(minimize(f, BOX, budget=300, store=path, keep_x=keep), whole)


def test_another_objective_is_refused_unless_any_will_do(tmp_path, caplog):
    path = tmp_path / "run.egl"
    minimize(f, BOX, budget=60, store=path)
    before = path.read_bytes()
    with pytest.raises(
        StoreMismatch, match=r"run of the objective 'tests.test_run:f', not 'numpy:sum': choose another"
    ):
        minimize(np.sum, BOX, budget=60, store=path)
    for other in (lambda x: 0.0, functools.partial(f), Command("cat"), "math:fsum"):
        with pytest.raises(StoreMismatch, match="fingerprint='any'"):
            minimize(other, BOX, budget=60, store=path)
    assert path.read_bytes() == before
    minimize(np.sum, BOX, budget=60, store=path, fingerprint="any")
    assert "values are taken for those of the new one" in caplog.text


def with_argument(x, shift):
    return float(np.sum((x - shift) ** 2))


@pytest.mark.parametrize(
    "objective",
    [
        lambda: lambda x: 1.0 + x @ x,
        lambda: functools.partial(with_argument, shift=2.0),
        lambda: "tests.test_run:f",
        lambda: Command(["perl", "-ne", '$| = 1; print "1\\n"']),
    ],
)
def test_the_same_objective_goes_on(objective, tmp_path):
    path = tmp_path / "run.egl"
    minimize(objective(), BOX, budget=20, store=path)
    assert minimize(objective(), BOX, budget=30, store=path).nfev == 30


def test_a_function_of_a_script_is_the_same_when_the_script_is_imported(tmp_path):
    (tmp_path / "script.py").write_text(
        "import sys\nfrom eglearn import minimize\ndef f(x):\n    return float(x @ x)\n"
        "def main(budget):\n    print(minimize(f, [(-5, 5)], budget=budget, store='run.egl').nfev)\n"
        "if __name__ == '__main__':\n    main(20)\n"
    )
    for words in (["script.py"], ["-c", "import script; script.main(30)"]):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "30\n"


def test_a_fingerprint_stands_for_the_objective(tmp_path):
    path = tmp_path / "run.egl"
    minimize(f, BOX, budget=20, store=path, fingerprint="mesh 7")
    assert minimize(lambda x: f(x), BOX, budget=30, store=path, fingerprint="mesh 7").nfev == 30
    with pytest.raises(StoreMismatch, match="with the fingerprint 'mesh 7', not 'mesh 8'"):
        minimize(f, BOX, budget=30, store=path, fingerprint="mesh 8")
    with pytest.raises(StoreMismatch, match=r"with the fingerprint 'mesh 7', not \(none\)"):
        minimize(f, BOX, budget=30, store=path)
    assert minimize(f, BOX, budget=40, store=path, fingerprint="any").nfev == 40
    assert minimize(f, BOX, budget=50, store=path, fingerprint="mesh 7").nfev == 50
    with pytest.raises(ValueError, match="fingerprint = 7: it must be a text"):
        minimize(f, BOX, budget=50, store=path, fingerprint=7)


def test_a_damaged_value_is_told_and_evaluated_again(tmp_path, caplog):
    path, calls = tmp_path / "run.egl", []
    whole = minimize(f, BOX, budget=60, store=path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE evaluations SET y = 'x' WHERE \"index\" = 25")
    db.close()
    again = minimize(lambda x: calls.append(x) or f(x), BOX, budget=60, store=path, fingerprint="any")
    assert same(again, whole)
    assert len(calls) == 1
    assert caplog.text.count("the evaluation of point 25") == 1
