"""``eglearn show``: how a run stands, read from its file."""

from __future__ import annotations

import bisect
import math
import os
import shlex
from datetime import datetime
from typing import Any

import numpy as np

from ..algorithms import ALGORITHMS, EGL
from ..control import is_running
from ..progress import duration, number
from ..result import Status, counted
from ..store import History
from .running import plain, point, recommended

_SPEED_SECONDS = 60.0  # the speed is that of the last minute of work


def summarise(path: str) -> dict[str, Any]:
    """What the file tells about the run, as JSON data; the run may be going on."""
    history = History(path)
    end, progress = history.result() or {}, history.progress()
    last = progress[-1] if progress else {}
    times: list[float] = []
    count = failures = 0
    first_error, best, x = None, math.inf, None
    for evaluation in history.evaluations():
        y, error, *_ = evaluation.outcome
        count += 1
        if error is not None:
            failures += 1
            first_error = first_error or error
        elif y < best:
            best, x = y, evaluation.x
        if math.isfinite(evaluation.at):
            times.append(evaluation.at)
    if x is None and end.get("fun") == best:  # not kept, but known at the end
        x = end["x"]
    known = end.get("progress", last)
    algorithm = ALGORITHMS.get(history.identity.get("algorithm", ""), EGL)
    worked = _without_pauses(times, history)
    begun = bisect.bisect_left(worked, worked[-1] - _SPEED_SECONDS) if worked else 0
    span = worked[-1] - worked[begun] if worked else 0.0
    data = {
        "store": path,
        "status": _status(history, end),
        "objective": history.environment.get("objective"),
        "algorithm": history.identity.get("algorithm"),
        "model": history.identity.get("settings", {}).get("model") if algorithm.uses("model") else None,
        "best": best,
        "x": x,
        "noisy": known.get("noisy") == 1,
        "x_favorite": end.get("x_favorite"),
        "candidate": known.get("candidate"),
        "evaluations": count,
        "budget": history.identity.get("budget"),
        "width": history.identity.get("width", 1),
        "failures": failures,
        "first_error": first_error,
        "region": last.get("region"),
        "restarts": last.get("restarts"),
        "epsilon": last.get("epsilon"),
        "evaluations_a_second": (len(worked) - begun - 1) / span if span > 0 else None,
        "seconds_evaluating": math.fsum(row.get("seconds_evaluating", 0.0) for row in progress),
        "seconds_learning": math.fsum(row.get("seconds_learning", 0.0) for row in progress),
        "last_written": times[-1] if times else os.stat(path).st_mtime,
    }
    return {name: plain(value) for name, value in data.items()}


def _without_pauses(times: list[float], history: History) -> list[float]:
    """Times of arrival as if the run had been continued at once whenever it was stopped."""
    at = np.array(times)
    shift = np.zeros(len(at))
    for begin, end in history.pauses(at):
        shift[at >= end] += end - begin
    worked: list[float] = (at - shift).tolist()
    return worked


def _status(history: History, end: dict[str, Any]) -> str:
    """Whether it is going on, else how it ended."""
    if is_running(history):
        return f"{'running' if history.paused() is None else 'paused'} ({history.holder()})"
    if end:
        return Status(end["status"]).name
    return "stopped without a result: resume it"


def _at_a_time(width: int) -> str:
    return f", {width} at a time" if width > 1 else ""


def rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary as a table for people."""
    learning, evaluating = data["seconds_learning"], data["seconds_evaluating"]
    failures = str(data["failures"])
    if data["first_error"]:
        failures += f", the first: {data['first_error']}"
    written = datetime.fromtimestamp(data["last_written"]).astimezone()
    found = data["best"] is not None
    return [
        ("objective", shlex.join(told) if isinstance(told := data["objective"], list) else told or "-"),
        ("status", data["status"]),
        ("best value", repr(data["best"]) if found else "none yet"),
        ("at x", "-" if not found else point(data["x"]) if data["x"] is not None else "not kept"),
        *((("noise", "values are noisy: the best value is partly luck"),) if data["noisy"] else ()),
        *(recommended(data["x_favorite"], data["candidate"]) if data["noisy"] else ()),
        ("evaluations", f"{data['evaluations']} of {data['budget']}{_at_a_time(data['width'])}"),
        ("failures", failures),
        ("restarts", number(data["restarts"])) if data["restarts"] is not None else ("region", number(data["region"])),
        ("eps", number(data["epsilon"])),
        ("speed", f"{counted(number(data['evaluations_a_second']), 'evaluation')} per second"),
        ("time", f"{duration(evaluating)} evaluating, {duration(learning)} learning"),
        ("algorithm", data["algorithm"] + ("" if data["model"] is None else f", {data['model']} model")),
        ("last written", written.isoformat(" ", "seconds")),
    ]
