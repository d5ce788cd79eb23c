"""A benchmark as a page: what is on it, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..plots import Canvas
from . import html, markdown, tables
from .figures import Styles, draw, styles
from .page import Chapter, Code, Folded, Items, Page, Section, Table, listing
from .report_ablations import AblationPart, ablation_parts
from .report_data import Loaded, Source, commands, load, suites_of
from .report_words import RULE, caps, claims_told, gaps_in, headline, reading
from .result_table import Results
from .tables import ERT_TARGETS, FAILED, Suite


def write_report(source: Source | Sequence[Source], out_dir: Source, *, title: str | None = None) -> Path:
    """Write a benchmark as one HTML page that needs no other file, and its pictures beside it.

    Needs ``eglearn-lab[bench]``.

    Parameters
    ----------
    source : path or sequence of paths
        Result folders of ``run_benchmark`` or Parquet files; later ones add runs.
    out_dir : path
        Folder for ``index.html`` and the pictures.
    title : str or None
        Heading of the page.

    Returns
    -------
    pathlib.Path
        The page.
    """
    loaded = load(source)
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "index.html"
    page.write_text(html.render(make_page(loaded, source, folder, title, svg=True)), encoding="utf-8")
    return page


def write_markdown(source: Source | Sequence[Source], path: Source, *, title: str | None = None) -> Path:
    """Write the same as a Markdown page.

    Parameters
    ----------
    source, title
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
    loaded = load(source)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(markdown.render(make_page(loaded, source, folder, title), folder.name), encoding="utf-8")
    return page


def make_page(
    loaded: Loaded, source: Source | Sequence[Source], folder: Path, title: str | None = None, *, svg: bool = False
) -> Page:
    """The page, its pictures drawn into ``folder``. The paper's claims are judged if any of them can be."""
    suites = suites_of(loaded.own)
    look = styles(loaded.own)
    chapters = [Chapter(suite.title, _suite(suite, look, folder, svg), _intro(suite)) for suite in suites]
    ablations = ablation_parts(loaded.results, loaded.snapshots, Canvas(folder, "svg" if svg else "png"))
    chapters += [Chapter("Ablations", tuple(map(_ablation, ablations)))] if ablations else []
    last = [
        *_claims(loaded.results),
        Section("How to read this", (listing(reading(loaded)),), "reading"),
        Section("The commands", (Code(tuple(commands(source))),), "commands"),
    ]
    return Page(
        title or _title(loaded.own),
        _facts(loaded.results, suites),
        _lead(suites),
        (*chapters, Chapter("About these results", tuple(last))),
    )


def _title(own: Results) -> str:
    if not len(own):
        return "Ablations"
    *names, last = np.unique(own["suite"]).tolist()
    names = f"{', '.join(names)} and {last}" if names else last
    return f"{len(own.algorithms)} algorithm{'s' * (len(own.algorithms) > 1)} on {names}"


def _facts(results: Results, suites: Sequence[Suite]) -> str:
    failed = int(results.mask(status=FAILED).sum())
    facts = f"{len(results):,} runs on {len(results.problems()[0]):,} problems"
    facts += f", {failed} failed" if failed else ", none failed"
    lacking = sum(len(s.results.problems()[0]) * len(s.results.algorithms) - _pairs(s.results) for s in suites)
    return facts + (f"; {lacking:,} pairs of problem and algorithm were not run." if lacking else ".")


def _pairs(results: Results) -> int:
    return sum(len(part.problems()[0]) for _, part in results.by("algorithm"))


def _lead(suites: Sequence[Suite]) -> Items:
    """Who wins in each suite."""
    lines = []
    for suite in suites:
        name = f"{suite.title}: " if len(suites) > 1 else ""
        lines += [(f"{name}{said}", more) for said, more in headline(suite) if said]
    return Items(tuple(lines))


def _intro(suite: Suite) -> Items:
    """What else to know of a comparison: the best known, and who had fewer evaluations."""
    return listing([*(more for said, more in headline(suite) if not said), *caps(suite)])


def _suite(suite: Suite, look: Styles, folder: Path, svg: bool) -> tuple[Section, ...]:
    pictures = draw(suite, look, folder, svg=svg)
    last, falling = suite.dimensions[-1], suite.dimensions[::-1]

    def shown(key: str) -> Section:
        return Section(pictures[key].title, (pictures[key],), f"{suite.key}-{key}")

    strict, paper = (tables.by_dimension(suite, kind) for kind in ("strict", "paper"))
    shares = tuple(Folded(f"{n}-D", tables.targets(suite, n), n == last) for n in falling)
    begin = (
        Section(strict.title, (_untitled(strict),), wide=False),
        Section(paper.title, (_untitled(paper),), wide=False),
        shown("success"),
        shown("targets"),
        Section("Targets reached at shares of the budget, %", shares, f"{suite.key}-shares"),
        shown("distance"),
    )
    if suite.cut is not None:
        return begin
    groups = tables.by_group(suite, last)
    noted = "Runs solved (true optimum) of all runs; below it the median gap at the end; boxed or bold: the best."
    functions = (Folded(f"{n}-D", tables.by_function(suite, n), n == last) for n in falling)
    times = (Folded(f"to a gap of {t:g}", tables.running_times(suite, last, t)) for t in ERT_TARGETS)
    expected = "Evaluations of all runs over the number of runs that hit the target; – is never."
    cost, accounts = tables.cost(suite), tables.accounts(suite)
    return (
        *begin,
        Section(groups.title, (_untitled(groups),)),
        shown("functions"),
        Section("For each function", (noted, *functions), f"{suite.key}-table"),
        Section(f"Expected evaluations in {last}-D", (expected, *times), f"{suite.key}-ert"),
        Section("Cost and runs", (cost, accounts), f"{suite.key}-cost"),
        Section("What is missing", (listing(gaps_in(suite) or ["Nothing."]),), f"{suite.key}-missing"),
    )


def _untitled(table: Table) -> Table:
    """A table whose title stands above it already."""
    return replace(table, title="")


def _ablation(part: AblationPart) -> Section:
    picture = part.picture
    rest = () if part.table is None else (part.table,)
    return Section(picture.title, (picture, f"The paper: {part.claim}", *rest), f"ablation-{part.name}")


def _claims(results: Results) -> list[Section]:
    told, table, unknown = claims_told(results)
    if not table.rows:
        return []
    rest = (f"Nothing here tells about these: {' '.join(unknown)}",) if unknown else ()
    return [Section("The paper's claims", (f"{told} {RULE}", table, *rest), "claims")]
