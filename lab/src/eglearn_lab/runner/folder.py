"""The folder where finished runs are kept.

A finished run is at once a line of ``journal.jsonl``; every few hundred lines become a part in Parquet, and at the
end all parts become ``results.parquet``. Files are replaced whole, so a kill at any moment loses no finished run; a
run that is found twice (a part was written, the journal not yet emptied) counts once.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .work import FolderInUse, Row, Work

if sys.platform != "win32":
    import fcntl


class Folder:
    """The rows of one kind of runs on disk; one process may write."""

    def __init__(self, path: str | os.PathLike[str], work: Work[Any]) -> None:
        self.path = Path(path)
        self.work = work
        self.journal = self.path / "journal.jsonl"
        self.parts = self.path / "parts"
        self.merged = self.path / "results.parquet"
        self._file: Any = None
        self._waiting: list[Row] = []

    def table(self) -> Any:
        """Everything that is finished, sorted by run, a ``pyarrow.Table``."""
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

        schema = self.work.schema()
        files = [f for f in (self.merged, *sorted(self.parts.glob("*.parquet"))) if f.exists()]
        tables = [pq.read_table(f, schema=schema) for f in files]
        tables.append(self._typed(list(self._lines())))
        table = pa.concat_tables(tables)
        keys = map(self.work.key_of, table.select(list(self.work.KEY)).to_pylist())
        place = {key: i for i, key in enumerate(keys)}  # of a run found twice, the last
        return table.take(pa.array([place[key] for key in sorted(place)], pa.int64()))

    def _lines(self) -> Iterator[Row]:
        if self.journal.exists():
            for line in self.journal.read_text().splitlines():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:  # cut short by a kill: not finished
                    continue

    def open(self, drop: Callable[[Row], bool] | None = None) -> set[tuple[Any, ...]]:
        """Begin to write; returns the keys of the runs that are finished, of which a killed run is none.

        ``drop`` says by a row's key columns whether to forget it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.parts.mkdir(exist_ok=True)
        self._file = self.journal.open("a")
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise FolderInUse(f"{self.path} is in use by another process: wait for it, or choose another") from None
        self._waiting = list(self._lines())
        self.compact()
        if drop is not None:
            self._merge(drop)
        rows = self.table().select([*self.work.KEY, "status"]).to_pylist()
        return {self.work.key_of(row) for row in rows if row["status"] != "killed"}

    def add(self, row: Row) -> None:
        """Keep a finished run, safely on disk when this returns."""
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._waiting.append(row)

    @property
    def waiting(self) -> int:
        """Lines in the journal."""
        return len(self._waiting)

    def compact(self) -> None:
        """Turn the journal into a part."""
        if self._waiting:
            number = 1 + max((int(f.stem) for f in self.parts.glob("*.parquet")), default=0)
            _write(self._typed(self._waiting), self.parts / f"{number:06d}.parquet")
        self._file.truncate(0)
        self._waiting = []

    def finish(self) -> None:
        """Turn everything into one file."""
        self.compact()
        self._merge()
        self.parts.rmdir()
        self.journal.unlink()
        self.close()

    def close(self) -> None:
        """Let another process write."""
        if self._file is not None:
            self._file.close()

    def _merge(self, drop: Callable[[Row], bool] | None = None) -> None:
        import pyarrow as pa

        table = self.table()
        if drop is not None:
            kept = [not drop(row) for row in table.select(list(self.work.KEY)).to_pylist()]
            table = table.filter(pa.array(kept, pa.bool_()))
        _write(table, self.merged)
        for part in self.parts.glob("*.parquet"):
            part.unlink()

    def _typed(self, rows: list[Row]) -> Any:
        """Rows of the journal as a table: times are ISO text there."""
        import pyarrow as pa

        schema = self.work.schema()
        times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
        rows = [row | {n: datetime.datetime.fromisoformat(row[n]) for n in times if row.get(n)} for row in rows]
        return pa.Table.from_pylist(rows, schema=schema)


def _write(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    temporary = path.with_suffix(".tmp")
    pq.write_table(table, temporary, compression="zstd")
    os.replace(temporary, path)
