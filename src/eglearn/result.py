"""How a run ended."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ._typing import Array

if TYPE_CHECKING:
    from .history import RunHistory


class Status(IntEnum):
    """Why a run ended; all but RUNNING are above 0, so that ``while not opt.stop()`` works.

    | value | name | meaning |
    |---|---|---|
    | 0 | RUNNING | it goes on: what a callback sees |
    | 1 | BUDGET | all evaluations of the budget are used |
    | 2 | CONVERGED | the samples of a batch differ by no more than rounding: nothing is left to learn |
    | 3 | TARGET | a value at or below ``target`` was found |
    | 4 | CALLBACK | the callback raised StopIteration |
    | 5 | INTERRUPTED | Ctrl-C or SIGTERM |
    | 6 | ALL_FAILED | all of the last evaluations failed; how many, ``AskTell.stop`` tells |
    | 7 | TIME | ``max_seconds`` are over |
    | 8 | STORE | the store could not be written |
    | 9 | WORKERS | the workers were lost: an executor broke, a cluster is gone, a program cannot be started |
    | 10 | FTOL | no value was lower by more than ``ftol`` for ``patience`` evaluations |
    | 11 | XTOL | the best point moved by no more than ``xtol`` for ``patience`` evaluations |
    | 12 | PATIENCE | there was no lower value for ``patience`` evaluations |
    """

    RUNNING = 0
    BUDGET = 1
    CONVERGED = 2
    TARGET = 3
    CALLBACK = 4
    INTERRUPTED = 5
    ALL_FAILED = 6
    TIME = 7
    STORE = 8
    WORKERS = 9
    FTOL = 10
    XTOL = 11
    PATIENCE = 12


_FIXED = "All coordinates are fixed by their bounds: there was one point to evaluate."
_NOISY = "Values are noisy: use x_favorite, since the lowest value is partly luck."

_SENTENCES = {
    Status.RUNNING: "The run is in progress, after {evaluations}.",
    Status.BUDGET: "The budget of {evaluations} is used.",
    Status.CONVERGED: "Converged: the search region has shrunk to the resolution of the numbers.",
    Status.TARGET: "The target of {target:g} was reached.",
    Status.CALLBACK: "The callback asked to stop.",
    Status.INTERRUPTED: "Interrupted; this is the best so far.",
    Status.ALL_FAILED: "All of the last evaluations failed; what was found before is kept.",
    Status.TIME: "The time of {max_seconds:g} s is over.",
    Status.STORE: "The store could not be written, so the run was stopped; this is the best so far.",
    Status.WORKERS: "The workers were lost, so the run was stopped; this is the best so far. With a store, call "
    "minimize again to continue.",
    Status.FTOL: "No value was lower by more than ftol = {ftol:g} for {patience} evaluations.",
    Status.XTOL: "The best point moved by no more than xtol for {patience} evaluations.",
    Status.PATIENCE: "There was no lower value for {patience} evaluations.",
}


@dataclass(frozen=True, eq=False)
class Result:
    """What ``minimize`` found; fields as in SciPy's OptimizeResult, readable as attributes or by name."""

    x: Array
    """The best point evaluated (the start if no evaluation succeeded)."""
    fun: float
    """Its value; NaN if no evaluation succeeded, or none got below ``on_error``."""
    x_favorite: Array
    """The candidate at the end: what to use if values are noisy, since ``x`` is then partly luck."""
    nfev: int
    """Evaluations used, failed ones included."""
    budget: int
    """Evaluations that the run may use: as given, or as raised in the live page."""
    nit: int
    """Groups of answers used: batches of the search with width 1, single answers with more."""
    n_failed: int
    """Evaluations that failed."""
    status: Status
    """Why the run ended."""
    message: str
    """The same for people."""
    progress: dict[str, Any]
    """How the search stands, by what the algorithm's ``progress`` tells: candidate value, epsilon, ..."""
    history: RunHistory | None = None
    """All evaluations, with ``to_pandas()``, ``best()`` and ``plot()``; None with ``keep_history=False``."""

    @property
    def success(self) -> bool:
        """Whether there is a value, and the run ended neither by interruption nor by failure."""
        bad = (Status.INTERRUPTED, Status.ALL_FAILED, Status.STORE, Status.WORKERS)
        return math.isfinite(self.fun) and self.status not in bad

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> list[str]:
        """Names of all fields but the history, which is no plain data."""
        return [*(f.name for f in fields(self) if f.name != "history"), "success"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __repr__(self) -> str:
        """One line per field, the message first, as in SciPy."""
        names = dict.fromkeys(("message", "success", "status", "fun", *self.keys()))
        shown = {name: _shown(self[name]) for name in names} | {"status": f"{self.status} ({self.status.name})"}
        if self.history is not None:
            shown["history"] = repr(self.history)
        width = max(map(len, shown))
        return "\n".join(f"{name:>{width}}: {_LINE.join(text.splitlines())}" for name, text in shown.items())


_LINE = "\n" + " " * 12
_MANY = 100  # of more coordinates, the first and last three are shown


def _shown(value: Any) -> str:
    """A field for people, in lines that fit on a page."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, max_line_width=76, threshold=_MANY, formatter={"float_kind": "{:.9g}".format})
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def describe(
    status: Status,
    nfev: int,
    n_failed: int = 0,
    first_error: str | None = None,
    *,
    fixed: bool = False,
    noisy: bool = False,
    penalty: float | None = None,
    **limits: float | None,
) -> str:
    """The message of a result.

    Parameters
    ----------
    status, nfev, n_failed
        As in the result.
    first_error : str or None
        Why the first evaluation failed.
    fixed, noisy : bool
        Whether no coordinate was free, and whether values are noisy.
    penalty : float or None
        The value of failed evaluations, if it is the lowest.
    **limits : float or None
        ``target``, ``max_seconds``, ``ftol`` and ``patience`` of the run.

    Examples
    --------
    >>> describe(Status.BUDGET, 100, 1, "the objective returned nan")
    'The budget of 100 evaluations is used. 1 evaluation failed, the first because the objective returned nan.'
    """
    hopeless = n_failed == nfev > 1
    if status is Status.ALL_FAILED and hopeless:
        text = ""
    elif status is Status.BUDGET and nfev == 0:
        text = "The budget is 0: nothing was evaluated."
    elif status is Status.CONVERGED and fixed:
        text = _FIXED
    else:
        text = _SENTENCES[status].format(evaluations=counted(nfev, "evaluation"), **limits)
    if noisy:
        text += f" {_NOISY}"
    if n_failed:
        reason = f", the first because {first_error.rstrip('.')}" if first_error else ""
        which = f"All {nfev} evaluations" if hopeless else counted(n_failed, "evaluation")
        text += f" {which} failed{reason}."
    if penalty is not None and n_failed < nfev:
        text += f" No value is below on_error = {penalty:g}, which stands for failed ones: choose a larger one."
    return text.lstrip()


def counted(count: int | str, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "point"), counted(2, "point"), counted("1", "second")
    ('1 point', '2 points', '1 second')
    """
    return f"{count} {noun}{'s' * (str(count) != '1')}"
