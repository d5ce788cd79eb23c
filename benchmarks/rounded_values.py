"""What is reached where values are not exact to the last digit: the default, L-BFGS-B and CMA-ES.

Three functions of 100 variables, computed with double and with single precision, or with 1e12 added: gradients by
differences, which assume doubles, are noise there. Prints the median of the final values, in double precision, after
20,000 evaluations from three starts. Then, for functions of 20 variables, how many evaluations it takes to get below
1e-3 where values have few digits, as those that a program prints. Needs ``cma``.

Run ``python benchmarks/rounded_values.py``; about five minutes, with ``--few-digits`` one: only the second table.
"""

from __future__ import annotations

import os
import statistics
import sys
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


FEW, TARGET, FEW_BUDGET = 20, 1e-3, 6_000
DIGITS: dict[str, Callable[[Array], Array]] = {
    "all": lambda y: y,
    "single": lambda y: y.astype(np.float32).astype(float),
    "6 digits": lambda y: np.array([float(f"{v:.6g}") for v in y]),
    "8 decimals": lambda y: np.round(y, 8),
    "remainder": lambda y: (y + 1000.0) - 1000.0,
}


def few_digits() -> None:
    """Medians of three starts; a dash where the target is not reached."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((FEW, FEW)))[0]
    first, second = rng.standard_normal((FEW, 64)) / np.sqrt(FEW), rng.standard_normal((64, 32)) / 8
    outputs: Function = lambda x: np.asarray(np.tanh(np.tanh(x @ first) @ second))  # noqa: E731
    hidden = outputs(rng.uniform(-2, 2, (1, FEW)))
    functions: dict[str, Function] = {
        "ellipsoid": lambda x: ((x - 0.3) @ turn) ** 2 @ 1e4 ** np.linspace(0, 1, FEW),
        "network": lambda x: 100 * np.sum((outputs(x) - hidden) ** 2, axis=1),
    }
    print(f"{'':24}" + "".join(f"{name:>12}" for name in DIGITS))
    for name, fun in functions.items():
        for method, run in {"default": first_below, "L-BFGS-B": first_below_of_l_bfgs_b}.items():
            row = f"{name:12}{method:12}"
            for digits in DIGITS.values():
                counts = [run(fun, digits, seed) for seed in SEEDS]
                median = statistics.median(counts)
                row += f"{median:12.0f}" if median <= FEW_BUDGET else f"{'-':>12}"
            print(row, flush=True)


def first_below(fun: Function, digits: Callable[[Array], Array], seed: int) -> float:
    """Evaluations of the default until the exact value is below the target."""
    start = np.random.default_rng(seed).uniform(-2, 2, FEW)
    result = eglearn.minimize(
        lambda x: float(digits(fun(x[None]))[0]), [(-BOX, BOX)] * FEW, x0=start, budget=FEW_BUDGET, seed=seed
    )
    return below(fun(result.history.x))


def first_below_of_l_bfgs_b(fun: Function, digits: Callable[[Array], Array], seed: int) -> float:
    """The same for SciPy's with its own differences."""
    asked: list[Array] = []

    def one(x: Array) -> float:
        asked.append(x.copy())
        return float(digits(fun(x[None]))[0])

    start = np.random.default_rng(seed).uniform(-2, 2, FEW)
    options = {"maxfun": FEW_BUDGET, "maxiter": FEW_BUDGET}
    scipy.optimize.minimize(one, start, method="L-BFGS-B", bounds=[(-BOX, BOX)] * FEW, options=options)
    return below(fun(np.array(asked)))


def below(exact: Array) -> float:
    """The number of the first value below the target; infinite if there is none."""
    rows = np.flatnonzero(exact < TARGET)
    return float(rows[0] + 1) if len(rows) else float("inf")


def main() -> None:
    """Run everything and print the tables."""
    if "--few-digits" in sys.argv:
        few_digits()
        return
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
    few_digits()


if __name__ == "__main__":
    main()
