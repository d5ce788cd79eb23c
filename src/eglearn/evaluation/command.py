"""An external program as objective: kept alive and asked by JSON lines, or started once for each point."""

from __future__ import annotations

import json
import pickle
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from .._typing import Array
from .once import FILE, POINT, Once, is_template
from .program import Program
from .python_worker import PythonWorker, worker_question

_PROTOCOL = 'for each line {"id": 0, "x": [0.5, -1.0]} on its standard input it writes a line {"id": 0, "y": 1.25}'


@dataclass(frozen=True, init=False)
class Command:
    """An external program that computes the objective.

    The program is started once for each worker and is kept alive. For each point it reads one line from its
    standard input, ``{"id": 0, "x": [0.5, -1.0]}``, and writes one line to its standard output (and flushes
    it): ``{"id": 0, "y": 1.25}``, or just ``1.25``, or ``{"id": 0, "error": "why"}``. ``id`` counts the points of the
    run from 0 on and is the same when a point is tried again; a program that has named it once must always do so.
    Numbers are written so that they read back exactly. Its standard error is not shown; the last line is quoted if
    the program dies. When its input ends, the program should end too. A program that dies, hangs beyond the timeout,
    answers nonsense or more than one line is started anew; the time to start counts for the first point.

    With ``once=True`` it is started for each point, with the point in its arguments: ``{x}`` as a word of its own
    becomes one argument for each coordinate, within a word the coordinates with commas between them, and ``{file}``
    the path of a temporary file with one coordinate on each line. The last line of its standard output that is not
    empty must be a number, or JSON such as ``{"y": 1.25}``; an exit code other than 0 fails the point.

    Parameters
    ----------
    command
        A command line, split into words as a shell would do (but no shell runs it), or the words themselves.
    once
        Whether the program is started once for each point.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from eglearn.evaluation import make_evaluator
    >>> program = "import json, sys; [print(json.loads(s)['x'][0] ** 2, flush=True) for s in sys.stdin]"
    >>> command = Command([sys.executable, "-c", program])
    >>> evaluator = make_evaluator(command)
    >>> evaluator.submit(0, np.array([3.0]))
    >>> [(index, outcome.y) for index, outcome in evaluator.wait()]
    [(0, 9.0)]
    >>> evaluator.close()
    """

    words: tuple[str, ...]
    once: bool

    def __init__(self, command: str | Sequence[str], *, once: bool = False) -> None:
        if isinstance(command, str):
            try:
                words = tuple(shlex.split(command))
            except ValueError as error:
                raise ValueError(f"the command {command!r} cannot be split into words ({error})") from None
        elif isinstance(command, Sequence) and all(isinstance(word, str) for word in command):
            words = tuple(command)
        else:
            raise TypeError(f"command = {command!r}: it must be a text, or a list of words")
        if not words:
            raise ValueError("the command is empty: name a program, as in './simulate --mesh fine'")
        if once and not is_template(words):
            raise ValueError(f"the command {command!r} has no place for the point: write {POINT} or {FILE} there")
        if not once and is_template(words):
            raise ValueError(
                f"the command {command!r} has a place for the point, which a program has that is started once for "
                f"each: say once=True; a program without once is kept alive, and {_PROTOCOL}"
            )
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "once", bool(once))

    @property
    def noun(self) -> str:
        """What messages call it."""
        return "program"

    @property
    def announces(self) -> bool:
        """An external program says nothing but answers; one that is started for each point is run by a worker."""
        return self.once

    def check(self) -> None:
        """Raise if there is no such program here."""
        if not is_template(self.words[:1]) and shutil.which(self.words[0]) is None:
            hint = "give the path of an executable file, as in './simulate'"
            raise ValueError(f"the program {self.words[0]!r} was not found or is not executable: {hint}")

    def start(self) -> Program:
        """Start the program, or the worker that starts it for each point."""
        if not self.once:
            return Program(self._launch)
        folder = tempfile.mkdtemp(prefix="eglearn-") if any(FILE in word for word in self.words) else None
        try:
            program = PythonWorker(pickle.dumps(Once(self.words, folder))).start()
        except BaseException:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        program.folder = folder
        return program

    def _launch(self, reads: int, writes: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.words, stdin=reads, stdout=writes, stderr=subprocess.PIPE, process_group=0)

    def question(self, number: int, point: Array) -> bytes:
        """The line for one point; ``json`` writes the shortest digits that read back exactly."""
        if self.once:
            return worker_question(number, point)
        return json.dumps({"id": number, "x": point.tolist()}).encode() + b"\n"
