"""The live display in terminals of any width."""

import io
import re

import pytest
from rich.console import Console

from eglearn import AutoEGL, AutoSettings, Result, Status
from eglearn.cli.display import Progress
from eglearn.cli.job import Job


def shown(width, name="objectives:bowl", **progress):
    arguments = {"budget": 150_000, "bounds": [(0, 1)] * 40, "algorithm": AutoEGL, "settings": AutoSettings()}
    seen = Progress(Job(name, arguments))
    result = Result(
        x=[0.0], fun=-1.2345678e-300, x_favorite=[0.0], nfev=123_456, budget=150_000, nit=17, n_failed=98_765,
        status=Status.RUNNING, message="",
        progress={"restarts": 12.0, "epsilon": 1.25e-7, "candidate": 1.0, **progress},
    )  # fmt: skip
    seen.update(result)
    seen.update(result)
    console = Console(file=io.StringIO(), width=width, height=30, force_terminal=True, no_color=True)
    console.print(seen.render(width))
    return re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())


@pytest.mark.parametrize("width", [20, 30, 40, 53, 54, 60, 79, 80, 87, 88, 100, 200])
def test_nothing_is_lost_in_a_narrow_terminal(width):
    lines = [line.rstrip() for line in shown(width).splitlines()]
    assert max(map(len, lines)) <= width
    assert len(lines) <= 12
    text = "".join("".join(lines).split())
    for part in ("best -1.2345678e-300", "failures 98765", "restarts 12", "eps 1.25e-07", "speed", "left", "elapsed"):
        assert part.replace(" ", "") in text, (part, lines)
    assert "123456of150000evaluations" in text


def test_names_with_escape_sequences_are_spelled_out():
    assert "bowl\\x1b[2J" in shown(100, "objectives:bowl\x1b[2J")
