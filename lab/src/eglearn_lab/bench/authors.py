"""The baselines as the paper's authors ran them: no bounds, SciPy's default tolerances, one run, no restart.

What their public code does is described in words only, none of it is used here. The objective projects points into the
box without telling the optimiser, as theirs clips them: outside, the function is flat along each coordinate that is
clipped. They judge success by another test than the paper prints, see `success`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Mask
from .algorithms import Run, algorithm
from .result_table import Results

PREFIX = "authors-"


@algorithm(f"{PREFIX}cma", needs=("cma",), cost=0.1)
def cma(run: Run) -> None:
    """CMA-ES as the paper's authors ran it: sigma0 2, no bounds, points clipped behind its back."""
    import cma as package

    options: dict[str, Any] = {"seed": run.seed + 1, "verbose": -9, "verb_log": 0, "signals_filename": ""}
    package.fmin2(run.fun, run.x0, 2.0, options | {"maxfevals": run.budget}, restarts=0)


def _scipy(name: str, method: str, option: str) -> None:
    def entry(run: Run) -> None:
        from scipy.optimize import minimize

        minimize(run.fun, run.x0, method=method, options={option: run.budget})

    entry.__doc__ = f"{method} as the paper's authors ran it: SciPy's default tolerances, no bounds."
    algorithm(f"{PREFIX}{name}", needs=("scipy.optimize",), cost=0.02)(entry)


for _name, _method, _option in (
    ("nelder-mead", "Nelder-Mead", "maxfev"), ("slsqp", "SLSQP", "maxiter"), ("powell", "Powell", "maxiter"),
    ("cg", "CG", "maxiter"), ("bfgs", "BFGS", "maxiter"),
):  # fmt: skip
    _scipy(_name, _method, _option)


def success(results: Results) -> Mask:
    """The test in the authors' code: y - y* < 1 and (y - y*) / y* < 1/1000, y* the best value of the compared.

    Relative to y* itself: where that is negative, as for about half of COCO's problems, the second part always holds,
    and where it is near 0 it hardly ever does.
    """
    problems, index = results.problems()
    gap, best = np.asarray(results["best_gap"], dtype=float), np.full(len(problems), np.inf)
    np.minimum.at(best, index, gap)
    star = best[index] + results["f_opt"]
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = gap - best[index]
        return np.asarray((apart < 1) & ((apart == 0) | (apart / star < 1e-3)))
