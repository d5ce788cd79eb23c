"""Saving what can still be read from a file whose structure is damaged."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ..result import counted
from .connection import LOG, REPAIRED, check_log, connect, connect_reader, format_of, neighbour, sync, sync_folder
from .copying import unfinished
from .errors import StoreError, reported
from .history import History
from .layout import COLUMN_COUNTS, INSERT_META, create_tables, to_text


def salvage(path: Path, reason: str, hold: Callable[[], None]) -> str:
    """Put a new file with all that can be read in place of a damaged one, keep that one, and say so.

    Rows are copied as they are; their checksums are looked at when they are used. ``hold`` takes the lock again.
    """
    kept = next(p for i in range(1, 10**6) if not os.path.lexists(p := neighbour(path, f".damaged{i}")))
    with reported(path), unfinished(path) as fresh:
        with connect_reader(path) as source, closing(connect(fresh, "rw")) as target:
            source.execute("PRAGMA writable_schema = ON")  # SQLite then reads files that have been cut short
            if not format_of(source, path) or not _copy(source, target):
                raise StoreError(f"{path} is too damaged to be read ({reason}): restore a copy of it")
            with suppress(sqlite3.Error):
                check_log(source, path)
            evaluations = target.execute("SELECT count(*) FROM evaluations").fetchone()[0]
            checkpoints = target.execute("SELECT count(*) FROM checkpoints").fetchone()[0]
            found = f"{counted(evaluations, 'evaluation')} and {counted(checkpoints, 'checkpoint')}"
            note = (
                f"{path} was damaged ({reason}): {found} could be read and are now in a new file of that name, "
                f"the damaged one is kept as {kept}"
            )
            target.execute("DELETE FROM meta WHERE key = 'log'")
            repair = {"of": _digest(path), "kept": kept.name, "note": note}
            target.execute(INSERT_META, to_text("repair", repair))
        hold()
        os.replace(fresh, neighbour(path, REPAIRED))
        sync_folder(path)
    return finish_repair(path, hold) or note


def finish_repair(path: Path, hold: Callable[[], None]) -> str | None:
    """Go on with a repair where it was interrupted, and say what was done; None if there is none.

    The new file is complete before anything happens to the old one and its log. So whenever this is cut off, either
    the old ones are whole, or the new one is there. Every step can be done twice.
    """
    ready = neighbour(path, REPAIRED)
    if not ready.exists():
        return None
    repair: dict[str, Any] = {}
    with suppress(StoreError):
        repair = History(ready).repair
    real, name = neighbour(path, ""), str(repair.get("kept"))
    if repair.get("of") != _digest(path) or not re.fullmatch(re.escape(real.name) + r"\.damaged\d+", name):
        ready.unlink()  # it belongs to a file that is not there any more
        return None
    kept = real.with_name(name)
    shutil.copyfile(path, kept)
    sync(kept)
    hold()
    for ending in (LOG, "-shm"):  # beside the new file they would be taken for its own
        with suppress(FileNotFoundError):
            os.replace(neighbour(path, ending), neighbour(kept, ending))
    sync_folder(path)
    os.replace(ready, real)
    sync_folder(path)
    return str(repair["note"])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> bool:
    """Copy all readable rows; False if what defines the run is not among them."""
    create_tables(target, {})
    for table, columns in COLUMN_COUNTS.items():
        insert = f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * columns)})"
        with target:
            target.execute("BEGIN")
            # From both ends up to the damage; without damage the second pass finds nothing new.
            for order in ("ASC", "DESC"):
                target.executemany(insert, _readable(source, f"SELECT * FROM {table} ORDER BY rowid {order}"))
    return bool(target.execute("SELECT count(*) FROM meta WHERE key = 'identity'").fetchone()[0])


def _readable(db: sqlite3.Connection, query: str) -> Iterator[Any]:
    with suppress(sqlite3.Error, UnicodeDecodeError):
        yield from db.execute(query)
