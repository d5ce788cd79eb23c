"""What an experiment is, the registry, and how its pictures, numbers and findings are written down.

To add one, put a module beside this file and register a function::

    @experiment("my-picture", "What it shows, in one line", minutes=2, needs=("matplotlib", "torch"))
    def my_picture(out: Path, progress: Progress, size: float) -> Outcome:
        ...

The module must import without the optional packages: import them inside functions.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import math
import os
import pkgutil
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Progress = Callable[[float, str], None]
"""Called with the share done in [0, 1] and what is going on."""


@dataclass(frozen=True)
class Finding:
    """One claim of the paper and what was measured."""

    claim: str
    """What the paper says, in our words, with its place (fig. 1, sec. 3.2, ...)."""
    measured: str
    """One sentence with figures."""
    holds: bool | None
    """Whether the claim holds; None if it is not settled."""


@dataclass(frozen=True)
class Outcome:
    """What an experiment found and wrote."""

    findings: tuple[Finding, ...]
    pictures: tuple[Path, ...]
    tables: tuple[Path, ...]
    """CSV files with the numbers behind the pictures."""


Function = Callable[[Path, Progress, float], Outcome]
"""Called with the folder to write into, the progress and the size."""


@dataclass(frozen=True)
class Experiment:
    """An entry of the registry."""

    name: str
    summary: str
    """One line."""
    minutes: float
    """How long it takes on two cores."""
    function: Function
    needs: tuple[str, ...]
    """Optional packages that it imports."""


EXPERIMENTS: dict[str, Experiment] = {}
"""What has been registered; ``experiments()`` imports all modules first."""


def experiment(
    name: str, summary: str, *, minutes: float, needs: tuple[str, ...] = ("matplotlib",)
) -> Callable[[Function], Function]:
    """Register the function below as an experiment.

    Parameters
    ----------
    name : str
        Of the command and of the page, in small letters with hyphens.
    summary : str
        One line about what it shows.
    minutes : float
        How long it takes at full size on two cores.
    needs : tuple of str
        Optional packages that it imports, looked for before it starts.
    """

    def register(function: Function) -> Function:
        EXPERIMENTS[name] = Experiment(name, summary, minutes, function, needs)
        return function

    return register


def experiments() -> list[Experiment]:
    """All experiments, by name."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__, __package__ + "."):
        importlib.import_module(module.name)
    return [EXPERIMENTS[name] for name in sorted(EXPERIMENTS)]


def find_experiment(name: str) -> Experiment:
    """The experiment with this name; ValueError if there is none."""
    known = {entry.name: entry for entry in experiments()}
    if name not in known:
        raise ValueError(f"there is no experiment {name!r}: choose one of {', '.join(known)}")
    return known[name]


def run_experiment(
    name: str, out: str | os.PathLike[str], *, size: float = 1.0, progress: Progress | None = None
) -> Outcome:
    """Run an experiment and write its pictures and tables.

    Parameters
    ----------
    name : str
        One of ``experiments()``.
    out : path
        The folder to write into; it is made if need be.
    size : float
        1 is the published picture; less, down to 0, means fewer points, steps and runs.
    progress : callable or None
        Called with the share done and what is going on.
    """
    entry = find_experiment(name)
    if not 0 < size <= 1:  # also NaN
        raise ValueError(f"size = {size}: it must be above 0 and at most 1")
    for package in entry.needs:
        if importlib.util.find_spec(package) is None:
            raise ImportError(f"the experiment {name!r} needs {package}: pip install 'eglearn-lab[all]'")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return entry.function(folder, progress or (lambda share, text: None), size)


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, npt.ArrayLike]) -> Path:
    """Write columns of equal length as CSV, numbers with six digits; NaN is an empty cell.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(Path(folder) / "a.csv", {"x": [0.1, 0.25], "kind": ["a", "b"]}).read_text().split()
    ['x,kind', '0.1,a', '0.25,b']
    """
    arrays = {name: np.atleast_1d(np.asarray(column)) for name, column in columns.items()}
    lengths = {name: array.shape for name, array in arrays.items()}
    if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
        raise ValueError(f"columns must be flat and of equal length, not of shapes {lengths}")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(arrays)
        table.writerows(zip(*(map(_cell, array.tolist()) for array in arrays.values()), strict=True))
    return path


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value


def verdict(finding: Finding) -> str:
    """Whether a claim holds, for people."""
    return {True: "holds", False: "does not hold", None: "not settled"}[finding.holds]


def write_page(outcome: Outcome, experiment: Experiment, docs_dir: str | os.PathLike[str]) -> Path:
    """Write NAME.md into a folder of documentation, with copies of the pictures and tables beside it."""
    folder = Path(docs_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for file in (*outcome.pictures, *outcome.tables):
        if file.resolve() != (folder / file.name).resolve():
            shutil.copyfile(file, folder / file.name)
    lines = [f"# {experiment.name}", "", f"{experiment.summary}.", ""]
    for picture in outcome.pictures:
        lines += [f"![{experiment.summary}]({picture.name})", ""]
    lines += ["## What the paper says, and what was measured", ""]
    for number, finding in enumerate(outcome.findings, start=1):
        lines += [
            f"{number}. The paper: {finding.claim}",
            "",
            f"   Measured: {finding.measured}",
            "",
            f"   **It {verdict(finding)}.**" if finding.holds is not None else "   **Not settled.**",
            "",
        ]
    lines += ["## Again", "", "```", f"eglearn experiment {experiment.name} --out DIR", "```", ""]
    lines += [f"It takes about {duration(experiment.minutes)} on two cores.", ""]
    if outcome.tables:
        links = ", ".join(f"[{table.name}]({table.name})" for table in outcome.tables)
        lines += [f"The numbers behind the pictures: {links}.", ""]
    page = folder / f"{experiment.name}.md"
    page.write_text("\n".join(lines), encoding="utf-8")
    return page


def duration(minutes: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(0.5), duration(1), duration(2.5)
    ('30 seconds', '1 minute', '2.5 minutes')
    """
    if minutes < 1:
        return f"{60 * minutes:.0f} seconds"
    return f"{minutes:g} minute{'' if minutes == 1 else 's'}"
