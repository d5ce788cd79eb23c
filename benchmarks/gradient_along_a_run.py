"""Why a network loses, where it does: its gradient beside those of closed forms on the same samples, along a run.

A run of ``egl-fc`` in 20-D on f1, f8 and f15, 4,000 evaluations. At every tenth step the mean-gradient around the
candidate is measured with 4,000 fresh points (the least-squares slope of the mapped values; they are not counted),
and the cosine with it is printed for the network, and for the constant and the affine model fitted to the same replay:
their median over the first 20 steps and over the later ones. Takes about two minutes of one core.
"""

from __future__ import annotations

import sys

import numpy as np

from eglearn import EGL
from eglearn.learning.models.closed_form import Affine, Constant
from eglearn.learning.models.settings import FieldSettings
from eglearn_lab.bench.entries import trained
from eglearn_lab.bench.problems import Problem

N, BUDGET, FRESH, EVERY = 20, 4000, 4000, 10
CLOSED = {"constant": Constant(FieldSettings(model="constant")), "affine": Affine(FieldSettings(model="affine"))}


def cosines(function: int, **changes: object) -> dict[str, list[float]]:
    """Of each model with the measured mean-gradient, at every tenth step."""
    problem = Problem("bbob", function, N, 1).open(10**9)
    # Planned for 75,000 evaluations, of which these are the first: regions are as in a long run.
    opt = EGL(list(zip(problem.lower, problem.upper, strict=True)), problem.x0, budget=75_000, seed=0,
              settings=trained("fc", N).changed(**changes))  # fmt: skip
    rng = np.random.default_rng(1)
    found: dict[str, list[float]] = {"network": [], **{name: [] for name in CLOSED}}
    step = 0
    while opt.nfev < BUDGET:
        x = opt.ask()
        candidate = opt._search.candidate.copy()
        opt.tell(x, [problem(p) for p in x])
        step += 1
        search = opt._search
        if step % EVERY or not search.gradient.any():
            continue
        samples = search.samples()
        offsets = rng.standard_normal((FRESH, N)) * search.epsilon / np.sqrt(N)
        u = search.region.around(candidate, offsets)
        y = np.array([problem(p) for p in 5 * u])  # the cube is [-5, 5]
        z = search.region.to_z(u)
        v = search.output(y / 4)  # values enter a search as quarters
        true = np.linalg.lstsq(z - z.mean(axis=0), v - v.mean(), rcond=None)[0]
        learned = {name: model.fit(samples).gradient(candidate[None])[0] for name, model in CLOSED.items()}
        for name, g in {"network": search.gradient, **learned}.items():
            found[name].append(float(g @ true / np.linalg.norm(g) / np.linalg.norm(true)))
    return found


def main() -> int:
    """Print a table."""
    print(f"{'':14}{'network':>18}{'constant':>18}{'affine':>18}   median cosine, early and later steps")
    for function in (1, 8, 15):
        found = cosines(function)
        early = 20 // EVERY
        parts = (f"{np.median(c[:early]):8.2f} {np.median(c[early:]):8.2f}" for c in found.values())
        print(f"f{function:<13}" + "".join(f"{part:>18}" for part in parts), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
