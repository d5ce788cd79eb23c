"""A benchmark as a Markdown page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import tables
from .figures import draw, styles
from .page import Picture, Table, markdown_folded, markdown_table
from .report_ablations import AblationPart, ablation_parts
from .report_data import Source, commands, load, suites_of
from .report_words import RULE, caps, claims_told, gaps_in, headline, reading
from .tables import ERT_TARGETS, Suite


def write_markdown(sources: Source | Sequence[Source], path: Source) -> Path:
    """Write the results as a Markdown page with pictures, commands, and the paper's claims.

    Needs ``eglearn-lab[bench]``.

    Parameters
    ----------
    sources : path or sequence of paths
        As for `write_report`.
    path : path
        The page, with an ending; pictures go into a folder of its name without the ending.

    Returns
    -------
    pathlib.Path
        The page.
    """
    page = Path(path)
    folder = page.with_suffix("")
    if folder == page:
        raise ValueError(f"{page} has no ending, and its pictures need a folder of its name: call it {page}.md")
    loaded = load(sources)
    page.parent.mkdir(parents=True, exist_ok=True)
    own = loaded.own
    parts = ["# COCO results", "Written by `eglearn bench report` from the results; do not edit."]
    look = styles(own)
    for suite in suites_of(own):
        parts += _suite(suite, draw(suite, look, folder), folder.name)
    ablations = ablation_parts(loaded.results, loaded.snapshots, folder)
    parts += ["## Ablations", *(_ablation(part, folder.name) for part in ablations)] if ablations else []
    told, table, unknown = claims_told(loaded.results)
    claimed = markdown_table(table).replace("--:|", "---|")
    parts += ["## The paper's claims", f"{told} {RULE}", claimed]
    parts += [f"Nothing here tells about these: {' '.join(unknown)}"] if unknown else []
    parts += ["## How to read this", "\n".join(f"- {line}" for line in reading(loaded))]
    parts += ["## The commands", "```sh\n" + "\n".join(commands(sources)) + "\n```"]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _ablation(part: AblationPart, folder: str) -> str:
    table = "" if part.table is None else f"\n\n{markdown_table(part.table)}"
    return f"### {part.picture.title}\n\nThe paper: {part.claim}\n\n{_image(part.picture, folder)}{table}"


def _image(picture: Picture, folder: str) -> str:
    return f"![{picture.words}]({folder}/{picture.path.name})\n\n{picture.note}"


def _suite(suite: Suite, pictures: dict[str, Picture], folder: str) -> list[str]:
    last, falling = suite.dimensions[-1], suite.dimensions[::-1]

    def shown(key: str) -> str:
        return f"### {pictures[key].title}\n\n{_image(pictures[key], folder)}"

    def titled(table: Table) -> str:
        return f"{table.title}:\n\n{markdown_table(table)}"

    said = [f"**{short}** {long}" if short else long for short, long in headline(suite)]
    strict, paper = (tables.by_dimension(suite, kind) for kind in ("strict", "paper"))
    folded = [markdown_folded(f"{n}-D: targets", markdown_table(tables.targets(suite, n))) for n in falling[1:]]
    functions = [
        markdown_folded(f"{n}-D: each function", markdown_table(tables.by_function(suite, n))) for n in falling[1:]
    ]
    begin = [
        f"## {suite.title}",
        "\n".join(f"- {line}" for line in (*said, *caps(suite))),
        titled(strict), titled(paper), shown("success"), shown("targets"), titled(tables.targets(suite, last)), *folded,
        shown("distance"),
    ]  # fmt: skip
    if suite.cut is not None:
        return begin
    times = [tables.running_times(suite, last, t) for t in ERT_TARGETS]
    missing = gaps_in(suite)
    return [
        *begin,
        titled(tables.by_group(suite, last)), shown("functions"), titled(tables.by_function(suite, last)), *functions,
        *(markdown_folded(t.title, markdown_table(t)) for t in times),
        f"### Cost and runs of {suite.title}", titled(tables.cost(suite)), titled(tables.accounts(suite)),
        *(["Missing:\n\n" + "\n".join(f"- {line}" for line in missing)] if missing else []),
    ]  # fmt: skip
