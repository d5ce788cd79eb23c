"""``eglearn experiment``: draw an illustration of the paper again, and say what was found."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TextIO

from cyclopts import App, Parameter

from eglearn.cli.errors import Usage

from ..experiments.base import Outcome, Progress, duration, experiments, find_experiment, verdict, write_page
from ..experiments.base import run_experiment as run

_LINE_SECONDS = 5.0

experiment_app = App(name="experiment", help_format="plaintext")


@experiment_app.default
def experiment(
    name: str | None = None,
    /,
    *,
    out: str = "experiments",
    docs: str | None = None,
    show_list: Annotated[bool, Parameter(name="--list", negative="", show_default=False)] = False,
) -> int:
    """Draw an illustration of the paper again, from scratch, and say what was found.

    Parameters
    ----------
    name
        Of the experiment; --list shows all.
    out
        The folder for pictures and tables.
    docs
        Also write a page about it into this folder.
    show_list
        Show all experiments and how long they take.
    """
    if show_list:
        list_experiments()
    else:
        run_experiment(name, out, docs)
    return 0


def list_experiments() -> None:
    """Print a table: name, one line, time."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.ROUNDED, header_style="dim")
    table.add_column("name", no_wrap=True)
    table.add_column("what it shows", overflow="fold")
    table.add_column("time on two cores", no_wrap=True, justify="right")
    for entry in experiments():
        table.add_row(entry.name, Text(entry.summary), duration(entry.minutes))
    Console().print(table)


def run_experiment(name: str | None, out: str, docs: str | None) -> None:
    """Run an experiment, print its findings, and optionally write its page.

    Parameters
    ----------
    name
        Of the experiment; None is an error that lists them.
    out, docs
        The folders for pictures and tables, and for the page.
    """
    if name is None:
        raise Usage(f"no experiment is named: choose one of {', '.join(entry.name for entry in experiments())}")
    try:
        entry = find_experiment(name)
    except ValueError as error:
        raise Usage(str(error)) from error
    with _shown(name, sys.stdout) as progress:
        outcome = run(name, out, progress=progress)
    files = [*outcome.pictures, *outcome.tables]
    if docs is not None:
        files.append(write_page(outcome, entry, docs))
    sys.stdout.write(_text(outcome) + "".join(f"written: {file}\n" for file in files))


def _text(outcome: Outcome) -> str:
    blocks = (
        f"paper:    {finding.claim}\nmeasured: {finding.measured}\n          ({verdict(finding)})\n\n"
        for finding in outcome.findings
    )
    return "".join(blocks)


@contextmanager
def _shown(name: str, stream: TextIO) -> Iterator[Progress]:
    """A bar on a terminal, else a line every few seconds."""
    if not stream.isatty():
        yield _lines(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    # Without markup: the texts are plain and may hold brackets.
    columns = (
        TextColumn(name, markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share, text: bar.update(task, completed=share, description=text)


def _lines(stream: TextIO) -> Progress:
    due = 0.0

    def progress(share: float, text: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _LINE_SECONDS
            stream.write(f"{share:4.0%} {text}\n")
            stream.flush()

    return progress
