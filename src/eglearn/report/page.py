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
from .markup import Html, duration, join, number, tag
from .record import Record

_COORDINATES = 2000  # of a point
_STATUS: dict[Any, str] = {
    Status.BUDGET: "budget used",
    Status.TARGET: "target reached",
    Status.CALLBACK: "stopped by callback",
    Status.TIME: "time over",
    Status.STORE: "store failed",
}
_STATUS = {status: status.name.lower().replace("_", " ") for status in Status} | _STATUS


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
    style, script = (Html((files(__package__) / f"page.{kind}").read_text(encoding="utf-8")) for kind in ("css", "js"))
    # Only this script may run and nothing may be fetched, whatever an error message holds.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{run.history.path.name}: best {number(run.best)}"),
        tag("style", style),
    )
    footer = tag("footer", f"Written {_date(time.time())}.")
    main = tag("main", _header(run), *figures(run), _problem(run), _settings(run), footer)
    body = tag("body", main, tag("script", script))
    return join(Html("<!doctype html>\n"), tag("html", head, body, lang="en"))


def _header(run: Record) -> Html:
    identity, used, failed = run.identity, len(run.y), int(run.failed.sum())
    budget = identity.get("budget")
    share = min(1.0, used / budget) if budget else 0.0
    if run.result is None:
        name, kind, message = "not finished", "", "The file holds no final result: the run goes on or was stopped."
    else:
        status = run.result.get("status")
        name = _STATUS.get(status, str(status))
        kind, message = ("good" if run.result.get("success") else "bad"), str(run.result.get("message", ""))
    found = "no evaluation succeeded" if run.best_index is None else f"at evaluation {run.best_index + 1:,}"
    seconds, width = run.times.total, identity.get("width", 1)
    steps = f"{width:,} at a time" if width > 1 else f"in {run.steps:,} batch{'es' * (run.steps != 1)}"
    rate = used / seconds if seconds > 0 else 0.0
    speed = f"{rate:,.0f}" if rate >= 100 else number(rate, 3)
    speed = f"{speed} evaluations per second" if rate >= 0.1 else f"{duration(1 / rate)} per evaluation" if rate else ""
    tiles = [
        _tile("Best value", number(run.best, 8), found, "first"),
        _tile("Evaluations", f"{used:,} of {budget:,}" if isinstance(budget, int) else f"{used:,}",
              steps, "", meter([(share, BLUE)])),
        _tile("Failures", f"{failed:,}", f"{100 * failed / used:.3g} % of evaluations" if used else "none", "",
              meter([(failed / max(used, 1), VERMILLION)])),
        _tile("Status", name, f"last value {_date(np.fmax.reduce(run.at))}" if used else "", kind),
        _tile("Time", duration(seconds), speed),
    ]  # fmt: skip
    facts = [identity.get("algorithm")]
    facts.append(counted(f"{run.dimension:,}", "dimension") if run.dimension else None)
    facts.append(f"seed {identity['seed']}" if "seed" in identity else None)
    facts.append(f"begun {_date(np.fmin.reduce(run.at))}" if used else None)
    return tag("header", tag("h1", run.history.path.name), tag("p", " · ".join(str(f) for f in facts if f)),
               tag("dl", *tiles, class_="tiles"), tag("p", message, class_="message"), _noise(run))  # fmt: skip


def _noise(run: Record) -> Html:
    """The point to use if values are noisy."""
    if not run.noisy:
        return Html()
    text, x = "Values are noisy: the best value is partly luck.", run.favorite_x()
    if x is not None:  # the run has ended, and its message says that values are noisy
        shown = ", ".join(number(c, 6) for c in x[:6]) + (", ..." if len(x) > 6 else "")
        text = f"Recommended is x_favorite = [{shown}], estimated value {number(run.favorite, 6)}."
    return tag("p", text, class_="message", id="noise")


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC") if math.isfinite(at) else "–"


def _tile(label: str, big: str, small: str, kind: str = "", meter: Html | str = "") -> Html:
    content = tag("dd", big, class_="big"), tag("dd", meter, tag("span", small, class_="small"))
    return tag("div", tag("dt", label), *content, class_=f"tile {kind}".strip())


def _problem(run: Record) -> Html:
    box, x = run.identity.get("box", {}), run.best_x()
    favorite = run.favorite_x() if run.noisy else None
    low, high = (np.array(box.get(side, []), dtype=np.float64) for side in ("low", "high"))
    pairs, counts = np.unique(np.stack([low, high], axis=1), axis=0, return_counts=True)
    rows = []
    for (a, b), k in sorted(zip(pairs.tolist(), counts.tolist(), strict=True), key=lambda item: -item[1])[:6]:
        rows.append((counted(f"{k:,}", "coordinate"), f"fixed at {a:g}" if a == b else f"{a:g} to {b:g}"))
    if len(pairs) > 6:
        text = f"{counted(f'{len(pairs) - 6:,}', 'other pair')} of bounds, from {low.min():g} to {high.max():g}"
        rows.append((counted(f"{int(np.sort(counts)[:-6].sum()):,}", "coordinate"), text))
    rows.append(("best value", repr(run.best) if run.best_index is not None else "none"))
    if run.noisy:
        rows.append(("recommended x", f"estimated value {number(run.favorite, 8)}"))
    rows += [(k, v) for k in ("algorithm", "budget", "seed", "on_error") if (v := run.identity.get(k)) is not None]
    if x is None:
        best = tag("p", "The best point is not in the file." if run.best_index is not None else "", class_="note")
    else:
        best = _point("best", x, low, high)
    other = "" if favorite is None else _point("recommended", favorite, low, high)
    return join(
        tag("section", tag("h2", "Problem"), _facts(rows), best, other, id="problem", class_="card"),
        tag("section", tag("h2", "Versions"), _facts(run.environment.items()), id="versions", class_="card"),
    )


def _point(name: str, x: Array, low: Array, high: Array) -> Html:
    shown = ", ".join(map(repr, x[:_COORDINATES].tolist())) + (", ..." if len(x) > _COORDINATES else "")
    at_bound = int(np.sum((x <= low) | (x >= high))) if len(low) == len(x) else 0
    edge = f", {at_bound:,} at a bound" if at_bound else ""
    return tag("details", tag("summary", f"The {name} point ({counted(f'{len(x):,}', 'coordinate')}{edge})"),
               tag("pre", tag("code", f"[{shown}]"), id=f"{name}-x"))  # fmt: skip


def _facts(rows: Iterable[tuple[str, Any]]) -> Html:
    return tag("table", tag("tbody", *(tag("tr", tag("th", k), tag("td", v)) for k, v in rows)), class_="facts")


def _settings(run: Record) -> Html:
    kind = run.algorithm.settings_class()
    given, defaults = run.identity.get("settings", {}), kind().state()
    meanings = {f.name: f.metadata["meaning"] for f in dataclasses.fields(kind) if f.metadata}
    values = {k: v for k, v in given.items() if k in meanings or v != defaults.get(k)}
    changed = [k for k in values if k not in defaults or values[k] != defaults[k]]
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
    return tag("section", tag("h2", "Settings"), tag("p", note, class_="note"),
               tag("table", head, tag("tbody", *rows)), id="settings", class_="card wide")  # fmt: skip
