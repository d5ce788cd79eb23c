"""How good a learned gradient is after how much training: all pairs against sampled single pairs, and the rest.

One network (fc 256-512-512-256) learns from the same 2,048 points in two ways. The paper's: 1,024 anchors a
minibatch, one random partner each. Ours: one batch of 64 anchors a training step, all partners of each. Quality is
the cosine between the learned and the true gradient at the candidate. The bar: all pairs come within 0.01 of the
cosine that single pairs reach after 60 minibatches, in at most a fifth of the time of those 60 minibatches.

Times are processor seconds of ``Model.fit``, with one thread; each row starts from fresh weights. The order of the
contestants is reversed from seed to seed, since the speed of a machine drifts.

Run ``python benchmarks/gradient_quality.py``; it takes about a minute. The exit code is 1 if the bar is missed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from dataclasses import dataclass, field, replace

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is loaded

import numpy as np
import torch

from eglearn import EGLSettings
from eglearn.learning.memory import Replay, Samples
from eglearn.learning.models import gradient_model
from eglearn.learning.output import OutputMap
from eglearn.learning.regions import TanhRegion
from eglearn.learning.samplers import sampler

N, BATCH, BATCHES = 40, 64, 32
REFERENCE = 60  # minibatches of single pairs
MARGIN = 0.01
BAR = 1 / 5

PAPER = EGLSettings.paper_coco(
    N, model="fc"
)  # first-order squared loss, single pairs, minibatch 1024, fc 256-512-512-256
ALL_PAIRS = replace(PAPER, pairing="all", minibatch=64)
SMALL = EGLSettings(model="fc", region="tanh")  # all pairs, trapezoid, fc 128-128
SPLINE = EGLSettings(model="spline", region="tanh")
ANCHORED_FC = replace(SMALL, anchor="affine")
ANCHORED_SPLINE = replace(SPLINE, anchor="affine")
CONSTANT = EGLSettings(model="constant", region="tanh")
AFFINE = EGLSettings(model="affine", region="tanh")
LEAST_CHANGE = EGLSettings(model="least-change", region="tanh")


@dataclass
class Row:
    """One line of the table: a model with a number of training steps, and what each seed gave."""

    name: str
    settings: EGLSettings
    steps: int
    seconds: list[float] = field(default_factory=list)
    cosines: list[float] = field(default_factory=list)

    def run(self, samples: Samples, truth: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        model = gradient_model(replace(self.settings, training_steps=max(self.steps, 1)), N, rng, squash=True)
        started = time.process_time()
        fit = model.fit(samples, 0.0, rng)
        self.seconds.append(time.process_time() - started)
        g = fit.gradient(samples.origin[None])[0]
        self.cosines.append(float(g @ truth / np.linalg.norm(g) / np.linalg.norm(truth)))


def rosenbrock(u: np.ndarray) -> np.ndarray:
    x = 2 * u
    return np.sum(100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2, axis=-1)


def rosenbrock_gradient(u: np.ndarray) -> np.ndarray:
    x, g = 2 * u, np.zeros_like(u)
    bend = x[1:] - x[:-1] ** 2
    g[:-1] = -400 * bend * x[:-1] - 2 * (1 - x[:-1])
    g[1:] += 200 * bend
    return 2 * g


def make_data(seed: int) -> tuple[Samples, np.ndarray]:
    """What a full replay holds after a short path to the candidate, and the true direction of the gradient there."""
    s, rng = PAPER, np.random.default_rng([seed, 0])
    region, replay = TanhRegion.whole(N), Replay(BATCHES)
    output = OutputMap(s.output_map, s.output_quantile, s.output_rate)
    explore, eps = sampler(s.exploration, s.cone_angle), s.epsilon * np.sqrt(N)
    candidate = region.to_z(rng.uniform(-0.5, 0.5, N))
    path = np.cumsum(0.02 * rng.standard_normal((BATCHES, N)), axis=0)
    for centre in path - path[-1] + candidate:
        z = np.vstack([centre, centre + eps * explore(rng, BATCH - 1, N, np.zeros(N))])
        u = region.to_u(z)
        replay.add(u, rosenbrock(u), region)
        output.update(rosenbrock(u))
    # The output map is increasing, so it does not turn the gradient; the input map does: dv/dz ~ df/du du/dz.
    truth = rosenbrock_gradient(region.to_u(candidate)) / region.pull_back(np.ones(N), candidate)
    return replay.samples(output(replay.y), candidate), truth


def first_within(rows: list[Row], reference: Row) -> Row | None:
    """The shortest training whose cosine is within the margin of the reference's, in the median over the seeds."""
    for row in rows:
        deficits = [r - c for r, c in zip(reference.cosines, row.cosines, strict=True)]
        if statistics.median(deficits) <= MARGIN:
            return row
    return None


def ratio(row: Row, reference: Row) -> float:
    return statistics.median(a / b for a, b in zip(row.seconds, reference.seconds, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="number of repetitions; all figures are medians")
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)

    single = [Row("fc 256-512-512-256, single pairs", PAPER, k) for k in (10, 20, 40, REFERENCE)]
    pairs = [Row("fc 256-512-512-256, all pairs", ALL_PAIRS, k) for k in (10, 20, 30, 40, 50, 60, 80, 120)]
    small = [Row("fc 128-128, all pairs", SMALL, k) for k in (20, 60, 120)]
    rest = [
        Row("spline, all pairs", SPLINE, 60),
        Row("fc 128-128 anchored at affine", ANCHORED_FC, 60),
        Row("spline anchored at affine", ANCHORED_SPLINE, 60),
        Row("constant, closed form", CONSTANT, 0),
        Row("affine, closed form", AFFINE, 0),
        Row("least change, from H = 0", LEAST_CHANGE, 0),
    ]
    rows = [*single, *pairs, *small, *rest]

    for row in rows:  # first calls are slow
        Row("", row.settings, 1).run(*make_data(seeds), seeds)
    for seed in range(seeds):
        data = make_data(seed)
        for row in rows if seed % 2 == 0 else reversed(rows):
            row.run(*data, seed)

    print(
        f"n = {N}, {BATCHES} batches of {BATCH} points, one thread; medians of {seeds} seeds, and the cosines' range\n"
    )
    print(f"{'model and training':<34}{'steps':>6}{'seconds':>9}{'cosine':>8}")
    for row in rows:
        time_, cosine = statistics.median(row.seconds), statistics.median(row.cosines)
        spread = f"{min(row.cosines):.3f} to {max(row.cosines):.3f}"
        print(f"{row.name:<34}{row.steps or '':>6}{time_:>9.3f}{cosine:>8.3f}   {spread}")

    reference = single[-1]
    early = first_within(single, reference)
    assert early is not None  # the reference itself at the latest
    print(f"\nreference: the cosine of single pairs after {REFERENCE} minibatches, and the time of these")
    print(f"single pairs within {MARGIN} of it: {early.steps} minibatches, {ratio(early, reference):.2f} of the time")
    reached = first_within(pairs, reference)
    if reached is None:
        print(f"all pairs within {MARGIN} of it: not in {pairs[-1].steps} steps: FAIL")
        return 1
    share = ratio(reached, reference)
    verdict = "PASS" if share <= BAR else "FAIL"
    print(f"all pairs within {MARGIN} of it: {reached.steps} steps, {share:.2f} of the time; bar {BAR}: {verdict}")
    return 0 if share <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
