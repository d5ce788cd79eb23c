from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from tests.store.driver import IDENTITY, M, alone, write_batches, write_run

from eglearn.evaluation.base import Outcome
from eglearn.store import History, Store, StoreError


def test_a_clean_close_leaves_one_file(path: Path) -> None:
    store = Store(path, IDENTITY)
    write_batches(store, 3)
    assert not alone(path)
    store.close()
    store.close()
    assert alone(path)
    list(History(path).evaluations())
    assert alone(path)
    with pytest.raises(StoreError, match="closed"):
        store.record(0, np.zeros(1), Outcome(0.0))


def test_close_beside_a_busy_reader_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eglearn.store.connection._PATIENCE_SECONDS", 0.1)
    store = Store(path, IDENTITY)
    write_batches(store, 3)
    reader = sqlite3.connect(path)
    cursor = reader.execute("SELECT id FROM evaluations")
    cursor.fetchone()
    store.close()
    assert len(list(History(path).evaluations())) == 3 * M
    cursor.close()
    reader.close()
    write_run(path, 4, start=3)
    assert alone(path)
    assert len(list(History(path).evaluations())) == 4 * M


def test_an_empty_file_is_a_new_run(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreError, match="holds no run yet"):
        History(path)
    with Store(path, IDENTITY) as store:
        assert "was empty" in store.notes[0]
        assert store.latest_checkpoint() is None


def test_leftovers_of_a_deleted_run_are_not_taken_over(path: Path, interrupted: dict[str, bytes]) -> None:
    for touch in (False, True):
        path.unlink(missing_ok=True)
        path.with_name(path.name + "-wal").write_bytes(interrupted["-wal"])
        if touch:
            path.touch()
        with Store(path, IDENTITY) as store:
            assert list(store.evaluations()) == []
            assert store.latest_checkpoint() is None
        assert alone(path)


@pytest.mark.parametrize("content", [b"x", b"y,x1\n" * 3, b"notes\n" * 5000, b"SQLite format 3", b"\0" * 9999])
def test_other_files_are_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for refuse in (lambda: Store(path, IDENTITY), lambda: History(path)):
        with pytest.raises(StoreError, match=re.escape(str(path))):
            refuse()
    assert path.read_bytes() == content
    assert alone(path)


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_other_databases_are_refused_and_left_alone(path: Path, mode: str) -> None:
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode = {mode}")
    db.execute("CREATE TABLE mine (a)")
    db.close()
    before = path.read_bytes()
    for refuse in (lambda: Store(path, IDENTITY), lambda: History(path)):
        with pytest.raises(StoreError, match="another program"):
            refuse()
    assert path.read_bytes() == before
    assert alone(path)


def test_an_unknown_format_is_refused_by_number(path: Path) -> None:
    write_run(path, 1)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 7")
    db.close()
    for refuse in (lambda: Store(path, IDENTITY), lambda: History(path)):
        with pytest.raises(StoreError, match="has format 7, this eglearn reads those up to 2"):
            refuse()


def test_a_missing_file_has_no_history(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no file"):
        History(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["missing/run.egl", "a_file/run.egl", "a_folder", "/dev/null", "/proc/run.egl"])
def test_places_that_cannot_hold_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "a_file").touch()
    (tmp_path / "a_folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match=name):
        Store(tmp_path / name, IDENTITY)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["a b?mode=ro#x%41.egl", ":memory:", "ü\udcff.egl"])
def test_unusual_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_run(path, 1)
    assert alone(path)
    assert len(list(History(path).evaluations())) == M


def test_a_deleted_file_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eglearn.store.writer._SYNC_SECONDS", -1.0)
    with Store(path, IDENTITY) as store:
        path.rename(path.with_name("elsewhere"))
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.record(0, np.zeros(1), Outcome(0.0))
        path.touch()
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.record(0, np.zeros(1), Outcome(0.0))
