"""A program that is started once for each point: what runs it, in a worker process."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from .._typing import Array
from .answer import LONGEST_LINE, parse
from .words import ending

POINT, FILE = "{x}", "{file}"


class FailedError(Exception):
    """A program failed; the text is the whole reason."""


class LostError(Exception):
    """A program could not be started; the text is the whole reason."""


def is_template(words: Sequence[str]) -> bool:
    """Whether a command has a place for the point.

    Examples
    --------
    >>> is_template(["./simulate", "--at", "{x}"]), is_template(["./simulate"])
    (True, False)
    """
    return any(POINT in word or FILE in word for word in words)


def filled(words: Sequence[str], point: Array, file: str) -> list[str]:
    """The command for one point: numbers are written so that they read back exactly.

    Examples
    --------
    >>> import numpy as np
    >>> filled(["sim", "{x}", "--at={x}", "{file}"], np.array([0.5, -1.0]), "p.txt")
    ['sim', '0.5', '-1.0', '--at=0.5,-1.0', 'p.txt']
    """
    numbers = [repr(value) for value in point.tolist()]
    given: list[str] = []
    for word in words:
        given += numbers if word == POINT else [word.replace(POINT, ",".join(numbers)).replace(FILE, file)]
    return given


@dataclass(frozen=True)
class Once:
    """An objective that starts a program for each point and reads the last line of its output."""

    words: tuple[str, ...]
    folder: str | None
    """Where the file with the point is written, if the command asks for one; who made the folder removes it."""

    def __call__(self, point: Array) -> float:
        """The value that the program gives for a point."""
        file = ""
        if self.folder is not None:
            file = os.path.join(self.folder, "point.txt")
            with open(file, "w", encoding="ascii") as out:
                out.writelines(f"{value!r}\n" for value in point.tolist())
        # Files, not pipes: a program may write much to either, and leave others behind that hold them open.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
            try:
                code = subprocess.run(
                    filled(self.words, point, file),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=messages,
                    check=False,
                ).returncode
            except OSError as error:
                raise LostError(f"the program could not be started ({error})") from None
            return _value(code, _last_line(output), _last_line(messages))


def _value(code: int, line: bytes, message: bytes) -> float:
    said = f"; its last message was {message.decode(errors='replace')[-200:]!r}" if message else ""
    if code:
        raise FailedError(f"the program {ending(code)}{said}")
    if not line:
        raise FailedError(f"the program wrote no answer to its standard output{said}")
    answer = parse(line, None)
    if answer.error is not None:
        raise FailedError(answer.error)
    return answer.y


def _last_line(file: IO[bytes]) -> bytes:
    """The last line with anything in it; empty if there is none, or none short enough for an answer."""
    start = max(0, file.seek(0, os.SEEK_END) - LONGEST_LINE)
    file.seek(start)
    text = file.read()
    if start:
        text = text.partition(b"\n")[2]  # without the line that was cut
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), b"")
