"""Parts of the page about the paper that other commands have measured: what they wrote, read again."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from .page import Cell, Code, Picture, Section, Table
from .tables import function_name

EXPERIMENTS = (
    ("mean-gradient-1d", "Fig. 1: one dimension"),
    ("mean-gradient-2d", "Fig. 2: two dimensions"),
    ("controllable-accuracy", "Theorem 1: accuracy"),
    ("continuity", "Sec. 3.1: continuity"),
    ("convergence", "Theorem 2: convergence"),
    ("spline-vs-fc", "App. C: splines"),
)

_HOLDS = ("It holds", "Holds")


def small(folder: Path) -> tuple[Section, ...]:
    """The experiments of which there is a page: picture, claims and verdicts."""
    found = []
    for name, title in EXPERIMENTS:
        page = folder / f"{name}.md"
        if not page.exists():
            continue
        text = page.read_text(encoding="utf-8")
        said = re.findall(r"The paper: (.*?)\n.*?\*\*(.*?)\*\*", text, re.DOTALL)
        question = text.split("\n\n")[1].replace("\n", " ")
        picture = Picture(folder / f"{name}.png", title, f"Details: experiments/{name}.md", question)
        rows = ((claim.strip(), verdict) for claim, verdict in said)
        found.append(Section(title, (picture, _table(rows), Code((f"eglearn experiment {name} --out {name}",)))))
    return tuple(found)


def latent(folder: Path) -> tuple[Section, ...]:
    """Fig. 5, from the page about garments."""
    page = folder / "latent.md"
    if not page.exists():
        return ()
    text = page.read_text(encoding="utf-8").replace("`", "")
    said = re.findall(r"^- ([^\n]*(?:\n  [^\n]*)*?) \*\*([^*]*?)\.?\*\*$", text, re.MULTILINE)
    # A claim ends with the first sentence after the bracket that says where it stands.
    rows = []
    for words, verdict in said:
        claim, measured = re.fullmatch(r"(.*?\)[^.]*\.)?\s*(.*)", words, re.DOTALL).groups()  # type: ignore[union-attr]
        rows.append((claim or measured, verdict, measured if claim else ""))
    picture = Picture(
        folder / "latent_found.png", "Fig. 5", "Details: experiments/latent.md and faces.md",
        "Targets and what each algorithm found",
    )  # fmt: skip
    command = "python -m eglearn_lab.experiments.latent page results/latent-garments docs/experiments"
    return (Section("Fig. 5: searching a latent space", (picture, _table(rows), Code((command,)))),)


def _table(rows: Iterable[Sequence[str]]) -> Table:
    """Claim, verdict and, where there is one, what was measured."""
    cells = []
    for claim, verdict, *measured in rows:
        word = verdict.strip(" .*")
        said = Cell("held here", best=True) if word in _HOLDS else Cell(word[:1].lower() + word[1:])
        cells.append((Cell(claim[:1].upper() + claim[1:]), said, *map(Cell, measured)))
    header = ("the paper", "verdict", "measured")
    return Table("", header[: len(cells[0])] if cells else header[:2], tuple(cells), words=True)


def verdicts(sections: Sequence[Section]) -> Counter[str]:
    """How many claims of these sections have which verdict."""
    return Counter(
        row[1].text for s in sections for block in s.blocks if isinstance(block, Table) for row in block.rows
    )


def along_a_run(folder: Path) -> tuple[Section, ...]:
    """Cosines with the measured mean-gradient along runs, from the file of ``gradient_along_a_run.py``."""
    path = folder / "gradient-along-a-run.csv"
    if not path.exists():
        return ()
    with path.open(encoding="utf-8") as file:
        (_, _, *names), *lines = csv.reader(file)
    found = np.array(lines, dtype=float)
    rows = []
    early = found[:, 1] <= found[:, 1].max() / 3
    for f in np.unique(found[:, 0]):
        for when, part in (("first third", early), ("later", ~early)):
            medians = np.median(found[part & (found[:, 0] == f), 2:], axis=0)
            cells = (Cell(f"{c:.2f}", best=c == medians.max()) for c in medians)
            rows.append((Cell(f"{function_name('bbob', int(f))}, {when}"), *cells))
    words = (
        "The cosine of what each model learns with the true mean-gradient around the candidate, which 10,000 further "
        "samples give: medians over the first third of a run of egl-fc in 40-D, and over the rest. All models learn "
        "from the same samples; igl-fc learns the values and is differentiated. 1 is perfect, 0 is chance."
    )
    table = Table("", ("function", *names), tuple(rows))
    command = Code(("python benchmarks/gradient_along_a_run.py",))
    return (Section("Why: how good the learned gradient is", (words, table, command)),)
