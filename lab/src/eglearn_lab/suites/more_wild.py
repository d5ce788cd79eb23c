"""The 53 problems of Moré and Wild (2009) in four variants.

Source: J. J. Moré and S. M. Wild, *Benchmarking derivative-free optimization algorithms*, SIAM J. Optim. 20 (2009)
172-191. The residuals are in `mgh`. The variants, with F the vector of residuals:

=============  ====================================================================================================
smooth         sum of F_i(x)^2
nonsmooth      sum of abs(F_i(x)): piecewise smooth. Functions 8, 9, 13, 16, 17 and 18 are evaluated at max(x, 0), as
               in the paper, so that the sums stay bounded from below and in range
deterministic  (1 + 1e-3 phi(x)) times the sum of squares, phi the cubic Chebyshev polynomial T3 of
               0.9 sin(100 norm1(x)) cos(100 norminf(x)) + 0.1 cos(norm2(x)): noise that a repeated call repeats
stochastic     sum of squares of F_i(x) (1 + 1e-3 u_i), u_i uniform on [-1, 1] and new in each call. Not in the paper;
               later added to its test set by the authors
=============  ====================================================================================================

There is no box. ``lower`` and ``upper`` are infinite and ``scale`` is max(1, abs(x0)) in each coordinate. Give a solver
that requires a box the one of `Problem.box`, 20 scales to each side of x0; it holds the best known minimisers.
The budget is the paper's 1,300 evaluations, 100 simplex gradients of the largest problem. A sum that overflows is inf.

Functions with even number are set aside (20 of the 53 problems of a variant), so that the starts of one function are
never divided.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from .base import Array, Build, Objective, Problem
from .mgh import FUNCTIONS, Residuals

Variant = Literal["smooth", "nonsmooth", "deterministic", "stochastic"]
VARIANTS: tuple[Variant, ...] = ("smooth", "nonsmooth", "deterministic", "stochastic")

BUDGET = 1300
NOISE = 1e-3

# fmt: off
# nprob, n, m, ns: the start is the standard one times 10**ns. Table 4.1 of the paper sums this list up by n.
INSTANCES = (
    (1, 9, 45, 0), (1, 9, 45, 1), (2, 7, 35, 0), (2, 7, 35, 1), (3, 7, 35, 0), (3, 7, 35, 1),
    (4, 2, 2, 0), (4, 2, 2, 1), (5, 3, 3, 0), (5, 3, 3, 1), (6, 4, 4, 0), (6, 4, 4, 1),
    (7, 2, 2, 0), (7, 2, 2, 1), (8, 3, 15, 0), (8, 3, 15, 1), (9, 4, 11, 0), (10, 3, 16, 0),
    (11, 6, 31, 0), (11, 6, 31, 1), (11, 9, 31, 0), (11, 9, 31, 1), (11, 12, 31, 0), (11, 12, 31, 1),
    (12, 3, 10, 0), (13, 2, 10, 0), (14, 4, 20, 0), (14, 4, 20, 1),
    (15, 6, 6, 0), (15, 7, 7, 0), (15, 8, 8, 0), (15, 9, 9, 0), (15, 10, 10, 0), (15, 11, 11, 0),
    (16, 10, 10, 0), (17, 5, 33, 0), (18, 11, 65, 0), (18, 11, 65, 1),
    (19, 8, 8, 0), (19, 10, 12, 0), (19, 11, 14, 0), (19, 12, 16, 0),
    (20, 5, 5, 0), (20, 6, 6, 0), (20, 8, 8, 0),
    (21, 5, 5, 0), (21, 5, 5, 1), (21, 8, 8, 0), (21, 10, 10, 0), (21, 12, 12, 0), (21, 12, 12, 1),
    (22, 8, 8, 0), (22, 8, 8, 1),
)
# fmt: on

CLIPPED = frozenset({8, 9, 13, 16, 17, 18})
"""Functions that the nonsmooth variant evaluates at max(x, 0)."""

BEST_SMOOTH = {
    (1, 9): 36.0,  # m - n
    (2, 7): 35 * 34 / (2 * 71),  # m (m - 1) / (2 (2 m + 1))
    (3, 7): (35**2 + 3 * 35 - 6) / (2 * 67),  # (m^2 + 3 m - 6) / (2 (2 m - 3))
    (8, 3): 8.21487e-3,
    (9, 4): 3.07505e-4,
    (10, 3): 87.9458,
    (11, 6): 2.28767e-3,
    (11, 9): 1.39976e-6,
    (11, 12): 4.72238e-10,
    (13, 2): 124.362,
    (14, 4): 85822.2,
    (15, 8): 3.51687e-3,
    (15, 10): 4.77271e-3,
    (15, 11): 2.79976e-3,
    (17, 5): 5.46489e-5,
    (18, 11): 4.01377e-2,
    (19, 8): 10.23897,
    (19, 10): 18.28116,
    (19, 11): 22.26059,
    (19, 12): 26.27276,
}
"""Least sums of squares by (nprob, n): Moré, Garbow and Hillstrom (1981), to the six digits printed there, and for
Chebyquad in 11-D and Bdqrtic as computed by least squares from several starts. Those left out have residual zero."""


def _objective(
    residuals: Residuals, m: int, variant: Variant, clip: bool, rng: np.random.Generator | None
) -> Objective:
    def value(x: Array) -> float:
        x = np.asarray(x, dtype=float)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            r = residuals(np.maximum(x, 0.0) if clip else x, m)
            if rng is not None:
                r = r * (1.0 + NOISE * rng.uniform(-1.0, 1.0, m))
            y = float(np.abs(r).sum() if variant == "nonsmooth" else r @ r)
            if variant == "deterministic":
                y *= 1.0 + NOISE * wave(x)
        return y if y < np.inf else np.inf  # NaN, from inf - inf, is an overflow too

    return value


def wave(x: Array) -> float:
    """Return the deterministic noise phi of Moré and Wild, between -1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> round(wave(np.zeros(3)), 3)  # T3(0.1)
    -0.296
    """
    a = np.abs(x)
    phi = 0.9 * np.sin(100.0 * a.sum()) * np.cos(100.0 * a.max()) + 0.1 * np.cos(np.sqrt(x @ x))
    return float(phi * (4.0 * phi**2 - 3.0))


def _build(residuals: Residuals, m: int, variant: Variant, clip: bool) -> Build:
    return lambda rng: _objective(residuals, m, variant, clip, rng)


def _best_known(nprob: int, n: int, variant: Variant) -> float | None:
    best = BEST_SMOOTH.get((nprob, n), 0.0)
    if variant in ("smooth", "stochastic") or best == 0.0:
        return best
    return best * (1.0 - NOISE) if variant == "deterministic" else None


def problems(variant: Variant = "smooth") -> list[Problem]:
    """Return the 53 problems of a variant, in the order of the paper's list.

    The best known value of the deterministic variant is its bound (1 - 1e-3) times the least sum of squares; that of
    the stochastic one is the least sum of squares, which single noisy values can be below.

    Examples
    --------
    >>> suite = problems("smooth")
    >>> len(suite), suite[6].name
    (53, 'smooth-04-rosenbrock-n2')
    >>> round(suite[6].make()(suite[6].x0), 10)
    24.2
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant is {variant!r}; choose one of {', '.join(VARIANTS)}.")
    suite = []
    for nprob, n, m, ns in INSTANCES:
        residuals, start = FUNCTIONS[nprob]
        x0 = 10.0**ns * start(n)
        label = residuals.__name__.replace("_", "-")
        suite.append(
            Problem(
                name=f"{variant}-{nprob:02d}-{label}-n{n}{'-far' if ns else ''}",
                family=f"more-wild-{variant}",
                lower=np.full(n, -np.inf),
                upper=np.full(n, np.inf),
                x0=x0,
                budget=BUDGET,
                build=_build(residuals, m, variant, variant == "nonsmooth" and nprob in CLIPPED),
                doc=f"{residuals.__doc__} Moré and Wild's function {nprob}, m = {m}, {variant}.",
                scale=np.maximum(1.0, np.abs(x0)),
                best_known=_best_known(nprob, n, variant),
                noisy=variant == "stochastic",
                kinks=variant == "nonsmooth",
                set_aside=nprob % 2 == 0,
            )
        )
    return suite
