"""A Python process as a program: this side starts it and ships the objective, ``child`` is the other side."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from .._typing import Array
from .program import Program


def pack(fun: Any) -> bytes:
    """An objective as bytes, lambdas and closures too."""
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        raise ImportError(
            "other processes (for workers other than 1, or for a timeout) need the package cloudpickle: "
            "pip install 'eglearn[parallel]'"
        ) from None
    try:
        return bytes(cloudpickle.dumps(fun))
    except Exception as error:  # what pickling raises depends on what is pickled
        text = " ".join(str(error).split())
        raise TypeError(
            f"the objective {fun!r} cannot be sent to another process ({text}): "
            "create what it cannot carry inside the function, or use workers=1 without a timeout"
        ) from None


@dataclass(frozen=True)
class PythonWorker:
    """A Python process that holds a packed objective; the objective is sent once, when the process starts."""

    packed: bytes

    @property
    def noun(self) -> str:
        """What messages call it."""
        return "worker"

    @property
    def announces(self) -> bool:
        """It says when it is ready and when it begins, so that only the evaluation itself counts."""
        return True

    def start(self) -> Program:
        """Start a process and send it the objective."""
        program = Program(self._launch)
        program.send(b"%d\n" % len(self.packed) + self.packed)
        return program

    def _launch(self, reads: int, writes: int) -> subprocess.Popen[bytes]:
        # A plain interpreter rather than multiprocessing: it does not run the user's script a second time,
        # so that no `if __name__ == "__main__"` is needed, and it leaves no tracker process behind.
        path = [entry for entry in sys.path if isinstance(entry, str)]
        code = f"import sys; sys.path[:] = {path!r}; from eglearn.evaluation.child import main; main({reads}, {writes})"
        flags = [*["-O"] * sys.flags.optimize, *(f"-W{option}" for option in sys.warnoptions)]
        return subprocess.Popen(
            [sys.executable, *flags, "-c", code],
            stdin=subprocess.DEVNULL,
            pass_fds=(reads, writes),
            process_group=0,
        )

    def question(self, number: int, point: Array) -> bytes:
        """The line for one point."""
        return worker_question(number, point)


def worker_question(number: int, point: Array) -> bytes:
    """A point for a Python worker, as hexadecimal bytes: exact, and far quicker than decimal digits."""
    return b"%d %s\n" % (number, point.astype("<f8").tobytes().hex().encode())
