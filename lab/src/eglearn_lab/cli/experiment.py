"""``eglearn experiment``: draw an illustration of the paper again, and say what was found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from eglearn.cli.errors import Usage
from eglearn.progress import progress_bar

from ..experiments.base import Outcome, duration, experiments, find_experiment, verdict, write_page
from ..experiments.base import run_experiment as run
from .display import Display, View

if TYPE_CHECKING:
    from rich.console import RenderableType

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
    """Recompute a figure of the paper from scratch, and report the findings.

    Parameters
    ----------
    name
        The name of the experiment; --list shows all.
    out
        The folder for figures and tables.
    docs
        Also write a page about it to this folder.
    show_list
        List all experiments and how long they take.
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
    display = Display(_Share(name), sys.stdout)
    with display.shown():
        outcome = run(name, out, progress=lambda share, text: display((share, text)))
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


class _Share(View[tuple[float, str]]):
    """How far an experiment is."""

    def __init__(self, name: str) -> None:
        self.name, self.share, self.text = name, 0.0, ""

    def update(self, news: tuple[float, str]) -> None:
        """Take in a share from 0 to 1, and what is being done."""
        self.share, self.text = news

    def line(self) -> str:
        """Share and text."""
        return f"{self.share:4.0%} {self.text}"

    def render(self, width: int) -> RenderableType:
        """The same with a bar."""
        # As Text: the words are plain and may hold brackets.
        return progress_bar(width, self.share, 1.0, self.name, f"{self.share:4.0%}", self.text)
