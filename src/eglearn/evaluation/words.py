"""What exceptions and values of others look like in a message: one line, not too long, whatever they do."""

from __future__ import annotations

import signal
from typing import Any

LONGEST_TEXT = 2000  # characters: each failed evaluation keeps its text, and a store keeps them all


def brief(text: str, limit: int = LONGEST_TEXT) -> str:
    r"""A text in one line, without its middle if it is long.

    Examples
    --------
    >>> brief("no  mesh\nat cell 7")
    'no mesh at cell 7'
    >>> brief("0123456789" * 3, 15)
    '01234 ... 56789'
    """
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    half, odd = divmod(limit - 5, 2)
    return f"{line[: half + odd]} ... {line[-half:]}"


def visible(text: str) -> str:
    r"""Text that a terminal shows and does not obey: control characters and the like are spelled out.

    Examples
    --------
    >>> visible("no \x1b[31mmesh\n")
    'no \\x1b[31mmesh\\n'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(value: Any) -> str:
    """The representation of a value, in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def named(error: BaseException) -> str:
    """An exception by type and text; the text is the user's to compute, and may fail."""
    try:
        text = brief(str(error))
    except Exception:
        text = "its text cannot be shown"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def describe(error: BaseException) -> str:
    r"""An exception of an objective in one line.

    Examples
    --------
    >>> describe(ValueError("two\nlines"))
    'the objective raised ValueError: two lines'
    """
    return f"the objective raised {named(error)}"


def ending(code: int) -> str:
    """How a process ended, by its exit code as ``subprocess`` gives it.

    Examples
    --------
    >>> ending(3), ending(-9)
    ('ended with exit code 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"ended with exit code {code}" + (" and no answer" if code == 0 else "")
    return f"was killed by {signal.Signals(-code).name if -code in set(signal.Signals) else f'signal {-code}'}"
