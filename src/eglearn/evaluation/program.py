"""A child process that is spoken to in lines and that this process never has to wait for."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Protocol

from .._typing import Array
from .answer import LONGEST_LINE
from .guard import GUARD
from .words import ending

Launch = Callable[[int, int], "subprocess.Popen[bytes]"]
"""Starts the child; the two arguments are the descriptors that it reads from and writes to."""

CHUNK = 1 << 16


class Program:
    """One child process: bytes go out, whole lines come in, and only ``stop`` ever waits.

    Pipes are non-blocking because a child may stop reading in the middle of a long point, and then the
    parent must still be able to notice that the time is over. The child leads a process group of its own:
    a kill reaches what the child has started, and Ctrl-C in the terminal reaches only the parent.
    """

    _stopped = True  # until there is something to stop
    folder: str | None = None
    """A folder that is removed when the program is stopped."""

    def __init__(self, launch: Launch) -> None:
        self._owner = os.getpid()
        child_reads, self._output = os.pipe()
        self._input, child_writes = os.pipe()
        try:
            self._process = launch(child_reads, child_writes)
        except BaseException:
            os.close(self._output)
            os.close(self._input)
            raise
        finally:
            os.close(child_reads)
            os.close(child_writes)
        stderr = self._process.stderr
        self._messages = stderr.fileno() if stderr else None
        for descriptor in (self._output, self._input, self._messages):
            if descriptor is not None:
                os.set_blocking(descriptor, False)
        self._to_send, self._heard, self._said = bytearray(), bytearray(), bytearray()
        self._hung_up = self._killed = False
        GUARD.watch(self._process.pid)
        self.refused = False  # the child stopped reading before it had all that was sent
        self._stopped = False

    def __del__(self) -> None:
        self.stop()  # for a pool that was never closed, and for Ctrl-C just after a start

    def send(self, data: bytes) -> None:
        """Queue ``data`` for the child."""
        self._to_send += data
        self._write()

    def _write(self) -> None:
        while self._to_send:
            try:
                written = os.write(self._output, self._to_send[:CHUNK])
            except BlockingIOError:
                return
            except OSError:  # nobody reads any more; listen() tells whether the child has ended
                self.refused = True
                self._to_send.clear()
                return
            del self._to_send[:written]

    def watched(self) -> tuple[list[int], list[int]]:
        """Descriptors that may become readable, and those that wait for room to write."""
        readable = [self._input] if self._messages is None else [self._input, self._messages]
        return readable, [self._output] if self._to_send else []

    def listen(self) -> tuple[list[bytes], bool]:
        """Whole lines that have arrived, and whether the child has ended and will say no more."""
        dead = self._dead()  # asked before reading: what a dead child wrote is then already in the pipe
        self._write()
        self._read_messages()
        new = self._read(self._input)
        self._heard += new or b""
        *lines, rest = self._heard.split(b"\n")
        if len(rest) > LONGEST_LINE:  # no answer any more: its length says so
            lines, rest = [*lines, rest], bytearray()
        self._heard = rest
        return [bytes(line) for line in lines], new == b"" or (dead and new is None)

    def _read_messages(self) -> None:
        if self._messages is not None and (said := self._read(self._messages)) is not None:
            self._said += said
            del self._said[:-4096]
            if not said:
                self._messages = None  # closed by the child: it would count as readable for ever

    @staticmethod
    def _read(descriptor: int) -> bytes | None:
        """What is there; None if nothing is there yet, empty if nothing will come any more."""
        try:
            return os.read(descriptor, CHUNK)
        except BlockingIOError:
            return None

    def _dead(self) -> bool:
        """Whether the child has ended; it is left unreaped, so that its number is not given to another."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def hang_up(self) -> None:
        """Close the child's input, which asks it to end."""
        if not self._hung_up:
            self._hung_up = True
            self._to_send.clear()
            os.close(self._output)

    def stop(self, grace: float = 0.0) -> None:
        """End the child and all that it started, by force after ``grace`` seconds."""
        if self._stopped or os.getpid() != self._owner:  # a fork of the parent has nothing to stop here
            return
        self._stopped = True
        self.hang_up()
        until = time.monotonic() + grace
        while not self._dead() and time.monotonic() < until:
            time.sleep(0.005)
        self._killed = not self._dead()
        self._read_messages()
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        GUARD.forget(self._process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: no signal can help
            self._process.wait(timeout=5)
        os.close(self._input)
        if self._process.stderr:
            self._process.stderr.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def left(self) -> bool:
        """After ``stop``: the child had ended by itself and without an error."""
        return not self._killed and self._process.returncode == 0

    def epitaph(self) -> str:
        """After ``stop``: how the child ended, in a few words, with the last line of its messages."""
        how = "closed its output" if self._killed else ending(self._process.returncode)
        return how + self.last_message()

    def last_message(self) -> str:
        """The last line on the child's standard error, in the form of an end of a sentence."""
        lines = self._said.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"; its last message was {last[-200:]!r}" if last else ""


class Recipe(Protocol):
    """How to start a kind of program and how to put a point to it."""

    @property
    def noun(self) -> str:
        """What messages call such a program."""

    @property
    def announces(self) -> bool:
        """Whether it writes a line when it is ready for its first point, and when it begins with a point."""

    def start(self) -> Program:
        """Start one."""

    def question(self, number: int, point: Array) -> bytes:
        """The line that asks for the value at a point."""
