"""The line that a program answers for one point."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from .base import checked
from .mistake import Mistake, retold
from .words import brief, shown

LONGEST_LINE = 1 << 20  # bytes; more than this is no answer

_C_NUMBER = re.compile(rb"\s*[+-]?(nan|inf|infinity|[0-9]+\.?[0-9]*(e[+-]?[0-9]+)?|\.[0-9]+(e[+-]?[0-9]+)?)\s*", re.I)


class Answer(NamedTuple):
    """A value, or the reason why there is none."""

    y: float
    error: str | None
    seconds: float | None = None
    """How long the program says it took."""
    understood: bool = True
    """False if the line was no answer to the question: the program is then out of step."""
    id: Any = None
    """The number that the answer names, if it names one."""
    lost: bool = False
    mistake: Mistake | None = None
    """These two only from our own workers: see ``Outcome``."""


def parse(line: bytes, number: int | None, ours: bool = False) -> Answer:
    """Read the answer to the question with that number.

    Parameters
    ----------
    line : bytes
        What the program wrote.
    number : int or None
        Which number it has to name if it names one; None if it was not told any.
    ours : bool
        Whether the program is a worker of ours, which tells more of a failure.

    Examples
    --------
    >>> parse(b'{"id": 7, "y": 1.5}', 7)[:2]
    (1.5, None)
    >>> parse(b"1.5", 7).y
    1.5
    >>> parse(b'{"error": "no mesh"}', 7).error
    'no mesh'
    >>> parse(b'{"id": 6, "y": 1.5}', 7).error
    'the program answered number 6 when asked for number 7'
    """
    if len(line) > LONGEST_LINE:
        return nonsense(f"the program answered a line of more than {LONGEST_LINE} bytes, not a JSON line")
    try:
        return _parse(line, number, ours)
    except RecursionError:
        return nonsense("the program's answer is nested too deeply")


def _parse(line: bytes, number: int | None, ours: bool) -> Answer:
    try:
        said: Any = json.loads(line.decode())
    except ValueError:
        if not _C_NUMBER.fullmatch(line):  # "nan", "inf" and "1." as C and Perl print them
            hint = "messages belong on its standard error"
            return nonsense(f"the program answered {quoted(line)}, not a JSON line: {hint}")
        said = float(line)
    if not isinstance(said, dict):
        return Answer(*checked(said))
    named = said.get("id")
    if "id" in said and number is not None and named != number:
        return nonsense(f"the program answered number {shown(named)} when asked for number {number}", named)
    answer = _judged(said)._replace(id=named)
    if ours:
        answer = answer._replace(lost=said["lost"], mistake=retold(said["mistake"]) if said["mistake"] else None)
    return answer


def _judged(said: dict[str, Any]) -> Answer:
    seconds = None
    if said.get("seconds") is not None:
        seconds, wrong = checked(said["seconds"])
        if wrong is not None or seconds < 0:
            return Answer(math.nan, 'the program\'s "seconds" is no number of seconds')
    if said.get("error") is not None:
        return Answer(math.nan, brief(str(said["error"])) or "the program reports an error, but not which", seconds)
    if "y" not in said:
        return Answer(math.nan, 'the program\'s answer has neither "y" nor "error"', seconds)
    return Answer(*checked(said["y"]), seconds)


def nonsense(reason: str, named: Any = None) -> Answer:
    """A line that is no answer to the question."""
    return Answer(math.nan, reason, None, False, named)


def quoted(line: bytes) -> str:
    """A line for a message."""
    return repr(brief(line.decode(errors="replace"), 60))
