"""The page of the search, made from the results: nothing is on it that was not measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..._typing import Array
from ...bench.intervals import bootstrap_mean
from ..base import Finding, verdict
from .figures import draw_convergence, draw_found, draw_samples
from .garments import Garments, load_garments
from .runs import PROBLEMS, Row, load_rows
from .searches import ALGORITHMS

_SHOWN = 6
"""Problems in the picture of what was found: the first ones, not the best ones."""

_FEW = 4
"""An algorithm is on the page once it has done so many problems."""

_WHAT = {
    "random": "random points of N(0, I), the generator's own distribution",
    "cma": "CMA-ES (pycma), sigma 0.5, inside the box",
    "cg": "conjugate gradients (SciPy), 512 forward differences a gradient",
    "egl": "EGL with this library's default settings",
    "egl-constant": "EGL with one gradient a region, m = 32",
    "egl-fc": "EGL with table 2, a fully connected network",
    "egl-spline": "EGL with table 2, the spline network",
    "igl-fc": "IGL with table 2, the same network as egl-fc",
}


def write_gallery(results: str | os.PathLike[str], docs: str | os.PathLike[str]) -> Path:
    """Write latent.md and its pictures into the folder ``docs``; returns the page.

    Parameters
    ----------
    results
        The folder of `run_searches`.
    docs
        Where the page goes.
    """
    rows = _comparable(load_rows(results))
    if not rows:
        raise ValueError(f"{results} holds no finished search: run them first")
    garments, folder = load_garments(), Path(docs)
    draw_samples(garments, folder / "latent_samples.png")
    draw_convergence(_complete(rows)[0], folder / "latent_convergence.png")
    complete, problems = _complete(rows)
    found = {
        name: {row["problem"]: np.array(row["z"]) for row in complete if row["algorithm"] == name}
        for name in _names(complete)
    }
    draw_found(garments, found, folder / "latent_found.png", problems[:_SHOWN])
    page = folder / "latent.md"
    page.write_text(_text(rows, garments), encoding="utf-8")
    return page


def _comparable(rows: Sequence[Row]) -> list[Row]:
    """The runs with the networks and the budget of the last one."""
    same = ("weights", "budget", "seed")
    return [row for row in rows if all(row[name] == rows[-1][name] for name in same)]


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
    values = {row["problem"]: row[column] for row in rows if row["algorithm"] == name}
    return np.array([values[problem] for problem in problems])


def _interval(values: Array) -> str:
    band = bootstrap_mean(values, np.random.default_rng(0))
    return f"{band.estimate:.2f} [{band.low:.2f}, {band.high:.2f}]"


def table(rows: Sequence[Row], problems: Sequence[int]) -> list[str]:
    """One line of Markdown an algorithm: costs over the problems that all have done, with 95 % intervals."""
    names = _names(rows)
    best = _column(rows, names[0], problems)
    lines = [
        f"| algorithm | mean lowest cost | above `{names[0]}` | attributes | landmarks | quality | optimiser, CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in names:
        costs = _column(rows, name, problems)
        terms = (f"{_column(rows, name, problems, term).mean():.2f}" for term in ("attributes", "landmarks", "quality"))
        gap = "" if name == names[0] else _interval(costs - best)
        cpu = _column(rows, name, problems, "cpu_optimiser").mean()
        lines.append(f"| `{name}` | {_interval(costs)} | {gap} | {' | '.join(terms)} | {cpu:.0f} |")
    return lines


def findings(rows: Sequence[Row], problems: Sequence[int]) -> list[Finding]:
    """What the paper says of this experiment, beside what was measured; only claims that the results can answer."""
    there = _names(rows)
    answers = []

    def compare(claim: str, one: str, other: str) -> None:
        if one in there and other in there:
            gaps = _column(rows, other, problems) - _column(rows, one, problems)
            band = bootstrap_mean(gaps, np.random.default_rng(0))
            settled = None if band.low <= 0 <= band.high else bool(band.low > 0)
            text = f"The cost of `{other}` minus that of `{one}` is {_interval(gaps)} on {len(problems)} problems."
            answers.append(Finding(claim, text, settled))

    compare("EGL ends with a lower cost than IGL (sec. 5.2, fig. 5).", "egl-fc", "igl-fc")
    for mine in ("egl", "egl-spline"):
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
        settled = None if gap.low <= 0 <= gap.high else bool(gap.low > 0)
        answers.append(Finding("CMA-ES finds close landmarks but a poor score (app. G).", text, settled))
    return answers


def _text(rows: Sequence[Row], garments: Garments) -> str:
    complete, problems = _complete(rows)
    counts = {name: sum(row["algorithm"] == name for row in rows) for name in ALGORITHMS}
    missing = ""
    if any(counts[name] < PROBLEMS for name in ALGORITHMS):
        done = ", ".join(f"`{name}` {counts[name]}" for name in ALGORITHMS)
        missing = f"\n**Not complete**: of {PROBLEMS} problems each, finished are {done}.\n"
    claims = [f"- {f.claim} {f.measured} **{verdict(f).capitalize()}.**" for f in findings(complete, problems)]
    return _PAGE.format(
        budget=rows[0]["budget"],
        count=len(problems),
        table="\n".join(table(complete, problems)),
        legend="\n".join(f"- `{name}`: {_WHAT[name]}." for name in _names(complete)),
        missing=missing,
        findings="\n".join(claims) or "The searches that could answer are not finished.",
        about="\n".join(f"| {name} | {value} |" for name, value in garments.about.items()),
        problems=PROBLEMS,
    )


_PAGE = """# Searching the latent space of a generator

Somewhere among 512 dimensions is the garment you have in mind. You can only ask: make this point an image, and tell how
far it is from what I want. The target image is never shown to the search, only forty yes-or-no attributes and the
outline as 34 landmarks. These are the first targets, and what each algorithm made of {budget:,} questions:

![Targets and what the algorithms found](latent_found.png)

The number below an image is its cost (lower is better). Columns are sorted by their mean over all problems.

Try it: `python examples/latent_garments.py` searches for one garment in about two minutes and draws such a row.
[Your own generator](../latent.md) takes four functions.

## Average lowest cost

Over the {count} problems that all of these have done, with 95 % intervals (bootstrap over problems). The differences
are paired: same problems, same starting point.

{table}

{legend}
{missing}
## How the cost falls

![Best cost so far against evaluations](latent_convergence.png)

## What the paper says, and what was measured

{findings}

The paper searches faces (CelebA, BigGAN, 64 problems); these are garments (FashionMNIST, 28 x 28) with small networks.
Dimension, budget, weights and starting rule are the paper's. The networks that learn the gradient are smaller than the
authors' and train less. So this tests the method's claims, not the paper's numbers. CMA-ES starts with sigma 0.5, half
the spread of z; the authors' code gave it a sigma of 10, far off what the generator knows.

## The four black boxes

![Samples of the generator above real images](latent_samples.png)

The networks, from the metadata of the shipped file. tanh(D) is -1 for good images and 1 for poor ones; *far off* are
points three times as far from the origin as those the generator was trained with.

| | |
|---|---|
{about}

## Again

```
eglearn data train-garments --out garments.safetensors  # only to train the networks again
python -m eglearn.experiments.latent run results/latent-garments --problems {problems} --budget {budget}
python -m eglearn.experiments.latent page results/latent-garments docs/experiments
```

Training and searches go on where they were interrupted. The images are from
[FashionMNIST](https://github.com/zalandoresearch/fashion-mnist), MIT licence, Zalando SE.
"""
