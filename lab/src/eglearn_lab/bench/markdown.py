"""A report as a Markdown page, with its pictures in a folder beside it."""

from __future__ import annotations

from collections.abc import Sequence

from .page import Block, Chapter, Code, Folded, Items, Page, Picture, Section, Table


def render(page: Page, folder: str, by: str = "eglearn bench report") -> str:
    """The whole page; ``folder`` is where the page finds its pictures, ``by`` the command that writes it."""
    parts = [f"# {_plain(page.title)}", f"Written by `{by}` from the results; do not edit."]
    parts += [_plain(page.facts), *([_items(page.lead)] if page.lead.items else [])]
    for chapter in page.chapters:
        parts += _chapter(chapter, folder)
    return "\n\n".join(parts) + "\n"


def _chapter(chapter: Chapter, folder: str) -> list[str]:
    parts = [f"## {_plain(chapter.title)}", *([_items(chapter.intro)] if chapter.intro.items else [])]
    for section in chapter.sections:
        parts += _section(section, folder)
    return parts


def _section(section: Section, folder: str) -> list[str]:
    return [f"### {_plain(section.title)}", *(_block(block, folder) for block in section.blocks)]


def _block(block: Block, folder: str) -> str:
    match block:
        case str():
            return _plain(block)
        case Table():
            return f"{_plain(block.title)}:\n\n{table(block)}" if block.title else table(block)
        case Items():
            return _items(block)
        case Code():
            return "\n".join(["```sh", *block.lines, "```"])
        case Folded():
            inside = f"<details><summary>{_plain(block.title)}</summary>", table(block.table), "</details>"
            return "\n\n".join(inside)
        case Picture():
            words = _plain(block.words).translate({ord("["): "(", ord("]"): ")"})
            # A picture that another command has drawn stands in that command's folder.
            place = folder if block.path.parent.name == folder.rpartition("/")[2] else block.path.parent.name
            return f"![{words}]({place}/{block.path.name})\n\n{_plain(block.note)}"


def _items(items: Items) -> str:
    return "\n".join(f"- **{_plain(a)}** {_plain(b)}" if a else f"- {_plain(b)}" for a, b in items.items)


def table(table: Table) -> str:
    r"""A table; the best in bold.

    Examples
    --------
    >>> from eglearn_lab.bench.page import Cell
    >>> print(table(Table("", ("who", "a"), ((Cell("b|c"), Cell("3/5", "0.1", best=True)),))))
    | who | a |
    |---|--:|
    | b\|c | **3/5** 0.1 |
    """
    lines = [_line(table.header), "|---|" + ("---|" if table.words else "--:|") * (len(table.header) - 1)]
    lines += [
        _line([f"**{c.text}** {c.note}".strip() if c.best else f"{c.text} {c.note}".strip() for c in row])
        for row in table.rows
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_plain(text).replace("|", "\\|") for text in cells) + " |"


def _plain(text: str) -> str:
    """Text on one line, none of which is taken for HTML."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
