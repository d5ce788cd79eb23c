"""A run of the benchmark: what says which one it is, and what is kept of it."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..runner import Folder, Row
from .problems import Problem

KEY = ("suite", "function", "dimension", "instance", "algorithm", "seed", "budget")
"""The columns that say which run a row is."""


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
    return tuple(row[name] for name in KEY)


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
        "fit_until": counts, "fit_unexplained": curve, "fit_skewness": curve,
    }  # fmt: skip
    return pa.schema(list(kinds.items()))


def load_results(path: str | os.PathLike[str]) -> Any:
    """Results as a ``pyarrow.Table``, one row a run; of a benchmark that still runs, what is finished.

    Parameters
    ----------
    path : path
        The folder given to ``run_benchmark``, or a Parquet file.
    """
    from .worker import CocoRuns

    path = Path(path)
    if path.is_dir():
        return Folder(path, CocoRuns()).table()
    import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

    return pq.read_table(path, schema=schema())
