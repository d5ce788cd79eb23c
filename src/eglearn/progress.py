"""How a run stands, for ``minimize(..., progress=True)`` and ``eglearn run``: a bar or, in files, lines."""

from __future__ import annotations

import html
import math
import sys
import time
from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeGuard

from ._typing import Array
from .evaluation.base import Outcome
from .evaluation.words import visible
from .result import Result, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

_PACE_SECONDS = 30.0  # the speed is that of the last half minute
_MARK_SECONDS = 0.1  # between two counts that are kept for it
_LINE_SECONDS = 5.0  # between two lines in a file
_SHOW_SECONDS = 0.2  # between two changes of what is seen
_BAR, _WIDE = 28, 88  # columns: of the bar, and of a terminal with room for facts beside it


class Pace:
    """How fast evaluations arrive."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def add(self, now: float, count: int) -> None:
        """So many evaluations are done at that time."""
        if len(self._marks) < 2 or now - self._marks[-2][0] >= _MARK_SECONDS:
            self._marks.append((now, count))
        else:
            self._marks[-1] = now, count
        while len(self._marks) > 2 and self._marks[1][0] < now - _PACE_SECONDS:
            self._marks.popleft()

    @property
    def speed(self) -> float:
        """Evaluations per second; NaN if not known yet."""
        if len(self._marks) < 2:
            return math.nan
        (before, then), (now, count) = self._marks[0], self._marks[-1]
        return (count - then) / max(now - before, 1e-9)


class Face(Protocol):
    """Where the bar is seen."""

    seconds: float
    """Between two changes."""

    def show(self, bar: ProgressBar) -> None:
        """Show how it stands."""

    def close(self, bar: ProgressBar) -> None:
        """Show how it ended."""


class ProgressBar:
    """Follows a run, evaluation by evaluation.

    Parameters
    ----------
    budget : int
        Of the run.
    face : Face or None
        Where it is seen; None: what fits the program, ``find_face()``.
    """

    def __init__(self, budget: int, face: Face | None = None) -> None:
        self.budget, self.started = budget, time.monotonic()
        self.done = self.failed = 0
        self.best, self.doing, self.message = math.nan, "", ""
        self.pace = Pace()
        self._face = find_face() if face is None else face
        self._due = 0.0
        self._show()

    def evaluated(self, index: int, x: Array | None, outcome: Outcome, at: float | None = None) -> None:
        """Count an evaluation."""
        self.done += 1
        if outcome.error is not None:
            self.failed += 1
        elif not self.best <= outcome.y:
            self.best = outcome.y
        self._show()

    def learned(self, result: Result) -> None:
        """The run begins, goes on, or has learned from answers."""
        self.done, self.failed, self.best, self.budget = result.nfev, result.n_failed, result.fun, result.budget
        self.doing = str(result.progress.get("doing", ""))
        self._show()

    def end(self, result: Result) -> None:
        """The run is over."""
        self._due = math.inf  # it is shown once more when it is closed
        self.learned(result)
        self.message = result.message

    def _show(self) -> None:
        now = time.monotonic()
        if now >= self._due:
            self.pace.add(now, self.done)
            self._face.show(self)
            self._due = now + self._face.seconds

    def close(self) -> None:
        """Nothing more will come."""
        self._face.close(self)

    @property
    def share(self) -> float:
        """Of the budget."""
        return min(1.0, self.done / max(1, self.budget))

    def facts(self) -> list[str]:
        """How it stands, as short texts, the important ones first."""
        gone, speed = time.monotonic() - self.started, self.pace.speed
        left = (self.budget - self.done) / speed if speed > 0 else math.nan
        texts = [
            f"{self.done:,} of {counted(f'{self.budget:,}', 'evaluation')}",
            f"lowest value {'-' if math.isnan(self.best) else f'{self.best:.6g}'}",
            *([f"{self.failed:,} failed"] if self.failed else []),
            f"{duration(gone)} elapsed",
        ]
        if self.message:
            return texts
        pace = [] if math.isnan(speed) else [f"{speed:.3g}/s" if speed < 1000 else f"{speed:,.0f}/s"]
        return [*texts, f"{duration(left)} left", *pace, *([self.doing] if self.doing else [])]

    def text(self, first: int = 0) -> str:
        """The facts from ``first`` on, and at the end the message."""
        return ", ".join(self.facts()[first:]) + (f". {visible(self.message)}" if self.message else "")


class Lines:
    """A line now and then: for files, and terminals without rich, where one line changes in place."""

    def __init__(self, stream: TextIO | None, *, in_place: bool) -> None:
        self.stream, self.in_place = stream, in_place  # None: there is none, as in a program without a console
        self.seconds = _SHOW_SECONDS if in_place else _LINE_SECONDS

    def show(self, bar: ProgressBar) -> None:
        """Write how it stands."""
        if bar.done:
            self._write(bar, end="" if self.in_place else "\n")

    def close(self, bar: ProgressBar) -> None:
        """Write how it ended, if there is anything to say."""
        if bar.done:
            self._write(bar, end="\n")

    def _write(self, bar: ProgressBar, end: str) -> None:
        text = bar.text()
        if self.stream is None:
            return
        try:
            self.stream.write(f"\r{text}\x1b[K{end}" if self.in_place else f"{text}{end}")
            self.stream.flush()
        except (OSError, ValueError):  # nobody reads any more, or it is closed: the run goes on
            self.seconds = math.inf


class Terminal:
    """A bar that changes in place, drawn by rich."""

    seconds = _SHOW_SECONDS

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._bar: ProgressBar | None = None
        # What is printed on the terminal meanwhile appears above the bar; what goes to a file still does.
        self._live = Live(
            get_renderable=self._drawn, console=Console(file=stream), refresh_per_second=5,
            redirect_stdout=_is_terminal(sys.stdout), redirect_stderr=_is_terminal(sys.stderr),
        )  # fmt: skip

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        if (bar := self._bar) is None:
            return ""
        facts, rest = bar.facts()[:2], Text(bar.text(2), style="dim")
        return Group(progress_bar(self._live.console.width, bar.done, bar.budget, *facts), rest)

    def show(self, bar: ProgressBar) -> None:
        """Begin to draw it, several times per second from now on."""
        self._bar = bar
        if not self._live.is_started:
            self._live.start()

    def close(self, bar: ProgressBar) -> None:
        """Draw it for the last time, or wipe it if nothing has happened."""
        self._live.transient = bar.done == 0
        self.show(bar)
        self._live.stop()


def progress_bar(width: int, done: float, total: float, *facts: str) -> RenderableType:
    """A bar, and some facts beside it, or below it in a narrow terminal."""
    from rich.progress_bar import ProgressBar as Drawn
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    share = Drawn(total=max(total, 1), completed=done, width=min(_BAR, width))
    if width >= _WIDE:
        grid.add_row(share, *map(Text, facts))  # plain words, which may hold brackets
    else:
        grid.add_row(share)
        grid.add_row(Text(", ".join(facts)))
    return grid


class Notebook:
    """HTML that changes in place, in Jupyter and whatever else shows what IPython displays."""

    seconds = _SHOW_SECONDS

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, bar: ProgressBar) -> None:
        """Show it."""
        data = {"text/html": self._html(bar), "text/plain": bar.text()}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def close(self, bar: ProgressBar) -> None:
        """Show it for the last time."""
        self.show(bar)

    @staticmethod
    def _html(bar: ProgressBar) -> str:
        first, rest = html.escape(bar.facts()[0]), html.escape(bar.text(1))
        full, part = "background:currentColor;border-radius:3px;height:6px;", 100 * bar.share
        # Colours are those of the page, so that it can be read on dark ones too.
        return (
            '<div style="max-width:40em;font-size:90%;line-height:1.5">'
            f'<div style="{full}opacity:.85;width:{part:.1f}%;margin-bottom:-6px"></div>'
            f'<div style="{full}opacity:.15"></div>'
            f"<div><b>{first}</b>, {rest}</div></div>"
        )


def _is_terminal(stream: TextIO | None) -> TypeGuard[TextIO]:
    """Whether it is one; None: there is no such stream, as in a program without a console."""
    return stream is not None and stream.isatty()


def find_face(stream: TextIO | None = None) -> Face:
    """On a stream: a bar on a terminal, else lines. None: a notebook if the program runs in one, or standard error."""
    if stream is None:
        ipython = sys.modules.get("IPython")
        shell = None if ipython is None else ipython.get_ipython()
        if shell is not None and getattr(shell, "kernel", None) is not None:
            from IPython.display import display

            return Notebook(display)
        stream = sys.stderr
    if not _is_terminal(stream):
        return Lines(stream, in_place=False)
    try:
        return Terminal(stream)
    except ImportError:
        return Lines(stream, in_place=True)


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(3700.4), duration(float("nan"))
    ('1:01:40', '-')
    """
    return str(timedelta(seconds=round(seconds))) if math.isfinite(seconds) and seconds < 1e12 else "-"
