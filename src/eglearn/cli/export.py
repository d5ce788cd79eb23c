"""``eglearn export``: the evaluations of a run as a table, one row each.

Rows are in order of arrival. Columns: index (of the point in the order of asking, from 0 on; below 0: see
docs/guarantees.md), y, status (ok or failed), error, attempts, seconds, worker, time (seconds since 1970), x0, x1, ...
(empty where the point was not kept). Numbers read back exactly.
"""

from __future__ import annotations

import csv
import importlib
import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..store import History
from ..store.copying import replacement
from .errors import Failure, Usage

_COLUMNS = {
    "index": "int64",
    "y": "float64",
    "status": "string",
    "error": "string",
    "attempts": "int64",
    "seconds": "float64",
    "worker": "string",
    "time": "float64",
}
_ROWS = 5000  # rows in memory


def export(path: str, to: str, force: bool) -> int:
    """Write the table in the format that the name asks for, and return the number of rows."""
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    target = Path(to)
    write = writers.get(target.suffix.lower())
    if write is None:
        raise Usage(f"{to} is neither .csv nor .parquet: end the name in one of them")
    history = History(path)
    if target.exists() and not force:
        raise Usage(f"{to} exists already: choose another name, or add --force to replace it")
    try:
        with replacement(target, history.path) as part:  # nobody finds half a table under the right name
            return write(history, part)
    except OSError as error:  # it would name the part
        reason = os.strerror(error.errno) if error.errno else error
        raise Failure(f"{to} cannot be written ({reason}): check its name, its folder and its disk") from error


def _names(history: History) -> list[str]:
    return [*_COLUMNS, *(f"x{i}" for i in range(len(history.identity["box"]["low"])))]


def _records(history: History, n: int) -> Iterator[list[Any]]:
    for e in history.evaluations():
        y, error, attempts, seconds, worker, *_ = e.outcome
        status = "ok" if error is None else "failed"
        head = [e.index, _or_none(y), status, error, attempts, _or_none(seconds), worker, _or_none(e.at)]
        yield head + ([None] * n if e.x is None else e.x.tolist())


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _write_csv(history: History, part: Path) -> int:
    names = _names(history)
    count = 0
    with part.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        for count, record in enumerate(_records(history, len(names) - len(_COLUMNS)), start=1):  # noqa: B007
            table.writerow(record)  # floats by repr, None as nothing
    return count


def _write_parquet(history: History, part: Path) -> int:
    try:
        arrow, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    except ImportError as error:
        raise Failure("Parquet needs the package pyarrow: pip install pyarrow, or export to .csv") from error
    names = _names(history)
    schema = arrow.schema([(name, arrow.type_for_alias(_COLUMNS.get(name, "float64"))) for name in names])
    records = _records(history, len(names) - len(_COLUMNS))
    count = 0
    with parquet.ParquetWriter(part, schema) as writer:
        while chunk := list(itertools.islice(records, _ROWS)):
            pairs = zip(zip(*chunk, strict=True), schema.types, strict=True)
            columns = [arrow.array(column, kind) for column, kind in pairs]
            writer.write_table(arrow.table(columns, schema=schema))
            count += len(chunk)
    return count
