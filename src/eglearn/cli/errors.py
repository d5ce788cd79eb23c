"""From exceptions to one sentence and an exit code."""

from __future__ import annotations

from ..evaluation import ObjectiveError
from ..evaluation.words import visible
from ..store import StoreError

ERROR, USAGE, ALL_FAILED, STORE, INTERRUPTED = 1, 2, 3, 4, 130


class Failure(Exception):
    """Something the user has to see to; the message is one sentence that says what to do."""

    code = ERROR


class Usage(Failure):
    """A wrong command line or configuration file."""

    code = USAGE


def installing(extra: str) -> str:
    """How to get the packages of an extra."""
    return f"pip install 'eglearn[{extra}]' (in a checkout: pip install '.[{extra}]')"


def exit_code(error: BaseException) -> int:
    """The exit code for an exception that ended a command."""
    if isinstance(error, Failure):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return STORE if isinstance(error, StoreError) else ERROR


def sentence(error: BaseException) -> str:
    """What the user reads about an exception, on one line."""
    text = visible(" ".join(str(error).split()))
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, Failure | ImportError | StoreError | ObjectiveError):
        return text
    if isinstance(error, OSError):
        name = visible(str(error.filename or "a file"))
        return f"{name} cannot be used ({error.strerror or text}): check its name and its folder"
    return f"unexpected {type(error).__name__} ({text}): run it again with --debug to see where it comes from"
