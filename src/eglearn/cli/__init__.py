"""The command ``eglearn``: run, resume, show, export, report, backup, and more.

Exit codes:

| code | meaning |
|---|---|
| 0 | success |
| 1 | an error: the objective cannot be loaded or is wrong, workers are lost, a package is missing, ... |
| 2 | wrong usage: an unknown option, or a value that is not allowed |
| 3 | all evaluations failed |
| 4 | the store failed: it cannot be read or written, is in use, or holds another run |
| 130 | interrupted by Ctrl-C; ``eglearn resume`` continues |

Every error is one sentence on standard error; ``--debug`` adds the traceback.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from .. import __version__
from .errors import Failure, exit_code, installing, sentence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv
        The words after the program's name; None takes those of this process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # whoever started us has closed it; no other file may get its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        if words == ["--version"]:
            sys.stdout.write(f"{__version__}\n")
            return 0
        return _launch(words)
    except BrokenPipeError:  # the reader of our output, such as `head`, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        sys.stderr.write(f"eglearn: {sentence(error)}\n")
        return exit_code(error)


def _launch(words: list[str]) -> int:
    try:
        for package in ("cyclopts", "rich"):
            importlib.import_module(package)
    except ImportError as error:
        raise Failure(f"the command line needs two more packages: {installing('cli')}") from error
    from .app import launch

    return launch(words)
