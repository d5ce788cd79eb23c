"""Reading a run's file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Array
from ..evaluation.base import Outcome
from .connection import check_log, connect_reader, format_of
from .errors import StoreError, reported
from .layout import ASKED, FILE_FORMAT, VALUE_COLUMNS, from_text, of_format, to_outcome, to_point


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation as it stands in the file."""

    order: int
    """Order of arrival, which is that of telling, too, unless the run is an ordered one."""
    index: int
    """Number of the point in the order of asking, from 0 on; below 0: see ``Store.set_aside``."""
    x: Array | None
    """The point; None if it was not kept or not asked for."""
    outcome: Outcome
    at: float
    """When it arrived, in seconds since 1970."""


class History:
    """What a run has written so far; safe to use while another process is writing.

    No connection is held between two calls, so a reader never keeps the writer from tidying up its file.

    Parameters
    ----------
    path
        The file of a run.

    Raises
    ------
    StoreError
        If the file is missing, damaged, or not the file of a run. Every method may raise it too.
    """

    path: Path
    format: int = FILE_FORMAT
    """Of the file."""
    identity: dict[str, Any]
    """What defines the run, as JSON data; the budget is the last one."""
    budgets: list[Any]
    """The budget that the run was begun with, and larger ones that it was given later."""
    given: Any
    """The last budget that a call gave; larger ones were wished while the run was under way."""
    environment: dict[str, Any]
    """Versions and the like when the run was begun, as JSON data."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with reported(self.path):
            if not self.path.is_file():
                raise StoreError(f"there is no file {self.path}: check the name")
            with connect_reader(self.path) as db:
                self.format = format_of(db, self.path)
                if not self.format:
                    raise StoreError(f"{self.path} holds no run yet: check the name, or wait for its beginning")
                check_log(db, self.path)
        self._read_identity()

    def evaluations(self, *, with_x: bool = True) -> Iterator[Evaluation]:
        """Every evaluation in order of arrival; ``with_x=False`` is much faster when points are long.

        An evaluation that does not fit its checksum comes with the value NaN and an error that says so.
        """
        select = f"SELECT id, {VALUE_COLUMNS}, {'x' if with_x else 'NULL'} FROM evaluations"
        for order, *columns, raw in self._in_order(select, "id", first=1):
            aside, index, *_, at, x_check, _ = columns
            outcome = to_outcome(columns)
            x = None if raw is None or outcome is None else to_point(raw, x_check)
            if outcome is None or (raw is not None and x is None):
                outcome, at = Outcome(math.nan, "this evaluation is damaged in the file"), math.nan
                aside, index = (value if isinstance(value, int) else -1 for value in (aside, index))
            if self.format == 1:  # the order of asking is not there; numbers of batches below 0 were as below
                index = order - 1 if aside >= 0 else aside
            elif aside != ASKED:
                index = -1 - aside
            yield Evaluation(order, index, x, outcome, math.nan if at is None else at)

    def _in_order(self, select: str, key: str, first: int) -> Iterator[Any]:
        """Rows by their key, which comes first and must grow: a forged table may go round in circles."""
        # A new query every few hundred rows: a slow reader does not hold up the writer.
        while rows := self._rows(f"{select} WHERE {key} >= ? ORDER BY {key} LIMIT 500", (first,)):
            for row in rows:
                if row[0] < first:
                    raise StoreError(f"{self.path} is damaged (its tables are out of order): restore a copy of it")
                first = row[0] + 1
                yield row
            if first > 2**63 - 1:
                return

    def point(self, order: int) -> Array | None:
        """The point of the evaluation that arrived as that, or None if it was not kept or is damaged."""
        found = self._rows("SELECT x, x_check FROM evaluations WHERE id = ? LIMIT 1", (int(order),))
        return to_point(*found[0]) if found else None

    def progress(self) -> list[dict[str, Any]]:
        """What ``Store.save`` was given, with the number of answers as ``"nfev"``; damaged rows are left out."""
        rows = self._in_order('SELECT told, data, "check" FROM progress', "told", first=-(2**63))
        found = [(row[0], data) for row in rows if (data := from_text(*row)) is not None]
        return [{"nfev": told, **data} for told, data in found]  # in format 1, the number is that of a batch

    def result(self) -> dict[str, Any] | None:
        """What ``Store.finish`` was given, or None if the run goes on or was stopped before its end."""
        return self._meta("result")

    @property
    def about(self) -> dict[str, Any]:
        """What ``Store`` was last given as such."""
        return self._meta("about") or {}

    @property
    def repair(self) -> dict[str, Any]:
        """Of which damaged file this one was made."""
        return self._meta("repair") or {}

    def begun(self) -> list[float]:
        """When the run was begun and continued, in seconds since 1970."""
        times = (self._meta("parts") or {}).get("begun")
        return [t for t in times if isinstance(t, float)] if isinstance(times, list) else []

    def pauses(self, at: Array) -> list[tuple[float, float]]:
        """From when to when the run was not running; ``at`` is when its evaluations arrived."""
        return pauses(self.begun(), at)

    def paused(self) -> float | None:
        """Since when the process waits because somebody wished so, or None."""
        since = (self._meta("paused") or {}).get("since")
        return since if isinstance(since, float) else None

    def holder(self) -> str | None:
        """The process that last opened the file for writing."""
        holder = self._meta("holder")
        return f"process {holder.get('process')} on {holder.get('host')}" if holder else None

    def _read_identity(self) -> None:
        self.identity = self._meta("identity") or {}
        told = self._meta("budgets") or {}
        later = told.get("later")
        self.budgets = [self.identity.get("budget"), *(later if isinstance(later, list) else ())]
        self.given = told["given"] if isinstance(told.get("given"), int) else self.budgets[-1]
        if len(self.budgets) > 1:
            self.identity["budget"] = self.budgets[-1]
        self.environment = self._meta("environment") or {}

    def _meta(self, key: str) -> dict[str, Any] | None:
        rows = self._rows('SELECT key, data, "check" FROM meta WHERE key = ? LIMIT 1', (key,))
        if not rows:
            return None
        if (data := from_text(*rows[0])) is None:
            raise StoreError(f"{self.path} is damaged (its {key} is unreadable): restore a copy of it")
        return data

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with reported(self.path), connect_reader(self.path) as db:
            return db.execute(of_format(self.format, query), values).fetchall()


def pauses(begun: Sequence[float], at: Array) -> list[tuple[float, float]]:
    """From the last of the evaluations that arrived ``at`` these times up to each beginning, if there is one.

    >>> pauses([10.0, 20.0], np.array([11.0, 12.0, 21.0]))
    [(12.0, 20.0)]
    """
    at = np.sort(at[np.isfinite(at)])
    before = np.searchsorted(at, np.array(begun))  # evaluations up to each beginning
    return [(float(at[k - 1]), float(t)) for k, t in zip(before, begun, strict=True) if k > 0]
