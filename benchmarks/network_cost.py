"""Learning time of a step: our fully connected network against the paper's recipe, in one run, as a ratio.

The paper trains fc 256-512-512-256 on 120 minibatches of 1,024 single pairs a step. ``egl-fc`` of the benchmark is
smaller, learns from all pairs, and goes on from the weights of the step before. Both learn from the same 32 batches of
64 points in 40 dimensions. Processor seconds of ``Model.fit``, one thread. Bar: at most a fortieth; the exit code is 1
if it is missed. What the cheap network is worth is a matter of the runs in results/coco (networks and paper).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import replace

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is loaded

import numpy as np
from gradient_quality import PAPER, N, make_data

from eglearn.learning.models import gradient_model
from eglearn_lab.bench.entries import trained

BAR = 1 / 40
SEEDS = 5


def main() -> int:
    recipes = {"paper": replace(PAPER, training_steps=120), "egl-fc": trained("fc")}
    seconds: dict[str, list[float]] = {name: [] for name in recipes}
    for seed in range(SEEDS):
        samples, _ = make_data(seed)
        for name, settings in recipes.items():
            rng = np.random.default_rng(seed)
            model = gradient_model(settings, N, rng)
            model.fit(samples, 0.0, rng)  # the first fit sets up buffers and has no earlier weights to go on from
            started = time.process_time()
            model.fit(samples, 0.0, rng)
            seconds[name].append(time.process_time() - started)
    ratios = [ours / theirs for ours, theirs in zip(seconds["egl-fc"], seconds["paper"], strict=True)]
    for name, times in seconds.items():
        print(f"{name:<7} {1e3 * statistics.median(times):8.1f} ms a step")
    ratio = statistics.median(ratios)
    print(f"ratio 1 / {1 / ratio:.0f}, seeds from 1 / {1 / min(ratios):.0f} to 1 / {1 / max(ratios):.0f}; bar 1 / 40")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
