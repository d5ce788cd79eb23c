"""A benchmark as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eglearn.report.markup import Html, join, tag

from . import tables
from .figures import draw, styles
from .page import Picture, Table, html_folded, html_page, html_picture, html_table
from .report_ablations import AblationPart, ablation_parts
from .report_data import Loaded, Source, load, suites_of
from .report_words import RULE, caps, claims_told, gaps_in, headline, reading
from .result_table import Results
from .tables import ERT_TARGETS, FAILED, Suite


def write_report(source: Source | Sequence[Source], out_dir: Source, *, title: str | None = None) -> Path:
    """Write a benchmark as one HTML page that needs no other file, and its pictures beside it.

    Needs ``eglearn-lab[bench]``. The paper's claims are judged if variants of an ablation or results of EGL are there.

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
    results = loaded.results
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    own = loaded.own
    suites = suites_of(own)
    look = styles(own)
    title = title or _title(own)
    body: list[Html] = []
    for suite in suites:
        if len(suites) > 1:
            body.append(tag("h1", suite.title, class_="suite"))
        body += _sections(suite, draw(suite, look, folder))
    parts = ablation_parts(results, loaded.snapshots, folder)
    body += [tag("h1", "Ablations", class_="suite"), *map(_ablation, parts)] if parts else []
    body += _claims(results)
    body.append(_card(tag("h2", "How to read this"), _listing(reading(loaded)), name="reading"))
    page = folder / "index.html"
    page.write_text(html_page(title, _header(title, loaded, suites), *body), encoding="utf-8")
    return page


def _title(own: Results) -> str:
    if not len(own):
        return "Ablations"
    names = " and ".join(np.unique(own["suite"]).tolist())
    return f"{len(own.algorithms)} algorithm{'s' * (len(own.algorithms) > 1)} on {names}"


def _ablation(part: AblationPart) -> Html:
    table = [] if part.table is None else [html_table(part.table)]
    said = tag("p", f"The paper: {part.claim}", class_="note")
    return join(html_picture(part.picture, f"ablation-{part.name}"), _card(said, *table))


def _claims(results: Results) -> list[Html]:
    told, table, unknown = claims_told(results)
    if not table.rows:
        return []
    rest = [tag("p", f"Nothing here tells about these: {' '.join(unknown)}", class_="note")] if unknown else []
    rule = tag("p", f"{told} {RULE.replace('*', '')}", class_="note")
    return [_card(tag("h2", "The paper's claims"), rule, html_table(table), *rest, name="claims")]


def _header(title: str, loaded: Loaded, suites: Sequence[Suite]) -> Html:
    results = loaded.results
    lead = []
    for suite in suites:
        name = tag("b", f"{suite.title}: ") if len(suites) > 1 else ""
        lead += [tag("li", name, tag("b", said) if said else "", tag("span", more)) for said, more in headline(suite)]
        lead += [tag("li", name, tag("span", line)) for line in caps(suite)]
    failed = int(results.mask(status=FAILED).sum())
    facts = f"{len(results):,} runs on {len(results.problems()[0]):,} problems"
    facts += f", {failed} failed" if failed else ", none failed"
    lacking = sum(len(s.results.problems()[0]) * len(s.results.algorithms) - _pairs(s.results) for s in suites)
    facts += f"; {lacking:,} pairs of problem and algorithm were not run" if lacking else ""
    return tag("header", tag("h1", title), tag("p", facts + "."), _card(tag("ul", *lead, class_="lead")))


def _pairs(results: Results) -> int:
    return sum(len(part.problems()[0]) for _, part in results.by("algorithm"))


def _card(*content: object, name: str | None = None, wide: bool = True) -> Html:
    return tag("section", *content, id=name, class_="card wide" if wide else "card")


def _listing(lines: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", line) for line in lines))


def _titled(table: Table) -> Html:
    return join(tag("h3", table.title), html_table(table))


def _sections(suite: Suite, pictures: dict[str, Picture]) -> list[Html]:
    last = suite.dimensions[-1]
    falling = suite.dimensions[::-1]
    lines = gaps_in(suite)
    ert = [html_folded(f"to a gap of {t:g}", html_table(tables.running_times(suite, last, t))) for t in ERT_TARGETS]
    functions = [html_folded(f"{n}-D", html_table(tables.by_function(suite, n)), unfolded=n == last) for n in falling]
    shares = [html_folded(f"{n}-D", html_table(tables.targets(suite, n)), unfolded=n == last) for n in falling]
    noted = "Runs solved (true optimum) of all runs; below it the median gap at the end; boxed: the best. "
    figure = {key: html_picture(picture, f"{suite.key}-{key}") for key, picture in pictures.items()}
    strict, paper = (tables.by_dimension(suite, kind) for kind in ("strict", "paper"))
    groups = tables.by_group(suite, last)
    return [
        _card(tag("h2", strict.title), html_table(strict), wide=False),
        _card(tag("h2", paper.title), html_table(paper), wide=False),
        _card(tag("h2", groups.title), html_table(groups)),
        figure["success"],
        figure["targets"],
        _card(tag("h2", "Targets reached at shares of the budget, %"), *shares, name=f"{suite.key}-shares"),
        figure["distance"],
        figure["functions"],
        _card(tag("h2", "For each function"), tag("p", noted, class_="note"), *functions, name=f"{suite.key}-table"),
        _card(
            tag("h2", f"Expected evaluations in {last}-D"),
            tag("p", "Evaluations of all runs over the number of runs that hit the target; – is never.", class_="note"),
            *ert,
            name=f"{suite.key}-ert",
        ),
        _card(
            _titled(tables.cost(suite)), _titled(tables.accounts(suite)),
            name=f"{suite.key}-cost",
        ),
        _card(tag("h2", "What is missing"), _listing(lines or ["Nothing."]),
              name=f"{suite.key}-missing"),
    ]  # fmt: skip
