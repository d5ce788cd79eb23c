"""Moves, renames and clean-ups leave every asked point as it was, to the last bit.

A change that is meant to change a run records its trace anew (``python tests/golden/record.py --write``) and says why.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "traces.json").read_text())
# Two parts, so that two workers share the work.
PARTS = {
    "few": lambda name: not name.endswith(("40", "64", "200")),
    "many": lambda name: name.endswith(("40", "64", "200")),
}


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="recorded with the kernels of x86 processors")
@pytest.mark.parametrize("part", PARTS)
def test_every_asked_point_is_as_recorded(part):
    here = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "torch")}
    recorded = {name: version.partition("+")[0] for name, version in RECORDED["versions"].items()}
    assert {name: version.partition("+")[0] for name, version in here.items()} == recorded, "constraints.txt pins these"
    wanted = {name: trace for name, trace in RECORDED["traces"].items() if PARTS[part](name)}
    words = [sys.executable, str(HERE / "record.py"), *(f"={name}" for name in wanted)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    traces = json.loads(done.stdout)["traces"]
    changed = [name for name in wanted if traces.get(name) != wanted[name]]
    assert not changed, f"{len(changed)} of {len(wanted)} runs ask for other points: {', '.join(changed)}"
