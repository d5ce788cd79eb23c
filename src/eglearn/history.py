"""What a run has evaluated: every value, and the points as far as they fit into a fixed amount of memory."""

from __future__ import annotations

import math
import os
import time
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._typing import Array, Mask
from .arguments import check_path
from .evaluation.base import Outcome
from .result import counted
from .store import History
from .store.errors import understood
from .store.history import pauses

if TYPE_CHECKING:
    import pandas

KEPT_NUMBERS = 4_000_000
"""Coordinates of points that a history keeps, 8 bytes each."""
_FIRST_ROWS = 64
_TEXTS = 1000  # different errors, and different workers, that are kept; all others have one text
GIVEN = "known"
"""The worker of points that were known before the run."""


class Best(NamedTuple):
    """The evaluation with the lowest value."""

    x: Array
    y: float
    number: int
    """Its place among all evaluations, from 0."""


class RunHistory:
    """All evaluations of a run in order of arrival: ``result.history``, or ``eglearn.load("run.egl")``.

    All values are kept, at 40 bytes per evaluation. Points are kept as long as they have at most ``numbers``
    coordinates in total (by default 4,000,000, that is 32 MB). Beyond that, only every second point stays, then every
    fourth, and so on, besides the points with a new lowest value; if these alone are too many, every second of them
    goes as well. The best point always stays.

    Parameters
    ----------
    low, high : (n,) arrays
        The bounds.
    numbers : int
        How many coordinates to keep.

    Examples
    --------
    >>> from eglearn import minimize
    >>> history = minimize(lambda x: sum(x**2), [(-1, 1)] * 3, budget=60).history
    >>> len(history), history.y.shape, history.x.shape
    (60, (60,), (60, 3))
    >>> bool(history.best().y == min(history.y))
    True
    """

    def __init__(self, low: Array, high: Array, numbers: int = KEPT_NUMBERS) -> None:
        self.low, self.high = low, high
        self.begun: list[float] = []
        """When the run was begun and continued, in seconds since 1970."""
        self._room = max(1, numbers // max(1, len(low)))
        self._stride = 1
        self._points = np.empty((_FIRST_ROWS, len(low)))  # rows beyond the number of those kept are not filled yet
        self._kept, self._improved = array("q"), array("b")
        self._best = -1
        self._y, self._seconds, self._time = array("d"), array("d"), array("d")
        self._index, self._attempts = array("q"), array("i")
        self._error, self._worker = array("h"), array("h")  # numbers of texts
        self._texts: list[dict[str, int]] = [{}, {}]

    # --- what is written ----------------------------------------------------------------------------------------

    def evaluated(self, index: int, x: Array | None, outcome: Outcome, at: float | None = None) -> None:
        """Add an evaluation; ``x`` is None if the point is not known, ``at`` None means now."""
        number, y = len(self._y), outcome.y
        good = outcome.error is None and math.isfinite(y)
        self._y.append(y if good else math.nan)
        self._seconds.append(outcome.seconds)
        self._time.append(time.time() if at is None else at)
        self._index.append(index)
        self._attempts.append(outcome.attempts)
        self._error.append(-1 if outcome.error is None else self._number_of(0, outcome.error))
        self._worker.append(self._number_of(1, outcome.worker))
        improved = good and bool(self._best < 0 or y < self._y[self._best])
        if improved:
            self._best = number
        if x is not None and (improved or number % self._stride == 0):
            row = len(self._kept)
            if row == len(self._points):
                more = np.empty((min(row, self._room + 1 - row), self._points.shape[1]))
                self._points = np.concatenate((self._points, more))
            self._points[row] = x
            self._kept.append(number)
            self._improved.append(improved)
            if len(self._kept) > self._room:
                self._thin()

    def begin(self, known: tuple[Array, Array] | None, file: History | None) -> None:
        """Add points that were known before the run, and what stands in its file."""
        self.begun = [time.time()] if file is None else file.begun()
        for point, value in () if known is None else zip(*known, strict=True):
            error = None if math.isfinite(value) else "no value was given"
            self.evaluated(-1, point, Outcome(float(value), error, 0, math.nan, GIVEN), math.nan)
        for e in () if file is None else file.evaluations():
            self.evaluated(e.index, e.x, e.outcome, e.at)

    def _number_of(self, kind: int, text: str) -> int:
        texts = self._texts[kind]
        if text not in texts and len(texts) >= _TEXTS:
            text = "(another one)"
        return texts.setdefault(text, len(texts))

    def _thin(self) -> None:
        """Make room: of ordinary points every second goes, and of improvements too if they are most of what is left."""
        kept, up = np.array(self._kept), np.array(self._improved, dtype=bool)
        if (kept % self._stride == 0).sum() > self._room // 4:
            self._stride = min(2 * self._stride, 2**62)
        regular = kept % self._stride == 0
        if (regular | up).sum() > self._room // 2:
            up[np.flatnonzero(up)[::2]] = False
        stay = regular | up if (regular | up).sum() < self._room else np.zeros(len(kept), dtype=bool)
        stay |= kept == self._best
        self._points = self._points[: len(kept)][stay]
        self._kept, self._improved = array("q", kept[stay].tobytes()), array("b", up[stay].tobytes())

    # --- what is read -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._y)

    def __repr__(self) -> str:
        lowest = math.nan if self._best < 0 else self._y[self._best]
        return f"<{counted(len(self), 'evaluation')}, {int(self.failed.sum())} failed, lowest value {lowest:g}>"

    @property
    def y(self) -> Array:
        """(k,) values; NaN where the evaluation failed."""
        return np.array(self._y, dtype=np.float64)

    @property
    def failed(self) -> Mask:
        """(k,) of bool: whether the evaluation failed."""
        failed: Mask = np.array(self._error, dtype=np.int64) >= 0
        return failed

    @property
    def x(self) -> Array:
        """(k, n) points; rows of NaN where the point was not kept."""
        x = np.full((len(self), len(self.low)), np.nan)
        if self._kept:
            x[self._kept] = self.points
        return x

    @property
    def points(self) -> Array:
        """The points that were kept, one per row."""
        return self._points[: len(self._kept)].copy()

    @property
    def kept(self) -> Array:
        """The numbers of their evaluations, from 0."""
        return np.array(self._kept, dtype=np.int64)

    @property
    def index(self) -> Array:
        """(k,) number of the point in the order of asking, from 0; below 0: not asked for, see docs/guarantees.md."""
        return np.array(self._index, dtype=np.int64)

    @property
    def known(self) -> Mask:
        """(k,) of bool: whether the point was known before the run."""
        number = self._texts[1].get(GIVEN, -1)
        known: Mask = np.array(self._worker, dtype=np.int64) == number
        return known

    @property
    def seconds(self) -> Array:
        """(k,) time of the evaluation."""
        return np.array(self._seconds, dtype=np.float64)

    @property
    def time(self) -> Array:
        """(k,) when it arrived, in seconds since 1970."""
        return np.array(self._time, dtype=np.float64)

    @property
    def elapsed(self) -> Array:
        """(k,) when it arrived, in seconds since the run was begun; time while it was stopped does not count."""
        at, begun = self.time, np.array(self.begun)
        if not np.isfinite(at).any():
            return at
        first = np.nanmin(at - np.nan_to_num(self.seconds))
        elapsed: Array = at - (min(first, begun[0]) if len(begun) else first)
        for stopped, again in pauses(self.begun[1:], at):
            elapsed[at >= again] -= again - stopped
        return elapsed

    @property
    def worker(self) -> list[str]:
        """Who evaluated each point."""
        texts = list(self._texts[1])
        return [texts[i] for i in self._worker]

    @property
    def error(self) -> list[str | None]:
        """Why each evaluation failed; None if it did not."""
        texts = list(self._texts[0])
        return [None if i < 0 else texts[i] for i in self._error]

    def best(self) -> Best:
        """The evaluation with the lowest value: ``x``, ``y`` and ``number``, its place from 0."""
        if self._best < 0:
            raise ValueError("no evaluation has succeeded: there is no best one")
        there = self._kept.index(self._best) if self._best in self._kept else None
        x = np.full(len(self.low), np.nan) if there is None else self._points[there].copy()
        return Best(x, self._y[self._best], self._best)

    def best_so_far(self) -> Array:
        """(k,) the lowest value up to each evaluation; NaN before the first."""
        lowest: Array = np.fmin.accumulate(self.y) if len(self) else np.empty(0)
        return lowest

    def to_pandas(self, names: Sequence[str] | None = None) -> pandas.DataFrame:
        """A table with one row per evaluation, in order of arrival.

        Parameters
        ----------
        names : sequence of str or None
            Names of the coordinates; None: x0, x1, ...

        Returns
        -------
        pandas.DataFrame
            Columns index (the order of asking), y, error, attempts, seconds, worker, time (seconds since 1970), then
            the coordinates.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas: pip install 'eglearn[pandas]'") from error
        columns: dict[str, Any] = {
            "index": self.index,
            "y": self.y,
            "error": pandas.Series(self.error, dtype=object),
            "attempts": np.array(self._attempts, dtype=np.int64),
            "seconds": self.seconds,
            "worker": self.worker,
            "time": self.time,
        }
        coordinates = self.names(names)
        if taken := [name for name in coordinates if name in columns]:
            raise ValueError(f"names has {taken[0]!r}, which is another column of the table: choose another name")
        return pandas.DataFrame(columns).join(pandas.DataFrame(self.x, columns=coordinates))

    def names(self, given: Sequence[str] | None = None) -> list[str]:
        """Names of the coordinates."""
        n = len(self.low)
        if given is None:
            return [f"x{i}" for i in range(n)]
        names = [] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        if len(names) != n or len(set(names)) < n:
            raise ValueError(f"names = {given!r}: it must be a list of {n} different names, one for each coordinate")
        return names

    def plot(
        self,
        kind: str = "convergence",
        *,
        variables: Sequence[int | str] | None = None,
        names: Sequence[str] | None = None,
    ) -> Any:
        """Draw the run with matplotlib.

        Parameters
        ----------
        kind : {"convergence", "parallel", "slices", "pairs", "timeline"}
            The lowest value over evaluations; parallel coordinates; the value over each coordinate; each coordinate
            over each other; evaluations over time and workers.
        variables : sequence of int or str, or None
            Which coordinates to draw, by number or name; None: the first ones, as many as fit.
        names : sequence of str or None
            Names of all coordinates; None: x0, x1, ...

        Returns
        -------
        matplotlib Axes, or an array of them
            ``plt.show()`` shows them, ``.figure.savefig`` writes the picture.
        """
        from .plotting import draw

        return draw(self, kind, variables, self.names(names))


def load(path: str | os.PathLike[str]) -> RunHistory:
    """The history of a stored run, which may be running.

    Parameters
    ----------
    path
        The file that ``minimize`` or ``eglearn run`` was given as ``store``.

    Returns
    -------
    RunHistory

    Raises
    ------
    StoreError
        If the file is missing, damaged, or not the file of a run.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from eglearn import load, minimize
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = pathlib.Path(folder, "run.egl")
    ...     result = minimize(lambda x: sum(x**2), [(-1, 1)] * 3, budget=60, store=run)
    ...     load(run).best().y == result.fun
    True
    """
    if isinstance(getattr(path, "history", None), RunHistory):
        raise TypeError("load() takes the path of a store: a result has its history already, result.history")
    check_path("path", path)
    with understood(os.fspath(path)):
        file = History(path)
        box = file.identity["box"]
        history = RunHistory(np.array(box["low"], dtype=np.float64), np.array(box["high"], dtype=np.float64))
        told = file.identity.get("known")
        known = None if told is None else (np.array(told["x"], dtype=np.float64), np.array(told["y"], dtype=np.float64))
        history.begin(known, file)
        return history
