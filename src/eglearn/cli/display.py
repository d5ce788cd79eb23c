"""What is seen of something that goes on: a live display on a terminal, else a line every few seconds."""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, TextIO, TypeVar

from ..progress import Pace, duration, number, progress_bar
from ..result import counted
from .errors import visible
from .job import Job

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..result import Result

_LINE_SECONDS = 5.0
_PAIR = 27  # columns of a terminal for a name and a number

News = TypeVar("News")


class View(ABC, Generic[News]):
    """What is known of something that goes on, and how it is told."""

    @property
    def finished(self) -> bool:
        """Whether these are the last news, which are told at once."""
        return False

    @abstractmethod
    def update(self, news: News) -> None:
        """Take in what has happened."""

    @abstractmethod
    def line(self) -> str:
        """How it stands, on one line."""

    @abstractmethod
    def render(self, width: int) -> RenderableType:
        """How it stands, on some lines of a terminal that is so wide."""


class Progress(View["Result"]):
    """What is known of a run: the last result, and how fast evaluations arrive."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.budget: int = job.arguments["budget"]
        self.started = time.monotonic()
        self.result: Result | None = None
        self._pace = Pace()

    def update(self, news: Result) -> None:
        """Take in the state after a group of answers."""
        if self.result is None and news.nit == 1:
            self._pace.add(self.started, 0)
        self.result = news
        self.budget = news.budget
        self._pace.add(time.monotonic(), news.nfev)

    def numbers(self) -> dict[str, str]:
        """The state as short texts by name."""
        if self.result is None:
            return {}
        result, speed = self.result, self._pace.speed
        left = (self.budget - result.nfev) / speed if speed > 0 else math.nan
        return {
            "done": f"{result.nfev} of {counted(self.budget, 'evaluation')}",
            "left": f"{duration(left)} left",
            "best": "-" if math.isnan(result.fun) else f"{result.fun:.8g}",
            _extent(result.progress): number(result.progress.get(_extent(result.progress))),
            "eps": number(result.progress.get("epsilon")),
            "failures": str(result.n_failed),
            "speed": f"{number(speed)}/s",
        }

    def line(self) -> str:
        """All numbers."""
        texts = self.numbers()
        done, left = texts.pop("done"), texts.pop("left")
        return ", ".join([done, *(f"{name} {text}" for name, text in texts.items()), left])

    def render(self, width: int) -> RenderableType:
        """What is run, a bar, and the numbers."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        elapsed = duration(time.monotonic() - self.started)
        arguments = self.job.arguments
        algorithm = arguments["algorithm"]
        model = f", {arguments['settings'].model} model" if algorithm.uses("model") else ""
        size = counted(len(arguments["bounds"]), "coordinate")
        head = Text.assemble((visible(self.job.name), "bold"), f"  {size}, {algorithm.name}{model}")
        head.no_wrap, head.overflow = True, "ellipsis"
        texts = self.numbers()
        if self.result is None or not texts:
            return Group(head, Text(f"{elapsed} elapsed, no new value yet", style="dim"))
        share = progress_bar(width, self.result.nfev, self.budget, texts["done"], f"{elapsed} elapsed", texts["left"])
        table = Table.grid(padding=(0, 2))
        pairs = max(1, min(3, (width + 2) // _PAIR))
        for _ in range(pairs):
            table.add_column(style="dim", no_wrap=True)
            table.add_column(min_width=min(15, max(1, width - 10)), overflow="fold")  # nothing moves as numbers grow
        styles = {"best": "bold", "failures": "bold red" if self.result.n_failed else ""}
        names = ["best", "failures", _extent(self.result.progress), "speed", "eps"]
        while row := names[:pairs]:
            del names[:pairs]
            table.add_row(*(part for name in row for part in (name, Text(texts[name], styles.get(name, "")))))
        return Group(head, share, table)


def _extent(progress: Mapping[str, float]) -> str:
    """What tells how far a search has come: the size of its region, or how often it began again."""
    return "restarts" if "restarts" in progress else "region"


Known = TypeVar("Known", bound=View[Any])


class Display(Generic[Known]):
    """Shows a view: called with news it passes them on, and on anything but a terminal writes a line if it is time.

    Parameters
    ----------
    progress
        What is shown.
    stream
        Where; None shows nothing.
    """

    def __init__(self, progress: Known, stream: TextIO | None) -> None:
        self.progress = progress
        self.stream = stream
        self._due = 0.0

    def __call__(self, intermediate_result: Any) -> None:
        """Take in news, such as the state of a run after a batch."""
        self.progress.update(intermediate_result)
        now = time.monotonic()
        if self.stream is None or self.stream.isatty() or (now < self._due and not self.progress.finished):
            return
        self._due = now + _LINE_SECONDS
        try:
            self.stream.write(f"{self.progress.line()}\n")
            self.stream.flush()
        except BrokenPipeError:
            self.stream = None  # nobody reads any more; what is shown goes on

    def shown(self) -> AbstractContextManager[object]:
        """The context in which a terminal shows it, in lines that change in place."""
        if self.stream is None or not self.stream.isatty():
            return nullcontext()
        from rich.console import Console
        from rich.live import Live

        # What is printed on the terminal meanwhile appears above the display; what goes to a file still does.
        console, here = Console(file=self.stream), sys.stderr.isatty()
        return Live(
            get_renderable=lambda: self.progress.render(console.width),
            console=console,
            refresh_per_second=4,
            redirect_stderr=here,
        )
