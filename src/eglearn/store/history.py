"""Reading a run's file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..evaluation.base import Outcome
from .connection import check_log, connect_reader, is_run
from .errors import StoreError, reported
from .layout import VALUE_COLUMNS, from_text, to_outcome, to_point


class Evaluation(NamedTuple):
    """One evaluation as it stands in the file."""

    batch: int
    """Number of its batch; below 0, see ``Store.set_aside``."""
    row: int
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
    identity: dict[str, Any]
    """What defines the run, as JSON data; the budget is the last one."""
    budgets: list[Any]
    """The budget that the run was begun with, and larger ones that it was given later."""
    environment: dict[str, Any]
    """Versions and the like when the run was begun, as JSON data."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with reported(self.path):
            if not self.path.is_file():
                raise StoreError(f"there is no file {self.path}: check the name")
            with connect_reader(self.path) as db:
                if not is_run(db, self.path):
                    raise StoreError(f"{self.path} holds no run yet: check the name, or wait for its beginning")
                check_log(db, self.path)
        self._read_identity()

    def evaluations(self, *, with_x: bool = True) -> Iterator[Evaluation]:
        """Every evaluation in order of arrival; ``with_x=False`` is much faster when points are long.

        An evaluation that does not fit its checksum comes with the value NaN and an error that says so.
        """
        select = f"SELECT id, {VALUE_COLUMNS}, {'x' if with_x else 'NULL'} FROM evaluations"
        for _, *columns, raw in self._in_order(select, "id", first=1):
            batch, row, *_, at, x_check, _ = columns
            outcome = to_outcome(columns)
            x = None if raw is None or outcome is None else to_point(raw, x_check)
            if outcome is None or (raw is not None and x is None):
                outcome, at = Outcome(math.nan, "this evaluation is damaged in the file"), math.nan
                batch, row = (value if isinstance(value, int) else -1 for value in (batch, row))
            yield Evaluation(batch, row, x, outcome, math.nan if at is None else at)

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

    def point(self, batch: int, row: int) -> Array | None:
        """The point of one evaluation, or None if it was not kept or is damaged."""
        query = 'SELECT x, x_check FROM evaluations WHERE batch = ? AND "row" = ? LIMIT 1'
        found = self._rows(query, (int(batch), int(row)))
        return to_point(*found[0]) if found else None

    def progress(self) -> list[dict[str, Any]]:
        """What ``Store.end_batch`` was given, with the number as ``"batch"``; damaged rows are left out."""
        rows = self._in_order('SELECT batch, data, "check" FROM progress', "batch", first=-(2**63))
        return [{**data, "batch": row[0]} for row in rows if (data := from_text(*row)) is not None]

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
        """From when to when the run was not running, before it was continued.

        Parameters
        ----------
        at
            When its evaluations arrived.
        """
        at = np.sort(at[np.isfinite(at)])
        parts = np.array(self.begun())
        before = np.searchsorted(at, parts)  # evaluations up to each beginning
        return [(float(at[k - 1]), float(t)) for k, t in zip(before, parts, strict=True) if k > 0]

    def holder(self) -> str | None:
        """The process that last opened the file for writing."""
        holder = self._meta("holder")
        return f"process {holder.get('process')} on {holder.get('host')}" if holder else None

    def _read_identity(self) -> None:
        self.identity = self._meta("identity") or {}
        later = (self._meta("budgets") or {}).get("later")
        self.budgets = [self.identity.get("budget"), *(later if isinstance(later, list) else ())]
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
            return db.execute(query, values).fetchall()
