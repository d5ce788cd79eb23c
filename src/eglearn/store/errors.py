"""What can go wrong with a run's file, as sentences for its user."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(Exception):
    """The file cannot be opened, read or written; the message names it and says what to do."""


class StoreMismatch(StoreError):
    """The file belongs to another run than the one asked for."""


class Damaged(StoreError):
    """SQLite found the structure of the file broken; the text says what was done about it."""


def sqlite_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; errors from Python's own layer carry none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn what SQLite and the operating system raise into a ``StoreError``."""
    try:
        yield
    except sqlite3.Error as error:
        code = sqlite_code(error)
        if code == sqlite3.SQLITE_NOTADB:
            text = f"{path} is not the file of a run, or its beginning is damaged: choose another name"
        elif code == sqlite3.SQLITE_CORRUPT:
            text = f"{path} is damaged ({error}): run it again to save what can still be read in a new file"
        elif code in (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG):
            text = f"{path} holds more than a file of its size can: it is damaged or forged, restore a copy of it"
        elif code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            text = f"cannot read or write {path} ({error}): free space on its disk, then run it again to go on"
        else:
            text = f"cannot use {path} ({error}): check the file and its folder, or choose another name"
        raise StoreError(text) from error
    except UnicodeDecodeError as error:  # SQLite quotes damaged text in its messages, Python cannot read it
        raise StoreError(f"{path} is damaged (its tables are unreadable): restore a copy of it") from error
    except OSError as error:
        text = f"cannot use {path} ({error.strerror}): choose a file that can be read and written"
        raise StoreError(text) from error


@contextmanager
def understood(path: str) -> Iterator[None]:
    """Turn what goes wrong with data that no run writes into a ``StoreError``: checksums can be forged."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise StoreError(f"{path} does not describe a run as eglearn does ({reason}): do not trust it") from error
