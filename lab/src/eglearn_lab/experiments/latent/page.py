"""The page of the search, made from the results: nothing is on it that was not measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..._typing import Array
from ...bench.evidence import ENOUGH
from ...bench.intervals import Interval, bootstrap_mean
from ...runner import Row
from .figures import draw_convergence, draw_found, draw_samples
from .runs import load_rows
from .searches import ALGORITHMS
from .subjects import Entry, find_subject
from .texts import TEXTS, Text, about_table

_SHOWN = 6
"""Problems in the picture of what was found: the first ones, not the best ones."""

_FEW = 4
"""An algorithm is on the page once it has done so many problems."""

_CONTRARY = " That is the contrary, but with smaller networks and fewer problems than the paper's."

_SMALLER = "not tested at this size"

_WHAT = {
    "random": "random points of N(0, I), the generator's own distribution",
    "cma": "CMA-ES (pycma), sigma 0.5, inside the box",
    "cg": "conjugate gradients (SciPy), 512 forward differences a gradient",
    "auto": "the default of `minimize`",
    "egl-constant": "EGL with one gradient a region, m = 32",
    "egl-fc": "EGL with table 2, a fully connected network",
    "egl-spline": "EGL with table 2, the spline network",
    "igl-fc": "IGL with table 2, the same network as egl-fc",
}


@dataclass(frozen=True)
class Answer:
    """A claim of the paper, what was measured, and the verdict."""

    claim: str
    measured: str
    word: str


def write_gallery(results: str | os.PathLike[str], docs: str | os.PathLike[str], subject: str = "garments") -> Path:
    """Write the page of a subject and its pictures into the folder ``docs``; returns the page.

    Parameters
    ----------
    results
        The folder of `run_searches`.
    docs
        Where the page goes.
    subject : str
        What was searched for: a name in ``SUBJECTS``.
    """
    entry, text = find_subject(subject), TEXTS[subject]
    rows = _comparable(load_rows(results))
    if not rows:
        raise ValueError(f"{results} holds no finished search: run them first")
    if rows[0]["weights"] != entry.weights:
        raise ValueError(
            f"the searches in {results} were not made with the {subject} that are installed: run them again"
        )
    held, folder = entry.load(), Path(docs)
    complete, problems = _complete(rows)
    draw_samples(held, folder / f"{text.page}_samples.png")
    draw_convergence(complete, folder / f"{text.page}_convergence.png")
    first = sorted(complete, key=lambda row: -row["seed"])  # the pictures are of the first seed
    found = {
        name: {row["problem"]: np.array(row["z"]) for row in first if row["algorithm"] == name}
        for name in _names(complete)
    }
    draw_found(held, found, folder / f"{text.page}_found.png", problems[:_SHOWN])
    page = folder / f"{text.page}.md"
    page.write_text(_text(rows, entry, text, held.about), encoding="utf-8")
    return page


def _comparable(rows: Sequence[Row]) -> list[Row]:
    """Of the runs with the same networks and budget those that are the most; of equally many the last."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["weights"], row["budget"]), []).append(row)
    return max(reversed(groups.values()), key=len, default=[])


def _complete(rows: Sequence[Row]) -> tuple[list[Row], list[int]]:
    """The runs to compare, and their problems: what has been done by all algorithms that have done a few."""
    done = {name: {row["problem"] for row in rows if row["algorithm"] == name} for name in ALGORITHMS}
    few = min(_FEW, max(map(len, done.values())))
    shown = {name: problems for name, problems in done.items() if len(problems) >= few}
    common = sorted(set.intersection(*shown.values()))
    return [row for row in rows if row["algorithm"] in shown and row["problem"] in common], common


def _names(rows: Sequence[Row]) -> list[str]:
    """Algorithms with results, the lowest mean cost first."""
    costs = {name: [row["cost"] for row in rows if row["algorithm"] == name] for name in ALGORITHMS}
    return sorted((name for name in costs if costs[name]), key=lambda name: float(np.mean(costs[name])))


def _column(rows: Sequence[Row], name: str, problems: Sequence[int], column: str = "cost") -> Array:
    """A value for each problem: the mean over the seeds."""
    own = [row for row in rows if row["algorithm"] == name]
    return np.array([np.mean([row[column] for row in own if row["problem"] == problem]) for problem in problems])


def _seeds(rows: Sequence[Row]) -> str:
    """A sentence on algorithms that had several seeds; empty if there are none."""
    counts = {name: len({row["seed"] for row in rows if row["algorithm"] == name}) for name in _names(rows)}
    several = [f"`{name}` {count}" for name, count in counts.items() if count > 1]
    return f"\nRuns on each problem, of which these are means: {', '.join(several)}, others 1." if several else ""


def _interval(values: Array) -> str:
    band = bootstrap_mean(values, np.random.default_rng(0))
    return f"{band.estimate:.2f} [{band.low:.2f}, {band.high:.2f}]"


def table(rows: Sequence[Row], problems: Sequence[int]) -> list[str]:
    """One line of Markdown an algorithm: costs over the problems that all have done, with 95 % intervals."""
    names = _names(rows)
    best = _column(rows, names[0], problems)
    lowest = np.min([_column(rows, name, problems) for name in names], axis=0)
    columns = ["algorithm", "mean lowest cost", f"above `{names[0]}`", "lowest of all on"]
    columns += ["attributes", "landmarks", "quality", "optimiser, CPU s"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in names:
        costs = _column(rows, name, problems)
        terms = (f"{_column(rows, name, problems, term).mean():.2f}" for term in ("attributes", "landmarks", "quality"))
        gap = "" if name == names[0] else _interval(costs - best)
        cpu = _column(rows, name, problems, "cpu_optimiser").mean()
        wins = f"{np.sum(costs == lowest)} of {len(problems)}"
        lines.append(f"| `{name}` | {_interval(costs)} | {gap} | {wins} | {' | '.join(terms)} | {cpu:.0f} |")
    return lines


def findings(rows: Sequence[Row], problems: Sequence[int]) -> list[Answer]:
    """What the paper says of this experiment, beside what was measured; only claims that the results can answer."""
    there = _names(rows)
    answers = []

    def compare(claim: str, one: str, other: str) -> None:
        if one in there and other in there:
            gaps = _column(rows, other, problems) - _column(rows, one, problems)
            band = bootstrap_mean(gaps, np.random.default_rng(0))
            text = f"The cost of `{other}` minus that of `{one}` is {_interval(gaps)} on {len(problems)} problems."
            answers.append(_answer(claim, text, band, len(problems)))

    compare("EGL ends with a lower cost than IGL (sec. 5.2, fig. 5).", "egl-fc", "igl-fc")
    for mine in ("egl-spline", "egl-fc"):
        compare(f"CMA-ES fails where EGL succeeds (sec. 5.2, app. G); here against `{mine}`.", mine, "cma")
        compare(f"CG fails where EGL succeeds (sec. 5.2, app. G); here against `{mine}`.", mine, "cg")
    if "cma" in there and "egl-spline" in there:
        columns = ("landmarks", "quality")
        own = {name: _column(rows, "cma", problems, name) for name in columns}
        ours = {name: _column(rows, "egl-spline", problems, name) for name in columns}
        gap = bootstrap_mean(own["quality"] - ours["quality"], np.random.default_rng(0))
        text = (
            f"`cma` ends at landmarks {own['landmarks'].mean():.2f} and quality {own['quality'].mean():.2f}, "
            f"`egl-spline` at {ours['landmarks'].mean():.2f} and {ours['quality'].mean():.2f}; of quality, -2 is best."
        )
        answers.append(_answer("CMA-ES finds close landmarks but a poor score (app. G).", text, gap, len(problems)))
    return answers


def _answer(claim: str, measured: str, band: Interval, problems: int) -> Answer:
    """The claim holds if its interval is above 0; a contrary one does not speak against the paper, which had more."""
    contrary = bool(band.high < 0)
    word = "not settled" if problems < ENOUGH or band.low <= 0 <= band.high else _SMALLER if contrary else "holds"
    return Answer(claim, measured + (_CONTRARY if contrary else ""), word)


def _text(rows: Sequence[Row], entry: Entry, text: Text, about: dict[str, str]) -> str:
    complete, problems = _complete(rows)
    counts = {name: len({row["problem"] for row in rows if row["algorithm"] == name}) for name in ALGORITHMS}
    missing = ""
    if any(counts[name] < entry.problems for name in ALGORITHMS):
        done = ", ".join(f"`{name}` {counts[name]}" for name in ALGORITHMS)
        missing = f"\n**Not complete**: of {entry.problems} problems each, finished are {done}.\n"
    claims = [f"- {f.claim} {f.measured} **{f.word.capitalize()}.**" for f in findings(complete, problems)]
    budget = rows[0]["budget"]
    return _PAGE.format(
        intro=text.intro.format(budget=budget),
        try_it=text.try_it,
        page=text.page,
        count=len(problems),
        seeds=_seeds(complete),
        table="\n".join(table(complete, problems)),
        legend="\n".join(f"- `{name}`: {_WHAT[name]}." for name in _names(complete)),
        missing=missing,
        findings="\n".join(claims) or "The searches that could answer are not finished.",
        apart=text.apart,
        boxes=text.boxes,
        about=about_table(about),
        again=text.again.format(problems=entry.problems, budget=budget),
    )


_PAGE = """{intro}

![Targets and what the algorithms found]({page}_found.png)

The number below an image is its cost (lower is better). Columns are sorted by their mean over all problems.

{try_it}

## Average lowest cost

Over the {count} problems that all of these have done, with 95 % intervals (bootstrap over problems). The differences
are paired: same problems, same starting point.{seeds}

{table}

{legend}
{missing}
## How the cost falls

![Best cost so far against evaluations]({page}_convergence.png)

## What the paper says, and what was measured

{findings}

{apart}

## The four black boxes

![Samples of the generator above targets]({page}_samples.png)

{boxes}

{about}

## Again

{again}
"""
