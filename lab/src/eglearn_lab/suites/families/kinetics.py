"""Rate constants from measured curves. Where the rates are too fast for the integrator, the simulation fails.

The equations are integrated by the classical Runge-Kutta rule with a fixed step; small systems in plain numbers, which
is faster than arrays of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..base import Array, Objective, Problem, uniform_box

Pair = tuple[float, float]
Rates = Callable[[float, float], Pair]

# fmt: off
PINENE_TIMES = np.array([1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420])
PINENE = np.array([
    [88.35, 76.4, 65.1, 50.4, 37.5, 25.9, 14.0, 4.5],
    [7.3, 15.6, 23.1, 32.9, 42.7, 49.1, 57.4, 63.1],
    [2.3, 4.5, 5.3, 6.0, 6.0, 5.9, 5.1, 3.8],
    [0.4, 0.7, 1.1, 1.5, 1.9, 2.2, 2.6, 2.9],
    [1.75, 2.8, 5.8, 9.3, 12.0, 17.0, 21.0, 25.7],
])
HARES = [
    30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2,
    24.7,
]
LYNXES = [
    4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
]
# fmt: on


def _runge_kutta(
    rates: Rates, u: float, v: float, step: float, steps: int, samples: int, least: float = 0.0
) -> list[Pair]:
    """Return the start and ``samples`` states, ``steps`` steps apart.

    Raise RuntimeError where a state is not above ``least``, or is above a million.
    """
    states = [(u, v)]
    half, sixth = step / 2, step / 6
    for k in range(samples):
        for _ in range(steps):
            a, b = rates(u, v)
            c, d = rates(u + half * a, v + half * b)
            e, f = rates(u + half * c, v + half * d)
            g, h = rates(u + step * e, v + step * f)
            u += sixth * (a + 2 * c + 2 * e + g)
            v += sixth * (b + 2 * d + 2 * f + h)
        if not (least < u < 1e6 and least < v < 1e6):
            raise RuntimeError(f"integration failed: the state is ({u:.3g}, {v:.3g}) at sample {k + 1}.")
        states.append((u, v))
    return states


def _log_misfit(states: Sequence[Pair], logs: Sequence[Pair]) -> float:
    return sum((math.log(u) - p) ** 2 + (math.log(v) - q) ** 2 for (u, v), (p, q) in zip(states, logs, strict=True))


def pinene() -> Problem:
    """Five rates of the thermal isomerisation of alpha-pinene; NaN where the integration overflows. 5 variables.

    Data of Box, Hunter, MacGregor and Erjavec, Technometrics 15 (1973) 33; problem 5 of the COPS collection, where the
    least sum of squares is 19.872. The variables are log10 of the rates per minute. The system is linear, so a
    Runge-Kutta step is a fixed matrix and many steps are its power.
    """
    step = 30.0
    gaps = np.diff(PINENE_TIMES, prepend=0) // 30

    def misfit(x: Array) -> float:
        p = 10.0**x
        a = np.zeros((5, 5))
        a[0, 0], a[1, 0], a[2, 0] = -(p[0] + p[1]), p[0], p[1]
        a[2, 2], a[3, 2], a[4, 2] = -(p[2] + p[3]), p[2], p[3]
        a[2, 4], a[4, 4] = p[4], -p[4]
        h = step * a
        rule = np.eye(5) + h @ (np.eye(5) + h @ (np.eye(5) + h @ (np.eye(5) + h / 4) / 3) / 2)
        state, total = np.array([100.0, 0, 0, 0, 0]), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for k, gap in enumerate(gaps):
                state = np.linalg.matrix_power(rule, int(gap)) @ state
                total += float(((state - PINENE[:, k]) ** 2).sum())
        return total if total < 1e12 else math.nan

    return Problem(
        *uniform_box(5, -7, -0.5),
        x0=np.full(5, -3.0),
        budget=1_000,
        build=lambda rng: misfit,
        best_known=19.872,
        fails=True,
        sequential=len(gaps) * 10,
    )


def enzyme_chain() -> Problem:
    """Two enzymes in a row, the second inhibited by its substrate; NaN where the integration breaks down. 7 variables.

    S -> I -> P by Michaelis and Menten (1913) with Haldane's (1930) inhibition: v1 = V1 S / (K1 + S),
    v2 = V2 I / (K2 + I + I^2 / Ki). Variables are log10 of V1, K1, V2, K2, Ki, S(0) and I(0). Synthetic data of S and I
    with 2 % error; the misfit is of logarithms.
    """
    truth = np.log10([3.0, 2.0, 1.5, 0.5, 4.0, 10.0, 0.1])

    def simulate(x: Array) -> list[Pair]:
        v1, k1, v2, k2, ki, s, i = (10.0**x).tolist()

        def rates(s: float, i: float) -> Pair:
            first = v1 * s / (k1 + s)
            return -first, first - v2 * i / (k2 + i + i * i / ki)

        return _runge_kutta(rates, s, i, 0.1, 3, 20)

    noise = np.random.default_rng(8).normal(0.0, 0.02, (21, 2))
    logs = [(math.log(s) + a, math.log(i) + b) for (s, i), (a, b) in zip(simulate(truth), noise.tolist(), strict=True)]

    def misfit(x: Array) -> float:
        try:
            return _log_misfit(simulate(x), logs)
        except (RuntimeError, ZeroDivisionError, OverflowError):
            return math.nan

    return Problem(
        lower=truth - np.array([0.8, 1.3, 0.9, 1.1, 1.2, 0.7, 1.0]),
        upper=truth + np.array([1.0, 0.9, 1.2, 1.4, 1.0, 0.8, 1.2]),
        x0=truth + np.array([0.3, -0.5, 0.3, 0.5, 0.4, -0.2, 0.6]),
        budget=2_000,
        build=lambda rng: misfit,
        fails=True,
        sequential=60,
    )


def lynx_and_hare() -> Problem:
    """Lotka-Volterra model of the pelts of the Hudson Bay Company, 1900-1920; raises at extinction. 6 variables.

    h' = a h - b h l, l' = -c l + d h l (Lotka 1925, Volterra 1926); data as tabled by Howard (2009) and used in the
    Stan case studies. Variables are log10 of a, b, c, d and of the two populations in 1900, in thousands; the
    misfit is of logarithms.
    """
    logs = [(math.log(h), math.log(q)) for h, q in zip(HARES, LYNXES, strict=True)]

    def misfit(x: Array) -> float:
        a, b, c, d, h, q = (10.0**x).tolist()

        def rates(h: float, q: float) -> Pair:
            meals = h * q
            return a * h - b * meals, d * meals - c * q

        try:
            return _log_misfit(_runge_kutta(rates, h, q, 0.1, 10, 20, least=1e-3), logs)
        except OverflowError as error:
            raise RuntimeError("integration failed: a population overflowed.") from error

    return Problem(
        lower=np.array([-1.5, -3.0, -1.5, -3.0, 1.0, 0.0]),
        upper=np.array([0.5, 0.0, 0.5, 0.0, 2.0, 1.5]),
        x0=np.array([-0.6, -1.2, -0.5, -1.2, 1.5, 0.5]),
        budget=2_000,
        build=lambda rng: misfit,
        fails=True,
        sequential=200,
    )


def plankton() -> Problem:
    """Rosenzweig and MacArthur's (1963) predators and prey with satiation; raises where it explodes. 8 variables.

    u' = r u (1 - u / K) - a u v / (1 + a t u), v' = e a u v / (1 + a t u) - m v. Variables are log10 of r, K, a, t,
    e, m and of the two initial populations. Synthetic data with 5 % error, the misfit is of logarithms.
    """
    truth = np.log10([1.0, 10.0, 1.2, 0.5, 0.6, 0.5, 4.0, 1.0])

    def simulate(x: Array) -> list[Pair]:
        r, k, a, t, e, m, u, v = (10.0**x).tolist()

        def rates(u: float, v: float) -> Pair:
            eaten = a * u * v / (1.0 + a * t * u)
            return r * u * (1.0 - u / k) - eaten, e * eaten - m * v

        try:
            return _runge_kutta(rates, u, v, 0.2, 5, 25)
        except (OverflowError, ZeroDivisionError) as error:
            raise RuntimeError("integration failed: a population overflowed.") from error

    noise = np.random.default_rng(9).normal(0.0, 0.05, (26, 2))
    logs = [(math.log(u) + a, math.log(v) + b) for (u, v), (a, b) in zip(simulate(truth), noise.tolist(), strict=True)]

    def build(rng: np.random.Generator | None) -> Objective:
        return lambda x: _log_misfit(simulate(x), logs)

    return Problem(
        lower=truth - np.array([0.9, 0.7, 1.0, 1.2, 0.8, 0.9, 0.6, 0.8]),
        upper=truth + np.array([1.0, 0.9, 1.2, 0.8, 0.9, 1.0, 0.7, 1.0]),
        x0=truth + np.array([-0.2, 0.3, -0.3, 0.2, 0.2, -0.3, 0.2, -0.2]),
        budget=3_000,
        build=build,
        fails=True,
        sequential=125,
    )


PROBLEMS = (pinene, enzyme_chain, lynx_and_hare, plankton)
