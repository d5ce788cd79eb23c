"""A run that crashes and continues: the same call with the same `store` goes on, and repeats no finished evaluation.

The child process is killed in the middle of a batch, as by a power cut. The result is the same, to the last bit, as
that of a run that was never stopped.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from eglearn import load, minimize


def simulate(x):
    if os.environ.get("CRASH") and load(STORE).y.size >= 137:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(np.sum((x - 1) ** 2))


def run(store):
    return minimize(simulate, bounds=[(-5, 5)] * 5, budget=400, store=store)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        STORE = sys.argv[1]
        run(STORE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.egl")
        crashed = subprocess.run([sys.executable, __file__, path], env=os.environ | {"CRASH": "1"}, check=False)
        print(f"the first process ended with {crashed.returncode}, after {len(load(path))} evaluations")
        result = run(path)  # the same call again
        whole = run(None)
        print(f"continued to {result.nfev} evaluations, lowest value {result.fun:.2g}")
        print(f"the same as without the crash: {result.fun == whole.fun and (result.x == whole.x).all()}")
