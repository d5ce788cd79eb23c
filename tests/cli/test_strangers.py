"""Files that come from somewhere else, links, and texts that would take over the terminal."""

import inspect
import json
import os
import pty
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eglearn
from eglearn.cli import main
from eglearn.cli.errors import sentence
from eglearn.evaluation import Command
from eglearn.evaluation.words import visible
from eglearn.report import write_report
from eglearn.store import History, Store, StoreError, backup

from .conftest import SCRIPT

PROBLEM = ("--dim", "2", "--bounds", "-5", "5", "--budget", "40")
HOSTILE = "no \x1b[2J\x1b]0;title\x07mesh\x9b31m \u202egnp.exe \udcff\r\n"


# --- trust ------------------------------------------------------------------------------------------------------------


def forged(path, objective):
    """A file that names what is to be run, as somebody else would make it."""
    eglearn.minimize(lambda x: float(x @ x), [(-5, 5)] * 2, budget=10, store=path, max_seconds=1e-9)
    with sqlite3.connect(path) as db:
        (text,) = db.execute("SELECT data FROM meta WHERE key = 'environment'").fetchone()
        text = json.dumps(json.loads(text) | {"objective": objective})
        db.execute(
            "UPDATE meta SET data = ?, \"check\" = ? WHERE key = 'environment'",
            (text, zlib.crc32(f"environment {text}".encode())),
        )
    db.close()


@pytest.mark.parametrize("objective", [["touch", "done"], "wicked:f"])
def test_what_a_strangers_file_names_is_not_run(inside, folder, objective):
    (folder.path / "wicked.py").write_text("open('done', 'w').close()\ndef f(x):\n    return 0.0\n")
    forged(folder.path / "theirs.egl", objective)
    code, out, err = inside("resume", "theirs.egl")
    assert (code, out) == (2, "")
    assert "theirs.egl would run" in err
    assert ("the command touch done" if isinstance(objective, list) else "the module wicked:f") in err
    assert "add --trust" in err
    assert not (folder.path / "done").exists()
    inside("resume", "theirs.egl", "--trust")
    assert (folder.path / "done").exists()


def test_ones_own_run_needs_no_question_in_its_place(folder):
    words = ("run", "objectives:bowl", *PROBLEM)
    first = folder.json(*words, "--max-seconds", "1e-9")
    assert folder.json("resume", "run.egl", "--max-seconds", "9")["nfev"] > first["nfev"]
    # In another place it is asked for, and by another user.
    (folder.path / "run.egl").rename(folder.path / "moved.egl")
    assert "add --trust" in folder.call("resume", "moved.egl", code=2).stderr
    (folder.path / "moved.egl").rename(folder.path / "run.egl")
    assert "add --trust" in folder.call("resume", "run.egl", code=2, XDG_STATE_HOME=str(folder.path / "other")).stderr
    folder.call("resume", "run.egl")
    key = Path(os.environ["XDG_STATE_HOME"]) / "eglearn" / "key"
    assert key.stat().st_mode & 0o077 == 0
    os.chmod(key, 0o644)  # others may have read it: it proves nothing
    assert "add --trust" in folder.call("resume", "run.egl", code=2).stderr
    os.chmod(key, 0o600)


def test_a_signature_is_only_good_for_what_was_signed(folder):
    folder.call("run", "objectives:bowl", *PROBLEM)
    about = History(folder.path / "run.egl").about
    assert re.fullmatch("[0-9a-f]{64}", about["signature"])
    with sqlite3.connect(folder.path / "run.egl") as db:
        (text,) = db.execute("SELECT data FROM meta WHERE key = 'environment'").fetchone()
        text = text.replace("objectives:bowl", "objectives:flaky")
        db.execute(
            "UPDATE meta SET data = ?, \"check\" = ? WHERE key = 'environment'",
            (text, zlib.crc32(f"environment {text}".encode())),
        )
    db.close()
    assert "the module objectives:flaky" in folder.call("resume", "run.egl", code=2).stderr
    assert folder.call("resume", "run.egl", "objectives:flaky").returncode == 0  # named by the user


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 2), (b"\n", 2), (b"yes\n", 0)])
def test_on_a_terminal_one_is_asked(folder, answer, code):
    forged(folder.path / "theirs.egl", "objectives:bowl")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SCRIPT, "resume", "theirs.egl"], cwd=folder.path, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(theirs)
    os.write(ours, answer)
    out, err = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == code, err
    assert b"Run it? [y/N]" in err
    assert (b"best value" in out) == (code == 0)


# --- terminals --------------------------------------------------------------------------------------------------------


def assert_tame(text):
    """Nothing but what can be printed, and the colours of our own tables."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert [c for c in text if not c.isprintable() and c != "\n"] == []


def test_escape_sequences_are_shown_not_sent(folder):
    (folder.path / "hostile.py").write_text(
        f"def f(x):\n    if x[0] > 0.1:\n        raise ValueError({HOSTILE!r})\n    return float(x @ x)\n"
        f"def g(x):\n    raise ValueError({HOSTILE!r})\n"
    )
    done = folder.program("run", "hostile:f", *PROBLEM)
    shown = folder.call("show", "run.egl")
    failed = folder.call("run", "hostile:g", *PROBLEM, "--no-store", code=3)
    raised = folder.call("run", "hostile:g", *PROBLEM, "--no-store", "--on-error", "raise", code=1)
    for one in (done, shown, failed, raised):
        assert_tame(one.stdout + one.stderr)
    assert "\\x1b[2J\\x1b]0;title" in shown.stdout
    assert "\\x1b[2J\\x1b]0;title" in failed.stdout
    assert "\\x1b[2J\\x1b]0;title" in raised.stderr
    name = "a\x1b[2J.egl"
    for words in (("show", name), ("export", name, "--to", "a.csv"), ("backup", "run.egl", f"no\x1bwhere/{name}")):
        assert_tame(folder.call(*words, code=4).stderr)


@given(st.text(max_size=50))
def test_visible_text_has_nothing_that_a_terminal_obeys(text):
    assert visible(text).isprintable()
    assert sentence(StoreError(text)).isprintable()
    if text.isprintable():
        assert visible(text) == text


# --- links and targets ------------------------------------------------------------------------------------------------


def test_show_through_a_link_tells_that_the_run_goes_on(folder):
    process = folder.start("run", "objectives:bowl", *folder.problem, SLOW="0.01")
    folder.wait_for(20)
    (folder.path / "elsewhere").mkdir()
    (folder.path / "elsewhere" / "link.egl").symlink_to(folder.path / "run.egl")
    shown = folder.json("show", "elsewhere/link.egl")
    folder.stop(process, signal.SIGKILL, None)
    assert shown["status"].startswith("running")
    assert folder.json("show", "elsewhere/link.egl")["status"].startswith("stopped")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "run.egl"
    eglearn.minimize(lambda x: float(x @ x), [(-5, 5)] * 2, budget=40, store=path)
    return path.read_bytes()


def targets(here, kind, ending):
    """A name that leads to the run, or near it, or to nothing of it; and whether it leads to the run."""
    store, own = here / f"run{ending}", here / "own"
    own.mkdir()
    (here / "folder_link").symlink_to(own)
    match kind:
        case "itself":
            return store, True
        case "another spelling":
            return own / ".." / store.name, True
        case "link":
            (own / f"link{ending}").symlink_to(store)
            return own / f"link{ending}", True
        case "link to a link":
            (own / f"first{ending}").symlink_to(store)
            (own / f"second{ending}").symlink_to(f"first{ending}")
            return own / f"second{ending}", True
        case "hard link":
            (own / f"hard{ending}").hardlink_to(store)
            return own / f"hard{ending}", True
        case "link to its log":
            (own / f"log{ending}").symlink_to(f"{store}-wal")
            return own / f"log{ending}", True
        case "link to its journal":
            (own / f"log{ending}").symlink_to(f"{store}-journal")
            return own / f"log{ending}", True
        case "in a linked folder":
            return here / "folder_link" / f"page{ending}", False
        case "link to another file":
            (own / "other").write_text("other")
            (own / f"link{ending}").symlink_to("other")
            return own / f"link{ending}", False
        case "beside links to the run":
            for name in (f"page{ending}.part", "page.part", f"page{ending}.new", f"page{ending}.tmp"):
                (own / name).symlink_to(store)
            return own / f"page{ending}", False
    return own / f"page{ending}", False


KINDS = [
    "itself", "another spelling", "link", "link to a link", "hard link", "link to its log", "link to its journal",
    "in a linked folder", "link to another file", "beside links to the run", "a new file",
]  # fmt: skip


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(KINDS),
    writer=st.sampled_from([".csv", ".parquet", ".html", ".egl"]),
    running=st.booleans(),
    by_link=st.booleans(),
)
def test_nothing_is_written_over_the_run(tmp_path_factory, finished, kind, writer, running, by_link):
    here = tmp_path_factory.mktemp("here")
    store = here / f"run{writer}"
    store.write_bytes(finished)
    target, is_the_run = targets(here, kind, writer)
    named = store
    if by_link:
        named = here / "named"
        named.symlink_to(store)
    held = Store(store, History(store).identity) if running else None
    before = {p: p.read_bytes() for p in here.iterdir() if p.is_file() and not p.name.endswith("-shm")}
    try:
        if writer == ".egl":
            words = ["backup", str(named), str(target)]
        elif writer == ".html":
            words = ["report", str(named), "--out", str(target)]
        else:
            words = ["export", str(named), "--to", str(target), "--force"]
        code = main(words)
        after = {p: p.read_bytes() for p in here.iterdir() if p.is_file() and not p.name.endswith("-shm")}
        assert after == before
        # A copy is only ever a new file; tables and pages may replace others.
        exists = writer == ".egl" and kind == "link to another file"
        assert code == (4 if is_the_run or exists else 0)
        if code == 0:
            written = target.read_bytes()
            assert written.startswith(
                {".csv": b"index", ".parquet": b"PAR1", ".html": b"<!doct", ".egl": b"SQLit"}[writer]
            )
        left = [p.name for p in (here / "own").iterdir() if p.suffix == ".new" and not p.is_symlink()]
        assert left == []
    finally:
        if held is not None:
            held.close()
    assert len(list(History(store).evaluations())) == 40


def test_the_report_is_refused_by_the_library_too(tmp_path, finished):
    path = tmp_path / "run.html"
    path.write_bytes(finished)
    with pytest.raises(StoreError, match=r"run\.html is the file of the run itself: choose another name"):
        write_report(path, path)
    assert path.read_bytes() == finished
    with pytest.raises(OSError, match=r"nowhere/page\.html"):
        write_report(path, tmp_path / "nowhere" / "page.html")


# --- damage and forgeries ---------------------------------------------------------------------------------------------


def test_damaged_files_are_shown_right_or_refused_in_a_sentence(inside, folder, finished, survived):
    count = 400 if "EGLEARN_SOAK" in os.environ else 25
    codes = set()
    for seed in range(count):
        rng = random.Random(seed)
        data = bytearray(finished)
        for _ in range(rng.choice([1, 5, 30])):
            at = rng.randrange(len(data))
            data[at : at + rng.choice([1, 100])] = rng.randbytes(1)
        (folder.path / "run.egl").write_bytes(data)
        for words in (("show", "--json"), ("export", "--to", "a.csv", "--force"), ("report",)):
            code, out, err = inside(words[0], "run.egl", *words[1:])
            codes.add(code)
            assert (code == 0) == (err == ""), err
            if code:
                assert (code, out, err.count("\n")) == (4, "", 1)
            elif words[0] == "show":
                shown = json.loads(out)
                assert shown["evaluations"] - shown["failures"] <= 40
                assert shown["best"] is None or shown["best"] == float(np.array(shown["x"]) @ np.array(shown["x"]))
    assert codes == {0, 4}
    survived("damaged files", count)


@pytest.mark.parametrize(
    ("key", "data"),
    [
        ("identity", {"box": {"low": "x", "high": 3}, "settings": [], "budget": "many"}),
        ("identity", {"box": [], "settings": 3, "algorithm": ["EGL"]}),
        ("identity", {}),
        ("result", {"status": "odd", "x": 3, "progress": []}),
        ("result", {"status": 10**30, "x": None, "fun": "?", "progress": {"candidate": "x", "noisy": 1}}),
        ("about", {"workers": "many", "signature": 3}),
        ("environment", {"objective": [3, None]}),
        ("holder", {"process": "x" * 100, "host": None}),
    ],
)
def test_forged_descriptions_are_refused_in_a_sentence(inside, folder, finished, key, data):
    (folder.path / "run.egl").write_bytes(finished)
    text = json.dumps(data)
    with sqlite3.connect(folder.path / "run.egl") as db:
        row = (key, text, zlib.crc32(f"{key} {text}".encode()))
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", row)
    db.close()
    for words in (("show",), ("show", "--json"), ("export", "--to", "a.csv", "--force"), ("report",), ("resume",)):
        code, _, err = inside(words[0], "run.egl", *words[1:])
        assert code in (0, 2, 4), (words, err)
        assert "unexpected" not in err


# --- copies, times, programs ------------------------------------------------------------------------------------------


def test_backup_while_a_run_goes_on(folder):
    process = folder.start("run", "objectives:bowl", *folder.problem, SLOW="0.01")
    folder.wait_for(50)
    done = folder.call("backup", "run.egl", "copy.egl")
    (folder.path / "alone.egl").write_bytes((folder.path / "run.egl").read_bytes())
    folder.stop(process, signal.SIGKILL, None)
    count = int(done.stdout.split()[0])
    assert done.stdout == f"{count} evaluations copied to copy.egl\n"
    assert 50 <= count == folder.json("show", "copy.egl")["evaluations"]
    for words in (("show", "alone.egl"), ("resume", "alone.egl"), ("run", "objectives:bowl", *folder.problem)):
        words = (*words, "--store", "alone.egl") if words[0] == "run" else words
        assert "alone.egl lacks its log alone.egl-wal" in folder.call(*words, code=4).stderr
    assert folder.call("backup", "--without-log", "alone.egl", "rest.egl").stdout.endswith("copied to rest.egl\n")
    assert folder.json("resume", "copy.egl", "--trust")["nfev"] == 600


def test_a_pause_is_no_time_of_work(tmp_path, monkeypatch, capsys):
    """Six seconds between a kill and the next part, too short to be told from a slow batch by the times alone."""
    path = tmp_path / "run.egl"
    clock = 1e9
    monkeypatch.setattr(time, "time", lambda: clock)
    for part in range(2):
        with Store(path, {"budget": 40, "algorithm": "EGL"}) as store:
            for k in range(20 * part, 20 * part + 20):
                clock += 0.1
                store.record(k, np.zeros(2), eglearn.evaluation.Outcome(1.0, seconds=0.1))
                store.save(k + 1, {"seconds_evaluating": 0.1, "seconds_learning": 0.0}, None)
        clock += 6.0
    assert main(["show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluations_a_second"] == pytest.approx(10)
    write_report(path, tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "Pauses of 6 s in total are left out." in text
    assert '<dd class="big">4 s</dd>' in text


def test_a_template_without_once_is_told_the_protocol(inside):
    for command in ("./simulate {x}", "./simulate --in={file}"):
        code, _, err = inside("run", "--command", command, *PROBLEM)
        assert code == 2
        assert "add --once to start it for each point" in err
        assert '{"id": 0, "x": [0.5, -1.0]}' in err
        assert err.count("\n") == 1
    code, _, err = inside("run", "objectives:bowl", "--once", *PROBLEM)
    assert (code, "--once is for programs" in err) == (2, True)


@pytest.mark.skipif("once" not in inspect.signature(Command).parameters, reason="Command has no once")
def test_a_program_for_each_point(folder):
    program = folder.path / "simulate.py"
    program.write_text("import sys\nprint(sum((float(v) - 1) ** 2 for v in sys.argv[1:]))\n")
    command = f"{sys.executable} simulate.py {{x}}"
    result = folder.json("run", "--once", "--command", command, *PROBLEM, "--max-seconds", "1e-9")
    again = folder.json("resume", "run.egl", "--max-seconds", "100")
    assert result["nfev"] < again["nfev"] == 40
    assert again["n_failed"] == 0
    assert again["fun"] == pytest.approx(sum((v - 1) ** 2 for v in again["x"]))


def test_backup_is_public():
    assert eglearn.store.backup is backup
