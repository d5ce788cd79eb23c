"""What a run on one of the laboratory's own suites has shown: ranks, wins and losses, in tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runner import Row
from ..suites.base import Array
from ..suites.scores import CLEAR, problem_ranks, scores, superiority
from .page import Cell, Table
from .wild_runs import load_runs, problems_of

RELATIVE, ABSOLUTE = 1e-6, 1e-8
"""Values closer than this to the lowest one known, by its size or as they are, count as equally good."""

MOST = 0.8
"""An algorithm that ran on a smaller share of the problems has no rank."""


@dataclass(frozen=True)
class Values:
    """Final values (algorithms, problems, seeds); NaN: not run."""

    suite: str
    algorithms: tuple[str, ...]
    problems: tuple[str, ...]
    seeds: tuple[int, ...]
    values: Array
    start: Array
    """Values at x0, by problem."""
    cpu: Array
    """CPU seconds of the optimiser (algorithms, problems), mean over the seeds."""

    @property
    def floors(self) -> Array:
        """By problem: the lowest value known, with a tolerance."""
        with np.errstate(invalid="ignore"):
            found = np.nanmin(self.values, axis=(0, 2))
        known = [problems_of(self.suite)[name].best_known for name in self.problems]
        low = np.array([f if k is None else min(f, k) for f, k in zip(found, known, strict=True)])
        return np.asarray(low + np.maximum(RELATIVE * np.abs(low), ABSOLUTE))

    def families(self) -> dict[str, list[int]]:
        """Places of the problems of each family."""
        groups: dict[str, list[int]] = {}
        for i, name in enumerate(self.problems):
            groups.setdefault(problems_of(self.suite)[name].family, []).append(i)
        return groups

    @property
    def ran(self) -> NDArray[np.bool_]:
        """Which algorithm ran on which problem, with all seeds."""
        return np.asarray(~np.isnan(self.values).any(axis=2))

    def ranked(self) -> tuple[list[int], list[int]]:
        """Places of the algorithms that ran on most problems, and of the problems that these have in common."""
        most = np.flatnonzero(self.ran.mean(axis=1) >= MOST)
        return most.tolist(), np.flatnonzero(self.ran[most].all(axis=0)).tolist()


def collect(rows: Sequence[Row], algorithms: Sequence[str] | None = None, share: float = 1.0) -> Values:
    """Arrange the rows of one suite.

    Parameters
    ----------
    rows : sequence of dict
        See `load_runs`.
    algorithms : sequence of str, optional
        Those to compare, in this order; all if not given.
    share : float
        With less than 1, the lowest value after this share of the budget; on noisy problems it is as measured.
    """
    suites = {row["suite"] for row in rows}
    if len(suites) != 1:
        raise ValueError(f"the rows are of {len(suites)} suites: compare the runs of one")
    (suite,) = suites
    names = tuple(dict.fromkeys(row["algorithm"] for row in rows)) if algorithms is None else tuple(algorithms)
    problems = tuple(name for name in problems_of(suite) if any(row["problem"] == name for row in rows))
    seeds = tuple(sorted({row["seed"] for row in rows}))
    shape = (len(names), len(problems), len(seeds))
    values, cpu, start = np.full(shape, np.nan), np.full(shape, np.nan), np.full(len(problems), np.nan)
    for row in rows:
        if row["algorithm"] not in names:
            continue
        place = names.index(row["algorithm"]), problems.index(row["problem"]), seeds.index(row["seed"])
        value = row["judged"] if share >= 1 else _at(row, share)
        values[place] = np.inf if value is None or np.isnan(value) else value
        cpu[place] = np.nan if row["cpu_optimiser"] is None else row["cpu_optimiser"]
    for i, name in enumerate(problems):
        p = problems_of(suite)[name]
        start[i] = p.exact()(p.x0)
    with np.errstate(invalid="ignore"):
        mean_cpu = np.array([[_mean(c) for c in line] for line in cpu])
    return Values(suite, names, problems, seeds, values, start, mean_cpu)


def _mean(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _at(row: Row, share: float) -> float:
    """The lowest value after a share of the budget."""
    reached = np.searchsorted(row["trace_evaluations"] or [0], share * row["budget"], side="right") - 1
    return float(row["trace_best"][reached]) if reached >= 0 and row["trace_best"] else np.inf


def rank_table(v: Values, reference: str = "auto") -> Table:
    """Mean ranks of those that ran on most problems, and how the reference did against each, on what that one ran."""
    most, common = v.ranked()
    values, names = v.values[np.ix_(most, common)], [v.algorithms[a] for a in most]
    table = scores(names, values, names[0], v.floors[common])
    by_name = {s.name: s for s in table}
    rows = []
    for a, name in enumerate(v.algorithms):
        s = by_name.get(name)
        low, high = s.mean_rank_interval if s else (0.0, 0.0)
        rows.append((
            s.mean_rank if s else np.inf,
            (
                Cell(name),
                Cell(f"{s.mean_rank:.2f} [{low:.2f}, {high:.2f}]" if s else ""),
                Cell("" if name == reference else " / ".join(map(str, duel(v, reference, name)))),
                Cell(str(s.last) if s else ""),
                Cell(str(int(v.ran[a].sum()))),
            ),
        ))  # fmt: skip
    rows.sort(key=lambda row: row[0])
    header = ("algorithm", "mean rank", f"{reference} better / equal / worse", "alone last on", "problems")
    title = f"Suite {v.suite}: ranks on the {len(common)} problems that all ranked algorithms ran"
    return Table(title, header, tuple(cells for _, cells in rows))


def duel(v: Values, first: str, second: str) -> tuple[int, int, int]:
    """On how many problems the first is better than, equal to and worse than the second, where both ran."""
    pair = [v.algorithms.index(first), v.algorithms.index(second)]
    both = np.flatnonzero(~np.isnan(v.values[pair]).any(axis=(0, 2)))
    if not len(both):
        return 0, 0, 0
    wins = superiority(v.values[pair][:, both], 1, v.floors[both])[0]
    return int((wins >= CLEAR).sum()), int(((wins > 1 - CLEAR) & (wins < CLEAR)).sum()), int((wins <= 1 - CLEAR).sum())


def family_table(v: Values) -> Table:
    """Mean rank by family, of those that ran on most problems."""
    most, common = v.ranked()
    names = [v.algorithms[a] for a in most]
    ranks = np.full((len(most), len(v.problems)), np.nan)
    ranks[:, common] = problem_ranks(v.values[np.ix_(most, common)], v.floors[common])
    rows = []
    for family, every in v.families().items():
        places = [i for i in every if i in common]
        if not places:
            continue
        means = ranks[:, places].mean(axis=1)
        cells = [Cell(f"{m:.1f}", best=bool(m == means.min())) for m in means]
        rows.append((Cell(family), Cell(str(len(places))), *cells))
    return Table("Mean rank by family", ("family", "problems", *names), tuple(rows))


def problem_table(v: Values) -> Table:
    """Medians of the final values."""
    rows = []
    for i, name in enumerate(v.problems):
        p = problems_of(v.suite)[name]
        medians = [np.nan if np.isnan(x).any() else float(np.median(x)) for x in v.values[:, i]]
        best = np.nanmin(np.maximum(medians, v.floors[i]))
        cells = [
            Cell("" if np.isnan(m) else f"{m:.5g}", best=bool(max(m, v.floors[i]) <= best)) for m in medians
        ]  # fmt: skip
        about = (Cell(name), Cell(str(p.n)), Cell(f"{p.budget:,}"), Cell(f"{v.start[i]:.4g}"))
        rows.append((*about, *cells))
    header = ("problem", "n", "evaluations", "at x0", *v.algorithms)
    return Table("Median final value", header, tuple(rows))


def cpu_table(v: Values) -> Table:
    """CPU milliseconds of the optimiser per evaluation."""
    budgets = np.array([problems_of(v.suite)[name].budget for name in v.problems])
    dims = np.array([problems_of(v.suite)[name].n for name in v.problems])
    groups = {"n < 64": dims < 64, "n >= 64": dims >= 64}
    rows = []
    for a, name in enumerate(v.algorithms):
        cost = 1000 * v.cpu[a] / budgets
        rows.append((Cell(name), *(Cell(f"{_mean(cost[mask]):.3f}") for mask in groups.values())))
    return Table(
        "CPU of the optimiser, milliseconds per evaluation, mean over problems", ("algorithm", *groups), tuple(rows)
    )


def text(table: Table) -> str:
    """A table as Markdown; the best of a row is bold."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    lines = [line(table.header), line(["---", *["--:"] * (len(table.header) - 1)])]
    lines += [line([f"**{c.text}**" if c.best else c.text for c in row]) for row in table.rows]
    return "\n".join(lines)


def sections(rows: Sequence[Row], algorithms: Sequence[str] | None = None) -> list[tuple[str, Table]]:
    """The tables with their titles, ranks first."""
    v = collect(rows, algorithms)
    tenth = rank_table(collect(rows, algorithms, share=0.1))
    return [
        ("Ranks at the end of the budget", rank_table(v)),
        ("Ranks after a tenth of the budget (noisy problems: values as measured)", tenth),
        ("Mean rank by family", family_table(v)),
        ("Median final value; at x0 and final values of noisy problems without noise", problem_table(v)),
        (cpu_table(v).title, cpu_table(v)),
    ]


def write_wild_page(folder: Any, path: Any) -> Path:
    """Write the tables of a folder of runs as a Markdown page."""
    rows = load_runs(folder)
    suite, aside = rows[0]["suite"], problems_of(rows[0]["suite"])[rows[0]["problem"]].set_aside
    seeds = len({row["seed"] for row in rows})
    v = collect(rows)
    parts = [
        f"# Suite {suite}: {'the half that is set aside' if aside else 'the development half'}",
        f"{len(v.problems)} problems with budgets of their own, {seeds} seed{'s' * (seeds > 1)}. Ranks are within each "
        "problem and seed, 1 the best, with 95 % bootstrap intervals over problems; values within a millionth of the "
        "lowest known count as equal. *Better* means a lower value in at least 71 % of the pairs of seeds. An "
        "algorithm that ran on less than 80 % of the problems, being slow or not finished, has no rank. "
        "All see the box as [-5, 5]^n; a failed evaluation is NaN for the library's searches and the worst finite "
        "value so far for the others.",
        f"The command: `eglearn bench run --suite {suite} --out {Path(folder)}{' --set-aside' * aside}"
        f"{f' --seeds 0-{seeds - 1}' * (seeds > 1)}`.",
    ]
    for title, table in sections(rows):
        parts += [f"## {title}", text(table)]
    page = Path(path)
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page
