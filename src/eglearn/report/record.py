"""What a report needs to know of a run, read once from its file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Array
from ..algorithms import ALGORITHMS, EGL
from ..store import History


@dataclass(frozen=True)
class Times:
    """Seconds of each batch, and what is left out of them."""

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
    """A run as arrays: one entry an evaluation, in order of arrival, or one a batch."""

    def __init__(self, history: History) -> None:
        self.history, self.identity, self.environment = history, history.identity, history.environment
        # One that is not known here may use everything, as EGL does.
        self.algorithm = ALGORITHMS.get(self.identity.get("algorithm", ""), EGL)
        self.errors: Counter[str] = Counter()
        rows = []
        for e in history.evaluations(with_x=False):
            if e.outcome.error is not None:
                self.errors[e.outcome.error] += 1
            rows.append((e.batch, e.row, e.outcome.y, e.outcome.error is not None, e.at, e.outcome.seconds))
        table = np.array(rows, dtype=np.float64).reshape(-1, 6)
        self.batch, self.row, self.y, failed, self.at, self.seconds = table.T
        self.failed = failed.astype(bool)
        self.y[self.failed | ~np.isfinite(self.y)] = np.nan
        self.progress = history.progress()
        self.result = history.result()

    @cached_property
    def best_index(self) -> int | None:
        """The evaluation with the lowest value."""
        return int(np.nanargmin(self.y)) if np.isfinite(self.y).any() else None

    @property
    def best(self) -> float:
        """The lowest value; NaN if there is none."""
        return math.nan if self.best_index is None else float(self.y[self.best_index])

    @property
    def dimension(self) -> int:
        """Coordinates of a point, fixed ones too; 0 if unknown."""
        return len(self.identity.get("box", {}).get("low", []))

    def best_x(self) -> Array | None:
        """Where it was found, if the file keeps that point."""
        if self.best_index is None:
            return None
        x = self.history.point(int(self.batch[self.best_index]), int(self.row[self.best_index]))
        if x is None and self.result is not None and self.result.get("fun") == self.best:
            x = np.array(self.result["x"], dtype=np.float64)
        return x

    @property
    def in_passes(self) -> bool:
        """Whether one pass follows another, each with a candidate and a region of its own."""
        return not self.algorithm.uses("model")

    @property
    def noisy(self) -> bool:
        """Whether values are noisy, as far as the algorithm tells."""
        return self._last("noisy") == 1

    @property
    def favorite(self) -> float:
        """About the value at the point that the algorithm recommends; NaN if unknown."""
        return self._last("candidate")

    def favorite_x(self) -> Array | None:
        """That point, which is known when the run has ended."""
        return None if self.result is None else np.array(self.result["x_favorite"], dtype=np.float64)

    def _last(self, key: str) -> float:
        """A number that the algorithm gave at the end of the run or of the last batch; NaN if it gave none."""
        last = self.progress[-1] if self.progress else {}
        value = (self.result or {}).get("progress", last).get(key)
        return float(value) if isinstance(value, int | float) else math.nan

    @cached_property
    def nfev(self) -> Array:
        """Evaluations up to the end of each batch."""
        counted = np.searchsorted(np.sort(self.batch), self.numbers, side="right")
        return np.array([p.get("nfev", c) for p, c in zip(self.progress, counted, strict=True)], dtype=np.float64)

    @property
    def numbers(self) -> Array:
        """Numbers of the batches."""
        return np.array([p["batch"] for p in self.progress], dtype=np.float64)

    def series(self, key: str) -> Array:
        """A number that the algorithm gave after each batch; NaN where it gave none."""
        values: list[Any] = [p.get(key) for p in self.progress]
        return np.array([v if isinstance(v, int | float) else math.nan for v in values], dtype=np.float64)

    @cached_property
    def times(self) -> Times:
        """How the time was spent.

        A batch that was learned again when the run was continued has no evaluation time of its own: what its
        evaluations took stands in. What lies between two batches and is no learning is the rest, or a pause.
        """
        count = len(self.progress)
        learning = np.nan_to_num(self.series("seconds_learning"))
        index = np.searchsorted(self.numbers, self.batch)
        known = (index < count) & np.isfinite(self.at)
        known[known] = self.numbers[index[known]] == self.batch[known]
        index, at, seconds = index[known], self.at[known], self.seconds[known]
        first, last, work = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
        np.minimum.at(first, index, at - seconds)
        np.maximum.at(last, index, at)
        np.add.at(work, index, seconds)
        with np.errstate(invalid="ignore"):
            spent = np.minimum(work, np.maximum(last - first, 0.0))
            evaluation = np.fmax(np.nan_to_num(self.series("seconds_evaluating")), spent)
            gap = last[1:] - last[:-1] - evaluation[1:] - learning[:-1]
        rest = np.concatenate([np.zeros(min(count, 1)), np.maximum(np.nan_to_num(gap, posinf=0, neginf=0), 0.0)])
        # While the run was stopped; in a batch that ended after it had been continued.
        stopped = np.zeros(count)
        for begin, end in self.history.pauses(self.at):
            if (k := int(np.searchsorted(np.fmax.accumulate(last), end))) < count:
                stopped[k] += end - begin
        stopped = np.minimum(stopped, rest)
        rest = rest - stopped
        # Of an older file, or of a computer that slept: what is far too long for anything else.
        pause = rest > 10 + 20 * float(np.median(evaluation + learning) if count else 0.0)
        paused = float(stopped.sum() + rest[pause].sum())
        return Times(evaluation, learning, np.where(pause, 0.0, rest), paused)
