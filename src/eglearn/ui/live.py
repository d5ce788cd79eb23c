"""What the live page shows: the report's cards as they are now, and what can be wished of the run."""

from __future__ import annotations

import hashlib
import os
import shlex
import threading
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..control import Wishes, is_running, wish, wishes
from ..report.markup import Html, join, tag
from ..report.page import cards, document, header
from ..report.record import Record
from ..store import History
from ..store.connection import neighbour

_SHARE = 4  # the page is drawn again after so many times what it took: a fifth of a core at most
_LEAST_SECONDS = 1.0
_LARGEST_BUDGET = 10**12  # evaluations


class Refused(Exception):
    """A wish that makes no sense; the text says why."""


class Live:
    """The page of one run, drawn again when the run's file has changed.

    Parameters
    ----------
    path
        The file of the run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._drawn, self._due = Html(), 0.0
        self._seen: list[Any] = []
        self._draw(History(self.path))  # so that a wrong name is told at once

    def page(self) -> Html:
        """The whole page."""
        script = (files(__package__) / "live.js").read_text(encoding="utf-8")
        return document(f"{self.path.name}, live", tag("main", self.content()), script, also="; connect-src 'self'")

    def content(self) -> Html:
        """Header, controls and cards."""
        with self._lock:
            if time.monotonic() >= self._due and (seen := self._look()) != self._seen:
                self._seen = seen
                self._draw(History(self.path))
            return self._drawn

    @staticmethod
    def mark(content: Html) -> str:
        """A short text that differs if the content does."""
        return f'"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'

    def _look(self) -> list[Any]:
        """What changes when the run has gone on, without reading it."""
        seen: list[Any] = []
        for ending in ("", "-wal", "-control"):
            try:
                status = neighbour(self.path, ending).stat()
                seen.append((status.st_mtime_ns, status.st_size))
            except FileNotFoundError:
                seen.append(None)
        seen.append(is_running(History(self.path)))
        return seen

    def _draw(self, history: History) -> None:
        begun = time.monotonic()
        run = Record(history)
        self._drawn = join(header(run), _controls(run, wishes(self.path)), *cards(run))
        self._due = time.monotonic() + max(_LEAST_SECONDS, _SHARE * (time.monotonic() - begun))

    def wish(self, told: Any) -> None:
        """Pass on what the page asks for: ``{"pause": true}``, ``{"stop": true}`` or ``{"budget": 20000}``."""
        history = History(self.path)
        if not is_running(history):
            raise Refused("the run is not running")
        match told:
            case {"pause": bool(on), **rest} if not rest:
                wish(self.path, pause=on)
            case {"stop": True, **rest} if not rest:
                wish(self.path, stop=True)
            case {"budget": int(budget), **rest} if not rest and not isinstance(budget, bool):
                least = _budget(history, wishes(self.path))
                if not least < budget <= _LARGEST_BUDGET:
                    raise Refused(f"the budget must be a whole number above {least:,}")
                wish(self.path, budget=budget)
            case _:
                raise Refused("the request is not understood: it must be pause, stop or budget")
        with self._lock:
            self._due = 0.0


def _budget(history: History, told: Wishes) -> int:
    budget = history.identity.get("budget")
    return max(budget if isinstance(budget, int) else 0, told.budget)


def _controls(run: Record, told: Wishes) -> Html:
    """The card with buttons; without a process that would obey, what to type instead."""
    history = run.history
    if not run.running:
        budget = history.identity.get("budget")
        words = ["eglearn", "resume", str(history.path)]
        words += ["--budget", str(2 * budget)] if isinstance(budget, int) and len(run.y) >= budget else []
        note = "No process is writing this file, so there is nothing to control. To continue the run:"
        return tag("section", tag("h2", "Not running"), tag("p", note, class_="note"),
                   tag("pre", tag("code", shlex.join(words))), id="controls", class_="card wide")  # fmt: skip
    budget = _budget(history, told)
    state, note = "Running", "Changes take effect after the current batch."
    if told.stop:
        state, note = "Stopping", "The run ends after the current batch; it can be resumed."
    elif run.waits:
        state, note = "Paused", "Nothing new is evaluated until the run goes on."
    elif told.pause:
        state, note = "Pausing", "The run waits after the current batch."
    elif told.budget > (history.identity.get("budget") or 0):
        note = f"The budget grows to {told.budget:,} evaluations."
    elif told.budget:
        note = f"The budget was raised to {told.budget:,} evaluations."
    off = "" if told.stop else None
    pause = tag("button", "Go on" if told.pause else "Pause", type="button", id="pause", disabled=off,
                data_wish='{"pause": %s}' % ("false" if told.pause else "true"))  # fmt: skip
    stop = tag(
        "button", "Stop", type="button", id="stop", disabled=off, data_wish='{"stop": true}', data_sure="Stop it?"
    )
    field = tag("input", type="number", id="budget", value=2 * budget, min=budget + 1, max=_LARGEST_BUDGET,
                disabled=off, aria_label="evaluations in total")  # fmt: skip
    raised = tag("form", field, tag("button", "Raise the budget", disabled=off), id="raise")
    buttons = tag("div", pause, stop, raised, class_="buttons")
    told_now = tag("p", note, class_="note", id="said", role="status")
    head = tag("h2", tag("span", state, id="state"), tag("small", f" {history.holder()}"))
    return tag("section", head, told_now, buttons, id="controls", class_="card wide")
