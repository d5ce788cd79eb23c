"""The paper on one page: each of its figures redrawn beside its claims, the verdicts and the commands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..plots import Canvas
from . import markdown, metrics, paper_figures
from .claims import SUBJECTS, Claim, judge
from .evidence import CONTRARY, HELD, NO_DATA, VERDICTS, Verdict
from .page import Block, Cell, Chapter, Code, Items, Page, Picture, Section, Table, points
from .paper_figures import OURS, comparable
from .report_ablations import ablation_parts
from .report_data import Loaded, Source, load
from .report_words import RULE
from .result_table import Results
from .tables import GROUPS

_RUN = "eglearn bench run"
_ABLATION = f"{_RUN} --out results/coco/ablations --ablation {{}}"
_FIGURE_3 = f"{_RUN} --out results/coco/figure-3 --instances 1 --algorithms egl-fc,igl-fc,egl-spline,igl-spline"
_TABLE_1 = f"{_RUN} --out results/coco/table1 --dims 40 --instances 1 --algorithms egl-table1-fc,igl-table1-fc"
_784 = "python benchmarks/coco_784.py"
_AUTHORS = (
    f"{_RUN} --out results/coco-authors --dims 40 --instances 1 --algorithms "
    "authors-cma,authors-nelder-mead,authors-slsqp,authors-powell,authors-cg,authors-bfgs"
)

ABLATION_FIGURES = (
    ("networks", "Fig. 4b: output map, trust region and network", "fig. 4b"),
    ("replay-perturbation", "Fig. 4d: replay and perturbation", "fig. 4d"),
    ("epsilon", "App. F: the first radius on f19, f21 and f22", "app. F"),
    ("jump", "Alg. 3: gradient or jump", "alg. 3"),
)
EXPERIMENTS = (
    ("mean-gradient-1d", "Fig. 1: one dimension"),
    ("mean-gradient-2d", "Fig. 2: two dimensions"),
    ("controllable-accuracy", "Theorem 1: accuracy"),
    ("continuity", "Sec. 3.1: continuity"),
    ("convergence", "Theorem 2: convergence"),
    ("spline-vs-fc", "App. C: splines"),
)

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
    small = [_experiment(experiments, name, title) for name, title in EXPERIMENTS]
    latent = _latent(experiments)
    chapters = [
        Chapter("What the method is good for, and what not", tuple(_use(results, folder))),
        Chapter("The benchmarks (sec. 5.1)", tuple(benchmarks)),
        Chapter("Searching a latent space (sec. 5.2)", (latent,) if latent else ()),
        Chapter("Theory and small pictures (sec. 3, 4, app. C)", tuple(s for s in small if s)),
    ]
    glance = Chapter("At a glance", (Section("Claims by figure", (_glance(judged), f"How verdicts are made. {RULE}")),))
    chapters = [glance, *(c for c in chapters if c.sections)]
    return Page("The paper, figure by figure", _facts(judged), Items(()), tuple(chapters))


def _facts(judged: Judged) -> str:
    words = Counter(verdict.word for _, verdict in judged)
    told = ", ".join(f"{words[word]} {word}" for word in VERDICTS if words[word])
    return (
        "Explicit Gradient Learning (Sarafian, Sinay et al., ICML 2020) learns the gradient of a function from samples "
        "and follows it. Here each of the paper's figures is drawn again from our own runs, beside what the paper "
        "claims and what the runs say. Claims about the benchmarks, each once for every algorithm that may stand for "
        f"EGL: {told}."
    )


def _glance(judged: Judged) -> Table:
    """For each claim all verdicts that are settled, with whom they are about; if none is, the others."""
    rows = []
    for text, verdicts in _by_text(judged).items():
        place = next(c.place for c, _ in judged if c.text.startswith(text))
        settled = [(subject, v) for subject, v in verdicts if v.word in (HELD, CONTRARY)]
        rows.append((Cell(text), Cell(place), Cell(_words(settled or verdicts), best=bool(settled))))
    return Table("", ("the paper", "where", "verdict"), tuple(rows), words=True)


def _words(verdicts: Sequence[tuple[str, Verdict]]) -> str:
    """Each verdict with whom it is about; those without runs only if there are no others."""
    found: dict[str, list[str]] = {}
    for subject, verdict in verdicts:
        found.setdefault(verdict.word, []).append(subject)
    known = {word: who for word, who in found.items() if word != NO_DATA}
    return "; ".join(f"{word} ({', '.join(who)})" if any(who) else word for word, who in known.items()) or NO_DATA


def _by_text(judged: Judged) -> dict[str, list[tuple[str, Verdict]]]:
    """The verdicts on each claim with whom they are about, settled ones first."""
    found: dict[str, list[tuple[str, Verdict]]] = {}
    for claim, verdict in judged:
        text, _, subject = claim.text.partition(" [")
        found.setdefault(text, []).append((subject.rstrip("]"), verdict))
    return {text: sorted(each, key=lambda pair: VERDICTS.index(pair[1].word)) for text, each in found.items()}


def _at(judged: Judged, *places: str) -> Judged:
    return [(c, v) for c, v in judged if any(place in c.place for place in places)]


def _figure(title: str, picture: Picture | None, judged: Judged, commands: Sequence[str]) -> Section:
    """A picture, the claims at its place, and how to make the runs."""
    blocks: list[Block] = [picture] if picture is not None else ["There are no complete runs for this figure yet."]
    rows = []
    for text, verdicts in _by_text(judged).items():
        known = [(subject, v) for subject, v in verdicts if v.word != NO_DATA]
        figures = known[0][1].figures if known else "There are no such runs."
        settled = bool(known) and known[0][1].word in (HELD, CONTRARY)
        rows.append((Cell(text), Cell(_words(verdicts), best=settled), Cell(figures)))
    blocks += [Table("", ("the paper", "verdict", "figures behind the first"), tuple(rows), words=True)] if rows else []
    return Section(title, (*blocks, Code(tuple(commands))))


def with_the_budget(results: Results) -> Results:
    """Without the runs that may stand for EGL or IGL but had fewer evaluations than the paper's."""
    ours = results.mask(suite="bbob", algorithm=(*SUBJECTS, *OURS))
    return results.where(~ours | (results["budget"] >= paper_figures.BUDGET))


def _experiment(folder: Path, name: str, title: str) -> Section | None:
    """The picture of an experiment, and how many of its claims hold, from its page."""
    page = folder / f"{name}.md"
    if not page.exists():
        return None
    text = page.read_text(encoding="utf-8")
    said = [(a.strip(), b.strip(" .*")) for a, b in re.findall(r"The paper: (.*?)\n.*?\*\*(.*?)\*\*", text, re.DOTALL)]
    rows = tuple((Cell(claim), Cell(verdict, best=True)) for claim, verdict in said)
    question = text.split("\n\n")[1].replace("\n", " ")
    picture = Picture(folder / f"{name}.png", title, f"Details: experiments/{name}.md", question)
    table = Table("", ("the paper", "verdict"), rows, words=True)
    return Section(title, (picture, table, Code((f"eglearn experiment {name} --out {name}",))))


def _latent(folder: Path) -> Section | None:
    """Fig. 5, from the page about garments."""
    page = folder / "latent.md"
    if not page.exists():
        return None
    text = page.read_text(encoding="utf-8")
    said = re.findall(r"^- ([^\n]*(?:\n  [^\n]*)*?) \*\*([^*]*?)\.?\*\*$", text, re.MULTILINE)
    rows = tuple((Cell(claim.replace("`", "")), Cell(verdict, best=True)) for claim, verdict in said)
    words = "Targets and what each algorithm found"
    picture = Picture(folder / "latent_found.png", "Fig. 5", "Details: experiments/latent.md and faces.md", words)
    table = Table("", ("the paper, and what was measured", "verdict"), rows, words=True)
    command = "python -m eglearn_lab.experiments.latent page results/latent-garments docs/experiments"
    return Section("Fig. 5: searching a latent space", (picture, table, Code((command,))))


def _use(results: Results, folder: Path) -> list[Section]:
    """Where EGL ends ahead of CMA-ES and where behind, by COCO's groups, and who solves how much."""
    runs = comparable(results, 40)
    names = [a for a in OURS if a in runs.algorithms]
    if not names or "cma" not in runs.algorithms:
        return []
    best = min((a for a in names if a.startswith("egl-")), key=lambda a: _mean_distance(runs, a), default=names[0])
    picture = paper_figures.by_kind(results, best, folder)
    blocks: list[Block] = [_standing(runs), *_told(runs, best), *([picture] if picture else [])]
    return [Section("40 dimensions, 150,000 evaluations", tuple(blocks))]


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
        cells = [Cell(name), Cell(points(paper[mine].mean())), Cell(points(strict[mine].mean()))]
        cells += [Cell(f"{distance[mine].mean():.3f}")]
        rows.append((*cells, *(Cell(points(strict[mine & group].mean())) for group in groups.values())))
    header = ("algorithm", "solved, the paper's test, %", "solved, true optimum, %", "mean scaled distance", *groups)
    return Table("", header, tuple(rows))


def _told(runs: Results, ours: str) -> list[Block]:
    """In words: each group in which the difference to CMA-ES is clear."""
    names = (ours, "cma")
    distance = metrics.scaled_distance(runs, [paper_figures.BUDGET], reference="optimum")[:, 0]
    table = metrics.score_table(runs, distance, names).complete()
    functions = np.array([p.function for p in table.problems])
    said = []
    for group, numbers in GROUPS.items():
        mine = np.isin(functions, numbers)
        if mine.any():
            a, b = table.values[mine].mean(axis=0)
            lower = int((table.values[mine, 0] < table.values[mine, 1]).sum())
            ends = f"{ours} ends at {a:.2g} of the first gap, one CMA-ES run at {b:.2g}; "
            said.append((f"{group.capitalize()}:", f"{ends}closer on {lower} of {int(mine.sum())} problems."))
    return [Items(tuple(said))]
