"""The line that a program answers for one point."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from .base import checked


class Answer(NamedTuple):
    """A value, or the reason why there is none."""

    y: float
    error: str | None
    seconds: float | None = None
    """How long the program says it took."""
    understood: bool = True
    """False if the line was no answer to the question: the program is then out of step."""


def parse(line: bytes, number: int) -> Answer:
    """Read the answer to the question with that number.

    Examples
    --------
    >>> parse(b'{"id": 7, "y": 1.5}', 7)
    Answer(y=1.5, error=None, seconds=None, understood=True)
    >>> parse(b"1.5", 7).y
    1.5
    >>> parse(b'{"error": "no mesh"}', 7).error
    'no mesh'
    >>> parse(b'{"id": 6, "y": 1.5}', 7).error
    'the program answered number 6 when asked for number 7'
    """
    try:
        said: Any = json.loads(line)
    except ValueError:
        try:
            said = float(line)  # "nan" and "inf" as C and Perl print them
        except ValueError:
            text = line.decode(errors="replace").strip()
            text = text if len(text) <= 60 else text[:57] + "..."
            hint = "messages belong on its standard error"
            return Answer(math.nan, f"the program answered {text!r}, not a JSON line: {hint}", None, False)
    if not isinstance(said, dict):
        return Answer(*checked(said))
    if said.get("id", number) != number:
        reason = f"the program answered number {said['id']!r} when asked for number {number}"
        return Answer(math.nan, reason, None, False)
    seconds = said.get("seconds")
    seconds = float(seconds) if isinstance(seconds, int | float) else None
    if said.get("error") is not None:
        return Answer(math.nan, " ".join(str(said["error"]).split()), seconds)
    if "y" not in said:
        return Answer(math.nan, 'the program\'s answer has neither "y" nor "error"', seconds)
    return Answer(*checked(said["y"]), seconds)
