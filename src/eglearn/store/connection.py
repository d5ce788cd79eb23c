"""Opening a run's file with SQLite, wherever it comes from: what is read is ours, whole, and not too large."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from .errors import StoreError, sqlite_code
from .layout import APPLICATION, FILE_FORMAT, tables

_PATIENCE_SECONDS = 2.0  # with readers that hold up a change of the journal mode
LOG = "-wal"
"""Ending of the log, in which SQLite keeps what it has not written to the file itself yet."""
REPAIRED = ".repaired"
"""Ending of a complete new file for a damaged one: the repair is finished by whoever opens the run next."""


def neighbour(path: Path, ending: str) -> Path:
    """The file beside ``path`` whose name has ``ending`` added; SQLite puts it beside what a link points to."""
    real = Path(os.path.realpath(path))
    return real.with_name(real.name + ending)


def size(path: Path) -> int:
    """Of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that commits each statement unless told otherwise."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")  # damaged text is for checksums to find
    db.execute("PRAGMA trusted_schema = OFF")
    return db


def connect_reader(path: Path) -> closing[sqlite3.Connection]:
    """A connection for reading, to be used in a ``with``.

    Beside a log it is read-only: closing it then can neither move the log's content nor delete it. Without one it may
    write, which SQLite needs to undo a half-finished change of the journal mode.

    A forged file can let SQLite go round in circles: no value is longer than the file, and no query takes more
    steps than an honest file of its size could need.
    """
    log = neighbour(path, LOG)
    db = connect(path, "ro" if log.exists() else "rw")
    length = size(path) + size(log)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max(length, 1_000_000), 2**31 - 1))
    # A row takes 30 bytes or more, and SQLite some hundred steps to check it, fewer to read it.
    db.set_progress_handler(_at_most(10 * length + 10_000_000), _STEPS)
    return closing(db)


_STEPS = 100_000


def _at_most(steps: int) -> Callable[[], bool]:
    left = steps // _STEPS

    def over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    return over


def format_of(db: sqlite3.Connection, path: Path) -> int:
    """The format of the run in the file, 0 if it holds nothing yet; raises if it holds something else."""
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    made = db.execute("SELECT type, name, sql FROM sqlite_master LIMIT 100").fetchall()
    if application == version == len(made) == 0:
        # An older eglearn began its files with the log: then all of the run is in there.
        if db.execute("PRAGMA journal_mode").fetchone()[0] == "wal" and not size(neighbour(path, LOG)):
            raise log_is_missing(path)
        return 0
    if application != APPLICATION:
        raise StoreError(f"{path} is another program's SQLite file and was not changed: choose another name")
    if not 1 <= version <= FILE_FORMAT:
        raise StoreError(
            f"{path} has format {version}, this eglearn reads those up to {FILE_FORMAT}: use the eglearn that wrote it"
        )
    # SQLite goes by the text alone: a view may call itself a table.
    shapes = {name: _shape(sql) for kind, name, sql in made if kind != "index" or sql is not None}
    expected = {name: _shape(sql) for name, sql in tables(version).items()}
    if {name: shape for name, shape in shapes.items() if name not in _BY_ANALYZE} != expected:
        raise StoreError(f"{path} holds other tables than a run has, and was not read: do not trust it, or restore it")
    return int(version)


def _shape(sql: object) -> str:
    """How a table is made, without comments."""
    return " ".join(re.sub(r"--[^\n]*", "", str(sql)).split())


_BY_ANALYZE = ("sqlite_stat1", "sqlite_stat4")  # tables that SQLite's ANALYZE makes


def check_log(db: sqlite3.Connection, path: Path) -> None:
    """Raise if the file was copied or moved without its log: what is missing would be evaluated again."""
    if not size(neighbour(path, LOG)) and db.execute("SELECT 1 FROM meta WHERE key = 'log' LIMIT 1").fetchone():
        if size(neighbour(path, REPAIRED)):
            raise StoreError(f"{path} was damaged, and its repair was cut off: run it again to finish that")
        if not size(neighbour(path, LOG)):  # else the run has just been opened
            raise log_is_missing(path)


def log_is_missing(path: Path) -> StoreError:
    """What to say of such a file."""
    log = Path(path).name + LOG
    return StoreError(
        f"{path} lacks its log {log}, which holds the last evaluations: put {log} beside it, or copy the run "
        f"again with 'eglearn backup' ('eglearn backup --without-log {path} NEW' takes what there is)"
    )


def set_journal_mode(db: sqlite3.Connection, mode: str) -> None:
    """Change how SQLite commits; it does not wait for readers here, so this does (their queries are short)."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            db.execute(f"PRAGMA journal_mode = {mode}").fetchone()
            return
        except sqlite3.OperationalError as error:
            busy = sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > give_up:
                raise
        time.sleep(0.02)


def sync_folder(path: Path) -> None:
    """Wait until the names in the folder of ``path`` are on the disk; where that cannot be, go on."""
    with suppress(OSError):
        sync(Path(os.path.realpath(path)).parent)


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
