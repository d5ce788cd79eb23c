"""An external program as objective: one JSON line in for each point, one JSON line out."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from .._typing import Array
from .program import Program


@dataclass(frozen=True, init=False)
class Command:
    """An external program that computes the objective.

    The program is started once for each worker and is kept alive. For each point it reads one line from its
    standard input, ``{"id": 0, "x": [0.5, -1.0]}``, and writes one line to its standard output (and flushes
    it): ``{"id": 0, "y": 1.25}``, or just ``1.25``, or ``{"error": "why"}``. ``id`` numbers the points from 0
    on and is the same when a point is tried again. Numbers are written so that they read back exactly. Its
    standard error is not shown; the last line is quoted if the program dies. When its input ends, the program
    should end too. A program that dies, hangs beyond the timeout or answers nonsense is started anew; the
    time to start counts for the first point.

    Parameters
    ----------
    command
        A command line, split into words as a shell would do (but no shell runs it), or the words themselves.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from eglearn.evaluation import make_evaluator
    >>> program = "import json, sys; [print(json.loads(s)['x'][0] ** 2, flush=True) for s in sys.stdin]"
    >>> command = Command([sys.executable, "-c", program])
    >>> evaluator = make_evaluator(command, workers=2)
    >>> sorted((row, outcome.y) for row, outcome in evaluator.evaluate(np.array([[3.0], [4.0]])))
    [(0, 9.0), (1, 16.0)]
    >>> evaluator.close()
    """

    words: tuple[str, ...]

    def __init__(self, command: str | Sequence[str]) -> None:
        if isinstance(command, str):
            try:
                words = tuple(shlex.split(command))
            except ValueError as error:
                raise ValueError(f"the command {command!r} cannot be split into words ({error})") from None
        else:
            words = tuple(command)
        if not words:
            raise ValueError("the command is empty: name a program, as in './simulate --mesh fine'")
        object.__setattr__(self, "words", words)

    @property
    def noun(self) -> str:
        """What messages call it."""
        return "program"

    @property
    def announces(self) -> bool:
        """An external program says nothing but answers."""
        return False

    def check(self) -> None:
        """Raise if there is no such program here."""
        if shutil.which(self.words[0]) is None:
            hint = "give the path of an executable file, as in './simulate'"
            raise ValueError(f"the program {self.words[0]!r} was not found or is not executable: {hint}")

    def start(self) -> Program:
        """Start the program once."""
        return Program(self._launch)

    def _launch(self, reads: int, writes: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.words, stdin=reads, stdout=writes, stderr=subprocess.PIPE, process_group=0)

    def question(self, number: int, point: Array) -> bytes:
        """The line for one point; ``json`` writes the shortest digits that read back exactly."""
        return json.dumps({"id": number, "x": point.tolist()}).encode() + b"\n"
