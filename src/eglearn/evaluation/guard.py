"""A process that ends what this process has started, should this process be killed.

A process that gets SIGKILL cannot end its children. Python workers notice that their input has ended, but not while
they hold Python's lock, and other programs may never look. So one guard for each process knows the process groups of
all its programs, and kills them when it finds itself without its parent. It is a bare interpreter: this file, run
as a script, without NumPy and without the user's modules.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

LOOK = 1.0  # seconds between two looks at who the parent is


class Guard:
    """The near side: starts the guard with the first program, and tells it of all of them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # garbage collection may stop a program at any moment
        self._owner = 0
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        """A program was started that leads this process group."""
        with self._lock:
            if self._owner != os.getpid():  # the first, or a fork of the process that has the guard
                self._owner, self._process, self._groups = os.getpid(), None, set()
                atexit.register(self._end, os.getpid())
            self._groups.add(group)
            if self._process is None:
                # Without a guard all works, but for what it is there for; an embedded Python has no executable.
                with contextlib.suppress(OSError, TypeError):
                    self._process = self._start()
            self._tell(b"+%d\n" % group)

    def forget(self, group: int) -> None:
        """That program has ended, but is not reaped yet, so that no other process can have its number."""
        with self._lock:
            if self._owner == os.getpid():
                self._groups.discard(group)
                self._tell(b"-%d\n" % group)

    def rest(self) -> None:
        """End the guard if there is nothing to watch; the next program starts one again."""
        with self._lock:
            if not self._groups:
                self._end(os.getpid())

    @staticmethod
    def _start() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-I", "-S", __file__, str(os.getpid())]
        null = subprocess.DEVNULL
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=null, stderr=null, process_group=0)

    def _end(self, owner: int) -> None:
        process = self._process
        if owner != self._owner or process is None or process.stdin is None:
            return
        self._tell(b"end\n")  # said, since a fork of this process may keep the pipe open
        self._process = None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)

    def _tell(self, line: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # somebody has killed the guard
                os.write(self._process.stdin.fileno(), line)


GUARD = Guard()


def watch(parent: int) -> None:
    """The far side: read of programs, and kill those that are left when the parent ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what ends the parent must not end its guard first
    groups: set[int] = set()
    for line in _lines(parent):
        if line == b"end":
            break
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def _lines(parent: int) -> Iterator[bytes]:
    """What the parent tells, as long as it is there; a fork of it may keep the pipe open for longer."""
    heard = b""
    while True:
        if select.select([0], [], [], LOOK)[0]:  # first, so that what a dead parent has said is heard
            new = os.read(0, 4096)
            if not new:
                return
            *lines, heard = (heard + new).split(b"\n")
            yield from lines
        elif os.getppid() != parent:
            return


if __name__ == "__main__":
    watch(int(sys.argv[1]))
