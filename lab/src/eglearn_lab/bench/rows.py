"""What is kept of a run, and the folder where runs are kept.

A finished run is at once a line of ``journal.jsonl``; every few hundred lines become a part in Parquet, and at the
end all parts become ``results.parquet``. Files are replaced whole, so a kill at any moment loses no finished run; a
run that is found twice (a part was written, the journal not yet emptied) counts once.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .problems import Problem

if sys.platform != "win32":
    import fcntl

Row = dict[str, Any]


@dataclass(frozen=True, order=True)
class Job:
    """One run to be done, as plain data."""

    problem: Problem
    algorithm: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same run."""
        p = self.problem
        return (p.suite, p.function, p.dimension, p.instance, self.algorithm, self.seed, self.budget)

    @property
    def name(self) -> str:
        """A name for files."""
        p = self.problem
        where = f"{p.suite}_f{p.function:03d}_d{p.dimension:02d}_i{p.instance:02d}"
        return f"{self.algorithm}/{where}_s{self.seed}_b{self.budget}"

    def columns(self) -> Row:
        """The columns that say which run a row is."""
        return asdict(self.problem) | {"algorithm": self.algorithm, "seed": self.seed, "budget": self.budget}


def key_of(row: Row) -> tuple[Any, ...]:
    """The key of the job that made the row."""
    return tuple(row[c] for c in ("suite", "function", "dimension", "instance", "algorithm", "seed", "budget"))


def schema() -> Any:
    """Columns and types of the results, a ``pyarrow.Schema``."""
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    text, whole, real = pa.string(), pa.int64(), pa.float64()
    counts, curve = pa.list_(pa.int32()), pa.list_(pa.float32())
    kinds = {
        "suite": text, "function": pa.int32(), "dimension": pa.int32(), "instance": pa.int32(), "algorithm": text,
        "seed": whole, "budget": whole, "evaluations": whole, "projected": whole, "f_opt": real, "y0": real,
        "best_gap": real, "recommended_gap": real, "status": text, "error": text, "cpu_optimiser": real,
        "cpu_function": real, "trace_evaluations": counts, "trace_gap": curve,
        "target_evaluations": counts, "versions": text, "started": pa.timestamp("ms", tz="UTC"),
    }  # fmt: skip
    return pa.schema(list(kinds.items()))


class Folder:
    """The results of a benchmark on disk; one process may write."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.journal = self.path / "journal.jsonl"
        self.parts = self.path / "parts"
        self.merged = self.path / "results.parquet"
        self._file: Any = None
        self._waiting: list[Row] = []

    def table(self) -> Any:
        """Everything that is finished, sorted by run, a ``pyarrow.Table``."""
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

        files = [f for f in (self.merged, *sorted(self.parts.glob("*.parquet"))) if f.exists()]
        tables = [pq.read_table(f, schema=schema()) for f in files]
        tables.append(pa.Table.from_pylist([_typed(row) for row in self._lines()], schema=schema()))
        table = pa.concat_tables(tables)
        keys = [key_of(row) for row in table.select(list(schema().names[:7])).to_pylist()]
        place = {key: i for i, key in enumerate(keys)}  # of a run found twice, the last
        return table.take(pa.array([place[key] for key in sorted(place)], pa.int64()))

    def _lines(self) -> Iterator[Row]:
        if self.journal.exists():
            for line in self.journal.read_text().splitlines():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:  # cut short by a kill: not finished
                    continue

    def open(self) -> set[tuple[Any, ...]]:
        """Begin to write; returns the keys of the runs that are finished, of which a killed run is none."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.parts.mkdir(exist_ok=True)
        self._file = self.journal.open("a")
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise RuntimeError(f"another benchmark is writing to {self.path}") from None
        self._waiting = list(self._lines())
        self.compact()
        rows = self.table().select([*schema().names[:7], "status"]).to_pylist()
        return {key_of(row) for row in rows if row["status"] != "killed"}

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
        import pyarrow as pa

        if self._waiting:
            number = 1 + max((int(f.stem) for f in self.parts.glob("*.parquet")), default=0)
            rows = [_typed(row) for row in self._waiting]
            _write(pa.Table.from_pylist(rows, schema=schema()), self.parts / f"{number:06d}.parquet")
        self._file.truncate(0)
        self._waiting = []

    def finish(self) -> None:
        """Turn everything into one file."""
        self.compact()
        _write(self.table(), self.merged)
        for part in self.parts.glob("*.parquet"):
            part.unlink()
        self.parts.rmdir()
        self.journal.unlink()
        self.close()

    def close(self) -> None:
        """Let another process write."""
        if self._file is not None:
            self._file.close()


def load_results(path: str | os.PathLike[str]) -> Any:
    """Results as a ``pyarrow.Table``, one row a run; of a benchmark that still runs, what is finished.

    Parameters
    ----------
    path : path
        The folder given to ``run_benchmark``, or a Parquet file.
    """
    path = Path(path)
    if path.is_dir():
        return Folder(path).table()
    import pyarrow.parquet as pq

    return pq.read_table(path)


def _typed(row: Row) -> Row:
    return row | {"started": datetime.datetime.fromisoformat(row["started"])}


def _write(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    temporary = path.with_suffix(".tmp")
    pq.write_table(table, temporary, compression="zstd")
    os.replace(temporary, path)
