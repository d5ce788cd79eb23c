"""What is reached where values are not exact to the last digit: the default, L-BFGS-B and CMA-ES.

Three functions of 100 variables, computed with double and with single precision, or with 1e12 added: gradients by
differences, which assume doubles, are noise there. Prints the median of the final values, in double precision, after
20,000 evaluations from three starts. Needs ``cma``.

Run ``python benchmarks/rounded_values.py``; about five minutes.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is loaded

import cma
import numpy as np
import scipy.optimize
from numpy.typing import NDArray

import eglearn

Array = NDArray[Any]
Function = Callable[[Array], Array]
"""Of points (m, n) of either precision; computes with the points' own."""

N, BUDGET, BOX, SEEDS = 100, 20_000, 5.0, range(3)
OFFSET = 1e12


def ellipsoid() -> Function:
    """Turned, of condition 100."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))[0]
    weights = 100.0 ** np.linspace(0, 1, N)
    return lambda x: ((x - x.dtype.type(0.3)) @ turn.astype(x.dtype)) ** 2 @ weights.astype(x.dtype)


def rosenbrock() -> Function:
    """Rosenbrock's function."""
    return lambda x: np.sum(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2, axis=1)


def network() -> Function:
    """How far the outputs of a small network are from those at a hidden point."""
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((N, 64)) / np.sqrt(N), rng.standard_normal((64, 32)) / 8
    hidden = rng.uniform(-2, 2, (1, N))

    def outputs(x: Array) -> Array:
        y: Array = np.tanh(np.tanh(x @ first.astype(x.dtype)) @ second.astype(x.dtype))
        return y

    return lambda x: 100 * np.sum((outputs(x) - outputs(hidden.astype(x.dtype))) ** 2, axis=1)


def default(fun: Function, start: Array, seed: int) -> Array:
    """The default of this package."""
    bounds = [(-BOX, BOX)] * N
    return eglearn.minimize(fun, bounds, x0=start, budget=BUDGET, seed=seed, vectorized=True).x


def l_bfgs_b(fun: Function, start: Array, seed: int) -> Array:
    """SciPy's, with its own differences, until it stops or the budget is used."""
    options = {"maxfun": BUDGET, "maxiter": BUDGET}
    found = scipy.optimize.minimize(
        lambda x: fun(x[None])[0], start, method="L-BFGS-B", bounds=[(-BOX, BOX)] * N, options=options
    )
    x: Array = found.x
    return x


def cma_es(fun: Function, start: Array, seed: int) -> Array:
    """One run with the package's own settings."""
    es = cma.CMAEvolutionStrategy(
        start, 2.0, {"bounds": [-BOX, BOX], "maxfevals": BUDGET, "seed": seed + 1, "verbose": -9}
    )
    while not es.stop():
        x = es.ask()
        es.tell(x, fun(np.array(x)).tolist())
    x_best: Array = es.result.xbest
    return x_best


def main() -> None:
    """Run everything and print the table."""
    methods = {"default": default, "L-BFGS-B": l_bfgs_b, "CMA-ES": cma_es}
    ways: dict[str, Callable[[Function], Function]] = {
        "doubles": lambda fun: fun,
        "singles": lambda fun: lambda x: fun(x.astype(np.float32)).astype(float),
        "1e12 added": lambda fun: lambda x: fun(x) + OFFSET,
    }
    print(f"{'':24}" + "".join(f"{name:>12}" for name in methods))
    for name, make in (("ellipsoid", ellipsoid), ("Rosenbrock", rosenbrock), ("network", network)):
        exact = make()
        for way, rounded in ways.items():
            row = f"{name:12}{way:12}"
            for method in methods.values():
                starts = [np.random.default_rng(seed).uniform(-2, 2, N) for seed in SEEDS]
                found = [method(rounded(exact), start, seed) for seed, start in zip(SEEDS, starts, strict=True)]
                row += f"{statistics.median(float(exact(x[None])[0]) for x in found):12.2g}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
