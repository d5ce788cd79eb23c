"""What is seen of work in progress: a live display on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType

_LINE_SECONDS = 5.0

News = TypeVar("News")


class View(ABC, Generic[News]):
    """What is known of work in progress, and how it is shown."""

    @property
    def finished(self) -> bool:
        """Whether these are the last news, which are shown at once."""
        return False

    @abstractmethod
    def update(self, news: News) -> None:
        """Take in what has happened."""

    @abstractmethod
    def line(self) -> str:
        """The state on one line."""

    @abstractmethod
    def render(self, width: int) -> RenderableType:
        """The state on a few lines of a terminal of this width."""


Known = TypeVar("Known", bound=View[Any])


class Display(Generic[Known]):
    """Shows a view: called with news it passes them on; on anything but a terminal it writes a line now and then.

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

    def __call__(self, news: Any) -> None:
        """Take in news, such as a finished run."""
        self.progress.update(news)
        now = time.monotonic()
        if self.stream is None or self.stream.isatty() or (now < self._due and not self.progress.finished):
            return
        self._due = now + _LINE_SECONDS
        try:
            self.stream.write(f"{self.progress.line()}\n")
            self.stream.flush()
        except BrokenPipeError:
            self.stream = None  # nobody reads any more; the work goes on

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
