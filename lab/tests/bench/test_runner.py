from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cocoex")
pytest.importorskip("pyarrow")

from eglearn_lab.bench.algorithms import ALGORITHMS
from eglearn_lab.bench.problems import TARGETS, Problem
from eglearn_lab.bench.runner import Job, jobs, load_results, run_benchmark
from eglearn_lab.bench.worker import CocoRuns
from eglearn_lab.runner import FolderInUse, FolderRefused, run_jobs
from eglearn_lab.runner.remote import run_apart

ONE = {"suite": "bbob", "dims": [2], "functions": [1], "instances": [1]}

PLUGIN = """
import os, signal, time
from eglearn_lab.bench.algorithms import ALGORITHMS, algorithm

@algorithm("crashing")
def crashing(run):
    "Raises after 7 evaluations."
    for _ in range(7):
        run.fun(run.random_point())
    raise ZeroDivisionError("as it must")

@algorithm("leaving")
def leaving(run):
    "Leaves after 3 evaluations."
    for _ in range(3):
        run.fun(run.random_point())
    raise SystemExit("enough")

@algorithm("dying")
def dying(run):
    "Its process is killed."
    for _ in range(5):
        run.fun(run.x0)
    if os.path.exists("bench_spares"):
        return
    os.kill(os.getpid(), signal.SIGKILL)

@algorithm("stillborn")
def stillborn(run):
    "Its process is killed before the first evaluation."
    os.kill(os.getpid(), signal.SIGKILL)

@algorithm("sleepy")
def sleepy(run):
    "Takes its time."
    while True:
        run.fun(run.random_point())
        time.sleep(0.01)
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    (tmp_path / "bench_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(ALGORITHMS)
    yield "bench_plugin"
    sys.modules.pop("bench_plugin", None)
    ALGORITHMS.clear()
    ALGORITHMS.update(before)


def without_clocks(rows):
    return [{k: v for k, v in row.items() if not k.startswith("cpu") and k != "started"} for row in rows]


def test_a_grid_is_one_row_a_run(tmp_path):
    seen = []
    table = run_benchmark(tmp_path, "bbob", [2, 5], [1, 8], [1], ["random", "bfgs"], 150, [0, 1], progress=seen.append)
    assert table.num_rows == 16
    assert table.equals(load_results(tmp_path))
    assert table.equals(load_results(tmp_path / "results.parquet"))
    assert os.listdir(tmp_path) == ["results.parquet"]
    assert [p.done for p in seen] == list(range(1, 17))
    assert seen[-1].total == 16
    assert seen[-1].eta == 0
    for row in table.to_pylist():
        assert row["evaluations"] <= 150
        ended = "target" if row["best_gap"] <= TARGETS[-1] else "finished"
        assert row["status"] == ("budget" if row["evaluations"] == 150 and ended == "finished" else ended)
        assert row["trace_evaluations"][-1] == row["evaluations"]
        assert row["best_gap"] == row["recommended_gap"]
        assert row["trace_gap"][-1] == np.float32(row["best_gap"])
        assert len(row["target_evaluations"]) == 51
        assert "coco-experiment" in json.loads(row["versions"])
        assert row["cpu_optimiser"] > 0
        assert row["cpu_function"] > 0


def test_same_rows_in_any_process(tmp_path):
    table = run_benchmark(tmp_path, "bbob-noisy", [2], [101, 107], [1], ["cma", "random"], 120, [0, 1])
    for row in table.to_pylist():
        problem = Problem(row["suite"], row["function"], row["dimension"], row["instance"])
        here = CocoRuns().execute(Job(problem, row["algorithm"], row["seed"], row["budget"]))
        assert without_clocks([here]) == without_clocks([row])


def test_a_larger_grid_adds_to_what_is_there(tmp_path):
    first = run_benchmark(tmp_path, **ONE, algorithms=["random"], budget=50).to_pylist()
    seen = []
    second = run_benchmark(tmp_path, **ONE, algorithms=["random", "cma"], budget=50, progress=seen.append).to_pylist()
    assert [p.row["algorithm"] for p in seen] == ["cma"]
    assert seen[0].done == seen[0].total == 2
    assert [row for row in second if row["algorithm"] == "random"] == first


def test_a_crash_is_recorded_at_its_best_so_far(tmp_path, plugin):
    table = run_benchmark(tmp_path, **ONE, algorithms=["crashing", "leaving", "random"], budget=50, plugins=[plugin])
    crashed, left, fine = table.to_pylist()
    assert (left["status"], left["evaluations"]) == ("failed", 3)
    assert left["error"].startswith("SystemExit: enough")
    assert crashed["status"] == "failed"
    assert crashed["error"].startswith("ZeroDivisionError: as it must (bench_plugin.py:")
    assert crashed["evaluations"] == 7
    assert 0 < crashed["best_gap"] < np.inf
    assert fine["status"] == "budget"


def test_a_killed_worker_does_not_stop_the_benchmark(tmp_path, plugin):
    table = run_benchmark(tmp_path, **ONE, algorithms=["dying", "random"], budget=50, plugins=[plugin])
    killed, fine = table.to_pylist()
    assert killed["status"] == "killed"
    assert "-9, 2 times" in killed["error"]
    assert killed["evaluations"] == 5
    assert killed["best_gap"] == killed["y0"] - killed["f_opt"]
    assert [k for k in killed["target_evaluations"] if k > 0] == [5] * sum(killed["best_gap"] <= t for t in TARGETS)
    assert (killed["trace_evaluations"], killed["trace_gap"]) == ([5], [pytest.approx(killed["best_gap"])])
    assert fine["evaluations"] == 50


def test_a_run_killed_before_its_first_evaluation_had_begun(tmp_path, plugin):
    table = run_benchmark(tmp_path, **ONE, algorithms=["stillborn", "random"], budget=50, plugins=[plugin])
    fine, killed = table.to_pylist()
    assert (killed["status"], killed["evaluations"], killed["best_gap"]) == ("killed", 0, np.inf)
    assert fine["evaluations"] == 50


def test_a_killed_run_is_tried_again_and_a_failed_one_is_not(tmp_path, plugin, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grid = {**ONE, "algorithms": ["dying", "crashing"], "budget": 50, "plugins": [plugin]}
    run_benchmark(tmp_path / "out", **grid)
    (tmp_path / "bench_spares").touch()
    seen = []
    table = run_benchmark(tmp_path / "out", **grid, progress=seen.append)
    assert [p.row["algorithm"] for p in seen] == ["dying"]
    assert {row["algorithm"]: row["status"] for row in table.to_pylist()} == {
        "crashing": "failed",
        "dying": "finished",
    }


UNSTARTABLE = """
import os, sys
from eglearn_lab.bench.runner import run_benchmark
if __name__ == "__main__":
    os.remove(__file__)  # which each process reads first
    run_benchmark(sys.argv[1], "bbob", [2], [1, 2, 3], [1], ["random"], 40)
"""


def test_processes_that_cannot_begin_end_the_benchmark_and_no_run_is_charged(tmp_path):
    (tmp_path / "script.py").write_text(UNSTARTABLE)
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "CannotBegin: a process for a run ended with code 1 before it began, 2 times" in done.stderr
    assert load_results(tmp_path / "out").num_rows == 0


def test_rows_tell_which_code_made_them():
    (known,) = {
        json.loads(CocoRuns().execute(Job(Problem("bbob", 1, 2, 1), "random", k, 5))["versions"])["source"]
        for k in (0, 1)
    }
    assert re.fullmatch("[0-9a-f]{8}", known)


SCRIPT = """
import sys
from eglearn_lab.bench.runner import run_benchmark
if __name__ == "__main__":
    run_benchmark(sys.argv[1], "bbob", [2], [1, 2, 3], [1, 2], ["sleepy", "cma"], 40, plugins=["bench_plugin"])
"""


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_kill_and_resume(tmp_path, plugin):
    (tmp_path / "script.py").write_text(SCRIPT)
    out = tmp_path / "out"
    command = [sys.executable, str(tmp_path / "script.py"), str(out)]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not out.exists() or load_results(out).num_rows < 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while time.monotonic() < deadline and alive(process.pid):  # its workers end by themselves
        time.sleep(0.02)
    assert not alive(process.pid)
    with (out / "journal.jsonl").open("a") as journal:
        journal.write('{"suite": "bbob", "function"')  # a line that the kill cut short
    before = load_results(out).to_pylist()
    assert 3 <= len(before) < 12

    subprocess.run(command, check=True, timeout=60)
    after = load_results(out).to_pylist()
    assert len(after) == 12
    assert all(row in after for row in before)  # with their times: not run again
    assert os.listdir(out) == ["results.parquet"]

    importlib.import_module(plugin)
    grid = jobs("bbob", [2], [1, 2, 3], [1, 2], ["sleepy", "cma"], 40)
    whole = [CocoRuns().execute(job) for job in grid]
    assert sorted(map(str, without_clocks(after))) == sorted(map(str, without_clocks(whole)))


def test_one_writer_at_a_time_and_an_interruption_lets_go(tmp_path):
    def second(progress):
        with pytest.raises(FolderInUse, match="in use by another process"):
            run_benchmark(tmp_path, **ONE, algorithms=["random"], budget=20)
        raise KeyboardInterrupt

    grid = {**ONE, "instances": [1, 2, 3]}
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(tmp_path, **grid, algorithms=["random"], budget=20, progress=second)
    assert load_results(tmp_path).num_rows == 1
    assert run_benchmark(tmp_path, **grid, algorithms=["random"], budget=20).num_rows == 3


def test_longest_jobs_come_first(tmp_path):
    grid = jobs("bbob", [2, 40], [1], [1], ["random", "cobyla"], lambda p, name: 100 if name == "random" else 50)
    seen = []
    run_jobs(tmp_path, CocoRuns(), grid, progress=seen.append)
    assert [(p.row["algorithm"], p.row["dimension"]) for p in seen] == [
        ("cobyla", 40),
        ("cobyla", 2),
        ("random", 40),
        ("random", 2),
    ]
    assert [p.row["budget"] for p in seen] == [50, 50, 100, 100]
    assert len(jobs("bbob-noisy", [2], None, [1], ["random"], 10)) == 30


def test_an_unavailable_algorithm_is_refused_at_once(tmp_path):
    with pytest.raises(ValueError, match="no algorithm 'nothing'"):
        run_benchmark(tmp_path, **ONE, algorithms=["nothing"], budget=10)


def test_a_run_in_a_fresh_interpreter():
    job = Job(Problem("bbob", 1, 2, 1), "random", 0, 30)
    work = CocoRuns()
    assert without_clocks([run_apart(work, job)]) == without_clocks([work.execute(job)])
    assert run_apart(CocoRuns(plugins=("no_such_plugin",)), job)["error"].startswith("ModuleNotFoundError")


def test_a_wrong_address_of_dask_leaves_no_folder(tmp_path):
    pytest.importorskip("distributed")  # first: its defaults are added to dask's when it is imported
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(OSError, match=r"127\.0\.0\.1:9"),
    ):
        run_benchmark(tmp_path / "runs", **ONE, algorithms=["random"], budget=50, dask="tcp://127.0.0.1:9")
    assert not (tmp_path / "runs").exists()


def test_on_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        table = run_benchmark(
            tmp_path / "dask", **ONE, algorithms=["random", "cma"], budget=50, dask=cluster.scheduler_address
        )
    local = run_benchmark(tmp_path / "local", **ONE, algorithms=["random", "cma"], budget=50)
    assert without_clocks(table.to_pylist()) == without_clocks(local.to_pylist())


def test_finished_runs_that_were_not_observed_are_not_passed_over(tmp_path):
    run_benchmark(tmp_path / "out", **ONE, algorithms=["random"], budget=20)
    with pytest.raises(FolderRefused, match=r"out: 1 finished runs were not observed"):
        run_benchmark(tmp_path / "out", **ONE, algorithms=["random"], budget=20, observe=tmp_path / "official")
    run_benchmark(tmp_path / "out", **ONE, algorithms=["random"], budget=21, observe=tmp_path / "official")
    run_benchmark(tmp_path / "more", **ONE, algorithms=["random"], budget=22, observe=tmp_path / "official")
    run_benchmark(tmp_path / "out", **ONE, algorithms=["random"], budget=21, observe=tmp_path / "official")
    assert len(list((tmp_path / "official" / "random").iterdir())) == 2  # budgets do not replace one another


def test_official_data_are_read_by_cocopp(tmp_path):
    pytest.importorskip("cocopp")
    pytest.importorskip("six")
    run_benchmark(
        tmp_path / "out", "bbob", [2], [1], [1, 2, 3], ["cma"], 300, observe=tmp_path / "official"
    )  # fmt: skip
    folders = list((tmp_path / "official" / "cma").iterdir())
    assert len(folders) == 3
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "cocopp", "-o", "pages", "official/cma"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "agg", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert list(Path(tmp_path / "pages").rglob("*.html"))
