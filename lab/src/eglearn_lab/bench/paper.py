"""The paper on one page: each of its figures redrawn beside its claims, the verdicts and the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..plots import Canvas
from . import markdown, metrics, paper_elsewhere, paper_figures
from .claims import SUBJECTS, Claim, judge
from .evidence import CONTRARY, HELD, VERDICTS, Verdict
from .page import Block, Cell, Chapter, Code, Items, Page, Picture, Section, Table, points, short
from .paper_figures import OURS, comparable
from .report_ablations import ablation_parts
from .report_data import Loaded, Source, load
from .report_words import RULE
from .result_table import Results
from .tables import GROUPS

_RUN = "eglearn bench run"
_ABLATION = f"{_RUN} --out results/coco/ablations --ablation {{}}"
_FIGURE_3 = (
    f"{_RUN} --out results/coco/figure-3 --instances 1 --algorithms egl-planned,egl-fc,igl-fc,egl-spline,igl-spline"
)
_TABLE_1 = f"{_RUN} --out results/coco/table1 --dims 40 --instances 1 --algorithms egl-table1-fc,igl-table1-fc"
_784 = "python benchmarks/coco_784.py"
_AUTHORS = (
    f"{_RUN} --out results/coco-authors --dims 40 --instances 1 --algorithms "
    "authors-cma,authors-nelder-mead,authors-slsqp,authors-powell,authors-cg,authors-bfgs"
)

ABLATION_FIGURES = (
    ("networks", "Fig. 4b: output map, trust region and network", "fig. 4b"),
    ("replay-perturbation", "Fig. 4d: replay and perturbation", "fig. 4d"),
    ("output-map", "App. F: values before and after the output map", "app. F, values"),
    ("epsilon", "App. F: the first radius on f19, f21 and f22", "app. F, eps"),
    ("jump", "Alg. 3: gradient or jump", "alg. 3"),
)
STANDS = (
    ("egl-table1-fc, egl-table1-spline:", "the paper's table 1 to the letter, trained on all pairs of a batch."),
    ("egl-fc, egl-spline:", "the paper's networks with our settings: a zoom planned over the budget, smaller layers."),
    ("egl-planned:", "the same, with a constant gradient in closed form in place of the network."),
    ("egl-constant:", "the closed form with our default zoom."),
)
"""Who stands for the paper's EGL."""

_FACTS = (
    "Explicit Gradient Learning (Sarafian, Sinay et al., ICML 2020) learns the gradient of a function from samples and "
    "follows it. This page draws the paper's figures again from our own runs and judges each claim beside them."
)

_DEPENDS = "both, depending on who stands for EGL"

Judged = Sequence[tuple[Claim, Verdict]]


def write_paper(source: Source | Sequence[Source], path: Source) -> Path:
    """Write the page about the paper.

    Parameters
    ----------
    source : path or sequence of paths
        Result folders of ``run_benchmark`` or Parquet files.
    path : path
        The Markdown page; its pictures go into a folder of its name without the ending. Pages and pictures of
        ``eglearn experiment --docs`` are looked for in the folder ``experiments`` beside it.

    Returns
    -------
    pathlib.Path
        The page.
    """
    page = Path(path)
    loaded = load(source)
    made = make_page(loaded, page.with_suffix(""), page.parent / "experiments")
    text = markdown.render(made, page.stem, by="eglearn bench paper")
    page.write_text(text, encoding="utf-8")
    return page


def make_page(loaded: Loaded, folder: Path, experiments: Path) -> Page:
    """The page, its pictures drawn into ``folder``."""
    results = with_the_budget(loaded.results)
    judged = judge(results)
    benchmarks = [
        _figure("Fig. 3: problems solved against the dimension", paper_figures.success(results, folder),
                _at(judged, "fig. 3"), [f"{_FIGURE_3} --dims 40,20,10,5,3,2", _TABLE_1]),
        _figure("Fig. 4a: distance to the optimum in 40-D", paper_figures.distance(results, folder),
                _at(judged, "fig. 4a", "abstract"), [f"{_FIGURE_3} --dims 40", _TABLE_1]),
    ]  # fmt: skip
    if (protocols := paper_figures.protocols(results, folder)) is not None:
        benchmarks.append(_figure("Does the protocol explain fig. 3?", protocols, [], [_AUTHORS]))
    parts = {part.name: part for part in ablation_parts(results, loaded.snapshots, Canvas(folder))}
    for name, title, place in ABLATION_FIGURES:
        picture = parts[name].picture if name in parts else None
        benchmarks.append(_figure(title, picture, _at(judged, place), [_ABLATION.format(name)]))
    cone = parts["exploration"].picture if "exploration" in parts else None
    benchmarks.append(_figure("Fig. 4c and app. H: 784 dimensions", cone, _at(judged, "fig. 4c", "app. H"), [_784]))
    latent, small = paper_elsewhere.latent(experiments), paper_elsewhere.small(experiments)
    use = [*_use(results, folder), *paper_elsewhere.along_a_run(experiments)]
    chapters = [
        Chapter("What the method is good for, and what not", tuple(use)),
        Chapter("The benchmarks (sec. 5.1)", tuple(benchmarks)),
        Chapter("Searching a latent space (sec. 5.2)", latent),
        Chapter("Theory and small pictures (sec. 3, 4, app. C)", small),
    ]
    glance = Section("The claims about the benchmarks", (_glance(judged), Items(STANDS), RULE))
    chapters = [Chapter("At a glance", (glance,)), *(c for c in chapters if c.sections)]
    brief = Items((*_counted(judged, (*latent, *small)), *_in_brief(results)))
    return Page("The paper, figure by figure", _FACTS, brief, tuple(chapters))


def _counted(judged: Judged, elsewhere: Sequence[Section]) -> list[tuple[str, str]]:
    """How many claims have which verdict."""
    words = Counter(_overall(verdicts) for verdicts in _by_text(judged).values())
    told = ", ".join(f"{words[word]} {word}" for word in (*VERDICTS, _DEPENDS) if words[word])
    held, others = paper_elsewhere.held(elsewhere)
    small = f" Of {others} on theory, small pictures and latent spaces, {held} hold; the rest are not settled."
    return [("The claims:", f"of {words.total()} about benchmarks, {told}.{small if others else ''}")]


def _in_brief(results: Results) -> list[tuple[str, str]]:
    """The answers to what a reader asks first, from the runs in 40-D that can be compared."""
    runs = comparable(results, 40)
    best, lines = _best(runs), []
    for question, a, b in (
        ("Is it better than CMA-ES?", best, "cma"),
        ("Is it better to learn gradients than values?", "egl-fc", "igl-fc"),
        ("Does it take a network?", "egl-fc", "egl-planned"),
    ):
        if a is not None and {a, b} <= set(runs.algorithms):
            lines.append((question, _duel(runs, a, b)))
    return lines


def _best(runs: Results) -> str | None:
    """Who of the paper's algorithm 3 ends closest."""
    names = [a for a in OURS if a in runs.algorithms and a.startswith("egl-")]
    return min(names, key=lambda a: _mean_distance(runs, a), default=None)


def _duel(runs: Results, a: str, b: str) -> str:
    """Two algorithms in 40-D: problems solved, what is left of the first gap, and who ends lower."""
    strict = metrics.success(runs, reference="optimum").astype(float)
    distance = metrics.scaled_distance(runs, [paper_figures.BUDGET], reference="optimum")[:, 0]
    ends = metrics.score_table(runs, np.maximum(runs["best_gap"], metrics.TARGETS[-1]), (a, b)).complete().values
    told = [
        f"{name} solves {points(float(strict[mine].mean()))} % and leaves {short(float(distance[mine].mean()))} of the "
        "first gap"
        for name in (a, b)
        for mine in [runs.mask(algorithm=name)]
    ]
    lower, higher = int((ends[:, 0] < ends[:, 1]).sum()), int((ends[:, 0] > ends[:, 1]).sum())
    return f"In 40-D, {', '.join(told)}; of {len(ends)} problems {a} ends lower on {lower}, {b} on {higher}."


def _glance(judged: Judged) -> Table:
    """The verdict on each claim, those that are settled first."""
    rows = []
    order = (HELD, CONTRARY, _DEPENDS, *(word for word in VERDICTS if word not in (HELD, CONTRARY)))
    for text, verdicts in sorted(_by_text(judged).items(), key=lambda item: order.index(_overall(item[1]))):
        place = next(c.place for c, _ in judged if c.text.startswith(text))
        rows.append((Cell(text), _verdict(verdicts), Cell(place)))
    return Table("", ("the paper", "verdict", "where"), tuple(rows), words=True)


def _overall(verdicts: Sequence[tuple[str, Verdict]]) -> str:
    """One word for a claim: what is settled, else the first of the others."""
    words = [v.word for _, v in verdicts]
    settled = {word for word in words if word in (HELD, CONTRARY)}
    return _DEPENDS if len(settled) > 1 else min(words, key=VERDICTS.index)


def _verdict(verdicts: Sequence[tuple[str, Verdict]]) -> Cell:
    """The verdict on a claim: if any is settled, those that are, with whom they are about."""
    found: dict[str, list[str]] = {}
    for subject, verdict in verdicts:
        found.setdefault(verdict.word, []).append(subject)
    settled = {word: who for word, who in found.items() if word in (HELD, CONTRARY)}
    if not settled:
        return Cell(_overall(verdicts))
    told = (f"{word} ({', '.join(who)})" if any(who) else word for word, who in settled.items())
    return Cell("; ".join(told), best=True)


def _by_text(judged: Judged) -> dict[str, list[tuple[str, Verdict]]]:
    """The verdicts on each claim with whom they are about: settled ones first, then those from more problems."""
    found: dict[str, list[tuple[str, Verdict]]] = {}
    for claim, verdict in judged:
        text, _, subject = claim.text.partition(" [")
        found.setdefault(text, []).append((subject.rstrip("]"), verdict))
    return {
        text: sorted(each, key=lambda pair: (VERDICTS.index(pair[1].word), -pair[1].problems))
        for text, each in found.items()
    }


def _at(judged: Judged, *places: str) -> Judged:
    return [(c, v) for c, v in judged if any(place in c.place for place in places)]


def _figure(title: str, picture: Picture | None, judged: Judged, commands: Sequence[str]) -> Section:
    """A picture, the claims at its place, and how to make the runs."""
    blocks: list[Block] = [picture] if picture is not None else ["There are no complete runs for this figure yet."]
    rows = []
    for text, verdicts in _by_text(judged).items():
        rows.append((Cell(text), _verdict(verdicts), Cell(verdicts[0][1].figures)))
    blocks += [Table("", ("the paper", "verdict", "measured"), tuple(rows), words=True)] if rows else []
    return Section(title, (*blocks, Code(tuple(commands))))


def with_the_budget(results: Results) -> Results:
    """Without the runs that may stand for EGL or IGL but had fewer evaluations than the paper's."""
    ours = results.mask(suite="bbob", algorithm=(*SUBJECTS, *OURS))
    return results.where(~ours | (results["budget"] >= paper_figures.BUDGET))


def _use(results: Results, folder: Path) -> list[Section]:
    """Where EGL ends ahead of CMA-ES and where behind, by COCO's groups, and who solves how much."""
    runs = comparable(results, 40)
    best = _best(runs)
    if best is None or "cma" not in runs.algorithms:
        return []
    picture = paper_figures.by_kind(results, best, folder)
    problems = len(runs.problems()[0])
    blocks: list[Block] = [*_told(runs, best), *([picture] if picture else []), _standing(runs)]
    return [Section(f"40 dimensions, 150,000 evaluations, {problems} problems", tuple(blocks))]


def _mean_distance(runs: Results, name: str) -> float:
    part = runs.select(algorithm=name)
    return float(metrics.scaled_distance(part, [paper_figures.BUDGET], reference="optimum").mean())


def _standing(runs: Results) -> Table:
    """Of each algorithm: solved by both tests, distance, and solved by group."""
    strict, paper = (metrics.success(runs, reference=r).astype(float) for r in ("optimum", "compared"))
    distance = metrics.scaled_distance(runs, [paper_figures.BUDGET], reference="optimum")[:, 0]
    functions = runs["function"]
    groups = {name: np.isin(functions, k) for name, k in GROUPS.items() if np.isin(functions, k).any()}
    rows = []
    for name in sorted(runs.algorithms, key=lambda a: float(distance[runs.mask(algorithm=a)].mean())):
        mine = runs.mask(algorithm=name)
        solved = [paper[mine], strict[mine], *(strict[mine & group] for group in groups.values())]
        cells = [Cell(name), Cell(f"{distance[mine].mean():.3f}"), *(Cell(f"{100 * s.mean():.0f}") for s in solved)]
        rows.append((*cells, Cell(f"{np.nanmedian(runs['cpu_optimiser'][mine]):.0f}")))
    header = (
        "algorithm",
        "mean scaled distance",
        "solved, the paper's test",
        "solved, true optimum",
        *groups,
        "CPU s a run",
    )
    return Table("Solved in %, by group with the true optimum", header, tuple(rows))


def _told(runs: Results, ours: str) -> list[Block]:
    """By group of functions: who of the two ends closer."""
    names = (ours, "cma")
    distance = metrics.scaled_distance(runs, [paper_figures.BUDGET], reference="optimum")[:, 0]
    table = metrics.score_table(runs, distance, names).complete()
    functions = np.array([p.function for p in table.problems])
    rows, better = [], dict[str, list[str]]()
    for group, numbers in GROUPS.items():
        mine = table.values[np.isin(functions, numbers)]
        if not len(mine):
            continue
        (a, b), apart = mine.mean(axis=0), mine[:, 0] - mine[:, 1]
        lower, higher = int((apart < 0).sum()), int((apart > 0).sum())
        who = ours if lower > 2 * higher and a < b else "CMA-ES" if higher > 2 * lower and b < a else "neither"
        better.setdefault(who, []).append(group)
        rows.append((Cell(group), Cell(short(a), best=a < b), Cell(short(b), best=b < a), Cell(f"{lower} : {higher}")))
    told = [f"{who} is clearly better on {_and(better[who])} functions" for who in (ours, "CMA-ES") if who in better]
    told += [f"on {_and(better['neither'])} ones neither is"] if "neither" in better else []
    header = ("functions", f"{ours} leaves", "one CMA-ES run leaves", "closer on")
    return [
        f"{'; '.join(told)}. The table has the share of the first gap that is left, the mean over problems; who is "
        "better in the mean and closer on more than twice as many problems is called clearly better.",
        Table("", header, tuple(rows)),
    ]


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
