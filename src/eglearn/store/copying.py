"""Copies of runs, and files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from .connection import LOG, connect, connect_reader, format_of, neighbour, set_journal_mode, size, sync_folder
from .errors import StoreError, reported
from .history import History

_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def backup(source: str | os.PathLike[str], target: str | os.PathLike[str], *, without_log: bool = False) -> int:
    """Copy the file of a run, which may be going on, and return the number of evaluations in the copy.

    Copying the file by other means while a run goes on, or after it was killed, misses what is in the log beside it.

    Parameters
    ----------
    source
        The file of a run.
    target
        The copy; there must be no such file yet.
    without_log
        Take what is in the file alone, if its log is lost.

    Raises
    ------
    StoreError
        If the file cannot be read, the copy cannot be written, or there is such a file already.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from eglearn import minimize
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run, copy = pathlib.Path(folder, "run.egl"), pathlib.Path(folder, "copy.egl")
    ...     result = minimize(lambda x: sum(x**2), [(-1, 1)] * 3, budget=60, store=run)
    ...     backup(run, copy)
    60
    """
    source, target = Path(source), Path(target)
    if not (without_log and size(source) and not size(neighbour(source, LOG))):
        History(source)
    exists = StoreError(f"{target} exists already: choose another name for the copy")
    if os.path.lexists(target):
        raise exists
    with reported(target), unfinished(target) as fresh:
        with connect_reader(source) as db, closing(connect(fresh, "rw")) as copy:
            with reported(source):
                if not format_of(db, source):
                    raise StoreError(f"{source} holds no run yet: there is nothing to copy")
            db.backup(copy)
            set_journal_mode(copy, "DELETE")
            copy.execute("DELETE FROM meta WHERE key = 'log'")  # of the original
            count = int(copy.execute("SELECT count(*) FROM evaluations").fetchone()[0])
        if not publish(fresh, target):
            raise exists
    return count


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A new file beside ``path`` that is not there any more in the end."""
    fresh = neighbour(path, f".{secrets.token_hex(4)}.new")
    os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
    try:
        yield fresh
    finally:
        for ending in ("", "-journal"):
            with suppress(OSError):
                neighbour(fresh, ending).unlink()


@contextmanager
def replacement(target: str | os.PathLike[str], store: Path) -> Iterator[Path]:
    """A new file that takes the place of ``target`` when it is complete; never that of the run in ``store``.

    A link is not followed to write: what ``target`` points to is replaced, whatever lies beside it.
    """
    real = Path(os.path.realpath(target))
    for ending in ("", LOG, "-shm", "-journal"):
        own = neighbour(store, ending)
        if real == own or (real.exists() and own.exists() and real.samefile(own)):
            raise StoreError(f"{target} is the file of the run itself: choose another name")
    try:
        with unfinished(real) as fresh:
            yield fresh
            os.replace(fresh, real)
    except OSError as error:  # it would name the unfinished file
        error.filename = os.fspath(target)
        raise


def publish(fresh: Path, path: Path) -> bool:
    """Give the complete file ``fresh`` its name as well; False if there is a file of that name."""
    real = Path(os.path.realpath(path))
    try:
        os.link(fresh, real)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        try:
            os.close(os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            return False
        os.replace(fresh, real)
    sync_folder(real)
    return True


def tidy_up(path: Path) -> None:
    """Delete what processes have left that were killed while they made a new file; the caller holds the lock."""
    real = Path(os.path.realpath(path))
    left = re.compile(re.escape(real.name) + r"\.[0-9a-f]{8}\.new(-journal)?")
    for name in filter(left.fullmatch, os.listdir(real.parent)):
        with suppress(OSError):
            os.unlink(real.parent / name)
