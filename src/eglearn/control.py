"""What somebody who watches a run wishes: that it pauses, stops, or gets a larger budget.

A wish is a small file beside the run's own (``run.egl-control``), replaced as a whole by whoever wishes. The run looks
for it after each group of answers; that it is there costs a microsecond to find out. Whoever may write this file may
also write that of the run, so it opens no new door.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .evaluation.interrupts import check, waits
from .store.connection import neighbour

if TYPE_CHECKING:
    from .loop import RunLoop
    from .store import History

_ENDING = "-control"
_LONGEST_FILE = 1000  # bytes of the file
_LOOK_SECONDS = 0.1  # between two looks during a pause


@dataclass(frozen=True)
class Wishes:
    """What a run is asked to do."""

    pause: bool = False
    stop: bool = False
    budget: int = 0
    """Evaluations in total; 0, or fewer than it has: no wish."""


def wishes(path: str | os.PathLike[str]) -> Wishes:
    """What is wished of the run in this file; what cannot be understood is no wish."""
    try:
        with open(neighbour(Path(path), _ENDING), "rb") as file:
            told = json.loads(file.read(_LONGEST_FILE))
        given = {name: told[name] for name, kind in _WISHES.items() if type(told.get(name)) is kind}
    except (OSError, ValueError, AttributeError, RecursionError):
        return Wishes()
    return Wishes(**given)


_WISHES: dict[str, Any] = {"pause": bool, "stop": bool, "budget": int}


def wish(path: str | os.PathLike[str], **changes: Any) -> Wishes:
    """Wish something more of the run in this file, or take a wish back.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = os.path.join(folder, "run.egl")
    ...     wish(run, pause=True)
    ...     wish(run, pause=False, budget=500) == wishes(run)
    Wishes(pause=True, stop=False, budget=0)
    True
    """
    now = replace(wishes(path), **changes)
    target = neighbour(Path(path), _ENDING)
    part = target.with_name(f"{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(now), file)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return now


class Control:
    """The run's side: it obeys what is wished while it runs.

    Parameters
    ----------
    loop
        The run.
    """

    def __init__(self, loop: RunLoop) -> None:
        self._loop, self._store = loop, loop.store
        self.paused = 0.0
        """Seconds that the run has waited."""
        if self._store is not None and len(self._store.begun()) > 1:
            self.hear()  # a killed process had no time to
        self.close()  # what else was wished before was meant for an earlier part of the run

    def obey(self) -> bool:
        """Wait while a pause is wished, and return whether to stop."""
        told = self.hear()
        if self._store is not None and _holds(told):
            begun = time.monotonic()
            self._store.pause()
            try:
                while _holds(told := self.hear()):
                    _wait()
                    check()
            finally:  # also if it is interrupted meanwhile
                self._store.go_on()
                self.paused += time.monotonic() - begun
        return told.stop

    def hear(self) -> Wishes:
        """What is wished now. A larger budget is stored at once, so that the run has it whenever it goes on."""
        if self._store is None:
            return Wishes()
        told = wishes(self._store.path)
        self._loop.grow(told.budget)
        return told

    def close(self) -> None:
        """Take the wishes away: the run has ended, or begins."""
        if self._store is not None:
            with suppress(OSError):
                neighbour(self._store.path, _ENDING).unlink(missing_ok=True)


def _holds(told: Wishes) -> bool:
    return told.pause and not told.stop


@waits
def _wait() -> None:
    time.sleep(_LOOK_SECONDS)


def is_running(history: History) -> bool:
    """Whether a process is writing the file; on another machine, where we cannot look, it is taken to live."""
    holder = history.holder()
    return neighbour(history.path, "-wal").exists() and holder is not None and _lives(holder)


def _lives(holder: str) -> bool:
    found = re.fullmatch(r"process (\d+) on (.*)", holder)
    if found is None or found[2] != socket.gethostname():
        return True
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, and is somebody else's
        return True
    return True
