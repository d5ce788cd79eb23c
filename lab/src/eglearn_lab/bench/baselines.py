"""Baselines with the settings their authors publish, written down one by one.

No method may stop on a loose tolerance: what ends a run early is convergence to rounding. Gradients, where a
method wants them, are SciPy's forward differences, and each of their evaluations counts.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from .._typing import Array
from .algorithms import Run, algorithm, local

_NEVER = 10**9  # more iterations than any budget allows


def _scipy(run: Run, x0: Array, method: str, bounds: bool = True, **options: Any) -> None:
    """Run a method of SciPy; one without bounds searches u in x = centre + half-width sin(u / half-width).

    That is MINUIT's map (James and Roos 1975). It is smooth, and the identity near the centre. Projection instead would
    put a plateau around the box, where such a method is lost: on f8 in 40-D most of BFGS's evaluations were there.
    """
    from scipy.optimize import minimize

    if bounds:
        minimize(run.fun, x0, method=method, bounds=run.bounds, options=options)
    else:
        centre, half = (run.lower + run.upper) / 2, (run.upper - run.lower) / 2

        def inside(u: Array) -> Array:
            x: Array = np.clip(centre + half * np.sin(u / half), run.lower, run.upper)
            return x

        u0 = half * np.arcsin(np.clip((x0 - centre) / half, -1, 1))
        minimize(lambda u: run.fun(inside(u)), u0, method=method, options=options)


@local("nelder-mead", cost=0.02)
def nelder_mead(run: Run, x0: Array) -> None:
    """Nelder-Mead with the dimension-dependent coefficients of Gao and Han (2012), inside the bounds.

    The first simplex has edges of a tenth of the box: SciPy's own has edges of 0.00025 at x0 = 0, which is where
    COCO's problems start.
    """
    edge = 0.1 * (run.upper - run.lower)
    corners = x0 + np.vstack([np.zeros(run.n), np.diag(np.where(x0 + edge <= run.upper, edge, -edge))])
    _scipy(
        run, x0, "Nelder-Mead", maxfev=_NEVER, maxiter=_NEVER, xatol=1e-12, fatol=0.0, adaptive=True,
        initial_simplex=corners,
    )  # fmt: skip


@local("powell", cost=0.02)
def powell(run: Run, x0: Array) -> None:
    """Powell's directions inside the bounds; ends when a round of line searches gains nothing.

    Line searches to a relative 1e-4, as in SciPy's source (100 times xtol).
    """
    _scipy(run, x0, "Powell", maxfev=_NEVER, maxiter=_NEVER, xtol=1e-6, ftol=0.0)


@local("cg", cost=0.02)
def cg(run: Run, x0: Array) -> None:
    """Conjugate gradients (Polak-Ribiere, Nocedal and Wright 5.2); bounds by a sine map (James and Roos 1975)."""
    _scipy(run, x0, "CG", bounds=False, maxiter=_NEVER, gtol=0.0)


@local("bfgs", cost=0.02)
def bfgs(run: Run, x0: Array) -> None:
    """BFGS (Nocedal and Wright 6.1); bounds by a sine map (James and Roos 1975); ends when its line search fails."""
    _scipy(run, x0, "BFGS", bounds=False, maxiter=_NEVER, gtol=0.0)


@local("l-bfgs-b", cost=0.02)
def l_bfgs_b(run: Run, x0: Array) -> None:
    """L-BFGS-B (Byrd, Lu, Nocedal, Zhu 1995) with 10 corrections; ends when the line search fails."""
    _scipy(run, x0, "L-BFGS-B", maxfun=_NEVER, maxiter=_NEVER, ftol=0.0, gtol=0.0)


@local("slsqp", cost=0.02)
def slsqp(run: Run, x0: Array) -> None:
    """SLSQP (Kraft 1988) inside the bounds; ends when a step changes the value by less than 1e-14.

    With gradients of 1e6 (f2, f10, f11) it takes the very first step for the last, and calls that success. So each run
    goes on from where it ended with values divided by a thousand, then by a million; at a true minimum that costs a
    few gradients.
    """
    from scipy.optimize import minimize

    x = x0
    for size in (1.0, 1e3, 1e6):
        options = {"maxiter": _NEVER, "ftol": 1e-14 / size}
        result = minimize(lambda x, size=size: run.fun(x) / size, x, method="SLSQP", bounds=run.bounds, options=options)
        x = np.clip(result.x, run.lower, run.upper) if np.isfinite(result.x).all() else x


def _nlopt(run: Run, x0: Array, name: str) -> None:
    """Run a method of NLopt inside the bounds: first radius ``Run.step``, last 1e-10."""
    import nlopt  # type: ignore[import-untyped,import-not-found,unused-ignore]

    solver = nlopt.opt(getattr(nlopt, name), run.n)
    solver.set_min_objective(lambda x, _: run.fun(x))
    solver.set_lower_bounds(run.lower)
    solver.set_upper_bounds(run.upper)
    solver.set_initial_step(run.step)
    solver.set_xtol_abs(1e-10)
    # Rounding ends a run as an error.
    with contextlib.suppress(nlopt.RoundoffLimited):
        solver.optimize(x0)


@local("cobyla", needs=("nlopt",), cost=0.8)
def cobyla(run: Run, x0: Array) -> None:
    """COBYLA (Powell 1994; NLopt's, which is Powell's code as SciPy had it in 2020): radius ``Run.step`` to 1e-10.

    It takes 0.01, 0.06 and 0.6 ms an evaluation in 10-D, 20-D and 40-D (f8); SciPy's of today, PRIMA's, took 1.4, 1.8
    and 2.6 ms.
    """
    _nlopt(run, x0, "LN_COBYLA")


@local("cobyqa", cost=10.0)
def cobyqa(run: Run, x0: Array) -> None:
    """COBYQA (Ragonneau and Zhang 2022), quadratic models on 2 n + 1 points; radius from ``Run.step`` to 1e-10."""
    _scipy(
        run, x0, "COBYQA", maxfev=_NEVER, maxiter=_NEVER, initial_tr_radius=run.step, final_tr_radius=1e-10,
        feasibility_tol=0.0,
    )  # fmt: skip


@local("bobyqa", needs=("nlopt",), cost=0.05)
def bobyqa(run: Run, x0: Array) -> None:
    """BOBYQA (Powell 2009; NLopt's) on 2 n + 1 points: first radius ``Run.step``, last 1e-10."""
    _nlopt(run, x0, "LN_BOBYQA")


@local("py-bobyqa", needs=("pybobyqa",), cost=60.0)
def py_bobyqa(run: Run, x0: Array) -> None:
    """Py-BOBYQA (Cartis, Fiala, Marteau, Roberts 2019) on 2 n + 1 points: first radius ``Run.step``, last 1e-10."""
    import pybobyqa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    limit = 1e20  # as good as none, and what Py-BOBYQA itself takes for none
    box = np.maximum(run.lower, -limit), np.minimum(run.upper, limit)
    pybobyqa.solve(run.fun, x0, bounds=box, rhobeg=run.step, rhoend=1e-10, maxfun=run.budget + 1, do_logging=False)


@algorithm("random", cost=0.01)
def random(run: Run) -> None:
    """Uniform random points of the box."""
    while True:
        run.fun(run.random_point())


@algorithm("differential-evolution", needs=("scipy.optimize",), cost=0.05)
def differential_evolution(run: Run) -> None:
    """SciPy's differential evolution, best1bin, 15 n individuals (Storn and Price 1997), x0 among the first.

    Goes on until all individuals have the same value, then starts again.
    """
    from scipy.optimize import differential_evolution as evolve

    x0: Array | None = run.x0
    while True:
        evolve(run.fun, run.bounds, x0=x0, maxiter=_NEVER, tol=0.0, polish=False, rng=run.rng)
        x0 = None


@algorithm("dual-annealing", needs=("scipy.optimize",), cost=0.05)
def dual_annealing(run: Run) -> None:
    """SciPy's dual annealing (Xiang and others 1997, 2013) with its defaults and its local search, L-BFGS-B."""
    from scipy.optimize import dual_annealing as anneal

    x0: Array | None = run.x0
    while True:
        anneal(run.fun, run.bounds, x0=x0, maxiter=_NEVER, maxfun=_NEVER, rng=run.rng)
        x0 = None


def _cma_options(run: Run) -> dict[str, Any]:
    return {
        "bounds": [run.lower.tolist(), run.upper.tolist()] if run.bounded else [None, None],
        "seed": run.seed + 1,  # 0 would be the clock
        "maxfevals": math.inf,  # the objective ends the run
        "verbose": -9,
        "verb_log": 0,
        "verb_disp": 0,
        "signals_filename": "",
    }


@algorithm("cma", needs=("cma",), cost=0.1)
def cma_es(run: Run) -> None:
    """One run of CMA-ES (Hansen's cma) from x0: sigma0 twice ``Run.step`` (2), bounds given, its own stop rules."""
    _cma_once(run)


@algorithm("sep-cma", needs=("cma",), cost=0.02)
def sep_cma(run: Run) -> None:
    """CMA-ES with a diagonal covariance (Ros and Hansen 2008), else as ``cma``: for many dimensions."""
    _cma_once(run, CMA_diagonal=True)


def _cma_once(run: Run, **options: Any) -> None:
    import cma

    options = _cma_options(run) | options
    es = cma.CMAEvolutionStrategy(run.x0, 2 * run.step if run.bounded else 0.5 * run.step, options)
    try:
        while not es.stop():
            x = es.ask()
            es.tell(x, [run.fun(point) for point in x])
    finally:
        if es.countiter:
            run.recommend(es.result.xfavorite)


@algorithm("lq-cma", needs=("cma",), cost=3.0)
def lq_cma(run: Run) -> None:
    """lq-CMA-ES (Hansen 2019; ``cma.fmin_lq_surr2``): CMA-ES with a quadratic surrogate, else as ``cma``."""
    import cma

    cma.fmin_lq_surr2(run.fun, run.x0, 2 * run.step if run.bounded else 0.5 * run.step, _cma_options(run))


def _cma_restarts(run: Run, bipop: bool, first: Array | None = None) -> None:
    import cma

    seen: dict[int, tuple[float, Any]] = {}
    begins = [] if first is None else [first]

    def remember(es: Any) -> None:
        seen[id(es)] = (float(np.median(es.fit.fit)), es)

    options = _cma_options(run)
    sigma0 = 0.2 * float(np.min(run.upper - run.lower))
    try:
        while True:
            cma.fmin2(
                run.fun, lambda: begins.pop() if begins else run.random_point(0.8), sigma0, options, restarts=100,
                bipop=bipop, incpopsize=2,
                callback=remember if run.fun.noisy else None,
            )  # fmt: skip
            options["seed"] += 1_000_003
    finally:
        if seen:
            run.recommend(min(seen.values(), key=lambda item: item[0])[1].result.xfavorite)


@algorithm("bipop-cma", needs=("cma",), cost=0.1)
def bipop_cma(run: Run) -> None:
    """BIPOP-CMA-ES (Hansen 2009): starts uniform in [-4, 4]^n, sigma0 2, bounds given.

    Restarts alternate between doubled and small populations until the budget is used. The covariance update is
    active, the default of cma.
    """
    _cma_restarts(run, bipop=True)


@algorithm("bipop-cma-x0", needs=("cma",), cost=0.1)
def bipop_cma_x0(run: Run) -> None:
    """As bipop-cma, but the first of its runs starts at x0: for suites whose x0 is a user's."""
    _cma_restarts(run, bipop=True, first=run.x0)


@algorithm("ipop-acma", needs=("cma",), cost=0.1)
def ipop_acma(run: Run) -> None:
    """IPOP-aCMA-ES (Hansen and Ros 2010): as bipop-cma, but every restart with the population doubled."""
    _cma_restarts(run, bipop=False)


def _nevergrad_problem() -> str | None:
    if tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 4):
        return f"nevergrad's NGOpt raises a TypeError with NumPy {np.__version__}; it needs NumPy below 2.4"
    return None


@algorithm("ngopt", needs=("nevergrad",), cost=1.0, problem=_nevergrad_problem())
def ngopt(run: Run) -> None:
    """NGOpt, nevergrad's wizard that picks a method by dimension and budget; its defaults."""
    import nevergrad  # type: ignore[import-untyped,import-not-found,unused-ignore]

    space = nevergrad.p.Array(init=run.x0, lower=run.lower, upper=run.upper)
    space.random_state = np.random.RandomState(run.seed)
    optimiser = nevergrad.optimizers.NGOpt(space, budget=run.budget, num_workers=1)
    try:
        while True:
            candidate = optimiser.ask()
            optimiser.tell(candidate, run.fun(candidate.value))
    finally:
        run.recommend(optimiser.provide_recommendation().value)
