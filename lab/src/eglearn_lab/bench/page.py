"""What a report is made of: tables and pictures, as HTML that needs no other file, and as Markdown."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from eglearn.report.markup import Html, join, tag

_STYLE = """
.lead { font-size: 16px; margin: 10px 0 0; padding-left: 20px; }
.lead li { margin-top: 6px; overflow-wrap: anywhere; }
.lead span { display: block; color: var(--soft); font-size: 13px; }
h1.suite { grid-column: 1 / -1; margin: 18px 0 0; }
figure img { display: block; width: 100%; min-width: 620px; height: auto; }
table.heat th, table.heat td { padding: 3px 8px; overflow-wrap: normal; white-space: nowrap; }
table.heat td { text-align: right; }
table.heat thead th { text-align: right; vertical-align: bottom; white-space: normal; font-size: 12px; }
table.heat thead th:first-child { text-align: left; }
table.heat tr > th:first-child { position: sticky; left: 0; background: var(--paper); }
table.heat td small { display: block; color: var(--soft); font-size: 11px; line-height: 1.1; }
table.heat td.best { font-weight: 700; box-shadow: inset 0 0 0 1.5px #37414c; }
h3 { font-size: 14px; margin: 12px 0 0; }
.card > p { margin: 6px 0 0; }
.card li { margin-top: 3px; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Cell:
    """What a place of a table says; ``share`` (0 to 1) shades it, ``best`` marks it, ``note`` is a second line."""

    text: str
    note: str = ""
    share: float | None = None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its title; the first cell of a row names it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A PNG with what it shows: a title, a note on how to read it, and its content in words."""

    path: Path
    title: str
    note: str
    words: str


def points(value: float) -> str:
    """A share as per cent.

    Examples
    --------
    >>> points(0.1234)
    '12.3'
    """
    return f"{100 * value:.1f}"


def short(value: float) -> str:
    """A gap in few characters.

    Examples
    --------
    >>> [short(v) for v in (0.0, 0.00213, 0.5, 12345.0, float("inf"))]
    ['≤1e-8', '2.1e-3', '0.5', '1.2e4', '–']
    """
    if not np.isfinite(value):
        return "–"
    if value <= 1e-8:
        return "≤1e-8"
    if 0.01 <= value < 1000:
        return f"{value:.2g}" if value < 100 else f"{value:.0f}"
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits}e{int(power)}"


def count(value: float) -> str:
    """A number of evaluations in few characters.

    Examples
    --------
    >>> [count(v) for v in (950.4, 12345, 430140, 2.5e6, float("inf"))]
    ['950', '12k', '430k', '2.5M', '–']
    """
    if not np.isfinite(value):
        return "–"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            return f"{value / size:.{1 if value < 9.95 * size else 0}f}{unit}"
    return f"{value:.0f}"


def listed(numbers: Iterable[int]) -> str:
    """Whole numbers as the command line takes them.

    Examples
    --------
    >>> listed([5, 1, 2, 3, 71])
    '1-3,5,71'
    """
    spans: list[list[int]] = []
    for k in sorted(set(numbers)):
        if spans and spans[-1][1] == k - 1:
            spans[-1][1] = k
        else:
            spans.append([k, k])
    return ",".join(str(a) if a == b else f"{a}-{b}" if b > a + 1 else f"{a},{b}" for a, b in spans)


def html_page(title: str, *content: Any) -> Html:
    """A whole page in the style of a run's report; no scripts, and nothing may be fetched."""
    style = (files("eglearn.report") / "page.css").read_text(encoding="utf-8") + _STYLE
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy",
            content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Html(style)),
    )  # fmt: skip
    return join(Html("<!doctype html>\n"), tag("html", head, tag("body", tag("main", *content)), lang="en"))


def html_table(table: Table) -> Html:
    """A table that scrolls sideways where the page is narrow."""
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in table.header)))
    rows = []
    for first, *cells in table.rows:
        row = [tag("th", first.text, scope="row")]
        for c in cells:
            style = None if c.share is None else f"background:rgba(0,114,178,{0.42 * c.share:.2f})"
            note = tag("small", c.note) if c.note else ""
            row.append(tag("td", c.text, note, style=style, class_="best" if c.best else None))
        rows.append(tag("tr", *row))
    return tag("div", tag("table", head, tag("tbody", *rows), class_="heat"), class_="scroll", tabindex=0)


def html_picture(picture: Picture, name: str) -> Html:
    """A picture with its bytes inside the page."""
    source = "data:image/png;base64," + base64.b64encode(picture.path.read_bytes()).decode()
    image = Html(tag("img", src=source, alt=picture.words).removesuffix("</img>"))
    head = tag("figcaption", tag("h2", picture.title), tag("p", picture.note))
    return tag("figure", head, tag("div", image, class_="scroll", tabindex=0), id=name, class_="card wide")


def html_folded(title: str, *content: Any, unfolded: bool = False) -> Html:
    """Content that opens with a click."""
    return tag("details", tag("summary", title), *content, open="" if unfolded else None)


def markdown_table(table: Table) -> str:
    r"""A table; the best in bold.

    Examples
    --------
    >>> print(markdown_table(Table("", ("who", "a"), ((Cell("b|c"), Cell("3/5", "0.1", best=True)),))))
    | who | a |
    |---|--:|
    | b\|c | **3/5** 0.1 |
    """
    lines = [_line(table.header), "|---|" + "--:|" * (len(table.header) - 1)]
    lines += [
        _line([f"**{c.text}** {c.note}".strip() if c.best else f"{c.text} {c.note}".strip() for c in row])
        for row in table.rows
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in cells) + " |"


def markdown_folded(title: str, *content: str) -> str:
    """Content that opens with a click where Markdown is shown as HTML."""
    return "\n\n".join([f"<details><summary>{title}</summary>", *content, "</details>"])
