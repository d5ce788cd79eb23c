"""Running a benchmark: what is seen of it, and how it ends."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eglearn.cli.errors import ALL_FAILED, STORE, Failure
from eglearn.progress import duration, progress_bar
from eglearn.result import counted

from .bench_grid import Grid
from .display import Display, View

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..runner import Progress, Row

_ENDINGS = {
    "target": "reached the last target",
    "budget": "used the budget",
    "finished": "ended early",
    "failed": "failed",
    "killed": "killed",
}


class Refused(Failure):
    """The folder of results cannot be used."""

    code = STORE


class Board(View["Progress"]):
    """What is seen of a benchmark."""

    def __init__(self) -> None:
        self.done = self.total = self.failed = 0
        self._ends = math.nan
        self._last = "the first runs are going on"

    @property
    def finished(self) -> bool:
        """Whether no run is left."""
        return self.done == self.total

    def update(self, news: Progress) -> None:
        """A run has finished."""
        self.done, self.total, self.failed = news.done, news.total, news.failed
        self._ends, self._last = time.monotonic() + news.eta, _describe(news.row)

    def count(self) -> str:
        """How far it is."""
        return f"{self.done} of {counted(self.total, 'run')}"

    def _facts(self) -> list[str]:
        left = max(self._ends - time.monotonic(), 0.0) if math.isfinite(self._ends) else math.nan
        return [self.count(), f"{self.failed} failed", f"{duration(left)} left"]

    def line(self) -> str:
        """How far it is, and the last run."""
        return f"{', '.join(self._facts())}; {self._last}"

    def render(self, width: int) -> RenderableType:
        """The same with a bar."""
        from rich.console import Group
        from rich.text import Text

        share = progress_bar(width, self.done, self.total, *self._facts())
        return Group(share, Text(self._last, "dim", no_wrap=True, overflow="ellipsis"))


@contextmanager
def told(dask: str | None = None) -> Iterator[None]:
    """What can go wrong around the runs, as a sentence."""
    from ..runner import CannotBegin, FolderInUse, FolderRefused

    try:
        yield
    except (FolderInUse, FolderRefused) as error:
        raise Refused(str(error)) from error
    except CannotBegin as error:
        raise Failure(str(error)) from error
    except OSError as error:
        if dask is None:
            raise
        raise Failure(f"there is no dask scheduler at {dask} ({error}): check --dask") from error


def benchmark(
    out: str,
    grid: Grid,
    display: Display[Board],
    *,
    workers: int,
    observe: str | None,
    plugins: Sequence[str],
    dask: str | None,
) -> Any:
    """Run the grid; returns the table of all results in the folder."""
    from ..bench.runner import run_grid

    jobs, finished = grid.jobs(), _finished(Path(out))
    display.progress.total = len(jobs)
    display.progress.done = sum(job.key in finished for job in jobs)
    with told(dask), display.shown():
        return run_grid(out, jobs, workers=workers, progress=display, observe=observe, plugins=plugins, dask=dask)


def take_all(out: str, grid: Grid, display: Display[Board], workers: int) -> Any:
    """Take the snapshots of an ablation; returns the table of all in the folder."""
    from ..bench.problems import Problem
    from ..bench.snapshots import take_snapshots

    problems = [
        Problem(grid.suite, function, n, instance)
        for functions, instances in grid.blocks
        for n in grid.dims
        for function in functions
        for instance in instances
    ]
    display.progress.total = len(problems) * len(grid.seeds)
    with told(), display.shown():
        return take_snapshots(out, problems, grid.budget, grid.snapshots, grid.seeds, workers=workers, progress=display)


def has_results(path: Path) -> bool:
    """Whether there are results of a benchmark, finished or not."""
    names = ("results.parquet", "journal.jsonl", "parts", "snapshots")
    return path.is_file() or any((path / name).exists() for name in names)


def _finished(path: Path) -> set[tuple[Any, ...]]:
    """The keys of the runs that are there."""
    from ..bench.rows import key_of
    from ..bench.runner import load_results

    if not path.is_dir():
        return set()
    try:
        return {key_of(row) for row in load_results(path).to_pylist()}
    except (ValueError, KeyError) as error:  # what Arrow says of a damaged file is a ValueError
        raise Refused(f"the results in {path} cannot be read ({error}): choose another --out") from error


def _describe(row: Row) -> str:
    who = row.get("algorithm", "snapshots")
    if "problem" in row:
        return f"{who} on {row['problem']}: {row['error'] or format(row['judged'], '.5g')}"
    which = f"{who} on {row['suite']} f{row['function']} {row['dimension']}-D instance {row['instance']}"
    if row["status"] in ("failed", "killed"):
        return f"{which}: {row['error']}"
    if "best_gap" not in row:
        return which
    return f"{which}: gap {row['best_gap']:.3g} after {counted(row['evaluations'], 'evaluation')}"


def summary(out: str, table: Any, grid: Grid) -> int:
    """Say how the runs of the grid ended; returns the exit code."""
    from ..bench.rows import key_of

    wanted = {job.key for job in grid.jobs()}
    return _told_ends(out, [row for row in table.to_pylist() if key_of(row) in wanted])


def snapshot_summary(out: str, table: Any) -> int:
    """Say how the runs with snapshots ended; returns the exit code."""
    return _told_ends(out, table.drop_columns(["t", "y", "v"]).to_pylist())


def _told_ends(out: str, rows: list[Row]) -> int:
    ends = Counter(row["status"] for row in rows)
    parts = [f"{ends[status]} {text}" for status, text in _ENDINGS.items() if ends[status]]
    lines = [f"{len(rows)} run{'s are' if len(rows) != 1 else ' is'} in {out}: {', '.join(parts)}"]
    failed = [row for row in rows if row["status"] in ("failed", "killed")]
    lines += [f"The first that failed: {_describe(row)}" for row in failed[:1]]
    lines.append(f"To see them: {shlex.join(['eglearn', 'bench', 'report', out])}")
    sys.stdout.write("\n".join(lines) + "\n")
    return ALL_FAILED if rows and len(failed) == len(rows) else 0
