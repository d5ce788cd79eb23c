"""Ctrl-C and SIGTERM at moments when nothing can be lost.

A signal interrupts Python between any two instructions: also between the end of an evaluation and the moment when
its value is kept, or in the middle of learning. So while a run goes on in the main thread, its own handler decides.
If the signal comes while we wait, for the user's function or for workers, it raises KeyboardInterrupt there. If
not, it is remembered, and ``check`` raises at the next safe place. A second signal, if it is not just an echo of the
first, raises at once.

Handlers that the user has installed are left alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, TypeVar

ECHO = 1.0  # seconds in which a second signal is taken for the first: a terminal and a wrapper may both send one

_Function = TypeVar("_Function", bound=Callable[..., Any])
_WAITS, _CALLS, _KEEPS = "waits", "calls", "keeps"
_marked: dict[CodeType, str] = {}
_current: Interrupts | None = None


def waits(function: _Function) -> _Function:
    """Mark a function that only waits: it may be interrupted anywhere."""
    _marked[function.__code__] = _WAITS
    return function


def calls(function: _Function) -> _Function:
    """Mark a function that calls the code of others: that may be interrupted, the function itself not."""
    _marked[function.__code__] = _CALLS
    return function


def keeps(function: _Function) -> _Function:
    """Mark a function that may not be interrupted, nor what it calls, but for functions with another mark."""
    _marked[function.__code__] = _KEEPS
    return function


def _may_stop(inner: FrameType | None) -> bool:
    frame = inner
    while frame is not None:
        mark = _marked.get(frame.f_code)
        if mark is not None:
            return mark == _WAITS or (mark == _CALLS and frame is not inner)
        frame = frame.f_back
    return True


class Interrupts:
    """The handler of a run."""

    def __init__(self) -> None:
        self.owner, self.thread = os.getpid(), threading.get_ident()
        self.first: float | None = None  # when the first signal came
        self.number = 0
        self.previous: dict[int, Any] = {}

    def install(self) -> None:
        """Take the place of the default handlers."""
        for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(number) is default:
                self.previous[number] = signal.signal(number, self.handle)

    def restore(self) -> None:
        """Put the default handlers back."""
        for number, handler in self.previous.items():
            if signal.getsignal(number) == self.handle:
                signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt now, or remember the signal."""
        if os.getpid() != self.owner:  # a fork, such as a worker of an executor: no business of the run's
            self.restore()
            signal.raise_signal(number)
            return
        now = time.monotonic()
        insists = self.first is not None and now - self.first > ECHO
        if self.first is None:
            self.first, self.number = now, number
        if insists or _may_stop(frame):
            raise KeyboardInterrupt

    def acted(self) -> None:
        """The run has ended because of the signal: that was its purpose."""
        self.first = None


@contextlib.contextmanager
def handled() -> Iterator[Interrupts]:
    """Handle signals while the body runs, if this is the main thread and no other run does it already."""
    global _current
    mine = Interrupts()
    nested = _current is not None and _current.owner == mine.owner
    if nested or threading.current_thread() is not threading.main_thread():
        yield mine
        return
    _current = mine
    try:
        mine.install()
        yield mine
    finally:
        _current = None
        mine.restore()
    if mine.first is not None:  # it came too late to end the run: it is for the caller
        signal.raise_signal(mine.number)


def pending() -> bool:
    """Whether a signal waits to be acted on in this thread."""
    mine = _current
    return (
        mine is not None
        and mine.first is not None
        and mine.thread == threading.get_ident()
        and mine.owner == os.getpid()
    )


def check() -> None:
    """Raise KeyboardInterrupt if a signal has come."""
    if pending():
        raise KeyboardInterrupt
