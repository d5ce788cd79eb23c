"""The list in CONTRIBUTING of what a run enters is what a trace shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from eglearn import minimize

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
# The rooms that the list leaves out.
ELSEWHERE = (
    "run", "loop", "recall", "evaluation", "store", "state", "settings", "serialize", "result", "history", "narration",
    "objective", "stop_rules", "warm_start", "control",
)  # fmt: skip


def drawn(column):
    """The modules in the table, of the first column or of both."""
    names = set()
    for room, prefix in (("shell", ""), ("`auto/`", "auto."), ("`search/`", "search."), ("`learning/`", "learning.")):
        row = next(line for line in TEXT.splitlines() if line.startswith(f"| {room} | `"))
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        wanted = cells[0] if column == 0 else cells[1]
        if column == 1 and wanted.startswith("the same"):
            wanted = cells[0] + wanted
        names |= {prefix + name for name in re.findall(r"`([a-z_.]+)`", wanted)}
    return names


def entered(n, budget):
    """The modules whose functions a run calls."""
    names = set()

    def note(frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("eglearn.") and frame.f_code.co_name != "<module>":
            names.add(name.removeprefix("eglearn."))

    def rippled(x):
        return float(np.sum((x - 0.3) ** 2) + np.sum(1 - np.cos(3 * x)))

    sys.setprofile(note)
    try:
        minimize(rippled, [(-5, 5)] * n, budget=budget)
    finally:
        sys.setprofile(None)
    return {name for name in names if name.split(".")[0] not in ELSEWHERE}


@pytest.mark.parametrize(("n", "budget", "column"), [(14, 14_000, 0), (64, 4000, 1)])
def test_a_run_enters_the_modules_that_are_drawn(n, budget, column):
    assert entered(n, budget) == drawn(column)
