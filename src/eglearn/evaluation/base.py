"""What an evaluator is, and how one value of an objective is judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import Array

Objective = Callable[[Array], Any]


class Outcome(NamedTuple):
    """What became of one point."""

    y: float
    """The value; NaN if the evaluation failed."""
    error: str | None = None
    """Why it failed, in one sentence."""
    attempts: int = 1
    """How often the point was tried."""
    seconds: float = 0.0
    """Time spent on the last attempt."""
    worker: str = ""
    """Who evaluated it."""


class Evaluator(Protocol):
    """Runs an objective on batches of points."""

    def evaluate(self, x: Array) -> Iterator[tuple[int, Outcome]]:
        """Yield (row, outcome) for each row of ``x`` (m, n), in whatever order they finish."""

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
    if isinstance(value, bool | int | float | np.floating | np.integer | np.bool_):
        try:
            y = float(value)
        except OverflowError:
            return math.nan, "the objective returned a whole number beyond the largest float"
    else:
        try:
            array = np.asarray(value)
        except Exception:  # a user's object may do anything when asked for its array
            return math.nan, f"the objective returned a {type(value).__name__}, not a number"
        if array.dtype.kind not in "biuf":
            shown = repr(value)
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            return math.nan, f"the objective returned {shown} ({type(value).__name__}), not a number"
        if array.size != 1:
            return math.nan, f"the objective returned an array of shape {array.shape}, not one number"
        y = float(array.reshape(()))
    if not math.isfinite(y):
        return math.nan, f"the objective returned {y}"
    return y, None
