"""A run's file that is copied, linked, or parted from its log."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.driver import IDENTITY, M, alone, known, write_batches, write_run

from eglearn.store import History, Store, StoreError, backup

REFUSED = r"copy.egl lacks its log copy.egl-wal, .*: put copy.egl-wal beside it, or copy the run again with 'eglearn"


def count(path: Path) -> int:
    return len(list(History(path).evaluations()))


def refused(path: Path, text: str = REFUSED) -> None:
    before = path.read_bytes()
    for refuse in (lambda: History(path), lambda: Store(path, IDENTITY), lambda: backup(path, f"{path}.other")):
        with pytest.raises(StoreError, match=text):
            refuse()
    assert path.read_bytes() == before


@pytest.mark.parametrize("earlier", [0, 2])
@pytest.mark.parametrize("batches", [0, 1, 3])
def test_a_copy_without_its_log_is_refused(path: Path, tmp_path: Path, earlier: int, batches: int) -> None:
    """Also if the run had been opened before, so that the file itself is not empty, and before any value."""
    if earlier:
        write_run(path, earlier)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    copy = elsewhere / "copy.egl"
    with Store(path, IDENTITY) as store:
        write_batches(store, earlier + batches, start=earlier)
        shutil.copy(path, copy)
        refused(copy)
        assert alone(copy)
        # Together with the log it is whole; what there is can be had without.
        assert backup(copy, elsewhere / "rest.egl", without_log=True) == earlier * M
        shutil.copy(f"{path}-wal", f"{copy}-wal")
        assert count(copy) == (earlier + batches) * M
    shutil.copy(path, elsewhere / "whole.egl")  # of a run that has ended the file is all there is
    assert count(elsewhere / "whole.egl") == (earlier + batches) * M
    write_run(elsewhere / "rest.egl", 3, start=earlier)
    assert count(elsewhere / "rest.egl") == max(3, earlier) * M


def test_a_file_that_an_older_eglearn_began_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "copy.egl"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE meta (a)")
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "copy.egl"
    shutil.copy(path, copy)
    db.close()
    assert copy.stat().st_size > 0
    refused(copy)


def test_a_killed_run_needs_its_log(path: Path, tmp_path: Path, interrupted: dict[str, bytes]) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    copy = elsewhere / "copy.egl"
    copy.write_bytes(interrupted[""])
    refused(copy)
    Path(f"{copy}-wal").write_bytes(b"")
    refused(copy)
    Path(f"{copy}-wal").write_bytes(interrupted["-wal"])
    assert count(copy) == 10 * M
    with Store(copy, IDENTITY) as store:
        assert store.latest_checkpoint()[0] == 9 * M
    assert alone(copy)


def test_closing_on_a_full_disk_leaves_the_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(path, IDENTITY)
    write_batches(store, 3)
    db = store._db

    class Full:
        """A connection that can do anything but delete."""

        def execute(self, words: str, *values: object) -> sqlite3.Cursor:
            if words.startswith("DELETE"):
                raise sqlite3.OperationalError("database or disk is full")
            return db.execute(words, *values)

        def close(self) -> None:
            db.close()

    store._db = Full()
    store.close()
    assert Path(f"{path}-wal").stat().st_size > 0
    assert count(path) == 3 * M
    with Store(path, IDENTITY) as store:
        assert len(known(store, 2)) == M
    assert alone(path)


@pytest.mark.parametrize("running", [False, True])
def test_a_backup_holds_everything(path: Path, tmp_path: Path, running: bool) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    copy = elsewhere / "copy.egl"
    store = Store(path, IDENTITY)
    write_batches(store, 4)
    if not running:
        store.close()
    assert backup(path, copy) == 4 * M
    assert alone(copy)
    store.close()
    assert alone(path) or sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere", "run.egl"]
    columns = 'aside, "index", y, error, attempts, seconds, worker, at, x_check, x'
    tables = []
    for one in (path, copy):
        with sqlite3.connect(one) as db:
            tables.append(db.execute(f"SELECT {columns} FROM evaluations ORDER BY id").fetchall())
        db.close()
    assert tables[0] == tables[1]
    write_run(copy, 5, start=4)  # it can be continued by itself
    assert (count(copy), count(path)) == (5 * M, 4 * M)


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_a_backup_replaces_nothing(path: Path, make: Callable[[Path], None]) -> None:
    write_run(path, 1)
    target = path.with_name("copy.egl")
    make(target)
    before = sorted(path.parent.iterdir())
    for name in (target, path):
        with pytest.raises(StoreError, match="exists already: choose another name"):
            backup(path, name)
    assert sorted(path.parent.iterdir()) == before
    with pytest.raises(StoreError, match="No such file or directory"):
        backup(path, path.parent / "missing" / "copy.egl")
    path.with_name("empty.egl").touch()
    with pytest.raises(StoreError, match="holds no run yet"):
        backup(path.with_name("empty.egl"), path.with_name("b.egl"))


def test_a_linked_file_is_the_file(path: Path, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    link = elsewhere / "link.egl"
    link.symlink_to(path)
    with Store(link, IDENTITY) as store:
        write_batches(store, 2)
        assert count(link) == count(path) == 2 * M
        assert list(elsewhere.iterdir()) == [link]
        with pytest.raises(StoreError, match="already open"):
            Store(path, IDENTITY)
    assert count(link) == 2 * M
    hard = elsewhere / "hard.egl"
    with Store(path, IDENTITY) as store:
        write_batches(store, 3, start=2)
        hard.hardlink_to(path)
        with pytest.raises(StoreError, match=r"hard\.egl"):
            History(hard)
