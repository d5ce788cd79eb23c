"""What stands in a run's file: tables, checksums, and how values become columns and come back."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import Array
from ..evaluation.base import Outcome

FILE_FORMAT = 2
"""Of the files that are written; those of format 1 can be read (see ``tables``)."""
MAGIC = b"SQLite format 3\0"
APPLICATION = int.from_bytes(b"egl1", "big")  # tells our files from other people's SQLite files
ASKED = -1
"""In the column ``aside``: the search has asked for the point, or will."""

# y, seconds and at have no declared type: a REAL column would turn -0.0 into 0.0. NaN is stored as NULL.
_SCHEMA = f"""
BEGIN;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FILE_FORMAT};
CREATE TABLE meta (key TEXT PRIMARY KEY, data TEXT NOT NULL, "check" INTEGER NOT NULL);
CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY,      -- order of arrival; it is that of telling, too, unless the run is an ordered one
    aside INTEGER NOT NULL,      -- -1, or of how many points the search had asked when this was set aside
    "index" INTEGER NOT NULL,    -- of the point in the order of asking; of those set aside, in order of arrival
    y,                           -- NULL: the evaluation failed
    error TEXT,                  -- why it failed; NULL: it did not
    attempts INTEGER NOT NULL,
    seconds,
    worker TEXT NOT NULL,
    at,                          -- time of arrival, seconds since 1970
    x_check INTEGER NOT NULL,    -- CRC-32 of the point, kept or not
    "check" INTEGER NOT NULL,    -- CRC-32 of the nine columns before
    x BLOB,                      -- float64, little-endian; NULL: not kept
    UNIQUE (aside, "index")
);
CREATE TABLE progress (told INTEGER PRIMARY KEY, data TEXT NOT NULL, "check" INTEGER NOT NULL);
CREATE TABLE checkpoints (told INTEGER PRIMARY KEY, digest BLOB NOT NULL, state BLOB NOT NULL);
"""
COLUMN_COUNTS = {"meta": 3, "evaluations": 12, "progress": 3, "checkpoints": 3}
VALUE_COLUMNS = 'aside, "index", y, error, attempts, seconds, worker, at, x_check, "check"'
INSERT_META = "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)"
INSERT_EVALUATION = f"INSERT OR REPLACE INTO evaluations ({VALUE_COLUMNS}, x) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
_WITHOUT_COMMENTS = re.sub(r"--[^\n]*", "", _SCHEMA)
_LONGEST_TEXT = 4000  # characters of an error: enough for its beginning, and a million of them fit on a disk


def of_format(version: int, sql: str) -> str:
    """What is said in the terms of this format, in those of another one.

    In format 1, a point had a batch (below 0: set aside) and a row in it, and progress and checkpoints were by batch.
    """
    if version == FILE_FORMAT:
        return sql
    for word, old in (("aside", "batch"), ('"index"', '"row"'), ("told", "batch")):
        sql = sql.replace(word, old)
    return sql


def tables(version: int) -> dict[str, str]:
    """How each table is made, as SQLite keeps it in a file of that format."""
    words = map(str.strip, _WITHOUT_COMMENTS.split(";\n"))
    return {made.split()[2]: of_format(version, made) for made in words if made.startswith("CREATE TABLE")}


def create_tables(db: sqlite3.Connection, meta: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the tables and the first rows of ``meta`` in one transaction: a file has all of it or nothing."""
    with db:
        db.executescript(_SCHEMA)
        db.executemany(INSERT_META, [to_text(key, data) for key, data in meta.items()])


def to_text(key: str | int, data: Mapping[str, Any]) -> tuple[str | int, str, int]:
    """Key, JSON text and checksum; floats read back the same, NaN and infinities too, arrays as lists."""
    text = json.dumps(dict(data), default=lambda value: value.tolist())
    return key, text, zlib.crc32(f"{key} {text}".encode())


def from_text(key: str | int, text: Any, check: Any) -> dict[str, Any] | None:
    """The data that ``to_text`` wrote, or None if it does not fit its checksum."""
    if zlib.crc32(f"{key} {text}".encode("utf-8", "replace")) != check:
        return None
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError):  # a checksum can be forged
        return None
    return data if isinstance(data, dict) else None


def point_bytes(x: Array) -> bytes:
    """A point as it is stored."""
    return np.ascontiguousarray(x, "<f8").tobytes()


def to_point(raw: Any, x_check: int) -> Array | None:
    """The point that was stored, or None if it does not fit its checksum."""
    if not isinstance(raw, bytes) or len(raw) % 8 or zlib.crc32(raw) != x_check:
        return None
    return np.frombuffer(raw, "<f8").astype(np.float64)


def storable(text: str) -> str:
    """Text without what SQLite refuses, cut if it is long: a program's output may be anything."""
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}... ({len(text)} characters)"
    return text.encode("utf-8", "backslashreplace").decode()


def checkpoint_digest(told: int, state: bytes) -> bytes:
    """The checksum of a checkpoint, which also ties it to its number."""
    return hashlib.blake2b(state, digest_size=16, salt=told.to_bytes(8, "little", signed=True)).digest()


def to_columns(aside: int, index: int, outcome: Outcome, at: float, x_check: int) -> tuple[Any, ...]:
    """The ``VALUE_COLUMNS`` of an evaluation."""
    columns = (
        int(aside),
        int(index),
        float(outcome.y),
        None if outcome.error is None else storable(outcome.error),
        int(outcome.attempts),
        float(outcome.seconds),
        storable(outcome.worker),
        at,
        x_check,
    )
    return (*columns, _check(columns))


def to_outcome(columns: Sequence[Any]) -> Outcome | None:
    """The outcome in ``VALUE_COLUMNS``, or None if they do not fit their checksum."""
    y, error, attempts, seconds, worker = columns[2:7]
    try:
        if _check(columns[:9]) != columns[9] or not isinstance(worker, str) or not isinstance(error, str | None):
            return None
    except (struct.error, TypeError):  # damage can change a column's type
        return None
    return Outcome(_number(y), error, attempts, _number(seconds), worker)


def _check(columns: Sequence[Any]) -> int:
    aside, index, y, error, attempts, seconds, worker, at, x_check = columns
    numbers = (_number(y), _number(seconds), _number(at))
    packed = struct.pack("<qqqIddd", aside, index, attempts, x_check, *numbers)
    return zlib.crc32(packed + repr((error, worker)).encode())


def _number(value: Any) -> Any:
    return math.nan if value is None or value != value else value
