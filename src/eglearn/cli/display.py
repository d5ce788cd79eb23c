"""What is seen of a run while it goes on: a live display on a terminal, else a line every few seconds."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

from ..result import counted
from .errors import visible
from .job import Job

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..result import Result

_LINE_SECONDS = 5.0
_SPEED_SECONDS = 30.0  # the speed is that of the last half minute
_WIDE, _PAIR = 88, 27  # columns of a terminal: for the bar and the facts in one line, for a name and a number


class Progress:
    """What is known of the run: the last result, and how fast evaluations arrive."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.budget: int = job.arguments["budget"]
        self.started = time.monotonic()
        self.result: Result | None = None
        self._marks: deque[tuple[float, int]] = deque()

    def update(self, result: Result) -> None:
        """Take in the state after a batch."""
        now = time.monotonic()
        if self.result is None and result.nit == 1:
            self._marks.append((self.started, 0))
        self.result = result
        self._marks.append((now, result.nfev))
        while len(self._marks) > 2 and self._marks[1][0] < now - _SPEED_SECONDS:
            self._marks.popleft()

    @property
    def speed(self) -> float:
        """Evaluations a second; NaN if not known yet."""
        if len(self._marks) < 2:
            return math.nan
        (before, then), (now, count) = self._marks[0], self._marks[-1]
        return (count - then) / max(now - before, 1e-9)

    def numbers(self) -> dict[str, str]:
        """The state as short texts by name."""
        if self.result is None:
            return {}
        result, speed = self.result, self.speed
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


def _extent(progress: Mapping[str, float]) -> str:
    """What tells how far a search has come: the size of its region, or how often it began again."""
    return "restarts" if "restarts" in progress else "region"


def number(value: float | None) -> str:
    """A number for people; a dash if there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(3700.4), duration(float("nan"))
    ('1:01:40', '-')
    """
    return str(timedelta(seconds=round(seconds))) if math.isfinite(seconds) and seconds < 1e12 else "-"


class Display:
    """No display; the callback of ``minimize`` and a context in which it runs."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def __call__(self, intermediate_result: Result) -> None:
        """Take in the state after a batch."""
        self.progress.update(intermediate_result)

    def shown(self) -> AbstractContextManager[object]:
        """The context in which the display is to be seen."""
        return nullcontext()


class Lines(Display):
    """A line after the first batch, and then one every few seconds."""

    def __init__(self, progress: Progress, stream: TextIO) -> None:
        super().__init__(progress)
        self.stream: TextIO | None = stream
        self._due = 0.0

    def __call__(self, intermediate_result: Result) -> None:
        """Take in the state after a batch, and write a line if it is time."""
        super().__call__(intermediate_result)
        if self.stream is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _LINE_SECONDS
        texts = self.progress.numbers()
        done, left = texts.pop("done"), texts.pop("left")
        try:
            self.stream.write(", ".join([done, *(f"{name} {text}" for name, text in texts.items()), left]) + "\n")
            self.stream.flush()
        except BrokenPipeError:
            self.stream = None  # nobody reads any more; the run goes on


class Screen(Display):
    """A few lines on the terminal that change in place."""

    def __init__(self, progress: Progress, stream: TextIO) -> None:
        from rich.console import Console

        super().__init__(progress)
        self.console = Console(file=stream)

    def shown(self) -> AbstractContextManager[object]:
        """The context in which the display is to be seen."""
        from rich.live import Live

        # What is printed on the terminal meanwhile appears above the display; what goes to a file still does.
        here = sys.stderr.isatty()
        return Live(get_renderable=self.render, console=self.console, refresh_per_second=4, redirect_stderr=here)

    def render(self) -> RenderableType:
        """The lines as they are now."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        progress = self.progress
        elapsed = duration(time.monotonic() - progress.started)
        arguments = progress.job.arguments
        algorithm = arguments["algorithm"]
        model = f", {arguments['settings'].model} model" if algorithm.uses("model") else ""
        size = counted(len(arguments["bounds"]), "coordinate")
        head = Text.assemble((visible(progress.job.name), "bold"), f"  {size}, {algorithm.__name__}{model}")
        head.no_wrap, head.overflow = True, "ellipsis"
        texts = progress.numbers()
        if progress.result is None or not texts:
            return Group(head, Text(f"{elapsed} gone, no new batch yet", style="dim"))
        width = self.console.width
        share = ProgressBar(total=max(progress.budget, 1), completed=progress.result.nfev, width=min(28, width))
        facts = texts["done"], f"{elapsed} gone", texts["left"]
        bar = Table.grid(padding=(0, 2))
        if width >= _WIDE:
            bar.add_row(share, *facts)
        else:
            bar.add_row(share)
            bar.add_row(", ".join(facts))
        table = Table.grid(padding=(0, 2))
        pairs = max(1, min(3, (width + 2) // _PAIR))
        for _ in range(pairs):
            table.add_column(style="dim", no_wrap=True)
            table.add_column(min_width=min(15, max(1, width - 10)), overflow="fold")  # nothing moves as numbers grow
        styles = {"best": "bold", "failures": "bold red" if progress.result.n_failed else ""}
        names = ["best", "failures", _extent(progress.result.progress), "speed", "eps"]
        while row := names[:pairs]:
            del names[:pairs]
            table.add_row(*(part for name in row for part in (name, Text(texts[name], styles.get(name, "")))))
        return Group(head, bar, table)


def make_display(job: Job, stream: TextIO, *, quiet: bool) -> Display:
    """The display that fits the stream."""
    progress = Progress(job)
    if quiet:
        return Display(progress)
    return (Screen if stream.isatty() else Lines)(progress, stream)
