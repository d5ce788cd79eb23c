"""Saving what can still be read from a file whose structure is damaged."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ..result import counted
from .errors import StoreError, reported
from .layout import COLUMN_COUNTS, connect, connect_reader, create_tables, is_run, neighbour


def salvage(path: Path, reason: str) -> str:
    """Put a new file with all that can be read in place of a damaged one, keep that one, and say so.

    Rows are copied as they are; their checksums are looked at when they are used.
    """
    kept = next(p for i in range(1, 10**6) if not (p := neighbour(path, f".damaged{i}")).exists())
    fresh = neighbour(path, ".new")
    fresh.unlink(missing_ok=True)
    try:
        with reported(path), connect_reader(path) as source:
            source.execute("PRAGMA writable_schema = ON")  # SQLite then reads files that have been cut short
            with closing(connect(fresh, "rwc")) as target:
                if not is_run(source, path) or not _copy(source, target):
                    raise StoreError(f"{path} is too damaged to be read ({reason}): restore a copy of it")
                evaluations = target.execute("SELECT count(*) FROM evaluations").fetchone()[0]
                checkpoints = target.execute("SELECT count(*) FROM checkpoints").fetchone()[0]
            shutil.copyfile(path, kept)
            for ending in ("-wal", "-shm"):  # beside the new file they would be taken for its own
                with suppress(FileNotFoundError):
                    neighbour(path, ending).rename(neighbour(kept, ending))
            fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    found = f"{counted(evaluations, 'evaluation')} and {counted(checkpoints, 'checkpoint')}"
    return (
        f"{path} was damaged ({reason}): {found} could be read and are now in a new file of that name, "
        f"the damaged one is kept as {kept}"
    )


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
