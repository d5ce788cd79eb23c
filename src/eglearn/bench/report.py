"""A benchmark as one HTML page, and as a Markdown page with the paper's claims. Needs ``eglearn[bench]``."""

from __future__ import annotations

import importlib.util
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..report.markup import Html, join, tag
from . import tables
from .ablation_report import ablation_sections
from .claims import NO_DATA, judge, variants
from .figures import draw, styles
from .metrics import Results
from .page import (
    Cell,
    Picture,
    Table,
    html_folded,
    html_page,
    html_picture,
    html_table,
    listed,
    markdown_folded,
    markdown_table,
    points,
)  # fmt: skip
from .result_table import KEYS
from .rows import load_results
from .snapshots import load_snapshots
from .tables import ERT_TARGETS, FAILED, Field, Suite

Source = str | os.PathLike[str]

READING = (
    "Solved (strict): gap ≤ 1 and gap ≤ (y0 - optimum) / 100 at the end of the budget; y0 is the value of the start.",
    "Intervals: 95 %, whole problems drawn again with replacement (bootstrap), seeds averaged inside a problem. "
    "Instances of a function count as problems of their own. An interval of no width says that the problems agree, "
    "not that there is no doubt. The winner is chosen after the fact, which flatters it a little.",
    "Best known: for each function and gap the entry of COCO's archive with the lowest expected running time. No "
    "single algorithm reaches it.",
    "CPU times depend on the machine and its load: only ratios between algorithms mean something.",
)
PLANNERS = ("egl", "ngopt")
"""Algorithms that search otherwise with a larger budget from the beginning."""

SPECIAL = {
    "bbob-noisy": "Noisy problems are judged by the value without noise of the point that each algorithm recommends at "
    "its end; targets and scaled distances go by evaluated points, also without noise.",
    "coco-784": "The optimum of a coco-784 problem is that of the 10-D problem behind the encoder: a lower bound that "
    "perhaps no point of the box reaches, so strict success may be out of reach.",
}


def load(source: Source | Sequence[Source]) -> Results:
    """Runs of one or several result folders or Parquet files.

    Of the same run (problem, algorithm, seed) found more than once the one with the largest budget counts, and of
    several such the last.
    """
    for package in ("pyarrow", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            raise ImportError(f"a benchmark report needs {package}: pip install 'eglearn[bench]'")
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    paths = [Path(source)] if isinstance(source, str | os.PathLike) else [Path(p) for p in source]
    found = []
    for path in paths:
        if not path.exists():
            raise ValueError(f"there is no {path}: give the folder of a benchmark or a Parquet file")
        found.append(load_results(path))
    table = pa.concat_tables(found) if found else None
    if table is None or not table.num_rows:
        raise ValueError(f"no finished runs in {', '.join(map(str, paths)) or 'an empty list'}: run a benchmark first")
    place: dict[tuple[object, ...], int] = {}
    keys, budget = zip(*(table[name].to_pylist() for name in KEYS), strict=True), table["budget"].to_pylist()
    for row, key in enumerate(keys):
        if key not in place or budget[row] >= budget[place[key]]:
            place[key] = row
    return Results.from_arrow(table.take(pa.array(sorted(place.values()), pa.int64())))


def write_report(source: Source | Sequence[Source], out_dir: Source, *, title: str | None = None) -> Path:
    """Write a benchmark as one HTML page that needs no other file, and its pictures beside it.

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
    results = load(source)
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    suites = suites_of(results)
    look = styles(results)
    names = " and ".join(np.unique(results["suite"]).tolist())
    title = title or f"{len(results.algorithms)} algorithm{'s' * (len(results.algorithms) > 1)} on {names}"
    body: list[Html] = []
    for suite in suites:
        if len(suites) > 1:
            body.append(tag("h1", suite.title, class_="suite"))
        body += _sections(suite, draw(suite, look, folder))
    body.append(_card(tag("h2", "How to read this"), _listing(reading(results)), name="reading"))
    page = folder / "index.html"
    page.write_text(html_page(title, _header(title, results, suites), *body), encoding="utf-8")
    return page


def suites_of(results: Results) -> list[Suite]:
    """The suites in the results, each followed by comparisons with fewer evaluations.

    Those are for algorithms that had fewer and were run on too few problems to be compared with all others: on their
    problems the others are cut. Under noise that cannot be done, see `metrics.cut`.
    """
    found = []
    for name, runs in results.by("suite"):
        whole = Suite(name, runs)
        compared = {a for field in whole.fields.values() for a in field.algorithms}
        largest = max(field.budget for field in whole.fields.values())
        budgets = {a: int(runs.select(algorithm=a)["budget"].max()) for a in set(runs.algorithms) - compared}
        aside = {a: b for a, b in budgets.items() if b < largest and not whole.noisy}
        found.append(Suite(name, runs.where(~runs.mask(algorithm=list(aside)))) if aside else whole)
        index = runs.problems()[1]
        for budget in sorted(set(aside.values()), reverse=True):
            theirs = runs.mask(algorithm=[a for a, b in aside.items() if b == budget])
            shared = np.isin(index, np.unique(index[theirs]))
            found.append(Suite(name, runs.where(shared & (runs["budget"] >= budget)), cut=budget))
    return found


def headline(suite: Suite) -> list[tuple[str, str]]:
    """Who wins, by how much and how sure, with the figures behind it; the largest dimension first."""
    last = suite.dimensions[-1]
    fields = [(f"{last}-D", suite.largest)]
    if suite.overall is not None:
        fields.append((f"All dimensions ({', '.join(map(str, suite.dimensions))})", suite.overall))
    lines = []
    for where, field in fields:
        ranks = [
            f"{r.name}{_mark(suite, r.name)} {points(r.success)} % ({points(r.low)} to {points(r.high)})"
            for r in field.ranking
        ]
        many = f"{field.problems} problem{'s' * (field.problems > 1)}, {field.budget:,} evaluations"
        lines.append((f"{where}: {duel(suite, field)}", f"Solved of {many}: {', '.join(ranks)}."))
    known = suite.solvable(last)
    if known is not None:
        lines.append(
            ("", f"COCO's best known entries, another for each function, solve {points(known)} % in {last}-D.")
        )
    return lines


def duel(suite: Suite, field: Field) -> str:
    """The winner against the runner-up in a sentence."""
    first, *others = field.ranking
    if first.success == 0 and others:
        more = ", but " + first.name + " reaches the most targets" if first.targets > others[0].targets else ""
        return f"no problem is solved{more}."
    if not others:
        alone = "was run" if len(suite.results.algorithms) == 1 else "can be compared, see what is missing"
        return f"only {first.name} {alone}; it solves {points(first.success)} %."
    c = field.duel(first.name, others[0].name)
    a, b = (name + _mark(suite, name) for name in (c.a, c.b))
    interval = f"95 % interval {points(c.low)} to {points(c.high)}"
    if c.difference == 0:
        return f"{a} and {b} solve equally many ({interval} points)."
    sure = "" if c.low > 0 else ": not settled, it holds 0"
    return f"{a} solves {points(c.difference)} points more than {b}; {interval}{sure}."


def _mark(suite: Suite, name: str) -> str:
    return "†" if any(suite.capped(name, n) for n in suite.dimensions) else ""


def _header(title: str, results: Results, suites: Sequence[Suite]) -> Html:
    lead = []
    for suite in suites:
        name = tag("b", f"{suite.title}. ") if len(suites) > 1 else ""
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


def caps(suite: Suite) -> list[str]:
    """A sentence for each algorithm and dimension with a smaller budget."""
    lines = []
    for name in suite.order:
        parts = []
        for n in suite.dimensions:
            if suite.capped(name, n):
                mine = suite.results.select(algorithm=name, dimension=n)
                small = mine.where(np.asarray(mine["budget"] < suite.fields[n].budget))
                full = int((small["status"] == "budget").sum())
                sizes = " or ".join(f"{b:,}" for b in np.unique(small["budget"]).tolist())
                parts.append(
                    f"{sizes} of {suite.fields[n].budget:,} in {n}-D ({full} of {len(small)} runs used them up)"
                )
        if parts:
            lines.append(f"† {name} was allowed fewer evaluations: {'; '.join(parts)}.")
    if suite.shortened:
        line = f"Cut here, from runs with more evaluations: {', '.join(suite.shortened)}."
        planners = " and ".join(name for name in suite.shortened if name in PLANNERS)
        lines.append(
            f"{line} With this budget from the beginning {planners} would run otherwise." if planners else line
        )
    return lines


def gaps_in(suite: Suite) -> list[str]:
    """Sentences on what is missing: problems not shared, algorithms not compared, failed runs."""
    lines = []
    for n, field in suite.fields.items():
        runs = suite.results.select(dimension=n)
        every = len(runs.problems()[0])
        if field.problems < every:
            lines.append(f"{n}-D: compared on the {field.problems} of {every} problems that all compared have run.")
        for name in sorted(set(runs.algorithms) - set(field.algorithms)):
            mine = len(runs.select(algorithm=name).problems()[0])
            lines.append(f"{n}-D: {name} is not compared: it has run {mine} of {every} problems.")
        absent = sorted(set(suite.results.algorithms) - set(runs.algorithms))
        if absent:
            lines.append(f"{n}-D: no runs of {', '.join(absent)}.")
    if len(suite.dimensions) > 1:
        overall = set() if suite.overall is None else set(suite.overall.algorithms)
        without = sorted(set(suite.results.algorithms) - overall)
        lines += [f"Not in the figures over all dimensions: {', '.join(without)}."] if without else []
    bad = suite.results.select(status=FAILED)
    for name, part in bad.by("algorithm"):
        errors = Counter(str(e) for e in part["error"].tolist()) if "error" in part.columns else Counter()
        why = f"; most often: {errors.most_common(1)[0][0]}" if errors else ""
        lines.append(f"{name}: {len(part)} runs failed; they count with the best found before{why}")
    return lines


def reading(results: Results) -> list[str]:
    """How to read the figures, what made them, and when."""
    found: dict[str, set[str]] = {}
    for text in set(results["versions"].tolist()):
        for package, version in json.loads(text).items():
            found.setdefault(package, set()).add(version)
    started = results["started"]
    first, last = (str(np.datetime64(t, "m")).replace("T", " ") for t in (started.min(), started.max()))
    packages = ", ".join(f"{name} {' and '.join(sorted(v))}" for name, v in sorted(found.items()))
    special = [SPECIAL[name] for name in np.unique(results["suite"]).tolist() if name in SPECIAL]
    return [*READING, *special, f"Started between {first} and {last} UTC.", f"Versions: {packages}."]


def write_markdown(sources: Source | Sequence[Source], path: Source) -> Path:
    """Write the results as a Markdown page with pictures, commands, and the paper's claims.

    Ablations have a section of their own.

    Parameters
    ----------
    sources : path or sequence of paths
        As for `write_report`.
    path : path
        The page; pictures go into a folder of its name without the ending.

    Returns
    -------
    pathlib.Path
        The page.
    """
    results = load(sources)
    page = Path(path)
    folder = page.with_suffix("")
    page.parent.mkdir(parents=True, exist_ok=True)
    own = results.where(~results.mask(algorithm=variants()))
    parts = ["# COCO results", "Written by `eglearn.bench.report.write_markdown` from the results; do not edit."]
    look = styles(own) if len(own) else {}
    for suite in suites_of(own) if len(own) else []:
        parts += _markdown_suite(suite, draw(suite, look, folder), folder.name)
    paths = [sources] if isinstance(sources, str | os.PathLike) else sources
    taken = [load_snapshots(source) for source in paths]
    snapshots = {name: np.concatenate([each[name] for each in taken]) for name in taken[0]}
    parts += ablation_sections(results, snapshots, folder)
    judged = judge(results)
    known = [(claim, verdict) for claim, verdict in judged if verdict.word != NO_DATA]
    unknown = [claim.text for claim, verdict in judged if verdict.word == NO_DATA]
    words = Counter(verdict.word for _, verdict in known)
    rows = tuple(
        (Cell(claim.text), Cell(claim.place), Cell(verdict.word, best=True), Cell(verdict.figures))
        for claim, verdict in known
    )
    told = ", ".join(f"{k} {word}" for word, k in words.most_common())
    rule = "*Held here* if the 95 % interval of each paired difference lies on the claimed side of 0, *did not hold "
    rule += "here* if one lies on the other side, else *not settled*; fewer than 6 problems settle nothing. "
    rule += "In brackets: the algorithm that stands for the paper's EGL."
    claimed = markdown_table(Table("", ("claim", "in the paper", "verdict", "figures"), rows)).replace("--:|", "---|")
    parts += ["## The paper's claims", f"{told.capitalize()}. {rule}", claimed]
    parts += [f"Nothing here tells about these: {' '.join(unknown)}"] if unknown else []
    parts += ["## How to read this", "\n".join(f"- {line}" for line in reading(results))]
    parts += ["## The commands", "```sh\n" + "\n".join(commands(sources)) + "\n```"]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _markdown_suite(suite: Suite, pictures: dict[str, Picture], folder: str) -> list[str]:
    last, falling = suite.dimensions[-1], suite.dimensions[::-1]

    def shown(key: str) -> str:
        picture = pictures[key]
        return f"### {picture.title}\n\n![{picture.words}]({folder}/{picture.path.name})\n\n{picture.note}"

    def titled(table: Table) -> str:
        return f"{table.title}:\n\n{markdown_table(table)}"

    said = [f"**{short}** {long}" if short else long for short, long in headline(suite)]
    strict, paper = (tables.by_dimension(suite, kind) for kind in ("strict", "paper"))
    folded = [markdown_folded(f"{n}-D: targets", markdown_table(tables.targets(suite, n))) for n in falling[1:]]
    functions = [
        markdown_folded(f"{n}-D: each function", markdown_table(tables.by_function(suite, n))) for n in falling[1:]
    ]
    times = [tables.running_times(suite, last, t) for t in ERT_TARGETS]
    missing = gaps_in(suite)
    return [
        f"## {suite.title}",
        "\n".join(f"- {line}" for line in (*said, *caps(suite))),
        titled(strict), titled(paper), titled(tables.by_group(suite, last)),
        shown("success"), shown("targets"), titled(tables.targets(suite, last)), *folded,
        shown("distance"), shown("functions"), titled(tables.by_function(suite, last)), *functions,
        *(markdown_folded(t.title, markdown_table(t)) for t in times),
        f"### Cost and runs of {suite.title}", titled(tables.cost(suite)), titled(tables.accounts(suite)),
        *(["Missing:\n\n" + "\n".join(f"- {line}" for line in missing)] if missing else []),
    ]  # fmt: skip


def commands(sources: Source | Sequence[Source]) -> list[str]:
    """The commands that make the runs of each source, from the rows themselves."""
    lines = []
    for source in [sources] if isinstance(sources, str | os.PathLike) else sources:
        rows = load_results(source).select([*KEYS, "budget"]).to_pylist()
        grids: dict[tuple[str, int, str], tuple[set[int], ...]] = {}
        for row in rows:
            found = grids.setdefault((row["suite"], row["budget"], row["algorithm"]), (set(), set(), set(), set()))
            for numbers, name in zip(found, ("dimension", "function", "instance", "seed"), strict=True):
                numbers.add(row[name])
        alike: dict[tuple[str, ...], list[str]] = {}
        for (suite, budget, name), grid in sorted(grids.items()):
            alike.setdefault((suite, str(budget), *map(listed, grid)), []).append(name)
        inside = os.path.relpath(source)
        out = Path(source).name if inside.startswith("..") else inside
        lines += [
            f"eglearn bench run --suite {suite} --dims {dims} --functions {functions} --instances {instances} "
            f"--seeds {seeds} --budget {budget} --algorithms {','.join(names)} --out {out}"
            for (suite, budget, dims, functions, instances, seeds), names in alike.items()
        ]
    return lines
