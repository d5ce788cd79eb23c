"""From a run's file to its page."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import math
import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import numpy as np

from .._typing import Array
from ..result import Status, counted
from ..store import History
from ..store.copying import replacement
from .charts import BLUE, VERMILLION
from .figures import figures, meter
from .markup import Html, duration, join, measured, number, tag
from .record import Record

_COORDINATES, _BRIEF = 2000, 6  # of a point, in full and at first sight
_NARROW = 'class="card"'
_STATUS: dict[Any, str] = {status: status.name.lower().replace("_", " ") for status in Status} | {
    Status.BUDGET: "budget used",
    Status.TARGET: "target reached",
    Status.CALLBACK: "stopped by callback",
    Status.TIME: "time over",
    Status.STORE: "store failed",
}


def write_report(store_path: str | os.PathLike[str], out_path: str | os.PathLike[str]) -> None:
    """Write what happened in a run as one HTML page.

    The page needs nothing but a browser: no network, no other file. The run may still be going on.

    Parameters
    ----------
    store_path
        The file of the run.
    out_path
        The page; an existing file is replaced.

    Raises
    ------
    StoreError
        If the run's file cannot be read, or the page would be in its place.
    OSError
        If the page cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from eglearn import minimize
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run, page = pathlib.Path(folder, "run.egl"), pathlib.Path(folder, "run.html")
    ...     result = minimize(lambda x: sum(x**2), [(-1, 1)] * 3, budget=60, store=run)
    ...     write_report(run, page)
    ...     "60 of 60" in page.read_text(encoding="utf-8")
    True
    """
    history = History(store_path)
    text = _page(Record(history))
    with replacement(out_path, history.path) as page:
        page.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")


def _page(run: Record) -> Html:
    footer = tag("footer", f"Written {_date(time.time())}.")
    title = f"{run.history.path.name}: best {number(run.best)}"
    return document(title, tag("main", header(run), *cards(run), footer))


def document(title: str, main: Html, *scripts: str, also: str = "") -> Html:
    """A whole page, with more scripts than its own if need be; ``also`` adds to what its policy allows."""
    style, own = (Html((files(__package__) / f"page.{kind}").read_text(encoding="utf-8")) for kind in ("css", "js"))
    codes = [own, *map(Html, scripts)]
    # Only these scripts may run and nothing may be fetched, whatever an error message holds.
    digests = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}{also}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", style),
    )
    body = tag("body", main, *(tag("script", code) for code in codes))
    return join(Html("<!doctype html>\n"), tag("html", head, body, lang="en"))


def cards(run: Record) -> list[Html]:
    """All below the header; a card that would stand alone in its row is as wide as the page."""
    charts, facts = figures(run), _problem(run)
    for shown in (charts, facts):
        if sum(_NARROW in part for part in shown) % 2:
            shown[-1] = Html(shown[-1].replace(_NARROW, 'class="card wide"', 1))
    return [*charts, *facts, *_settings(run)]


def header(run: Record) -> Html:
    """What the run has found, and how it stands."""
    identity, used, failed = run.identity, len(run.y), int(run.failed.sum())
    budget = identity.get("budget")
    share = min(1.0, used / budget) if budget else 0.0
    if run.running:
        name, kind, message = "paused" if run.waits else "running", "", "The run is in progress."
    elif run.result is None:
        name, kind, message = "not finished", "", "The run was stopped before its end, and can be resumed."
    else:
        status = run.result.get("status")
        name = _STATUS.get(status, str(status))
        kind, message = ("good" if run.result.get("success") else "bad"), str(run.result.get("message", ""))
    seconds, width = run.times.total, identity.get("width", 1)
    steps = f"{width:,} at a time" if width > 1 else f"in {run.steps:,} batch{'es' * (run.steps != 1)}"
    rate = used / seconds if seconds > 0 else 0.0
    speed = f"{rate:,.0f}" if rate >= 100 else number(rate, 3)
    speed = f"{speed} evaluations per second" if rate >= 0.1 else f"{duration(1 / rate)} per evaluation" if rate else ""
    paused = f"{'; ' if speed else ''}pauses of {duration(run.times.paused)} not counted" if run.times.paused else ""
    tiles = [
        _tile("Evaluations", f"{used:,} of {budget:,}" if isinstance(budget, int) else f"{used:,}",
              steps, "", meter([(share, BLUE)])),
        _tile("Failures", f"{failed:,}", f"{100 * failed / used:.3g} % of evaluations" if used else "none", "",
              meter([(failed / max(used, 1), VERMILLION)])),
        _tile("Status", name, f"last value at {_date(np.fmax.reduce(run.at))}" if used else "", kind),
        _tile("Time", duration(seconds), speed + paused),
    ]  # fmt: skip
    facts = [identity.get("algorithm")]
    facts.append(counted(f"{run.dimension:,}", "dimension") if run.dimension else None)
    facts.append(f"seed {identity['seed']}" if "seed" in identity else None)
    facts.append(f"begun {_date(np.fmin.reduce(run.at))}" if used else None)
    return tag("header", tag("h1", run.history.path.name), tag("p", " · ".join(str(f) for f in facts if f)),
               _headline(run), tag("dl", *tiles, class_="tiles"), tag("p", message, class_="message"),
               id="header")  # fmt: skip


def _headline(run: Record) -> Html:
    """The point to use: the best one, under noise the one that the algorithm recommends, and its value."""
    if run.best_index is None:
        return tag("section", tag("p", "No evaluation succeeded." if len(run.y) else "Nothing is evaluated yet.",
                                  class_="big"), id="recommended", class_="card headline")  # fmt: skip
    at = f"evaluation {run.best_index + 1:,}"
    x = run.recommended_x()
    if run.noisy:
        error = run.favorite_error
        value = measured(run.favorite, error)
        words = "estimated value, with its standard error" if math.isfinite(error) else "estimated value"
        luck = f"The lowest value, {number(run.best, 6)} at {at}, is partly luck."
        words = f"{words}: values are noisy. {luck}"
        missing = "The point is in the file when the run has ended."
    else:
        value, words = number(run.best, 8), f"value at {at}, the lowest"
        missing = "The file does not keep this point."
    title = "Recommended point" if run.result is not None else "Recommended so far"
    point = tag("p", missing, class_="note") if x is None else _point("recommended", x, *run.bounds)
    return tag("section", tag("h2", title), tag("p", value, class_="big"), tag("p", words, class_="note"), point,
               id="recommended", class_="card headline")  # fmt: skip


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC") if math.isfinite(at) else "–"


def _tile(label: str, big: str, small: str, kind: str = "", meter: Html | str = "") -> Html:
    content = tag("dd", big, class_="big"), tag("dd", meter, tag("span", small, class_="small"))
    return tag("div", tag("dt", label), *content, class_=f"tile {kind}".strip())


def _problem(run: Record) -> list[Html]:
    low, high = run.bounds
    pairs, counts = np.unique(np.stack([low, high], axis=1), axis=0, return_counts=True)
    rows = []
    for (a, b), k in sorted(zip(pairs.tolist(), counts.tolist(), strict=True), key=lambda item: -item[1])[:6]:
        rows.append((counted(f"{k:,}", "coordinate"), f"fixed at {a:g}" if a == b else f"{a:g} to {b:g}"))
    if len(pairs) > 6:
        text = f"{counted(f'{len(pairs) - 6:,}', 'other pair')} of bounds, from {low.min():g} to {high.max():g}"
        rows.append((counted(f"{int(np.sort(counts)[:-6].sum()):,}", "coordinate"), text))
    rows.append(("lowest value", repr(run.best) if run.best_index is not None else "none"))
    rows += [(k, v) for k in ("algorithm", "budget", "seed", "on_error") if (v := run.identity.get(k)) is not None]
    x = run.best_x() if run.noisy else None
    lowest = "" if x is None else _point("lowest", x, low, high)
    problem = tag("section", tag("h2", "Problem"), _facts(rows), lowest, id="problem", class_="card")
    if not run.environment:
        return [problem]
    versions = tag("section", tag("h2", "Versions"), _facts(run.environment.items()), id="versions", class_="card")
    return [problem, versions]


def _point(name: str, x: Array, low: Array, high: Array) -> Html:
    """A point: some coordinates at once, all of them to copy with a click."""
    shown = ", ".join(map(repr, x[:_COORDINATES].tolist())) + (", ..." if len(x) > _COORDINATES else "")
    at_bound = int(np.sum((x <= low) | (x >= high))) if len(low) == len(x) else 0
    edge = f", {at_bound:,} at a bound" if at_bound else ""
    brief = f"x = [{', '.join(number(c, 5) for c in x[:_BRIEF])}{', ...' if len(x) > _BRIEF else ''}]"
    about = f"{counted(f'{len(x):,}', 'coordinate')}{edge}"
    summary = tag("summary", f"The {name} point: " if name != "recommended" else "", tag("code", brief), f" ({about})")
    return tag("details", summary, tag("pre", tag("code", f"[{shown}]"), id=f"{name}-x"))


def _facts(rows: Iterable[tuple[str, Any]]) -> Html:
    return tag("table", tag("tbody", *(tag("tr", tag("th", k), tag("td", v)) for k, v in rows)), class_="facts")


def _settings(run: Record) -> list[Html]:
    kind = run.algorithm.settings_class()
    given, defaults = run.identity.get("settings", {}), kind().state()
    meanings = {f.name: f.metadata["meaning"] for f in dataclasses.fields(kind) if f.metadata}
    values = {k: v for k, v in given.items() if k in meanings or v != defaults.get(k)}
    changed = [k for k in values if k not in defaults or values[k] != defaults[k]]
    if not values:
        return []
    rows = []
    for key in [*changed, *(k for k in values if k not in changed)]:
        cells = (tag("code", repr(values[key])), tag("code", repr(defaults[key])) if key in defaults else "–")
        row = (
            tag("th", tag("code", key)),
            *(tag("td", c) for c in cells),
            tag("td", meanings.get(key, "not known here")),
        )
        rows.append(tag("tr", *row, class_="changed" if key in changed else None))
    head = tag("thead", tag("tr", *(tag("th", t) for t in ("setting", "value", "default", "meaning"))))
    note = f"Changed from the default: {len(changed)} of {len(values)}" + (", listed first." if changed else ".")
    return [tag("section", tag("h2", "Settings"), tag("p", note, class_="note"),
                tag("table", head, tag("tbody", *rows)), id="settings", class_="card wide")]  # fmt: skip
