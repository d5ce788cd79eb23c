"""The table of runs: one row a run, kept as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._typing import Mask

KEYS = ("suite", "function", "dimension", "instance", "algorithm", "seed")
"""Columns that every table has: they say which run a row is."""

LISTS = {
    "trace_evaluations": int,
    "trace_gap": float,
    "fit_until": int,
    "fit_unexplained": float,
    "fit_skewness": float,
}
"""Columns with a list of its own length in each row."""


class Problem(NamedTuple):
    """What is solved; runs that differ in algorithm or seed only are runs on the same problem."""

    suite: str
    function: int
    dimension: int
    instance: int


@dataclass(frozen=True)
class Results:
    """Runs as columns, each an array with one entry per run.

    Beside `KEYS` the columns are those of the runner: budget, evaluations, f_opt, y0, best_gap, recommended_gap,
    trace_evaluations and trace_gap (an array in each row), target_evaluations (N, 51; -1 for never),
    cpu_optimiser, cpu_function, status. Only those that a metric reads have to be there.
    """

    columns: Mapping[str, npt.NDArray[Any]]

    def __post_init__(self) -> None:
        missing = [name for name in KEYS if name not in self.columns]
        if missing:
            raise ValueError(f"results lack the columns {missing}")
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must have one length, got {lengths}")

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Results:
        """Build from lists or arrays; the same run twice is refused, since it would count twice."""
        results = cls({name: _column(name, values) for name, values in columns.items()})
        names = [name for name in (*KEYS, "budget") if name in results.columns]
        seen: set[tuple[Any, ...]] = set()
        for row in zip(*(results[name].tolist() for name in names), strict=True):
            if row in seen:
                raise ValueError(f"the run {dict(zip(names, row, strict=True))} is in the table more than once")
            seen.add(row)
        return results

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Results:
        """Build from one mapping a run, all with the same keys."""
        if not rows:
            raise ValueError("there are no rows")
        return cls.from_columns({name: [row[name] for row in rows] for name in rows[0]})

    @classmethod
    def from_arrow(cls, table: Any) -> Results:
        """Build from a pyarrow Table."""
        return cls.from_columns({name: table[name].to_numpy() for name in table.column_names})

    def __len__(self) -> int:
        return len(self.columns["suite"])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self.columns:
            raise ValueError(f"results have no column {name!r}, only {sorted(self.columns)}")
        return self.columns[name]

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the algorithms, sorted."""
        return tuple(sorted(set(self["algorithm"].tolist())))

    def where(self, mask: Mask) -> Results:
        """The runs that a boolean array (N,) picks."""
        return Results({name: column[mask] for name, column in self.columns.items()})

    def mask(self, **wanted: Any) -> Mask:
        """Which runs have the wanted value, or one of several, in each named column: boolean (N,)."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            several = isinstance(value, Iterable) and not isinstance(value, str)
            keep &= np.isin(self[name], list(value) if several else [value])
        return keep

    def select(self, **wanted: Any) -> Results:
        """Runs with wanted values: ``select(dimension=(10, 20), algorithm="auto")``.

        Scores that were computed for the whole table are cut alike with ``score[results.mask(...)]``.
        """
        return self.where(self.mask(**wanted))

    def by(self, name: str) -> Iterator[tuple[Any, Results]]:
        """Each value of a column, in order, with its runs."""
        for value in np.unique(self[name]).tolist():
            yield value, self.select(**{name: value})

    def problems(self) -> tuple[tuple[Problem, ...], npt.NDArray[np.intp]]:
        """The problems, sorted, and for each run (N,) the place of its problem among them."""
        rows = [Problem(*row) for row in zip(*(self[name].tolist() for name in KEYS[:4]), strict=True)]
        problems = tuple(sorted(set(rows)))
        place = {problem: k for k, problem in enumerate(problems)}
        return problems, np.array([place[row] for row in rows], dtype=np.intp)


def _column(name: str, values: Any) -> npt.NDArray[Any]:
    if name in LISTS:
        out = np.empty(len(values), dtype=object)
        for row, entry in enumerate(values):
            out[row] = np.asarray([] if entry is None else entry, dtype=LISTS[name])
        return out
    if name == "target_evaluations":
        rows = [np.asarray(entry, dtype=int) for entry in values]
        hits = np.array(rows, dtype=int) if rows else np.empty((0, 51), dtype=int)
        if hits.shape != (len(values), 51):
            raise ValueError(f"target_evaluations must have 51 numbers per run, got shape {hits.shape}")
        return hits
    column = np.asarray(values)
    # Arrow hands text over as objects, and integers with a missing value among them as floats.
    return column.astype(str) if column.dtype == object and name in ("suite", "algorithm") else column
