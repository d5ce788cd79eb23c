"""Keeping a second writer away from a run's file."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from .errors import StoreError, reported
from .history import History

if sys.platform != "win32":
    import fcntl


class FileLock:
    """A POSIX lock on the first byte of the file, which SQLite never locks.

    It needs no file of its own, ends with the process however that dies, and is not inherited by forked
    workers that outlive the process (a lock by ``flock`` is; on NFS that one also shuts SQLite out).
    Two weak points are covered here. It does not stop a second opening within the process: ``_held`` does.
    And it ends when the process closes any descriptor of the file, say after copying it: the writer calls
    ``hold`` every now and then, which takes it again.
    """

    _held: ClassVar[set[tuple[int, int]]] = set()
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path) -> None:
        if sys.platform == "win32":
            raise StoreError("a store needs the file locks of Linux or macOS: run without one")
        self._path = path
        self.created = False
        """Whether there was no such file before."""
        with self._guard, reported(path):
            # Opening and closing the file would end the lock of another store in this process: look first.
            if path.exists() and _inode(path.stat()) in self._held:
                raise StoreError(f"{path} is already open in this process ({os.getpid()}): close it first")
            flags = os.O_RDWR | os.O_CLOEXEC
            try:
                self._descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
                self.created = True
            except FileExistsError:
                self._descriptor = os.open(path, flags | os.O_CREAT, 0o666)
            try:
                status = os.fstat(self._descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise StoreError(f"{path} is not a regular file: choose another name")
                self._file = _inode(status)
                self.hold()
            except BaseException:
                os.close(self._descriptor)
                raise
            self._held.add(self._file)

    def hold(self) -> None:
        """Take the lock, or take it again; raises if another process has it or the file is gone."""
        with suppress(FileNotFoundError):
            if _inode(os.stat(self._path)) == self._file:
                try:
                    fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
                    return
                except OSError as error:
                    if error.errno not in (errno.EAGAIN, errno.EACCES):
                        raise
                raise StoreError(f"{self._path} is in use by {self._holder()}: wait, or choose another file")
        raise StoreError(f"{self._path} was deleted or replaced while in use: restore it, or start again")

    def _holder(self) -> str:
        with suppress(StoreError):
            return History(self._path).holder() or "another process"
        return "another process"

    def first_bytes(self, count: int) -> bytes:
        """The beginning of the file, read without opening it again."""
        return os.pread(self._descriptor, count, 0)

    def release(self) -> None:
        """Let go of the file. SQLite must have closed it before: this ends all POSIX locks on it."""
        if self._file in self._held:
            self._held.remove(self._file)
            os.close(self._descriptor)


def _inode(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
