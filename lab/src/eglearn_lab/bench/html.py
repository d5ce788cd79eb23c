"""A report as one HTML page that needs no other file; no scripts, and nothing may be fetched."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from eglearn.report.markup import Html, join, tag

from .. import plots
from .page import Block, Chapter, Code, Folded, Items, Page, Picture, Section, Table

_STYLE = """
.lead { font-size: 16px; margin: 10px 0 0; padding-left: 20px; }
.lead li { margin-top: 6px; overflow-wrap: anywhere; }
.lead span { display: block; color: var(--soft); font-size: 13px; }
h1.suite { grid-column: 1 / -1; margin: 18px 0 0; }
figure svg { display: block; width: 100%; height: auto; color: var(--ink); margin-top: 8px; }
figure svg text { fill: currentColor !important; font-family: inherit !important; }
figure svg.narrow { display: none; }
table.heat th, table.heat td { padding: 3px 8px; overflow-wrap: normal; white-space: nowrap; }
table.heat td { text-align: right; }
table.words th, table.words td { text-align: left !important; white-space: normal; vertical-align: top; }
pre { overflow-x: auto; font-size: 12px; }
table.heat thead th { text-align: right; vertical-align: bottom; white-space: normal; font-size: 12px; }
table.heat thead th:first-child { text-align: left; }
table.heat tr > th:first-child { position: sticky; left: 0; background: var(--paper); }
table.heat td small { display: block; color: var(--soft); font-size: 11px; line-height: 1.1; }
table.heat td.best { font-weight: 700; box-shadow: inset 0 0 0 1.5px var(--soft); }
@media screen and (max-width: 600px) {
  figure svg.wide { display: none; }
  figure svg.narrow { display: block; }
  table.heat thead { display: none; }
  table.heat tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); }
  table.heat tr { padding: 6px 0; border-bottom: 1px solid var(--line); }
  table.heat tr > th:first-child { grid-column: 1 / -1; position: static; white-space: normal; }
  table.heat td { display: block; border: 0; text-align: left; white-space: normal; overflow-wrap: anywhere; }
  table.heat td::before { content: attr(data-of) ": "; color: var(--soft); font-size: 12px; }
  table.heat.words tr { grid-template-columns: minmax(0, 1fr); }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
h3 { font-size: 14px; margin: 12px 0 0; }
.card > p { margin: 6px 0 0; }
.card li { margin-top: 3px; overflow-wrap: anywhere; }
"""


def render(page: Page) -> Html:
    """The whole page, in the style of a run's report."""
    style = (files("eglearn.report") / "page.css").read_text(encoding="utf-8") + _STYLE
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy",
            content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", page.title),
        tag("style", Html(style)),
    )  # fmt: skip
    lead = (tag("li", tag("b", short) if short else "", tag("span", long)) for short, long in page.lead.items)
    card = tag("section", tag("ul", *lead, class_="lead"), class_="card wide")
    header = tag("header", tag("h1", page.title), tag("p", page.facts), card)
    body = tag("body", tag("main", header, *map(_chapter, page.chapters)))
    return join(Html("<!doctype html>\n"), tag("html", head, body, lang="en"))


def _chapter(chapter: Chapter) -> Html:
    intro = tag("section", _block(chapter.intro), class_="card wide") if chapter.intro.items else ""
    return join(tag("h1", chapter.title, class_="suite"), intro, *map(_section, chapter.sections))


def _section(section: Section) -> Html:
    """A card; a section that begins with a picture is a figure, the rest in a card of its own."""
    first, *others = section.blocks
    parts = []
    if isinstance(first, Picture):
        parts.append(_picture(first, section.name))
    if others or not parts:
        title = [] if parts else [tag("h2", section.title)]
        inside = map(_block, others if parts else section.blocks)
        name = None if parts else section.name or None
        parts.append(tag("section", *title, *inside, id=name, class_="card wide" if section.wide else "card"))
    return join(*parts)


def _block(block: Block) -> Html:
    match block:
        case str():
            return tag("p", block, class_="note")
        case Table():
            return join(tag("h3", block.title) if block.title else "", _table(block))
        case Items():
            return tag("ul", *(tag("li", tag("b", a) if a else "", " " if a else "", b) for a, b in block.items))
        case Code():
            return tag("pre", "\n".join(block.lines))
        case Folded():
            opened = "" if block.unfolded else None
            return tag("details", tag("summary", block.title), _table(block.table), open=opened)
        case Picture():
            return _picture(block, None)


def _table(table: Table) -> Html:
    """A table; where the page is narrow, each row is a list of what its columns say."""
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in table.header)))
    rows = []
    for first, *cells in table.rows:
        row = [tag("th", first.text, scope="row")]
        for c, of in zip(cells, table.header[1:], strict=True):
            style = None if c.share is None else f"background:rgba(0,114,178,{0.42 * c.share:.2f})"
            note = tag("small", c.note) if c.note else ""
            row.append(tag("td", c.text, note, style=style, class_="best" if c.best else None, data_of=of))
        rows.append(tag("tr", *row))
    kind = "heat words" if table.words else "heat"
    return tag("div", tag("table", head, tag("tbody", *rows), class_=kind), class_="scroll", tabindex=0)


def _picture(picture: Picture, name: str | None) -> Html:
    """A picture inside the page."""
    head = tag("figcaption", tag("h2", picture.title), tag("p", picture.note))
    wide = _drawing(picture.path, picture.words, "wide" if picture.narrow else None)
    narrow = _drawing(picture.narrow, picture.words, "narrow") if picture.narrow else ""
    return tag("figure", head, wide, narrow, id=name, class_="card wide")


# Colours of the figures as those of the page, which has others in the dark.
_COLOURS = {
    plots.BLUE: "var(--blue)", plots.RED: "var(--vermillion)", plots.GREEN: "var(--green)",
    plots.ORANGE: "var(--orange)", plots.PINK: "var(--purple)", plots.SKY: "var(--sky)", plots.BLACK: "currentColor",
    "#000000": "currentColor", "#E2E2E2": "var(--grid)",
}  # fmt: skip


def _drawing(path: Path, words: str, kind: str | None) -> Html:
    """The SVG of a file, in the colours of the page."""
    text = path.read_text(encoding="utf-8")
    text = text[text.index("<svg") :]
    text = re.sub("#[0-9a-fA-F]{6}", lambda found: _BY_NAME.get(found[0].lower(), found[0]), text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    size = re.search(r'viewBox="[^"]*"', text)
    opening = tag("svg", xmlns="http://www.w3.org/2000/svg", role="img", aria_label=words, class_=kind)
    start = f'{opening.removesuffix("></svg>")} {size[0] if size else ""} xmlns:xlink="http://www.w3.org/1999/xlink">'
    return Html(start + text[text.index(">") + 1 :])


_BY_NAME = {colour.lower(): name for colour, name in _COLOURS.items()}
