"""The paper on one page: each of its figures redrawn beside its claims, the verdicts and the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..plots import Canvas
from . import markdown, paper_answers, paper_elsewhere, paper_figures
from .claims import SUBJECTS, Claim, judge
from .evidence import CONTRARY, HELD, VERDICTS, Verdict
from .page import Block, Cell, Chapter, Code, Items, Page, Picture, Section, Table
from .paper_figures import OURS
from .report_ablations import ablation_parts
from .report_data import Loaded, Source, load
from .report_words import RULE
from .result_table import Results

_RUN = "eglearn bench run"
_ABLATION = f"{_RUN} --out results/coco/ablations --ablation {{}}"
_FIGURE_3 = (
    f"{_RUN} --out results/coco/figure-3 --instances 1 --algorithms egl-planned,egl-fc,igl-fc,egl-spline,igl-spline"
)
_TABLE_1 = f"{_RUN} --out results/coco/table1 --dims 40 --instances 1 --algorithms egl-table1-fc,igl-table1-fc"
_BASELINES = (
    f"{_RUN} --out results/coco/baselines --algorithms nelder-mead,slsqp,powell,cg,bfgs,cma,bipop-cma",
    f"{_RUN} --out results/coco/closed-form --algorithms egl-constant",
)
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
FROM_FIGURE_3 = ("networks", "output-map")
"""One of their claims is judged by the runs of fig. 3: fc against spline, and what is hard to learn."""
STANDS = (
    ("egl-table1-fc, egl-table1-spline:", "the paper's table 1 to the letter, trained on all pairs of a batch."),
    ("egl-fc, egl-spline:", "the paper's networks with our settings: a zoom planned over the budget, smaller layers."),
    ("egl-planned:", "the same, with a constant gradient in closed form in place of the network."),
    ("egl-fc-long, egl-planned-long:", "the same, but regions learn their shape from three times as many samples."),
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
        _figure("Fig. 3: problems solved against the dimension", [paper_figures.success(results, folder)],
                _at(judged, "fig. 3"), [f"{_FIGURE_3} --dims 40,20,10,5,3,2", _TABLE_1, *_BASELINES]),
        _figure("Fig. 4a: distance to the optimum in 40-D", [paper_figures.distance(results, folder)],
                _at(judged, "fig. 4a", "abstract"), [f"{_FIGURE_3} --dims 40", _TABLE_1, *_BASELINES]),
    ]  # fmt: skip
    if (protocols := paper_figures.protocols(results, folder)) is not None:
        benchmarks.append(_figure("Does the protocol explain fig. 3?", [protocols], [], [_AUTHORS]))
    pictures = {part.name: part.picture for part in ablation_parts(results, loaded.snapshots, Canvas(folder))}
    for name, title, place in ABLATION_FIGURES:
        commands = [_ABLATION.format(name), *([f"{_FIGURE_3} --dims 40"] if name in FROM_FIGURE_3 else [])]
        benchmarks.append(_figure(title, [pictures.get(name)], _at(judged, place), commands))
    cones = [pictures.get(name) for name in ("exploration", "exploration-many")]
    benchmarks.append(_figure("Fig. 4c and app. H: 784 dimensions", cones, _at(judged, "fig. 4c", "app. H"), [_784]))
    latent, small = paper_elsewhere.latent(experiments), paper_elsewhere.small(experiments)
    use = [
        *paper_answers.use(results, folder), *paper_answers.shapes(results), *paper_elsewhere.along_a_run(experiments)
    ]  # fmt: skip
    chapters = [
        Chapter("What the method is good for, and what not", tuple(use)),
        Chapter("The benchmarks (sec. 5.1)", tuple(benchmarks)),
        Chapter("Searching a latent space (sec. 5.2)", latent),
        Chapter("Theory and small pictures (sec. 3, 4, app. C)", small),
    ]
    glance = Section("The claims about the benchmarks", (_glance(judged), Items(STANDS), RULE))
    chapters = [Chapter("At a glance", (*paper_answers.solved(results), glance)), *(c for c in chapters if c.sections)]
    brief = Items((*_counted(judged, (*latent, *small)), *paper_answers.in_brief(results)))
    return Page("The paper, figure by figure", _FACTS, brief, tuple(chapters))


def _counted(judged: Judged, elsewhere: Sequence[Section]) -> list[tuple[str, str]]:
    """How many claims have which verdict."""
    words = Counter(_overall(verdicts) for verdicts in _by_text(judged).values())
    small = paper_elsewhere.verdicts(elsewhere)
    more = f" Of {small.total()} on theory, small pictures and latent spaces, {_many(small)}." if small else ""
    return [("The claims:", f"of {words.total()} about benchmarks, {_many(words)}.{more}")]


def _many(words: Counter[str]) -> str:
    """How many have which verdict; one that only the other pages know stands last."""
    order = {word: k for k, word in enumerate((*VERDICTS, _DEPENDS))}
    return ", ".join(f"{words[word]} {word}" for word in sorted(words, key=lambda w: order.get(w, len(order))))


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
    """The verdicts on each claim with whom they are about.

    Settled ones first, then those about the paper's settings or better, and of these those from more problems.
    """
    found: dict[str, list[tuple[tuple[int, bool, int], str, Verdict]]] = {}
    for claim, verdict in judged:
        text, _, subject = claim.text.partition(" [")
        rank = VERDICTS.index(verdict.word), not claim.conditions.settings, -verdict.problems
        found.setdefault(text, []).append((rank, subject.rstrip("]"), verdict))
    return {text: [pair[1:] for pair in sorted(each, key=lambda pair: pair[0])] for text, each in found.items()}


def _at(judged: Judged, *places: str) -> Judged:
    return [(c, v) for c, v in judged if any(place in c.place for place in places)]


def _figure(title: str, pictures: Sequence[Picture | None], judged: Judged, commands: Sequence[str]) -> Section:
    """Pictures, the claims at their place, and how to make the runs."""
    blocks: list[Block] = [picture for picture in pictures if picture is not None]
    blocks = blocks or ["There are no complete runs for this figure yet."]
    rows = []
    for text, verdicts in _by_text(judged).items():
        rows.append((Cell(text), _verdict(verdicts), Cell(verdicts[0][1].figures)))
    blocks += [Table("", ("the paper", "verdict", "measured"), tuple(rows), words=True)] if rows else []
    return Section(title, (*blocks, Code(tuple(commands))))


def with_the_budget(results: Results) -> Results:
    """Without the runs that may stand for EGL or IGL but had fewer evaluations than the paper's."""
    ours = results.mask(suite="bbob", algorithm=(*SUBJECTS, *OURS))
    return results.where(~ours | (results["budget"] >= paper_figures.BUDGET))
