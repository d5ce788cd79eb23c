"""One suite's runs made comparable, and what is told of them as tables.

Who is compared: in each dimension every algorithm that has run at least half as many problems as the algorithm in the
middle (the median), on the problems that all of them have run. So neither one that has just begun nor one that is far
ahead shrinks the comparison. The others are named with what they lack. Overall figures are over all dimensions, of
the algorithms that are compared in each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._typing import Array
from . import metrics
from .best_known import TARGETS, BestKnown, load_best_known
from .metrics import Comparison, Results, ScoreTable
from .page import Cell, Table, count, file_name, listed, points, short

SHARES = (0.01, 0.1, 1.0)
ERT_TARGETS = (1e1, 1e0, 1e-2, 1e-5, 1e-8)
FAILED = ("failed", "killed")

NAMES = (
    "sphere", "ellipsoid, separable", "Rastrigin, separable", "Büche-Rastrigin", "linear slope", "attractive sector",
    "step ellipsoid", "Rosenbrock", "Rosenbrock, rotated", "ellipsoid", "discus", "bent cigar", "sharp ridge",
    "different powers", "Rastrigin", "Weierstrass", "Schaffer F7", "Schaffer F7, ill-cond.", "Griewank-Rosenbrock",
    "Schwefel", "Gallagher 101 peaks", "Gallagher 21 peaks", "Katsuura", "Lunacek bi-Rastrigin",
)  # fmt: skip
"""The functions of bbob, 1 to 24."""

GROUPS = {
    "separable": range(1, 6), "moderate": range(6, 10), "ill-conditioned": range(10, 15),
    "multimodal": range(15, 20), "weak structure": range(20, 25),
    "moderate noise": range(101, 107), "severe noise": range(107, 122), "severe noise, multimodal": range(122, 131),
}  # fmt: skip
"""COCO's groups of functions, of bbob and of bbob-noisy."""


@dataclass(frozen=True)
class Rank:
    """An algorithm's share of problems solved, with its interval, and its share of targets reached."""

    name: str
    success: float
    low: float
    high: float
    targets: float


@dataclass(frozen=True)
class Field:
    """Algorithms on the problems that all of them have run: one dimension, or several together."""

    runs: Results
    algorithms: tuple[str, ...]
    problems: int
    gap: str
    budget: int
    """The largest."""

    @cached_property
    def strict(self) -> Array:
        """Success of each run with the true optimum."""
        return metrics.success(self.runs, reference="optimum", gap=self.gap).astype(float)

    @cached_property
    def paper(self) -> Array:
        """Success of each run as in the paper: y* is the best of the compared."""
        return metrics.success(self.runs, reference="compared", gap=self.gap).astype(float)

    def table(self, score: Array) -> ScoreTable:
        """Seeds averaged."""
        return metrics.score_table(self.runs, score, self.algorithms)

    @cached_property
    def ranking(self) -> tuple[Rank, ...]:
        """By strict success, then by targets reached."""
        scores = metrics.bootstrap_mean(self.table(self.strict).values, np.random.default_rng(0))
        reached = metrics.targets_reached(self.runs, np.array([np.inf]))[:, 0]
        targets = self.table(reached).values.mean(axis=0)
        columns = (scores.estimate, scores.low, scores.high, targets)
        ranks = [Rank(name, *(float(c[k]) for c in columns)) for k, name in enumerate(self.algorithms)]
        return tuple(sorted(ranks, key=lambda r: (-r.success, -r.targets, r.name)))

    def duel(self, a: str, b: str) -> Comparison:
        """Paired difference in strict success, whatever the budgets."""
        return metrics.compare(self.runs, self.strict, a, b, np.random.default_rng(0), mixed_budgets=True)


class Suite:
    """The runs of one suite; with ``cut``, as they were after so many evaluations."""

    def __init__(self, name: str, results: Results, cut: int | None = None) -> None:
        runs = results.select(suite=name)
        self.name, self.results = name, runs if cut is None else metrics.cut(runs, cut)
        self.cut = cut
        self.title = name if cut is None else f"{name}, {cut:,} evaluations"
        self.key = file_name(name if cut is None else f"{name}-{cut}")
        """For names of files."""
        longer = runs["budget"] > (np.inf if cut is None else cut)
        self.shortened = runs.where(longer).algorithms
        """Algorithms with runs that went on after the cut."""
        self.noisy = name == "bbob-noisy"
        # Under noise the best of many values is luck: what counts is the point the algorithm would hand over.
        self.gap = "recommended_gap" if self.noisy else "best_gap"
        self.dimensions: tuple[int, ...] = tuple(np.unique(self.results["dimension"]).tolist())
        self.fields = {n: self._field(self.results.select(dimension=n)) for n in self.dimensions}

    def _field(self, runs: Results) -> Field:
        solved = {name: set(part.problems()[0]) for name, part in runs.by("algorithm")}
        middle = float(np.median([len(problems) for problems in solved.values()]))
        names = sorted((a for a in solved if 2 * len(solved[a]) >= middle), key=lambda a: -len(solved[a]))
        while not (shared := set.intersection(*(solved[a] for a in names))):
            names.pop()
        problems, index = runs.problems()
        common = np.isin(index, [k for k, p in enumerate(problems) if p in shared])
        runs = runs.where(common & runs.mask(algorithm=names))
        return Field(runs, tuple(sorted(names)), len(shared), self.gap, int(runs["budget"].max()))

    @property
    def largest(self) -> Field:
        """The field of the largest dimension."""
        return self.fields[self.dimensions[-1]]

    @cached_property
    def overall(self) -> Field | None:
        """All dimensions together; None if there is only one, or no algorithm is compared in each."""
        names = sorted(set.intersection(*(set(f.algorithms) for f in self.fields.values())))
        if len(self.dimensions) < 2 or not names:
            return None
        shared = {p for f in self.fields.values() for p in f.runs.problems()[0]}
        problems, index = self.results.problems()
        kept = np.isin(index, [k for k, p in enumerate(problems) if p in shared])
        runs = self.results.where(kept & self.results.mask(algorithm=names))
        return Field(runs, tuple(names), len(shared), self.gap, max(f.budget for f in self.fields.values()))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Algorithms, best first: by their mean success over the dimensions where they are compared."""
        found: dict[str, list[tuple[float, float]]] = {}
        for field in self.fields.values():
            for rank in field.ranking:
                found.setdefault(rank.name, []).append((rank.success, rank.targets))
        means = {name: np.mean(values, axis=0) for name, values in found.items()}
        return tuple(sorted(self.results.algorithms, key=lambda a: (*(-means.get(a, np.full(2, -1.0))), a)))

    @cached_property
    def known(self) -> BestKnown | None:
        """The best entries of COCO's archive, if it has any for this suite."""
        return load_best_known(self.name) if self.name in ("bbob", "bbob-largescale") else None

    def ceiling(self, n: int, evaluations: Array) -> Array | None:
        """Share of (function, target) pairs with best-known ERT <= t, of the functions that were run."""
        if self.known is None or n not in self.known.dimensions:
            return None
        functions = np.unique(self.fields[n].runs["function"])
        times = self.known.running_time(n, TARGETS)[functions - 1].ravel()
        return np.asarray((times[:, None] <= evaluations).mean(axis=0))

    def solvable(self, n: int) -> float | None:
        """Share of the functions that the best-known entries solve within the budget (strict)."""
        if self.known is None or n not in self.known.dimensions:
            return None
        runs = self.fields[n].runs
        runs = runs.where(np.isfinite(np.asarray(runs["y0"], dtype=float)))
        if not len(runs):
            return None
        gaps = metrics.initial_gaps(runs, self.name, n)
        return len(self.known.solved(n, self.fields[n].budget, gaps)) / len(gaps)

    def capped(self, name: str, n: int) -> bool:
        """Whether an algorithm had a smaller budget than others in a dimension."""
        mine = self.results.select(algorithm=name, dimension=n)
        return bool(len(mine)) and int(mine["budget"].min()) < self.fields[n].budget


def function_name(suite: str, k: int) -> str:
    """Number and, where there is one, name of a function."""
    return f"f{k}" if suite == "bbob-noisy" or k > len(NAMES) else f"f{k} {NAMES[k - 1]}"


def by_dimension(suite: Suite, kind: str) -> Table:
    """Success in each dimension, ``kind`` "strict" or "paper"."""
    compared = {name for field in suite.fields.values() for name in field.algorithms}
    rows: dict[str, list[Cell]] = {name: [Cell(name)] for name in suite.order if name in compared}
    for n, field in suite.fields.items():
        means = dict(zip(field.algorithms, field.table(getattr(field, kind)).values.mean(axis=0), strict=True))
        for name, row in rows.items():
            mean = means.get(name, np.nan)
            mark = "†" if suite.capped(name, n) else ""
            row.append(
                Cell("–") if np.isnan(mean) else
                Cell(points(mean) + mark, share=mean, best=mean > 0 and mean == max(means.values()))
            )  # fmt: skip
    if kind == "strict" and suite.known is not None:
        known = [suite.solvable(n) for n in suite.dimensions]
        rows["best known"] = [Cell("best known"), *(Cell("–" if k is None else points(k)) for k in known)]
    title = {"strict": "Problems solved, true optimum", "paper": "Problems solved, the paper's test"}[kind]
    return Table(f"{title}, %", ("algorithm", *(f"{n}-D" for n in suite.dimensions)), tuple(map(tuple, rows.values())))


def by_group(suite: Suite, n: int) -> Table:
    """Success (strict) in each of COCO's groups of functions."""
    field = suite.fields[n]
    functions = np.array([p.function for p in field.table(field.strict).problems])
    values = field.table(field.strict).values
    groups = {name: np.isin(functions, k) for name, k in GROUPS.items() if np.isin(functions, k).any()}
    means = {name: values[mine].mean(axis=0) for name, mine in groups.items()}
    rows = []
    for name in (a for a in suite.order if a in field.algorithms):
        k = field.algorithms.index(name)
        cells = (Cell(points(m[k]), share=m[k], best=m[k] > 0 and m[k] == m.max()) for m in means.values())
        rows.append((Cell(name + ("†" if suite.capped(name, n) else "")), *cells))
    return Table(f"{n}-D: problems solved, true optimum, %, by kind of function", ("algorithm", *groups), tuple(rows))


def targets(suite: Suite, n: int) -> Table:
    """Share of the 51 targets reached at shares of the budget."""
    field = suite.fields[n]
    limits = metrics.budget_limits(field.runs, SHARES, budget=field.budget)
    means = field.table(metrics.targets_reached(field.runs, limits)).values.mean(axis=0)
    best = means.max(axis=0)
    rows = []
    for name in (a for a in suite.order if a in field.algorithms):
        values = means[field.algorithms.index(name)]
        cells = (Cell(points(v), share=v, best=v > 0 and v == top) for v, top in zip(values, best, strict=True))
        rows.append((Cell(name + ("†" if suite.capped(name, n) else "")), *cells))
    known = suite.ceiling(n, np.array(SHARES) * field.budget)
    if known is not None:
        rows.append((Cell("best known"), *(Cell(points(v)) for v in known)))
    header = tuple(f"{100 * s:g} % ({s * field.budget:,.0f})" for s in SHARES)
    return Table(
        f"{n}-D: targets reached, %, by share of the budget (evaluations)", ("algorithm", *header), tuple(rows)
    )


def by_function(suite: Suite, n: int) -> Table:
    """Runs solved (strict) of all runs, and the median final gap, for each function and algorithm."""
    runs = suite.results.select(dimension=n)
    solved = metrics.success(runs, reference="optimum", gap=suite.gap)
    names = [a for a in suite.order if a in runs.algorithms]
    rows = []
    for function in np.unique(runs["function"]).tolist():
        found = {}
        for name in names:
            here = runs.mask(function=function, algorithm=name)
            if here.any():
                gaps = np.nan_to_num(np.asarray(runs[suite.gap][here], dtype=float), nan=np.inf)
                middle = float(np.quantile(gaps, 0.5, method="higher"))  # "linear" would subtract infinities
                found[name] = (int(solved[here].sum()), int(here.sum()), middle)
        # Gaps below the last target are alike: COCO's runs end there.
        merit = {name: (k / of, -max(gap, 1e-8)) for name, (k, of, gap) in found.items()}
        best = max(merit.values())
        cells = {
            name: Cell(f"{k}/{of}", short(gap), k / of, merit[name] == best and gap < np.inf)
            for name, (k, of, gap) in found.items()
        }
        rows.append((Cell(function_name(suite.name, function)), *(cells.get(name, Cell("–")) for name in names)))
    return Table(f"{n}-D: runs solved, and median gap at the end", ("function", *names), tuple(rows))


def running_times(suite: Suite, n: int, target: float) -> Table:
    """Expected running time to a target gap, for each function and algorithm, with the best known."""
    runs = suite.results.select(dimension=n)
    times = metrics.running_times(runs, target)
    names = [a for a in suite.order if a in runs.algorithms]
    functions = np.unique(runs["function"]).tolist()
    known = None
    if suite.known is not None and n in suite.known.dimensions:
        known = suite.known.running_time(n, [target])[:, 0]
    rows = []
    for k in functions:
        mine = [times.get((suite.name, k, n, a), np.inf) for a in names]
        cells = [Cell(count(t), best=np.isfinite(t) and t == min(mine)) for t in mine]
        rows.append(
            (Cell(function_name(suite.name, k)), *cells, *([] if known is None else [Cell(count(known[k - 1]))]))
        )
    reached = [sum(row[j].text != "–" for row in rows) for j in range(1, len(rows[0]))]
    rows.append((Cell("functions reached"), *(Cell(f"{k} of {len(functions)}") for k in reached)))
    header = ("function", *names, *([] if known is None else ["best known"]))
    return Table(f"{n}-D: expected evaluations to a gap of {target:g}", header, tuple(rows))


def cost(suite: Suite) -> Table:
    """CPU milliseconds of the optimiser for each evaluation."""
    rows = []
    for name in suite.order:
        cells = []
        for n in suite.dimensions:
            runs = suite.results.select(algorithm=name, dimension=n)
            used, spent = (np.asarray(runs[c], dtype=float) for c in ("cpu_optimiser", "evaluations"))
            there = np.isfinite(used) & (spent > 0)
            cells.append(Cell(f"{1000 * used[there].sum() / spent[there].sum():.2g}" if there.any() else "–"))
        rows.append((Cell(name), *cells))
    title = "CPU milliseconds of the optimiser per evaluation"
    return Table(title, ("algorithm", *(f"{n}-D" for n in suite.dimensions)), tuple(rows))


def accounts(suite: Suite) -> Table:
    """What was run: runs, seeds, problems that lack, how runs ended."""
    rows = []
    every = len(suite.results.problems()[0])
    for name in suite.order:
        runs = suite.results.select(algorithm=name)
        ends = Counter(runs["status"].tolist())
        missing = every - len(runs.problems()[0])
        rows.append(
            tuple(map(Cell, (
                name, f"{len(runs):,}", listed(runs["seed"].tolist()), f"{missing:,} of {every:,}",
                f"{ends['target']:,}", f"{ends['budget']:,}", f"{ends['finished']:,}",
                f"{sum(ends[s] for s in FAILED):,}",
                f"{100 * runs['projected'].sum() / max(runs['evaluations'].sum(), 1):.2g} %",
            )))
        )  # fmt: skip
    header = ("algorithm", "runs", "seeds", "problems missing", "last target", "budget used", "ended early", "failed")
    return Table("Runs, and how they ended", (*header, "projected"), tuple(rows))
