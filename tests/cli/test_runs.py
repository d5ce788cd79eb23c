"""Whole runs: run, show, export, interrupt, kill, resume."""

import csv
import io
import json
import math
import re
import shlex
import signal
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import eglearn
from eglearn.cli.job import Job
from eglearn.cli.running import point, to_text
from eglearn.store import History, Store

from .conftest import SCRIPT

RUN = ("run", "objectives:bowl")
EGL = ("--algorithm", "egl")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The result and the evaluations of a run that nothing happened to."""
    from .conftest import Folder

    folder = Folder(tmp_path_factory.mktemp("uninterrupted"))
    return json.loads(folder.program(*RUN, *folder.problem, "--json").stdout), evaluations(folder)


def evaluations(folder, name="run.egl"):
    """What must be the same in two runs: no times, no workers."""
    rows = History(folder.path / name).evaluations()
    return sorted((e.index, e.x.tobytes(), e.outcome.y, e.outcome.error) for e in rows)


def test_run_equals_minimize(uninterrupted):
    result, _ = uninterrupted

    def bowl(x):
        return sum((i + 1) * (v - 1) ** 2 for i, v in enumerate(x.tolist()))

    expected = eglearn.minimize(bowl, [(-5, 5)] * 4, budget=600)
    assert result["x"] == expected.x.tolist()
    assert result["fun"] == expected.fun
    assert (result["nfev"], result["status"], result["success"]) == (600, "BUDGET", True)


def test_show_and_export(folder):
    done = folder.call("run", "objectives:flaky", *folder.problem)
    assert "best value" in done.stdout
    assert "nois" not in done.stdout
    assert " of 600 evaluations, lowest value " in done.stdout.splitlines()[0]
    history = list(History(folder.path / "run.egl").evaluations())
    failures = sum(e.outcome.error is not None for e in history)
    assert 0 < failures < 600

    table = folder.call("show", "run.egl").stdout
    assert "objectives:flaky" in table
    for text in ("best value", "600 of 600", f"{failures}, the first: the objective raised RuntimeError: no mesh"):
        assert text in table
    for text in ("restarts", "eps", "evaluations per second", "learning", "BUDGET", "last written", "at x"):
        assert text in table
    shown = folder.json("show", "run.egl")
    best = min((e for e in history if e.outcome.error is None), key=lambda e: e.outcome.y)
    assert shown["objective"] == "objectives:flaky"
    assert (shown["best"], shown["x"]) == (best.outcome.y, best.x.tolist())
    assert (shown["evaluations"], shown["budget"], shown["failures"]) == (600, 600, failures)

    assert "600 evaluations" in folder.call("export", "run.egl", "--to", "run.csv").stdout
    folder.call("export", "run.egl", "--to", "run.parquet")
    rows = list(csv.DictReader(io.StringIO((folder.path / "run.csv").read_text())))
    parquet = pyarrow.parquet.read_table(folder.path / "run.parquet").to_pylist()
    assert list(rows[0]) == list(parquet[0])
    assert len(rows) == len(parquet) == len(history)
    for text, data, evaluation in zip(rows, parquet, history, strict=True):
        x, outcome = evaluation.x.tolist(), evaluation.outcome
        assert [float(text[f"x{i}"]) for i in range(4)] == [data[f"x{i}"] for i in range(4)] == x
        assert int(text["index"]) == data["index"] == evaluation.index
        assert float(text["seconds"]) == data["seconds"] == outcome.seconds
        assert float(text["time"]) == data["time"] == evaluation.at
        assert (text["worker"], text["attempts"]) == (data["worker"], str(data["attempts"]))
        assert (text["error"] or None) == data["error"] == outcome.error
        assert text["status"] == data["status"] == ("ok" if outcome.error is None else "failed")
        assert (text["y"], data["y"]) == (("", None) if math.isnan(outcome.y) else (repr(outcome.y), outcome.y))


@pytest.mark.parametrize(
    ("options", "algorithm", "model"),
    [
        ((), "auto", None),
        ((*EGL, "--model", "constant"), "egl", "constant"),
        (("--algorithm", "cma-es"), "cma-es", None),
    ],
)
def test_a_model_is_shown_where_there_is_a_choice(inside, folder, options, algorithm, model):
    inside(*RUN, *folder.problem, *options)
    shown = json.loads(inside("show", "run.egl", "--json")[1])
    assert (shown["algorithm"], shown["model"]) == (algorithm, model)
    table = inside("show", "run.egl")[1]
    assert ("model" in table) == (model is not None)


def test_noise_is_told(folder):
    """At the end of a run, by show, and while the recommended point is not known yet."""
    text = "values are noisy: the best value is partly luck"
    words = ("run", "objectives:noisy", *folder.problem[:-1], "4000")
    out = folder.call(*words).stdout
    assert "Values are noisy" in out
    rows = table_rows(out)
    shown = folder.json("show", "run.egl")
    assert shown["noisy"] is True
    assert shown["best"] < -1 < shown["candidate"] < 1
    assert np.abs(np.array(shown["x_favorite"]) - 1).max() < 0.5
    assert shown["x_favorite"] != shown["x"]
    assert rows["recommended x"] == point(shown["x_favorite"])
    assert rows["its value, estimated"] == f"{shown['candidate']:.6g}"
    table = table_rows(folder.call("show", "run.egl").stdout.replace("│", ""))
    for name in ("best value", "at x", "recommended x", "its value, estimated"):
        assert table[name] == rows[name]
    assert table["noise"] == text

    with sqlite3.connect(folder.path / "run.egl") as db:
        db.execute("DELETE FROM meta WHERE key = 'result'")
    db.close()
    table = table_rows(folder.call("show", "run.egl").stdout.replace("│", ""))
    assert (table["noise"], table["recommended x"]) == (text, "known when the run ends")
    assert table["its value, estimated"] == rows["its value, estimated"]


def table_rows(text):
    """What stands after each name."""
    return dict(cells for line in text.splitlines() if len(cells := re.split(r"\s{2,}", line.strip(), maxsplit=1)) == 2)


def test_export_leaves_x_empty_where_it_was_not_kept(inside):
    assert (
        inside("run", "objectives:bowl", "--dim", "2", "--bounds", "-5", "5", "--budget", "50", "--keep-x", "none")[0]
        == 0
    )
    for name in ("a.csv", "a.parquet"):
        assert inside("export", "run.egl", "--to", name)[0] == 0
    with open("a.csv") as file:
        assert {row["x1"] for row in csv.DictReader(file)} == {""}
    assert pyarrow.parquet.read_table("a.parquet")["x1"].null_count == 50
    # The best point is known all the same once the run has ended.
    shown = json.loads(inside("show", "run.egl", "--json")[1])
    assert len(shown["x"]) == 2


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, None)])
def test_stopped_and_resumed_is_the_same(folder, uninterrupted, how, code):
    process = folder.start(*RUN, *folder.problem, SLOW="0.01")
    folder.wait_for(100)
    shown = folder.json("show", "run.egl")  # while it goes on
    assert shown["status"].startswith(f"running (process {process.pid}")
    assert 100 <= shown["evaluations"] < 600
    out = folder.stop(process, how, code)
    if how == signal.SIGINT:
        assert "Interrupted" in out
        assert "best value" in out
        assert "To continue: eglearn resume run.egl" in out
    status = folder.json("show", "run.egl")["status"]
    assert status == ("INTERRUPTED" if how == signal.SIGINT else "stopped without a result: resume it")
    before = evaluations(folder)
    assert len(before) < 600
    assert folder.json("resume", "run.egl") == uninterrupted[0]
    assert evaluations(folder) == uninterrupted[1]
    assert set(before) <= set(uninterrupted[1])


def test_interrupted_before_a_value_is_written(folder, inside, uninterrupted, monkeypatch):
    write, written = Store.record, []

    def interrupted(*arguments):
        if len(written) == 100:
            raise KeyboardInterrupt
        written.append(arguments)
        return write(*arguments)

    monkeypatch.setattr(Store, "record", interrupted)
    code, out, _ = inside(*RUN, *folder.problem)
    assert (code, "Interrupted" in out) == (130, True)
    monkeypatch.setattr(Store, "record", write)
    shown = folder.json("show", "run.egl")
    assert (shown["status"], shown["evaluations"]) == ("INTERRUPTED", 100)
    assert folder.json("resume", "run.egl") == uninterrupted[0]


def test_run_again_continues(folder, uninterrupted):
    process = folder.start(*RUN, *folder.problem, "--json", SLOW="0.01")
    folder.wait_for(100)
    partial = json.loads(folder.stop(process, signal.SIGINT, 130))
    assert partial["status"] == "INTERRUPTED"
    assert folder.json(*RUN, *folder.problem, "--workers", "2") == uninterrupted[0]


def test_a_finished_run_is_not_mistaken_for_a_new_one(folder):
    words = (*RUN, *folder.problem)
    first = folder.json(*words)
    assert first["note"] is None
    (folder.path / "objectives.py").write_text("def bowl(x):\n    raise RuntimeError('called')\n")
    text = "Nothing was evaluated: run.egl holds this run, and it is finished."
    for again in (words, ("resume", "run.egl")):
        out = folder.call(*again).stdout
        assert out.startswith(f"{text} To start over, choose another --store; to continue, give a larger --budget.\n")
        assert "600 of 600, 0 failed" in out
    done = folder.call(*words, "--json", "--quiet")
    assert json.loads(done.stdout)["note"].startswith(text)
    assert json.loads(done.stdout) | {"note": None} == first
    assert text in done.stderr
    assert "to continue, give a lower --target." in folder.call(*words, "--target", "1").stdout


def test_a_finished_run_without_a_value(inside):
    words = ("run", "objectives:broken", "--dim", "2", "--bounds", "0", "1", "--budget", "40")
    code, out, _ = inside(*words)
    assert (code, "Nothing" in out) == (3, False)
    code, out, _ = inside(*words)
    assert code == 3
    assert out.startswith("Nothing was evaluated: run.egl holds this run")


def test_more_evaluations(inside):
    problem = ("--dim", "4", "--bounds", "-5", "5")
    assert inside("run", "objectives:bowl", *problem, "--budget", "200")[0] == 0
    code, out, _ = inside("resume", "run.egl", "--budget", "300")
    assert (code, "300 of 300, 0 failed" in out) == (0, True)
    code, out, _ = inside("run", "objectives:bowl", *problem, "--budget", "4e2")
    assert (code, "400 of 400, 0 failed" in out) == (0, True)
    shown = json.loads(inside("show", "run.egl", "--json")[1])
    assert (shown["evaluations"], shown["budget"], shown["status"]) == (400, 400, "BUDGET")
    code, _, err = inside("resume", "run.egl", "--budget", "399")
    assert (code, "399 is too few, give it 400 or more" in err) == (4, True)


def test_how_to_go_on_is_told_with_the_budget_that_was_asked_for(folder):
    folder.call("run", "objectives:bowl", "--dim", "4", "--bounds", "-5", "5", "--budget", "50")
    job = Job("objectives:bowl", {"store": str(folder.path / "run.egl"), "budget": 80})
    result = eglearn.minimize(lambda x: float(x @ x), [(-1, 1)] * 4, budget=10, max_seconds=1e-9)
    assert to_text(result, job).endswith("run.egl --budget 80")
    (folder.path / "run.egl").unlink()  # the result is shown all the same
    assert to_text(result, job).endswith("run.egl")


def test_the_run_of_another_objective_is_not_continued(inside):
    problem = ("--dim", "2", "--bounds", "-5", "5", "--budget", "50", *EGL)
    assert inside("run", "objectives:bowl", *problem)[0] == 0
    code, _, err = inside("run", "objectives:flaky", *problem)
    assert code == 4
    assert "holds a run of 'objectives:bowl', not of 'objectives:flaky': choose another file" in err


def test_resume_of_a_run_that_a_program_began(inside):
    eglearn.minimize(lambda x: float(x @ x), [(-5, 5)] * 2, budget=50, store="a.egl")
    code, _, err = inside("resume", "a.egl")
    assert code == 2
    assert "a.egl does not name its objective: name it, as in 'eglearn resume a.egl module:function'" in err
    assert inside("resume", "a.egl", "objectives:bowl")[0] == 0


def test_a_second_process_is_refused(folder):
    process = folder.start(*RUN, *folder.problem, SLOW="0.01")
    folder.wait_for(1)
    done = folder.call(*RUN, *folder.problem, code=4)
    assert f"run.egl is in use by process {process.pid}" in done.stderr
    folder.stop(process, signal.SIGKILL, None)


def test_other_settings_are_refused(inside):
    problem = ("--dim", "2", "--bounds", "-5", "5", "--budget", "50", *EGL)
    assert inside("run", "objectives:bowl", *problem)[0] == 0
    code, _, err = inside("run", "objectives:bowl", *problem, "--seed", "1", "--epsilon", "0.2")
    assert code == 4
    assert "seed is 0 there and 1 here" in err
    assert "settings.epsilon is 0.3 there and 0.2 here" in err


def test_resume_keeps_infinite_bounds_and_settings(folder):
    words = ("--dim", "3", "--bounds", "-1", "inf", "--x0", "2", "--scale", "3", "--budget", "90", "--store", "a.egl")
    whole = folder.json(*RUN, *words, *EGL, "--m", "10", "--on-error", "7", "--jump")
    assert whole["nfev"] == 90
    assert folder.json("resume", "a.egl") | {"note": None} == whole
    identity = History(folder.path / "a.egl").identity
    assert (identity["settings"]["m"], identity["settings"]["jump"], identity["on_error"]) == (10, True, 7)


def test_external_command(folder):
    program = folder.path / "simulate"
    program.write_text(
        "#!/usr/bin/perl\n$| = 1;\n"
        'while (<STDIN>) { /"x": \\[(.*)\\]/; my $s = 0; $s += ($_ - 1) ** 2 for split /, /, $1;'
        ' print sprintf("%.17g", $s + ($ARGV[0] eq "--mesh" ? 0 : 9)), "\\n" }\n'
    )
    program.chmod(0o755)
    problem = ("--dim", "3", "--bounds", "-5", "5", "--budget", "200", "--workers", "2")
    result = folder.json("run", "--command", "./simulate --mesh fine", *problem)
    assert result["fun"] < 0.01
    assert folder.json("resume", "run.egl") | {"note": None} == result
    assert "./simulate --mesh fine" in folder.call("show", "run.egl").stdout
    assert math.isclose(result["fun"], float(np.sum((np.array(result["x"]) - 1) ** 2)))


def test_the_program_in_the_documentation_runs(folder):
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    command = re.search(r"```\neglearn (.*?)\n```", page)
    (folder.path / "simulate.py").write_text(program[1])
    result = folder.json(*shlex.split(command[1]))
    assert math.isclose(result["fun"], 3, rel_tol=1e-6)
    assert np.allclose(result["x"], 1, atol=1e-3)
    assert 0 < result["n_failed"] < 100
    assert "math domain error" in result["message"]


def test_a_full_disk(folder):
    command = f"ulimit -f 200; exec {SCRIPT} run objectives:bowl --dim 40 --bounds -5 5 --budget 5000 --json --quiet"
    done = subprocess.run(["sh", "-c", command], cwd=folder.path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4, (done.stdout, done.stderr)
    result = json.loads(done.stdout)  # the result so far
    assert result["status"] == "STORE"
    assert 0 < result["nfev"] < 5000
    assert "free space on its disk" in result["message"]
    assert (
        "cannot use nowhere/run.egl" in folder.call(*RUN, *folder.problem, "--store", "nowhere/run.egl", code=4).stderr
    )


def test_a_reader_that_leaves_does_not_stop_the_run(folder):
    process = folder.start(*RUN, *folder.problem)
    process.stdout.close()
    process.wait(30)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert len(evaluations(folder)) == 600


def test_resume_remembers_how_points_were_evaluated(folder):
    whole = folder.json("run", "objectives:bowls", *folder.problem, "--vectorized", "--store", "whole.egl")
    process = folder.start("run", "objectives:bowls", *folder.problem, "--vectorized", SLOW="0.05")
    folder.wait_for(200)
    folder.stop(process, signal.SIGKILL, None)
    assert folder.json("resume", "run.egl") | {"store": "whole.egl"} == whole
