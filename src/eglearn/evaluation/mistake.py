"""Exceptions that only a mistake in the program raises, and how they travel from a worker to the user."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Callable, Sequence

KINDS = (NameError, AttributeError, TypeError, ImportError, SyntaxError)
LONGEST_TRACE = 8000  # characters of a traceback; its end says most


class RemoteTraceback(Exception):
    """The traceback of an exception in another process, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}" if self.args else ""


class Mistake:
    """An exception with its traceback; in another process it becomes one of the same kind with that as text."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def told(self) -> tuple[str, str, str]:
        """Kind, text and traceback, as ``retold`` takes them."""
        error = self.error
        kind = next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
        try:
            text, trace = str(error), "".join(traceback.format_exception(error))
        except Exception:  # the user's exception may fail to be shown
            text, trace = type(error).__name__, ""
        return kind, text[:LONGEST_TRACE], trace[-LONGEST_TRACE:]

    def __reduce__(self) -> tuple[Callable[..., Mistake], tuple[Sequence[str]]]:
        return retold, (self.told(),)


def retold(told: Sequence[str]) -> Mistake:
    """The mistake that another process has told of.

    Examples
    --------
    >>> retold(Mistake(NameError("name 'sqr' is not defined")).told()).error
    NameError("name 'sqr' is not defined")
    """
    kind, text, trace = told
    error: BaseException = getattr(builtins, kind)(text)
    error.__cause__ = RemoteTraceback(trace)
    return Mistake(error)


def mistake_in(error: BaseException) -> Mistake | None:
    """The exception as a mistake, if it is one; the frame that caught it is left out of its traceback."""
    if not isinstance(error, KINDS):
        return None
    trace = error.__traceback__
    return Mistake(error.with_traceback(trace.tb_next if trace is not None else None))
