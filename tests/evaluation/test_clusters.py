"""Workers of docs/workers.md, with the real tools where they are installed."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eglearn import load

PAGE = (Path(__file__).parents[2] / "docs" / "workers.md").read_text(encoding="utf-8")
PROGRAM = """
import os
from pathlib import Path
import numpy as np

bounds = [(-5, 5)] * 4

def simulate(x):
    return float(np.sum((x - 1) ** 2))
"""


def block(heading):
    """The code under a heading of the page, with our budget."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    code = next(text for text in section if text.startswith(heading))
    return re.search(r"```(?:python)?\n(.*?)```", code, re.DOTALL)[1].replace("budget=2_000", "budget=24")


def run(code, tmp_path, *words):
    (tmp_path / "simulation.py").write_text(PROGRAM)
    (tmp_path / "program.py").write_text(code)
    command = [*words, sys.executable, *(["-m", "mpi4py.futures"] if words else []), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 1.0  # from 4 at the start
    assert len(load(tmp_path / "run.egl")) == 24


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


@pytest.mark.timeout(300)
@pytest.mark.leaves_traces
@needs("ray")
def test_ray(tmp_path):
    head = "from eglearn import minimize\nfrom simulation import simulate, bounds\n"
    run(f"{head}{block('Ray').replace('Pool(8)', 'Pool(2)')}\nprint(result.fun)", tmp_path)


@pytest.mark.timeout(300)
@needs("mpi4py")
@pytest.mark.skipif(shutil.which("mpiexec", path=str(Path(sys.executable).parent)) is None, reason="no mpiexec here")
def test_mpi(tmp_path):
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    run(f"{block('MPI')}        print(result.fun)", tmp_path, mpiexec, "-n", "3")


@pytest.mark.timeout(300)
@needs("submitit")
def test_submitit(tmp_path):
    head = "from eglearn import minimize\nfrom simulation import simulate, bounds\n"
    code = block("SLURM with submitit").replace('folder="jobs"', 'folder="jobs", cluster="local"')
    run(f"{head}{code}\nprint(result.fun)", tmp_path)
