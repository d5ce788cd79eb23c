"""What learning from one batch costs in high dimension: processor seconds and peak memory of every model.

Each row is a process of its own, since the peak of memory (resident set) belongs to a process. It learns once, from a
full replay: the state that a run is in most of the time. What torch sets up at its first call is included. The replay
holds normal points around the candidate and the values of a quadratic.

There is no bar; the table says what can be afforded. A row ends when it passes ``--memory`` or ``--seconds``.

Run ``python benchmarks/high_dimension.py``; it takes ten minutes or more. ``--n 784`` does one dimension only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is loaded

import math
import resource
import signal
import time

import numpy as np

from eglearn import EGLSettings, IGLSettings
from eglearn.learning.memory import Samples
from eglearn.learning.models import gradient_model, value_model

DIMENSIONS = (784, 2000)


def contestants(n: int) -> dict[str, EGLSettings | IGLSettings]:
    """The models by the name of the row."""
    cheap = {"hidden": (128, 128), "pairing": "all", "training_steps": 10}
    return {
        "affine, ours": EGLSettings(),
        "constant, ours": EGLSettings(model="constant"),
        "constant, m = 64, n + 1 points": EGLSettings(model="constant", m=64, replay=math.ceil((n + 1) / 64)),
        "constant, m = 800, 4 batches": EGLSettings(model="constant", m=800, replay=4),
        "least change, ours": EGLSettings(model="least-change"),
        "affine, m = 64, 16 batches": EGLSettings(model="affine", m=64, replay=16),
        "fc 128-128, ours": EGLSettings(model="fc"),
        "fc 128-128 on constant": EGLSettings(model="fc", anchor="constant"),
        "igl, fc 128-128": IGLSettings(),
        "fc 128-128, 10 steps, m = 64": EGLSettings.paper_coco(n, model="fc", minibatch=64, **cheap),
        "fc 128-128, 10 steps, m = 800": EGLSettings.paper_coco(n, model="fc", m=800, minibatch=800, **cheap),
        "fc, table 1": EGLSettings.paper_coco(n, model="fc"),
        "spline, ours": EGLSettings(model="spline"),
        "spline, table 1": EGLSettings.paper_coco(n),
        "spline, 1 step on 64 points": EGLSettings(model="spline", m=32, replay=32, minibatch=64, training_steps=1),
    }


def samples_of(s: EGLSettings | IGLSettings, n: int) -> Samples:
    """A full replay around the candidate 0."""
    rng = np.random.default_rng(0)
    m = s.batch_size(n)
    z = 0.1 * rng.standard_normal((s.replay * m, n))
    return Samples(z, z @ rng.standard_normal(n) + np.sum(z**2, axis=1), (m,) * s.replay, np.zeros(n))


def row(name: str, n: int) -> dict[str, float]:
    """Measure one model in this process."""
    s = contestants(n)[name]
    rng = np.random.default_rng(1)
    squash = s.region == "tanh"
    model = (value_model if name.startswith("igl") else gradient_model)(s, n, rng, squash)
    samples = samples_of(s, n)
    begun = time.process_time()
    fit = model.fit(samples, 0.0, rng)
    fit.gradient(samples.origin[None])
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"points": len(samples.v), "m": s.batch_size(n), "seconds": seconds, "peak": peak}


def limited(megabytes: int, seconds: int) -> None:
    """Let this process fail rather than the machine swap or the table never end."""
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=DIMENSIONS, help="dimensions")
    parser.add_argument("--memory", type=int, default=8000, help="most address space of a row, in MB")
    parser.add_argument("--seconds", type=int, default=120, help="most processor seconds of a row")
    parser.add_argument("--models", nargs="+", help="rows whose names begin so; without it, all")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        limited(options.memory, options.seconds)
        print(json.dumps(row(options.row, options.n[0])))
        return 0
    print(f"{'model':<32}{'n':>6}{'m':>6}{'points':>8}{'seconds':>9}{'ms / eval.':>12}{'peak MB':>9}")
    for n in options.n:
        for name in contestants(n):
            if options.models and not name.startswith(tuple(options.models)):
                continue
            limits = ["--memory", str(options.memory), "--seconds", str(options.seconds)]
            command = [sys.executable, __file__, "--row", name, "--n", str(n), *limits]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == -signal.SIGXCPU:
                print(f"{name:<32}{n:>6}   more than {options.seconds} seconds", flush=True)
            elif "allocate memory" in done.stderr or "MemoryError" in done.stderr:
                print(f"{name:<32}{n:>6}   more than {options.memory} MB", flush=True)
            elif done.returncode != 0:
                last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
                print(f"{name:<32}{n:>6}   failed: {last[:100]}", flush=True)
            else:
                r = json.loads(done.stdout)
                each = 1000 * r["seconds"] / r["m"]
                print(
                    f"{name:<32}{n:>6}{r['m']:>6}{r['points']:>8}{r['seconds']:>9.2f}{each:>12.2f}{r['peak']:>9.0f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
