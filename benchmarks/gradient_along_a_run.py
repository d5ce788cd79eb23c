"""Why a network wins or loses: its gradient beside those of other models of the same samples, along a run.

A run of ``egl-fc`` in 40-D with the paper's budget on a few functions. At thirty moments the mean-gradient around the
candidate is measured with 10,000 fresh points (the least-squares slope of the mapped values; they are not counted).
Its cosine is taken with the gradient of the run's network, with those of the constant and the affine model fitted to
the same replay, and with that of IGL's network, which is trained on the same samples all along. One row a moment goes
to ``docs/experiments/gradient-along-a-run.csv``; functions that are there are not run again. A function takes two
minutes of one core. ``eglearn bench paper`` shows the medians.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from eglearn import EGL
from eglearn.learning.models import value_model
from eglearn.learning.models.closed_form import Affine, Constant
from eglearn.learning.models.settings import FieldSettings
from eglearn_lab.bench.entries import trained, trained_indirectly
from eglearn_lab.bench.problems import Problem
from eglearn_lab.ours import ENTERS

N, BUDGET, FRESH, MOMENTS = 40, 150_000, 10_000, 30
FUNCTIONS = (15, 8, 24, 10, 1)
CLOSED = {"constant": Constant(FieldSettings(model="constant")), "affine": Affine(FieldSettings(model="affine"))}
COLUMNS = ("function", "evaluations", "egl-fc", "igl-fc", *CLOSED)
OUT = Path(__file__).parents[1] / "docs" / "experiments" / "gradient-along-a-run.csv"


def cosines(function: int) -> list[list[float]]:
    """The rows of one function."""
    problem = Problem("bbob", function, N, 1).open(10**9)
    opt = EGL(list(zip(problem.lower, problem.upper, strict=True)), problem.x0, budget=BUDGET, seed=0,
              settings=trained("fc", N))  # fmt: skip
    rng = np.random.default_rng(1)
    indirect = value_model(trained_indirectly("fc", N), N, rng, squash=True)
    search, rows = opt.search, []
    while not opt.stop():
        x = opt.ask()
        candidate, before = search.candidate.copy(), search.loss
        opt.tell(x, [problem(p) for p in x])
        if search.loss == before:  # a new region began, and nothing was learned
            continue
        samples = search.samples()
        value_fit = indirect.fit(samples, 0.0, rng)
        if opt.nfev < (len(rows) + 1) * BUDGET / MOMENTS:
            continue
        u = search.region.around(candidate, rng.standard_normal((FRESH, N)) * search.epsilon / np.sqrt(N))
        y = np.array([problem(p) for p in opt._to_x(u)])
        z, v = search.region.to_z(u), search.output(ENTERS * y)
        true = np.linalg.lstsq(z - z.mean(axis=0), v - v.mean(), rcond=None)[0]
        fits = (value_fit, *(model.fit(samples) for model in CLOSED.values()))
        learned = [search.gradient, *(fit.gradient(candidate[None])[0] for fit in fits)]
        found = [float(g @ true / max(np.linalg.norm(g) * np.linalg.norm(true), 1e-300)) for g in learned]
        rows.append([function, opt.nfev, *(round(c, 4) for c in found)])
    return rows


def main() -> int:
    """Run what is not there yet, and print the medians."""
    rows = list(csv.reader(OUT.open()))[1:] if OUT.exists() else []
    print(f"{'':6}" + "".join(f"{name:>10}" for name in COLUMNS[2:]) + "   median cosine")
    for function in FUNCTIONS:
        if not any(row[0] == str(function) for row in rows):
            rows += [list(map(str, row)) for row in cosines(function)]
            with OUT.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        mine = np.array([row[2:] for row in rows if row[0] == str(function)], dtype=float)
        print(f"f{function:<5}" + "".join(f"{c:10.2f}" for c in np.median(mine, axis=0)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
