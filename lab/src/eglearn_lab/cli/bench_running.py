"""Running a benchmark: what is seen of it, and how it ends."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from eglearn.cli.display import duration
from eglearn.cli.errors import ALL_FAILED, STORE, Failure
from eglearn.result import counted

from .bench_grid import Grid

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..bench.problems import Problem
    from ..bench.rows import Row
    from ..bench.runner import Progress

_LINE_SECONDS = 10.0
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


class Board:
    """What is seen of a benchmark: a bar that changes in place on a terminal, else a line now and then."""

    def __init__(self, stream: TextIO, quiet: bool) -> None:
        self.stream, self.quiet = stream, quiet
        self.done = self.total = self.failed = 0
        self._ends = math.nan
        self._last = "the first runs are going on"
        self._due = 0.0

    def update(self, done: int, failed: int, eta: float, last: str) -> None:
        """A run has finished."""
        now = time.monotonic()
        self.done, self.failed, self._ends, self._last = done, failed, now + eta, last
        if self.quiet or self.stream.isatty() or (now < self._due and done < self.total):
            return
        self._due = now + _LINE_SECONDS
        try:
            self.stream.write(f"{', '.join(self._facts())}; {last}\n")
            self.stream.flush()
        except BrokenPipeError:
            self.quiet = True  # nobody reads any more; the benchmark goes on

    def count(self) -> str:
        """How far it is."""
        return f"{self.done} of {counted(self.total, 'run')}"

    def _facts(self) -> list[str]:
        left = max(self._ends - time.monotonic(), 0.0) if math.isfinite(self._ends) else math.nan
        return [self.count(), f"{self.failed} failed", f"{duration(left)} left"]

    def shown(self) -> AbstractContextManager[object]:
        """The context in which it is to be seen."""
        if self.quiet or not self.stream.isatty():
            return nullcontext()
        from rich.console import Console
        from rich.live import Live

        return Live(get_renderable=self.render, console=Console(file=self.stream), refresh_per_second=4)

    def render(self) -> RenderableType:
        """The lines as they are now."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        bar = Table.grid(padding=(0, 2))
        bar.add_row(ProgressBar(total=max(self.total, 1), completed=self.done, width=28), *self._facts())
        return Group(bar, Text(self._last, "dim", no_wrap=True, overflow="ellipsis"))


def benchmark(
    out: str, grid: Grid, board: Board, *, workers: int, observe: str | None, plugins: Sequence[str], dask: str | None
) -> Any:
    """Run block after block; returns the table of all results in the folder."""
    from ..bench.runner import load_results, run_benchmark

    finished = _finished(Path(out))
    todo = [sum(job.key not in finished for job in jobs) for jobs in grid.jobs()]
    board.total = sum(map(len, grid.jobs()))
    board.done = board.total - sum(todo)
    for k, (functions, instances) in enumerate(grid.blocks):
        done, failed, later = board.done, board.failed, sum(todo[k + 1 :])
        ahead = len(grid.jobs()[k]) - todo[k]

        def show(p: Progress, done: int = done, failed: int = failed, later: int = later, ahead: int = ahead) -> None:
            here = p.done - ahead
            eta = p.eta + later * p.seconds / here  # runs of later blocks: as long as those so far
            board.update(done + here, failed + p.failed, eta, _describe(p.row))

        try:
            with board.shown():
                run_benchmark(
                    out, grid.suite, grid.dims, functions, instances, grid.algorithms, grid.budget, grid.seeds,
                    workers=workers, progress=show, observe=observe, plugins=plugins, dask=dask,
                )  # fmt: skip
        except ValueError as error:
            if "were not observed" not in str(error):
                raise
            raise Refused(str(error)) from error
        except RuntimeError as error:
            if "before it began" in str(error):
                raise Failure(str(error)) from error
            if "another benchmark" not in str(error):
                raise
            raise Refused(f"{out} is in use by another benchmark: wait for it, or choose another --out") from error
        except OSError as error:
            if dask is None:
                raise
            raise Failure(f"there is no dask scheduler at {dask} ({error}): check --dask") from error
    return load_results(out)


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
    which = f"{row['algorithm']} on {row['suite']} f{row['function']} {row['dimension']}-D instance {row['instance']}"
    if row["status"] in ("failed", "killed"):
        return f"{which}: {row['error']}"
    return f"{which}: gap {row['best_gap']:.3g} after {counted(row['evaluations'], 'evaluation')}"


def summary(out: str, table: Any, grid: Grid) -> int:
    """Say how the runs of the grid ended; returns the exit code."""
    from ..bench.rows import key_of

    wanted = {job.key for jobs in grid.jobs() for job in jobs}
    rows = [row for row in table.to_pylist() if key_of(row) in wanted]
    ends = Counter(row["status"] for row in rows)
    parts = [f"{ends[status]} {text}" for status, text in _ENDINGS.items() if ends[status]]
    lines = [f"{len(rows)} run{'s are' if len(rows) != 1 else ' is'} in {out}: {', '.join(parts)}"]
    failed = [row for row in rows if row["status"] in ("failed", "killed")]
    lines += [f"The first that failed: {_describe(row)}" for row in failed[:1]]
    lines.append(f"To see them: {shlex.join(['eglearn', 'bench', 'report', out])}")
    sys.stdout.write("\n".join(lines) + "\n")
    return ALL_FAILED if rows and len(failed) == len(rows) else 0


def snapshots(out: str, grid: Grid, workers: int, board: Board) -> Path:
    """Take the snapshots of an ablation; returns their folder."""
    from ..bench.problems import Problem
    from ..bench.snapshots import take_snapshots

    begun, ahead = time.monotonic(), -1

    def show(problem: Problem, done: int, total: int) -> None:
        nonlocal ahead
        ahead = done - 1 if ahead < 0 else ahead
        eta = (time.monotonic() - begun) / (done - ahead) * (total - done)
        board.update(done, 0, eta, f"snapshots of {problem.suite} f{problem.function} {problem.dimension}-D")

    problems = [
        Problem(grid.suite, function, n, instance)
        for functions, instances in grid.blocks
        for n in grid.dims
        for function in functions
        for instance in instances
    ]
    board.total = len(problems) * len(grid.seeds)
    with board.shown():
        return take_snapshots(out, problems, grid.budget, grid.snapshots, grid.seeds, workers=workers, progress=show)
