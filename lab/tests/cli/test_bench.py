"""``eglearn bench``: what it understands, what it says, and that a stopped benchmark goes on."""

import importlib.util
import inspect
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("cocoex")
pytest.importorskip("pyarrow")

from tests.cli.conftest import INTERRUPTIBLE, SCRIPT
from tests.cli.test_words import one_sentence

from eglearn.cli.errors import Usage
from eglearn_lab.bench.algorithms import ALGORITHMS
from eglearn_lab.bench.problems import SUITES
from eglearn_lab.bench.runner import load_results
from eglearn_lab.cli.bench_grid import make_grid, numbers
from eglearn_lab.runner import Progress

GRID = ("bench", "run", "--dims", "2", "--functions", "1,3", "--instances", "1-2", "--budget", "60", "--out", "out")
OPTIONS = {
    "suite": None, "dims": None, "functions": None, "instances": None, "algorithms": None, "ablation": None,
    "paper_index": None, "budget": None, "seeds": "0",
}  # fmt: skip
PLUGIN = """
import os, time
from eglearn_lab.bench.algorithms import algorithm

@algorithm("sleepy")
def sleepy(run):
    "Takes its time."
    while True:
        run.fun(run.random_point())
        time.sleep(float(os.environ.get("SLOW", "0")))

@algorithm("broken")
def broken(run):
    "Never works."
    raise ZeroDivisionError("as it must")
"""


def grid(**given):
    return make_grid(**(OPTIONS | {"algorithms": None if "ablation" in given else "auto"} | given))


def rows(path):
    """Results without what depends on the clock."""
    return [{k: v for k, v in row.items() if not k.startswith("cpu") and k != "started"} for row in load(path)]


def load(path):
    return load_results(path).to_pylist()


@pytest.fixture
def plugin(folder):
    (folder.path / "bench_sleepy.py").write_text(PLUGIN)
    before = dict(ALGORITHMS)
    yield ("--plugin", "bench_sleepy")
    sys.modules.pop("bench_sleepy", None)
    ALGORITHMS.clear()
    ALGORITHMS.update(before)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", [3]), ("2,3,5", [2, 3, 5]), ("1-3,71-73", [1, 2, 3, 71, 72, 73]), (" 2 , 1 - 2", [2, 1]), ("4-4", [4])],
)
def test_numbers(text, expected):
    assert numbers(text, "dims") == tuple(expected)


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "1-", "3-1", "1.5", "1-2-3", "1-999999999"])
def test_wrong_numbers(text):
    with pytest.raises(Usage, match="--dims "):
        numbers(text, "dims")


def test_defaults():
    made = grid()
    assert (made.suite, made.dims, made.budget, made.seeds) == ("bbob", SUITES["bbob"][1], 150_000, (0,))
    assert made.blocks == ((tuple(range(1, 25)), (1, 2, 3, 4, 5)),)
    assert grid(suite="bbob-largescale").dims == (80, 160, 320, 640)
    assert grid(suite="bbob-noisy").dims == SUITES["bbob-noisy"][1]
    assert grid(suite="bbob-noisy").blocks[0][0] == tuple(range(101, 131))


def test_the_papers_problem_numbers():
    made = grid(paper_index="194,3,0,15,18", dims="2,40")
    # 194 is f13 i80; 0 and 3 are f1 i1 and i4; 15 and 18 the same of f2, so in one block with them.
    assert set(made.blocks) == {((1, 2), (1, 4)), ((13,), (80,))}
    assert len(made.jobs()) == 2 * 5


def test_an_ablation_sets_the_grid_and_can_be_reduced():
    made = grid(ablation="epsilon")
    assert (made.dims, made.blocks, made.budget) == ((20, 40), (((19, 21, 22), (1, 2, 3, 4, 5)),), 15_000)
    made = grid(ablation="jump", functions="1", instances="1-2", budget=200, dims="5")
    assert (made.dims, made.blocks, made.budget) == ((5,), (((1,), (1, 2)),), 200)
    assert made.algorithms == ("jump-off", "jump-on", "jump-only")
    assert grid(ablation="output-map", budget=20_000).snapshots == (1_000, 10_000)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "no algorithms: name some"),
        (("--algorithms", "cmaa"), 2, "no algorithm 'cmaa': did you mean cma?"),
        (("--algorithms", "cma,"), 2, "no algorithm ''"),
        (("--algorithms", "cma", "--functions", "5-1"), 2, "the range 5-1 ends before it begins"),
        (("--algorithms", "cma", "--functions", "25"), 2, "bbob has 1 to 24"),
        (("--algorithms", "cma", "--dims", "7"), 2, "bbob has 2, 3, 5, 10, 20, 40"),
        (("--algorithms", "cma", "--instances", "0"), 2, "instance = 0"),
        (("--algorithms", "cma", "--suite", "bob"), 2, "--suite bob: there are bbob, "),
        (("--suite", "wild", "--dims", "2"), 2, "--suite wild has problems with their own dimensions and budgets"),
        (("--suite", "wild", "--algorithms", "cmaa"), 2, "did you mean cma?"),
        (("--algorithms", "cma", "--set-aside"), 2, "--set-aside is for the suite wild"),
        (("--algorithms", "cma", "--budget", "0"), 2, "--budget 0: it must be 1 or more"),
        (("--algorithms", "cma", "--budget", "many"), 2, "--budget"),
        (("--algorithms", "cma", "--workers", "1.7"), 2, "--workers: 1.7 is not a whole number"),
        (("--algorithms", "cma", "--workers", "0"), 2, "--workers 0: it must be 1 or more"),
        (("--algorithms", "cma", "--paper-index", "3"), 2, "--paper-index needs --dims"),
        (("--algorithms", "cma", "--paper-index", "360", "--dims", "2"), 2, "0 to 359"),
        (("--algorithms", "cma", "--paper-index", "3", "--dims", "2", "--functions", "1"), 2, "leave out the other"),
        (("--algorithms", "cma", "--observe", "a b"), 2, "no spaces"),
        (("--algorithms", "cma", "--plugin", "no_such_module"), 1, "the plugin no_such_module cannot be loaded"),
        (("--ablation", "nothing"), 2, "no ablation 'nothing'; there are networks"),
        (("--ablation", "jump", "--algorithms", "cma"), 2, "leave out --algorithms"),
        (("--ablation", "output-map", "--budget", "999"), 2, "--budget 999: it must be 1000 or more"),
        (("--ablation", "output-map", "--dask", "tcp://x"), 2, "leave out --dask"),
    ],
)
def test_wrong_words(inside, words, code, text):
    found, out, err = inside("bench", "run", "--out", "out", *words)
    assert (found, out) == (code, "")
    assert text in one_sentence(err)
    assert not os.path.exists("out")


def test_out_is_needed(inside):
    code, _, err = inside("bench", "run", "--algorithms", "cma")
    assert code == 2
    assert "--out" in one_sentence(err)


@pytest.mark.parametrize(
    ("package", "algorithm", "text"),
    [
        ("cocoex", "cma", "benchmarks need cocoex: pip install 'eglearn-lab[bench]'"),
        ("pyarrow", "cma", "benchmarks need pyarrow: pip install 'eglearn-lab[bench]'"),
        (
            "torch",
            "egl-spline",
            "algorithm egl-spline cannot be used here, torch is not installed: pip install 'eglearn[nn]'",
        ),
    ],
)
def test_a_missing_package(inside, monkeypatch, package, algorithm, text):
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == package else find(name, *rest))
    code, _, err = inside("bench", "run", "--out", "out", "--algorithms", algorithm)
    assert code == 1
    assert text in one_sentence(err)


def test_run_and_run_again(inside):
    words = (*GRID, "--algorithms", "random,cma", "--seeds", "3")
    code, out, err = inside(*words)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("1 of 8 runs, 0 failed, ")
    assert " left; " in lines[0]
    assert "8 of 8 runs, 0 failed, 0:00:00 left; " in out
    assert lines[-2].startswith("8 runs are in out: ")
    assert lines[-1] == "To see them: eglearn bench report out"
    before = load("out")
    assert inside(*words)[1].splitlines() == lines[-2:]
    assert inside(*("6e1" if word == "60" else word for word in words))[1].splitlines() == lines[-2:]
    assert load("out") == before
    _, out, _ = inside(*GRID, "--algorithms", "random,bfgs", "--seeds", "3", "--quiet")  # adds the runs of bfgs
    assert out.splitlines()[0].startswith("8 runs are in out: ")
    assert len(load("out")) == 12


def test_the_papers_numbers_are_run_block_by_block(inside):
    words = ("bench", "run", "--paper-index", "194,0,16", "--dims", "2,3", "--algorithms", "random", "--budget", "20")
    code, out, _ = inside(*words, "--out", "out")
    assert code == 0
    assert "6 of 6 runs" in out
    found = {(row["function"], row["instance"], row["dimension"]) for row in load("out")}
    assert found == {(f, i, n) for f, i in ((13, 80), (1, 1), (2, 2)) for n in (2, 3)}


def test_failed_runs_are_told(inside, plugin):
    code, out, _ = inside(*GRID, *plugin, "--algorithms", "random,broken")
    assert code == 0
    assert "4 failed" in out
    assert "The first that failed: broken on bbob f1 2-D instance 1: ZeroDivisionError: as it must" in out
    assert inside(*GRID, *plugin, "--algorithms", "broken")[0] == 3


def wait_for(path, count):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if path.exists() and len(load(path)) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("no runs arrive")


UNSTARTABLE = """
import os, sys
from eglearn.cli import main
if __name__ == "__main__":
    os.remove(__file__)  # which each process reads first
    sys.exit(main(sys.argv[1:]))
"""


def test_processes_that_cannot_begin(folder):
    script = folder.path / "script.py"
    script.write_text(UNSTARTABLE)
    words = [sys.executable, str(script), *GRID, "--algorithms", "random"]
    done = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "before it began, 2 times: see what it printed" in done.stderr.splitlines()[-1]
    assert "unexpected" not in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_and_run_again_is_the_same(folder, inside, plugin, how):
    words = (*GRID, *plugin, "--algorithms", "sleepy,cma", "--workers", "2")
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", INTERRUPTIBLE, *words], cwd=folder.path, env=os.environ | {"SLOW": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    out = folder.path / "out"
    wait_for(out, 2)
    code, _, err = inside(*words)
    assert code == 4
    assert "out is in use by another process: wait for it" in one_sentence(err)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: to all its processes
    else:
        process.send_signal(how)
    printed, errors = process.communicate(timeout=30)
    assert errors == ""
    assert process.returncode == (130 if how == signal.SIGINT else -how)
    before = load(out)
    assert 2 <= len(before) < 8
    if how == signal.SIGINT:
        last = printed.splitlines()[-1]
        assert last == f"Interrupted after {len(before)} of 8 runs: the same command goes on"
    assert inside(*words)[0] == 0
    after = load(out)
    assert len(after) == 8
    assert all(row in after for row in before)  # with their times: not run again
    assert inside(*("whole" if word == "out" else word for word in words))[0] == 0
    assert rows(out) == rows(folder.path / "whole")


def test_results_that_cannot_be_read(inside, folder):
    (folder.path / "out").mkdir()
    (folder.path / "out" / "results.parquet").write_text("no parquet")
    code, _, err = inside(*GRID, "--algorithms", "random")
    assert code == 4
    assert "the results in out cannot be read" in one_sentence(err)
    (folder.path / "file").write_text("")
    assert inside(*GRID[:-1], "file", "--algorithms", "random")[0] == 1


def test_on_a_terminal_there_is_a_bar(folder):
    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "20"}
    process = subprocess.Popen(
        [SCRIPT, *GRID, "--algorithms", "random"], cwd=folder.path, env=env, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        seen += piece
        if not piece:
            break
    os.close(ours)
    assert process.wait(30) == 0
    for word in ("━", "4 of 4 runs", "0 failed", "left", "random on bbob f", "4 runs are in out"):
        assert word in seen.decode()


def test_snapshots(inside, monkeypatch):
    asked = []

    def take(out, problems, budget, times, seeds, *, workers, progress):
        asked.append((out, [(p.function, p.dimension) for p in problems], budget, times, seeds, workers))
        about = {"suite": "bbob", "function": 15, "dimension": 2, "instance": 1, "status": "finished", "error": ""}
        progress(Progress(2, 2, 0, 1.0, 0.0, about))
        rows = [about | {"function": 3, "status": "failed", "error": "ValueError: no"}, about]
        import pyarrow

        return pyarrow.Table.from_pylist([row | {"t": [], "y": [], "v": []} for row in rows])

    monkeypatch.setattr("eglearn_lab.bench.snapshots.take_snapshots", take)
    words = ("--functions", "3,15", "--dims", "2", "--budget", "1200", "--workers", "1", "--out", "out")
    code, out, _ = inside("bench", "run", "--ablation", "output-map", *words)
    assert code == 0
    assert asked == [("out", [(3, 2), (15, 2)], 1200, (1000,), (0,), 1)]
    assert out.splitlines() == [
        "2 of 2 runs, 0 failed, 0:00:00 left; snapshots on bbob f15 2-D instance 1",
        "2 runs are in out: 1 ended early, 1 failed",
        "The first that failed: snapshots on bbob f3 2-D instance 1: ValueError: no",
        "To see them: eglearn bench report out",
    ]


def test_list(inside):
    code, out, _ = inside("bench", "list")
    assert code == 0
    for name in (*ALGORITHMS, *SUITES, "output-map"):
        assert name in out
    assert "BIPOP-CMA-ES (Hansen 2009): starts uniform" in out
    assert "be run yet" not in out


def test_list_says_what_all_algorithms_need(inside, monkeypatch):
    find = importlib.util.find_spec
    missing = ("cocoex", "pyarrow")
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name in missing else find(name, *rest))
    code, out, _ = inside("bench", "list")
    assert code == 0
    text = (
        "None of the algorithms can be run yet, as benchmarks need cocoex and pyarrow: pip install 'eglearn-lab[bench]'"
    )
    assert out.index("Suites") < out.index(text) < out.index("Algorithms")


def test_report(inside, folder, monkeypatch):
    report = pytest.importorskip("eglearn_lab.bench.report")
    code, _, err = inside("bench", "report", "nothing")
    assert code == 1
    assert "nothing holds no benchmark" in one_sentence(err)
    (folder.path / "out").mkdir()
    (folder.path / "out" / "journal.jsonl").write_text("")
    real = inspect.signature(report.write_report)

    def write(*given, **named):  # drawing takes long, and has its own tests
        return list(real.bind(*given, **named).arguments.values())[1] / "index.html"

    monkeypatch.setattr(report, "write_report", write)
    assert inside("bench", "report", "out")[1] == "out/report/index.html written: open it in a browser\n"
    assert inside("bench", "report", "out", "--out", "page")[1].startswith("page/index.html written")
    (folder.path / "other").mkdir()
    (folder.path / "other" / "journal.jsonl").write_text("")
    assert inside("bench", "report", "out", "other")[1].startswith("out/report/index.html written")
    assert "absent holds no benchmark" in one_sentence(inside("bench", "report", "out", "absent")[2])
    sources = []
    markdown = pytest.importorskip("eglearn_lab.bench.report")
    monkeypatch.setattr(markdown, "write_markdown", lambda paths, page: sources.append([p.name for p in paths]) or page)
    assert inside("bench", "report", "out", "other", "--markdown", "docs/coco.md")[1] == "docs/coco.md written\n"
    assert sources == [["out", "other"]]


def test_stored_runs_of_both_kinds_are_told_apart():
    from eglearn_lab.cli.bench_wild import is_suite_folder

    results = Path(__file__).parents[3] / "results"
    assert is_suite_folder(results / "wild")
    assert not is_suite_folder(results / "coco-784")
    assert not is_suite_folder(results / "coco" / "noisy")
