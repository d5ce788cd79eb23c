"""Every operation on a file fails or is the last one; the power is cut after any of them.

A quick cut of it, or all with EGLEARN_SOAK=1. The operations are counted by a small library that is compiled here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOAK = "EGLEARN_SOAK" in os.environ
COMPILER = shutil.which("gcc") or shutil.which("cc")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or COMPILER is None, reason="needs Linux and a compiler to come between Python and files"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory if possible: the disk is not what is tested."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def under_the_shim(folder: Path, module: str, *arguments: int) -> dict[str, int]:
    library = folder / "shim.so"
    source = ROOT / "tests" / "store" / "faults" / "shim.c"
    subprocess.run([str(COMPILER), "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    command = [sys.executable, "-m", f"tests.store.faults.{module}", folder / "files", *map(str, arguments)]
    env = os.environ | {"LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["lost"] == []
    counts: dict[str, int] = said["survived"]
    return counts


@pytest.mark.timeout(3000 if SOAK else 120)
def test_every_operation_may_fail_or_be_the_last(folder: Path, survived: Callable[[str, int], None]) -> None:
    counts = under_the_shim(folder, "operations", 1, 1 if SOAK else 61)
    assert set(counts) == {"new", "finished", "killed", "damaged", "copied"}
    assert min(counts.values()) >= (500 if SOAK else 6)
    survived("file operations that failed or were the last", sum(counts.values()))


@pytest.mark.timeout(3000 if SOAK else 120)
def test_the_power_may_be_cut_at_any_time(folder: Path, survived: Callable[[str, int], None]) -> None:
    counts = under_the_shim(folder, "cuts", 1 if SOAK else 23, 3 if SOAK else 1)
    assert set(counts) == {"new", "finished", "killed", "damaged", "copied"}
    assert min(counts.values()) >= (500 if SOAK else 6)
    survived("power cuts", sum(counts.values()))
