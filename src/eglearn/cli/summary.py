"""``eglearn show``: how a run stands, read from its file."""

from __future__ import annotations

import math
import os
import shlex
from datetime import datetime
from typing import Any

import numpy as np

from ..report.markup import duration
from ..report.record import Record
from ..result import Status, counted
from ..store import History
from .running import plain, point, recommended

_SPEED_SECONDS = 60.0  # the speed is that of the last minute of work


def summarise(path: str) -> dict[str, Any]:
    """What the file tells about the run, as JSON data; the run may be going on."""
    run = Record(History(path))
    end, last = run.result or {}, run.progress[-1] if run.progress else {}
    identity, algorithm, at = run.identity, run.algorithm, run.at[np.isfinite(run.at)]
    worked = at - sum((np.where(at >= stop, stop - begin, 0.0) for begin, stop in run.history.pauses(at)), 0.0)
    recent = worked[worked >= worked[-1] - _SPEED_SECONDS] if len(at) else worked
    span = float(recent[-1] - recent[0]) if len(at) else 0.0
    data = {
        "store": path,
        "status": _status(run),
        "objective": run.environment.get("objective"),
        "algorithm": identity.get("algorithm"),
        "model": identity.get("settings", {}).get("model") if algorithm.uses("model") else None,
        "best": run.best,
        "x": run.best_x(),
        "noisy": run.noisy,
        "x_favorite": end.get("x_favorite"),
        "candidate": run.favorite,
        "evaluations": len(run.y),
        "budget": identity.get("budget"),
        "width": identity.get("width", 1),
        "failures": int(run.failed.sum()),
        "first_error": next(iter(run.errors), None),
        "region": last.get("region"),
        "restarts": last.get("restarts"),
        "epsilon": last.get("epsilon"),
        "evaluations_a_second": (len(recent) - 1) / span if span > 0 else None,
        "seconds_evaluating": math.fsum(row.get("seconds_evaluating", 0.0) for row in run.progress),
        "seconds_learning": math.fsum(row.get("seconds_learning", 0.0) for row in run.progress),
        "last_written": float(at[-1]) if len(at) else os.stat(path).st_mtime,
    }
    return {name: plain(value) for name, value in data.items()}


def _status(run: Record) -> str:
    """Whether it is going on, else how it ended."""
    if run.running:
        return f"{'paused' if run.waits else 'running'} ({run.history.holder()})"
    if run.result:
        return Status(run.result["status"]).name
    return "stopped without a result: resume it"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary as a table for people."""
    learning, evaluating = data["seconds_learning"], data["seconds_evaluating"]
    failures = str(data["failures"])
    if data["first_error"]:
        failures += f", the first: {data['first_error']}"
    written = datetime.fromtimestamp(data["last_written"]).astimezone()
    found, width = data["best"] is not None, f", {data['width']} at a time" if data["width"] > 1 else ""
    extent = "region" if data["restarts"] is None else "restarts"
    return [
        ("objective", shlex.join(told) if isinstance(told := data["objective"], list) else told or "-"),
        ("status", data["status"]),
        ("best value", repr(data["best"]) if found else "none yet"),
        ("at x", "-" if not found else point(data["x"]) if data["x"] is not None else "not kept"),
        *((("noise", "values are noisy: the best value is partly luck"),) if data["noisy"] else ()),
        *(recommended(data["x_favorite"], data["candidate"]) if data["noisy"] else ()),
        ("evaluations", f"{data['evaluations']} of {data['budget']}{width}"),
        ("failures", failures),
        (extent, _number(data[extent])),
        ("eps", _number(data["epsilon"])),
        ("speed", f"{counted(_number(data['evaluations_a_second']), 'evaluation')} per second"),
        ("time", f"{duration(evaluating)} evaluating, {duration(learning)} learning"),
        ("algorithm", data["algorithm"] + ("" if data["model"] is None else f", {data['model']} model")),
        ("last written", written.isoformat(" ", "seconds")),
    ]
