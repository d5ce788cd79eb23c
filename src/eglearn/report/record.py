"""What a report needs to know of a run, read once from its file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Array
from ..algorithms import ALGORITHMS, EGL
from ..control import is_running
from ..store import History


@dataclass(frozen=True)
class Times:
    """Seconds up to each row of progress from the one before, and what is left out of them."""

    evaluation: Array
    learning: Array
    rest: Array
    paused: float
    """Gaps so long that the run was not running."""

    @property
    def total(self) -> float:
        """All but the pauses."""
        return float(self.evaluation.sum() + self.learning.sum() + self.rest.sum())


class Record:
    """A run as arrays: one entry per evaluation, in order of arrival, or one per row of progress."""

    def __init__(self, history: History) -> None:
        self.history, self.identity, self.environment = history, history.identity, history.environment
        # One that is not known here may use everything, as EGL does.
        self.algorithm = ALGORITHMS.get(self.identity.get("algorithm", ""), EGL)
        self.errors: Counter[str] = Counter()
        rows = []
        for e in history.evaluations(with_x=False):
            if e.outcome.error is not None:
                self.errors[e.outcome.error] += 1
            rows.append((e.order, e.outcome.y, e.outcome.error is not None, e.at, e.outcome.seconds))
        table = np.array(rows, dtype=np.float64).reshape(-1, 5)
        self.order, self.y, failed, self.at, self.seconds = table.T
        self.failed = failed.astype(bool)
        self.y[self.failed | ~np.isfinite(self.y)] = np.nan
        self.progress = history.progress()
        self.result = history.result()
        self.running = is_running(history)
        self.waits = self.running and history.paused() is not None

    @cached_property
    def best_index(self) -> int | None:
        """The evaluation with the lowest value."""
        return int(np.nanargmin(self.y)) if np.isfinite(self.y).any() else None

    @property
    def best(self) -> float:
        """The lowest value; NaN if there is none."""
        return math.nan if self.best_index is None else float(self.y[self.best_index])

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the coordinates; empty if unknown."""
        box = self.identity.get("box", {})
        low, high = (np.array(box.get(side, []), dtype=np.float64) for side in ("low", "high"))
        return low, high

    @property
    def dimension(self) -> int:
        """Coordinates of a point, fixed ones too; 0 if unknown."""
        return len(self.bounds[0])

    def best_x(self) -> Array | None:
        """Where it was found, if the file keeps that point."""
        if self.best_index is None:
            return None
        x = self.history.point(int(self.order[self.best_index]))
        if x is None and self.result is not None and self.result.get("fun") == self.best:
            x = np.array(self.result["x"], dtype=np.float64)
        return x

    def points(self, chosen: npt.NDArray[np.intp]) -> Array:
        """The points (k, n) of some evaluations; rows of NaN where the file does not keep them."""
        x = np.full((len(chosen), self.dimension), np.nan)
        for row, k in enumerate(chosen.tolist()):
            found = self.history.point(int(self.order[k]))
            if found is not None and len(found) == self.dimension:
                x[row] = found
        return x

    @property
    def in_searches(self) -> bool:
        """Whether one search follows another, each with a candidate and a region of its own."""
        return not self.algorithm.uses("model")

    @property
    def noisy(self) -> bool:
        """Whether values are noisy, as far as the algorithm tells."""
        return self._last("noisy") == 1

    @property
    def favorite(self) -> float:
        """About the value at the point that the algorithm recommends; NaN if unknown."""
        return self._last("candidate")

    @property
    def favorite_error(self) -> float:
        """The standard error of that value; NaN if unknown."""
        return self._last("candidate_error")

    def recommended_x(self) -> Array | None:
        """The point to use: the best one, or under noise that point, which is known when the run has ended."""
        if not self.noisy:
            return self.best_x()
        return None if self.result is None else np.array(self.result["x_favorite"], dtype=np.float64)

    def _last(self, key: str) -> float:
        """A number that the algorithm gave at the end of the run or of the last row; NaN if it gave none."""
        last = self.progress[-1] if self.progress else {}
        value = (self.result or {}).get("progress", last).get(key)
        return float(value) if isinstance(value, int | float) else math.nan

    @cached_property
    def nfev(self) -> Array:
        """Evaluations up to each row."""
        return np.array([p["nfev"] for p in self.progress], dtype=np.float64)

    @property
    def steps(self) -> int:
        """Batches that were told, or answers if these were told one by one."""
        return int(self.progress[-1].get("nit", len(self.progress))) if self.progress else 0

    def series(self, key: str) -> Array:
        """A number that the algorithm gave at each row; NaN where it gave none."""
        values: list[Any] = [p.get(key) for p in self.progress]
        return np.array([v if isinstance(v, int | float) else math.nan for v in values], dtype=np.float64)

    @cached_property
    def times(self) -> Times:
        """How the time was spent.

        Evaluation is the time in which the run waited for values: with many workers, it learns while they work. A row
        that was written when the run was continued has no such time: what its evaluations took stands in. What lies
        between two rows and is no learning is the rest, or a pause.
        """
        count = len(self.progress)
        evaluation = np.nan_to_num(self.series("seconds_evaluating"))
        learning = np.nan_to_num(self.series("seconds_learning"))
        if not len(self.at):
            return Times(evaluation, learning, np.zeros(count), 0.0)
        begun = np.concatenate([self.at[:1] - self.seconds[:1], np.fmax.accumulate(self.at)])
        done = np.clip(self.nfev, 0, len(self.at)).astype(int)
        before = np.concatenate([[0], done])[:count]
        last = begun[done]
        passed = np.nan_to_num(last - begun[before])
        work = np.concatenate([[0.0], np.cumsum(np.nan_to_num(self.seconds))])
        evaluation = np.where(evaluation > 0, evaluation, np.clip(work[done] - work[before], 0.0, passed))
        learned = np.concatenate([[0.0], learning])[:count]  # what is learned from a row takes time before the next
        rest = np.maximum(passed - evaluation - learned, 0.0)
        # While the run was stopped; in a row that ended after it had been continued.
        stopped = np.zeros(count)
        for begin, end in self.history.pauses(self.at):
            if (k := int(np.searchsorted(last, end))) < count:
                stopped[k] += end - begin
        stopped = np.minimum(stopped, rest)
        rest = rest - stopped
        # Of an older file, or of a computer that slept: what is far too long for anything else.
        pause = rest > 10 + 20 * float(np.median(evaluation + learning) if count else 0.0)
        paused = float(stopped.sum() + rest[pause].sum())
        return Times(evaluation, learning, np.where(pause, 0.0, rest), paused)
