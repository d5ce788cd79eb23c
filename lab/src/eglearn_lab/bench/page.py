"""What a report is made of: chapters of sections of blocks. `html` and `markdown` show the same page in two ways."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Cell:
    """What a place of a table says; ``share`` (0 to 1) shades it, ``best`` marks it, ``note`` is a second line."""

    text: str
    note: str = ""
    share: float | None = None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its title; the first cell of a row names it. One of ``words`` is set to the left."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: bool = False


@dataclass(frozen=True)
class Picture:
    """A PNG or SVG with what it shows: a title, a note on how to read it, and its content in words."""

    path: Path
    title: str
    note: str
    words: str
    narrow: Path | None = None
    """The same for narrow screens, if there is one."""


@dataclass(frozen=True)
class Items:
    """A list; the first text of an item stands out."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Code:
    """Commands, a line each."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Folded:
    """A table that opens with a click."""

    title: str
    table: Table
    unfolded: bool = False


Block = str | Table | Picture | Items | Code | Folded
"""A part of a section; text is a paragraph."""


@dataclass(frozen=True)
class Section:
    """Some blocks under a title."""

    title: str
    blocks: tuple[Block, ...]
    name: str = ""
    """For links."""
    wide: bool = True


@dataclass(frozen=True)
class Chapter:
    """Sections that belong together."""

    title: str
    sections: tuple[Section, ...]
    intro: Items = Items(())


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    facts: str
    lead: Items
    """The answers, before everything else."""
    chapters: tuple[Chapter, ...]


def listing(lines: Iterable[str]) -> Items:
    """A list in which nothing stands out."""
    return Items(tuple(("", line) for line in lines))


def file_name(text: str) -> str:
    """A name for a file, from a text that anyone may have written: no separators, and different for different texts.

    Examples
    --------
    >>> file_name("bbob-15000")
    'bbob-15000'
    >>> file_name("../../etc/passwd")
    '-etc-passwd-3754d6cb'
    """
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:60]
    return safe if safe == text and text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


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
