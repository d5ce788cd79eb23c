"""What an evaluator is, and how one value of an objective is judged."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import Array
from .mistake import Mistake
from .words import brief, shown

Objective = Callable[[Array], Any]
_NUMBER_TYPES = (numbers.Real, Decimal, np.bool_)  # Fraction and NumPy's numbers are Real, Decimal is not


class _Fields(NamedTuple):
    y: float
    error: str | None = None
    attempts: int = 1
    seconds: float = 0.0
    worker: str = ""
    lost: bool = False
    mistake: Mistake | None = None


class Outcome(_Fields):
    """What became of one point.

    Parameters
    ----------
    y : float
        The value; NaN if the evaluation failed.
    error : str or None
        Why it failed, in one line of limited length.
    attempts : int
        How often the point was tried.
    seconds : float
        Time spent on the last attempt.
    worker : str
        Who evaluated it.
    lost : bool
        Whether the workers are to blame, not the objective: the point has not been evaluated.
    mistake : Mistake or None
        The exception, if it is of a kind that only a mistake in the program raises.

    Examples
    --------
    >>> Outcome(math.nan, "no  mesh").error
    'no mesh'
    >>> len(Outcome(math.nan, 10**6 * "no mesh").error)
    2000
    """

    __slots__ = ()

    def __new__(cls, y: float, error: str | None = None, *others: Any, **named: Any) -> Outcome:
        """Cut the text: whatever an objective or a program says, it is kept for each failed point."""
        return super().__new__(cls, y, None if error is None else brief(error), *others, **named)


Arrivals = list[tuple[int, Outcome]]
"""Outcomes by the index of their point, in order of arrival."""


class Evaluator(Protocol):
    """Runs an objective on points, any number of which may be in flight."""

    @property
    def width(self) -> int:
        """How many points it works on at the same time, as far as that is known now; else 1."""

    def submit(self, index: int, x: Array) -> None:
        """Hand over a point (n,), under a number that no other point in flight has."""

    def wait(self, block: bool = True) -> Arrivals:
        """Wait until an outcome is there, and give all that are, each once; none if nothing is in flight.

        Without ``block``, give those that are there already. A KeyboardInterrupt loses nothing: what has finished is
        given by the next call.
        """

    def cancel(self) -> None:
        """Forget all points in flight: nobody waits for them any more."""

    def close(self) -> None:
        """Stop workers and free what is held; safe to call twice."""


class ObjectiveError(Exception):
    """An objective failed and the user asked for ``on_error="raise"``."""


def checked(value: Any) -> tuple[float, str | None]:
    """A returned value as a float, or NaN and the reason why it is not one.

    Examples
    --------
    >>> checked(np.array([2.0]))
    (2.0, None)
    >>> checked("3")
    (nan, "the objective returned '3' (str), not a number")
    """
    try:
        y, error = _number(value)
    except Exception:  # a user's object may do anything when asked for its array, its number or its text
        return math.nan, f"the objective returned a {type(value).__name__}, not a number"
    if error is None and not math.isfinite(y):
        return math.nan, f"the objective returned {y}"
    return y, error


def _number(value: Any) -> tuple[float, str | None]:
    number = value
    if not isinstance(value, _NUMBER_TYPES):
        if np.ma.is_masked(value):  # its data would look like a value
            return math.nan, "the objective returned a masked value, which is none"
        array = np.asarray(value.detach() if hasattr(value, "detach") else value)  # a tensor that has a gradient
        if array.size != 1 and array.dtype.kind in "biuf":
            return math.nan, f"the objective returned an array of shape {array.shape}, not one number"
        number = array.item() if array.size == 1 and array.dtype.kind in "biufO" else None
        if not isinstance(number, _NUMBER_TYPES):
            return math.nan, f"the objective returned {shown(value)} ({type(value).__name__}), not a number"
    try:
        return float(number), None
    except OverflowError:
        what = "whole number" if isinstance(number, numbers.Integral) else "number"
        return math.nan, f"the objective returned a {what} beyond the largest float"
