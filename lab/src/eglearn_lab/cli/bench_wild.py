"""``eglearn bench run --suite wild``: the laboratory's own suites, whose problems have budgets of their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from eglearn.cli.errors import ALL_FAILED, Usage

from .bench_grid import check_algorithms, numbers
from .bench_running import Board, told
from .display import Display


def own_suites() -> tuple[str, ...]:
    """Names of the laboratory's own suites."""
    from ..bench.wild_runs import SUITES

    return tuple(SUITES)


def is_suite_folder(path: Path) -> bool:
    """Whether a folder holds runs on one of these suites."""
    from ..bench.wild_runs import load_runs

    try:
        return path.is_dir() and any(row["suite"] in own_suites() for row in load_runs(path)[:1])
    except (ValueError, KeyError, TypeError):  # other columns: runs on COCO's problems
        return False


def run_suite(
    out: str,
    suite: str,
    algorithms: str | None,
    seeds: str,
    set_aside: bool,
    *,
    workers: int,
    plugins: Sequence[str],
    display: Display[Board],
) -> int:
    """Run the algorithms on one half of a suite and show the ranks; returns the exit code."""
    from ..bench.algorithms import ALGORITHMS
    from ..bench.wild_report import collect, rank_table
    from ..bench.wild_runs import RIVALS, WildRuns, jobs, load_runs
    from ..runner import run_jobs

    if algorithms is None:
        names = tuple(name for name in RIVALS if ALGORITHMS[name].unavailable() is None)
    else:
        names = tuple(dict.fromkeys(name.strip() for name in algorithms.split(",")))
        check_algorithms(names)
    todo = jobs(suite, names, numbers(seeds, "seeds"), set_aside)
    finished = {row["problem"] for row in load_runs(out)} if Path(out).is_dir() else set()
    if finished - {job.problem for job in jobs(suite, ("auto",), (0,), set_aside)}:
        raise Usage(f"{out} holds runs on the other half of {suite}: choose another --out")
    display.progress.total = len(todo)
    with told(), display.shown():
        table = run_jobs(out, WildRuns(tuple(plugins)), todo, workers=workers, progress=display)
    rows = table.to_pylist()
    failed = [row for row in rows if row["status"] in ("failed", "killed")]
    for row in failed:
        sys.stdout.write(f"{row['algorithm']} on {row['problem']}, seed {row['seed']}: {row['error']}\n")
    values = collect(rows)
    print_table(rank_table(values, "auto" if "auto" in values.algorithms else values.algorithms[0]))
    return ALL_FAILED if len(failed) == len(rows) else 0


def print_table(table: object) -> None:
    """Show a table on the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Shown

    from ..bench.page import Table

    assert isinstance(table, Table)
    shown = Shown(*table.header, title=table.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for row in table.rows:
        shown.add_row(*(cell.text for cell in row))
    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(shown)


def report_suite(paths: Sequence[Path], markdown: str | None) -> int:
    """Show all tables of a folder, or write them as a Markdown page."""
    from ..bench.wild_report import sections, write_wild_page
    from ..bench.wild_runs import load_runs

    if len(paths) != 1:
        raise Usage("give one folder of runs on this suite: all its runs are compared")
    if markdown is not None:
        sys.stdout.write(f"{write_wild_page(paths[0], markdown)} written\n")
        return 0
    for _, table in sections(load_runs(paths[0])):
        print_table(table)
    return 0
