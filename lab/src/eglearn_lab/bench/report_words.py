"""What a report says in words: who wins and how sure, what is missing, how to read it."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from .claims import judge
from .evidence import NO_DATA
from .metrics import stored_before
from .page import Cell, Table, points
from .report_data import Loaded
from .result_table import Results
from .tables import FAILED, Field, Suite

READING = (
    "Solved (strict): gap ≤ 1 and gap ≤ (y0 - optimum) / 100 at the end of the budget; y0 is the value of the start.",
    "Intervals: 95 %, whole problems drawn again with replacement (bootstrap), seeds averaged inside a problem. "
    "Instances of a function count as problems of their own. An interval of no width says that the problems agree, "
    "not that there is no doubt. The winner is chosen after the fact, which flatters it a little.",
    "Best known: for each function and gap the entry of COCO's archive with the lowest expected running time. No "
    "single algorithm reaches it.",
    "Projected: the share of evaluations that were asked for outside the box; the nearest point inside was evaluated.",
    "CPU times depend on the machine and its load: only ratios between algorithms mean something.",
)
PLANNERS = ("auto", "ngopt")
"""Algorithms that search otherwise with a larger budget from the beginning."""

SPECIAL = {
    "bbob-noisy": "Noisy problems are judged by the value without noise of the point that each algorithm recommends at "
    "its end; targets and scaled distances go by evaluated points, also without noise.",
    "coco-784": "The optimum of a coco-784 problem is that of the 10-D problem behind the encoder: a lower bound that "
    "perhaps no point of the box reaches, so strict success may be out of reach.",
}


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
        moment = stored_before(suite.largest.budget)
        if moment < suite.largest.budget:
            line += f" Gaps of all are those after {moment:,} evaluations, the last stored moment before."
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


def reading(loaded: Loaded) -> list[str]:
    """How to read the figures, what made them, and when."""
    results, found = loaded.results, dict[str, set[str]]()
    if not len(results):
        return [*READING]
    for text in set(results["versions"].tolist()):
        for package, version in json.loads(text).items():
            found.setdefault(package, set()).add(version)
    started = results["started"]
    first, last = (str(np.datetime64(t, "m")).replace("T", " ") for t in (started.min(), started.max()))
    packages = ", ".join(f"{name} {' and '.join(sorted(v))}" for name, v in sorted(found.items()))
    special = [SPECIAL[name] for name in np.unique(results["suite"]).tolist() if name in SPECIAL]
    if loaded.left_out:
        special.append(f"Left out: {loaded.left_out:,} runs of which there are others with a larger budget, or later.")
    return [*READING, *special, f"Started between {first} and {last} UTC.", f"Versions: {packages}."]


RULE = (
    "A claim held here if every comparison behind it lies on the claimed side of 0 with its whole 95 % interval. It "
    "did not hold if one lies on the other side, in runs with the paper's budget (150,000 evaluations), the paper's "
    "settings or better and at least 24 problems; with less, it was not tested at this budget. All else is not "
    "settled, and fewer than 6 problems settle nothing. In brackets: who stands for the paper's EGL, its algorithm 3. "
    "auto, the default of minimize, never does."
)


def claims_told(results: Results) -> tuple[str, Table, list[str]]:
    """How many claims of the paper held; a table of those that the results can judge; and the others."""
    judged = judge(results)
    known = [(claim, verdict) for claim, verdict in judged if verdict.word != NO_DATA]
    words = Counter(verdict.word for _, verdict in known)
    rows = tuple(
        (Cell(claim.text), Cell(claim.place), Cell(verdict.word, best=True), Cell(verdict.figures))
        for claim, verdict in known
    )
    told = ", ".join(f"{k} {word}" for word, k in words.most_common()) or "none can be judged"
    unknown = [claim.text for claim, verdict in judged if verdict.word == NO_DATA]
    table = Table("", ("claim", "in the paper", "verdict", "figures"), rows, words=True)
    return f"{told.capitalize()}.", table, unknown
