"""The runner that all grids of runs share, with a kind of runs that is as small as can be."""

from __future__ import annotations

import json
import os

import pytest

pytest.importorskip("pyarrow")

from hypothesis import given, settings
from hypothesis import strategies as st
from lab.tests.runner.numbers import Number, Squares

from eglearn_lab.runner import Folder, FolderInUse, FolderRefused, run, run_jobs


def grid(*values):
    return [Number(k) for k in values]


def values(table):
    return dict(zip(table["value"].to_pylist(), table["square"].to_pylist(), strict=True))


def test_jobs_in_rows_out(tmp_path):
    seen = []
    table = run_jobs(tmp_path, Squares(), grid(3, 1, 2), workers=2, progress=seen.append)
    assert values(table) == {1: 1, 2: 4, 3: 9}
    assert os.listdir(tmp_path) == ["results.parquet"]
    assert len(set(table["process"].to_pylist()) | {os.getpid()}) == 4  # a process for each run
    assert [(p.done, p.total, p.failed) for p in seen] == [(1, 3, 0), (2, 3, 0), (3, 3, 0)]
    assert seen[-1].eta == 0
    assert all(p.seconds > 0 for p in seen)


def test_the_same_call_goes_on_and_a_larger_one_adds(tmp_path):
    first = run_jobs(tmp_path, Squares(), grid(1, 2)).to_pylist()
    seen = []
    second = run_jobs(tmp_path, Squares(), grid(1, 2, 5), progress=seen.append).to_pylist()
    assert [p.row["value"] for p in seen] == [5]
    assert second[:2] == first  # with their times: not run again


def test_errors_are_kept_and_kills_are_tried_again(tmp_path):
    work = Squares(((1, "error"), (2, "kill")), str(tmp_path))
    rows = {row["value"]: row for row in run_jobs(tmp_path / "out", work, grid(1, 2, 3)).to_pylist()}
    assert rows[1]["status"] == "failed"
    assert rows[1]["error"].startswith("ZeroDivisionError: as it must (numbers.py:")
    assert rows[1]["square"] is None
    assert rows[2]["status"] == "killed"
    assert rows[2]["error"] == "its process ended with code -9, 2 times"
    assert rows[3]["square"] == 9
    (tmp_path / "mended").touch()
    seen = []
    table = run_jobs(tmp_path / "out", work, grid(1, 2, 3), progress=seen.append)
    assert [(p.row["value"], p.row["status"]) for p in seen] == [(2, "finished")]
    assert values(table)[2] == 4


def test_the_journal_becomes_parts_and_these_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_COMPACT_AT", 2)
    seen = []

    def look(progress):
        lines = (tmp_path / "journal.jsonl").read_text().count("\n")
        seen.append((lines, len(list((tmp_path / "parts").glob("*.parquet")))))

    run_jobs(tmp_path, Squares(), grid(1, 2, 3, 4, 5), progress=look)
    assert seen == [(1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert os.listdir(tmp_path) == ["results.parquet"]


@settings(max_examples=20, deadline=None)
@given(cut=st.integers(0, 400), compacted=st.booleans())
def test_a_kill_at_any_moment_loses_no_whole_line(tmp_path_factory, cut, compacted):
    """The journal cut after any byte; and a part written while the journal was not yet emptied."""
    tmp_path = tmp_path_factory.mktemp("killed")
    folder = Folder(tmp_path, Squares())
    folder.open()
    for k in (1, 2, 3):
        folder.add(Squares().execute(Number(k)))
    text = folder.journal.read_text()
    if compacted:
        folder.compact()
    folder.close()
    folder.journal.write_text(text[:cut])
    whole = text[:cut].count("\n") + (text[:cut].endswith("}"))
    expected = {1, 2, 3} if compacted else {1, 2, 3} & set(range(1, whole + 1))
    assert set(values(Folder(tmp_path, Squares()).table())) == expected
    again = Folder(tmp_path, Squares())
    assert again.open() == {(k,) for k in expected}
    again.close()


def test_rows_can_be_dropped_first(tmp_path):
    first = run_jobs(tmp_path, Squares(), grid(1, 2, 3))
    seen = []
    table = run_jobs(tmp_path, Squares(), grid(1), progress=seen.append, drop=lambda row: row["value"] < 3)
    assert [p.row["value"] for p in seen] == [1]
    assert values(table) == {1: 1, 3: 9}
    assert table.to_pylist()[1] == first.to_pylist()[2]
    assert values(run_jobs(tmp_path / "new", Squares(), grid(1), drop=lambda row: True)) == {1: 1}


def test_a_folder_that_does_not_suit_is_refused_and_let_go(tmp_path):
    class Picky(Squares):
        def objection(self, finished):
            return f"{len(finished)} are finished" if finished else None

    run_jobs(tmp_path, Squares(), grid(1))
    with pytest.raises(FolderRefused, match="1 are finished"):
        run_jobs(tmp_path, Picky(), grid(1, 2))
    assert values(run_jobs(tmp_path, Squares(), grid(1, 2))) == {1: 1, 2: 4}


def test_one_process_writes(tmp_path):
    first = Folder(tmp_path, Squares())
    first.open()
    with pytest.raises(FolderInUse, match="in use by another process"):
        run_jobs(tmp_path, Squares(), grid(1))
    first.close()
    assert values(run_jobs(tmp_path, Squares(), grid(1))) == {1: 1}


def test_wrong_number_of_workers(tmp_path):
    with pytest.raises(ValueError, match="workers = 0: it must be 1 or more"):
        run_jobs(tmp_path / "out", Squares(), grid(1), workers=0)
    assert not (tmp_path / "out").exists()


def test_a_line_of_the_journal_is_the_row(tmp_path):
    rows = []

    def look(progress):
        rows.append(json.loads((tmp_path / "journal.jsonl").read_text().splitlines()[-1]))
        assert rows[-1] == progress.row

    run_jobs(tmp_path, Squares(), grid(4), progress=look)
    assert rows[0]["square"] == 16
