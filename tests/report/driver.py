"""A report as its reader meets it: the elements of the page, and the page in a browser."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from tests.browser import Browser

from eglearn.report import write_report

HOSTILE = (
    "mesh </script><script>document.title='owned'</script><img src=x onerror=document.title='owned'> \" ' & broken"
)
CHARTS = ("convergence", "parallel", "slices", "region", "model", "raw", "mapped", "failures", "timing")


class Page(HTMLParser):
    """The elements of a page: attributes of each, and the text inside those with an id."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.html: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attrs)))
        if name not in ("meta", "link", "br", "img"):
            self._open.append((name, dict(attrs).get("id")))
        for _, key in self._open:
            if key is not None:
                self.html[key] = self.html.get(key, "") + (self.get_starttag_text() or "")

    def handle_endtag(self, name: str) -> None:
        while self._open and self._open.pop()[0] != name:
            pass

    def handle_data(self, text: str) -> None:
        for _, key in self._open:
            if key is not None:
                self.inside[key] = self.inside.get(key, "") + text


def checked(text: str) -> Page:
    """A page, checked for what every report must hold."""
    page = Page(text)
    assert {"header", "recommended", "problem"} <= {attributes.get("id") for _, attributes in page.elements}
    for name in (*CHARTS, "versions", "settings"):  # a card has something in it, or it is not there
        assert name not in page.html or re.search("<path|<td", page.html[name]), name
    assert not re.search(r"@import|url\(", text)
    for name, attributes in page.elements:
        for key in ("src", "href", "srcset", "action", "xlink:href", "data"):
            assert (attributes.get(key) or "data:").startswith("data:")
        assert not re.search(r"\b(nan|inf)", attributes.get("style") or "")
        if name == "path":
            assert re.fullmatch(r"[MLHVZh0-9. -]*", attributes["d"] or "")
    return page


def shown(browser: Browser, page: Path) -> tuple[str, list[str]]:
    """The page's elements after its script has run, and what the console said."""
    browser.complaints.clear()
    browser.open(page.as_uri())
    return browser.run("document.documentElement.outerHTML"), list(browser.complaints)


def opened(browser: Browser, store: Path) -> tuple[str, Page]:
    """A run's report, checked as written and as the browser shows it."""
    out = store.with_suffix(".html")
    write_report(store, out)
    checked(out.read_text(encoding="utf-8"))
    dom, console = shown(browser, out)
    assert console == []
    return dom, checked(dom)


def last_stop(store: Path, chart: str) -> list[Any]:
    """What a chart's read-out says at its right end."""
    text = store.with_suffix(".html").read_text(encoding="utf-8")
    return json.loads(re.findall(rf'id="{chart}".*?<script type="application/json">(.*?)</script>', text)[0])["rows"][
        -1
    ]


def flaky(x: np.ndarray) -> float:
    if x[0] > 2.5:
        raise ValueError(HOSTILE)
    return math.nan if x[1] > 3 else float(100 * np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1 - x) ** 2))
