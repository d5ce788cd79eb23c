"""What ``eglearn bench run`` is asked to run, and whether it can."""

from __future__ import annotations

import difflib
import importlib
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eglearn.cli.errors import Failure, Usage

if TYPE_CHECKING:
    from ..bench.rows import Job

_BUDGET = 150_000  # the paper's C
_INSTANCES = (1, 2, 3, 4, 5)

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Grid:
    """What is to be run."""

    suite: str
    dims: Numbers
    blocks: tuple[tuple[Numbers, Numbers], ...]
    """Functions and instances, all functions of a block on all its instances."""
    algorithms: tuple[str, ...]
    budget: int
    seeds: Numbers
    snapshots: Numbers
    """Evaluations after which the replay is looked at, in place of a benchmark."""

    def jobs(self) -> list[Job]:
        """The runs."""
        from ..bench.runner import jobs

        return [
            job
            for block in self.blocks
            for job in jobs(self.suite, self.dims, *block, self.algorithms, self.budget, self.seeds)
        ]


def numbers(text: str, option: str) -> Numbers:
    """The numbers in a text such as ``1-5,71-80``, each once.

    Examples
    --------
    >>> numbers("2,3,7-9", "dims")
    (2, 3, 7, 8, 9)
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if match is None:
            raise Usage(f"--{option} {text}: {part!r} is neither a number nor a range such as 1-5")
        low, high = int(match[1]), int(match[2] or match[1])
        if high < low:
            raise Usage(f"--{option} {text}: the range {part.strip()} ends before it begins")
        if high - low > 100_000:
            raise Usage(f"--{option} {text}: the range {part.strip()} is too long")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))


def make_grid(
    *,
    suite: str | None,
    dims: str | None,
    functions: str | None,
    instances: str | None,
    algorithms: str | None,
    ablation: str | None,
    paper_index: str | None,
    budget: int | None,
    seeds: str,
) -> Grid:
    """The grid that the options describe; wrong ones raise ``Usage``."""
    from ..bench.ablations import Ablation
    from ..bench.ablations import ablation as find
    from ..bench.problems import SUITES

    if ablation is not None and (algorithms, suite, paper_index) != (None, None, None):
        raise Usage("--ablation sets algorithms and suite: leave out --algorithms, --suite and --paper-index")
    if ablation is None and algorithms is None:
        raise Usage("no algorithms: name some, as in --algorithms auto,cma ('eglearn bench list' shows all)")
    suite = "bbob" if suite is None else suite
    if suite not in SUITES:
        raise Usage(f"--suite {suite}: there are {', '.join(SUITES)}")
    try:
        if ablation is not None:
            base = find(ablation)
        else:
            every, sizes = SUITES[suite]
            new = tuple(n for n in sizes if n not in SUITES["bbob"][1])  # a suite's own dimensions, if it has any
            names = tuple(dict.fromkeys(name.strip() for name in (algorithms or "").split(",")))
            base = Ablation("", "", "", names, None, tuple(every), suite, new or sizes, _INSTANCES, _BUDGET)
        blocks: tuple[tuple[Numbers, Numbers], ...]
        if paper_index is None:
            some = base.functions if functions is None else numbers(functions, "functions")
            blocks = ((some, base.instances if instances is None else numbers(instances, "instances")),)
        else:
            if suite != "bbob" or functions is not None or instances is not None:
                raise Usage("--paper-index stands for functions and instances of bbob: leave out the other options")
            if dims is None:
                raise Usage("--paper-index needs --dims, as in --dims 40")
            blocks = _paper_blocks(numbers(paper_index, "paper-index"))
        allowed = base.budget if budget is None else budget
        times = tuple(t for t in base.snapshots if t <= allowed)
        if allowed < 1 or (base.snapshots and not times):
            raise Usage(f"--budget {allowed}: it must be {min(base.snapshots, default=1)} or more")
        sizes = base.dims if dims is None else numbers(dims, "dims")
        grid = Grid(base.suite, sizes, blocks, base.algorithms, allowed, numbers(seeds, "seeds"), times)
        _check_problems(grid)
    except ValueError as error:
        raise Usage(str(error)) from error
    return grid


def _check_problems(grid: Grid) -> None:
    """Raise ValueError if one of the problems does not exist."""
    from ..bench.problems import Problem

    for functions, instances in grid.blocks:
        for n in grid.dims:
            for function in functions:
                for instance in instances:
                    Problem(grid.suite, function, n, instance)


def _paper_blocks(indices: Numbers) -> tuple[tuple[Numbers, Numbers], ...]:
    """The paper's problems, functions with the same instances together."""
    from ..bench.problems import paper_problem

    wanted: dict[int, list[int]] = {}
    for index in sorted(indices):
        problem = paper_problem(index, 2)  # in any dimension
        wanted.setdefault(problem.function, []).append(problem.instance)
    together: dict[Numbers, list[int]] = {}
    for function, instances in wanted.items():
        together.setdefault(tuple(instances), []).append(function)
    return tuple((tuple(functions), instances) for instances, functions in together.items())


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_plugins(names: list[str]) -> list[str]:
    """Import modules that register algorithms, also from the current folder; returns their names."""
    if names:
        sys.path.insert(0, os.getcwd())
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            raise Failure(f"the plugin {name} cannot be loaded ({type(error).__name__}: {error})") from error
    return names


def check_algorithms(names: Iterable[str]) -> None:
    """Raise ``Usage`` for an unknown algorithm and ``Failure`` for one that cannot be used here."""
    from ..bench.algorithms import ALGORITHMS

    for name in names:
        if name not in ALGORITHMS:
            close = difflib.get_close_matches(name, ALGORITHMS, n=1)
            guess = f"did you mean {close[0]}? " if close else ""
            raise Usage(f"there is no algorithm {name!r}: {guess}'eglearn bench list' shows all")
        if why := ALGORITHMS[name].unavailable():
            hint = ": pip install 'eglearn[nn]'" if why.startswith("torch ") else ""
            raise Failure(f"algorithm {name} cannot be used here, {why}{hint}")


def check_observe(folder: str, grid: Grid) -> None:
    """Raise ``Usage`` if COCO's official data cannot be written."""
    from ..bench.problems import Problem

    if re.search(r"\s", os.path.abspath(folder)):
        raise Usage(f"--observe {folder}: cocoex takes no spaces in the path of its data")
    functions, instances = grid.blocks[0]
    if Problem(grid.suite, functions[0], grid.dims[0], instances[0]).inner is not None:
        raise Usage(f"--observe {folder}: COCO has no official data for suite {grid.suite}")
