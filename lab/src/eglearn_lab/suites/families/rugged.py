"""Rotated test functions with plateaus, cliffs, kinks, penalties and noise. The least value is 0, off the centre.

Forms after Rastrigin (1974), Griewank (1981), Rosenbrock (1960) and Schaffer, as in Hansen et al., *Real-parameter
black-box optimization benchmarking: function definitions* (2009), each with a difficulty added. z = Q (x - optimum), Q
a random rotation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base import Array, Build, Problem, rotation, uniform_box, with_noise


def _optimum(n: int, half_width: float) -> Array:
    return np.random.default_rng(200 + n).uniform(-0.6, 0.6, n) * half_width


def _rotated(n: int, of_z: Callable[[Array], float], deviation: float = 0.0) -> Build:
    """Return a build of a function of z in the box [-5, 5]^n."""
    q, optimum = rotation(n, seed=n), _optimum(n, 5.0)
    return lambda rng: with_noise(lambda x: of_z(q @ (x - optimum)), rng, deviation)


def _start(n: int) -> Array:
    return np.random.default_rng(300 + n).uniform(-4, 4, n)


def rastrigin_plateaus_10() -> Problem:
    """Many hills, and values reported in steps of 0.5. 10 variables."""

    def value(z: Array) -> float:
        return float(np.floor(2.0 * (10.0 * (1.0 - np.cos(2 * np.pi * z)) + z * z).sum()) / 2.0)

    return Problem(
        *uniform_box(10, -5, 5), x0=_start(10), budget=10_000, build=_rotated(10, value), best_known=0.0, steps=True
    )


def griewank_cliffs_20() -> Problem:
    """Ripples on a bowl, with a cliff of height 20 on one side of each of five directions. 20 variables."""

    def value(z: Array) -> float:
        ripples = 1.0 - np.prod(np.cos(2.0 * z[:10] / np.sqrt(np.arange(1, 11))))
        return float(ripples + 0.05 * (z @ z) + 20.0 * (z[:5] > 0.3).sum())

    return Problem(
        *uniform_box(20, -5, 5), x0=_start(20), budget=10_000, build=_rotated(20, value), best_known=0.0, steps=True
    )


def kinked_valley_40() -> Problem:
    """Rosenbrock's valley with absolute values in place of squares, rotated. 40 variables."""

    def value(z: Array) -> float:
        z = z + 1.0
        return float((10.0 * np.abs(z[1:] - z[:-1] ** 2) + np.abs(1.0 - z[:-1])).sum())

    return Problem(
        *uniform_box(40, -5, 5), x0=_start(40), budget=40_000, build=_rotated(40, value), best_known=0.0, kinks=True
    )


def forbidden_bands_15() -> Problem:
    """A bowl of condition 1e4, crossed by forbidden bands in four directions, which cost 1e9. 15 variables."""
    axes = 10.0 ** np.linspace(0, 4, 15)

    def value(z: Array) -> float:
        place = np.mod(z[:4], 2.0)
        return 1e9 if ((place > 0.8) & (place < 1.2)).any() else float(axes @ (z * z))

    return Problem(
        *uniform_box(15, -5, 5),
        x0=_start(15),
        budget=10_000,
        build=_rotated(15, value),
        best_known=0.0,
        steps=True,
        penalty=True,
    )


def ellipsoid_noisy_20() -> Problem:
    """A bowl of condition 1e4, measured with error 1. 20 variables."""
    axes = 10.0 ** np.linspace(0, 4, 20)
    return Problem(
        *uniform_box(20, -5, 5),
        x0=_start(20),
        budget=5_000,
        build=_rotated(20, lambda z: float(axes @ (z * z)), deviation=1.0),
        best_known=0.0,
        noisy=True,
    )


def schaffer_noisy_10() -> Problem:
    """Fast ripples that grow with the distance from the optimum, measured with error 0.1. 10 variables."""

    def value(z: Array) -> float:
        s = np.sqrt(z[:-1] ** 2 + z[1:] ** 2)
        return float((np.sqrt(s) * (1.0 + np.sin(50.0 * s**0.2) ** 2)).mean() ** 2)

    return Problem(
        *uniform_box(10, -5, 5),
        x0=_start(10),
        budget=5_000,
        build=_rotated(10, value, deviation=0.1),
        best_known=0.0,
        noisy=True,
    )


def _chain(n: int, budget: int, rounding: float) -> Problem:
    """Neighbours in a random order are tied by absolute differences; the rest is a bowl of condition 100."""
    rng = np.random.default_rng(n)
    order, optimum = rng.permutation(n), _optimum(n, 5.0)
    weight = 10.0 ** rng.uniform(0, 2, n)

    def value(x: Array) -> float:
        z = (x - optimum)[order]
        total = float(weight @ (z * z) + 20.0 * np.abs(np.diff(z)).sum())
        return float(np.floor(total / rounding) * rounding) if rounding else total

    return Problem(
        *uniform_box(n, -5, 5),
        x0=np.zeros(n),
        budget=budget,
        build=lambda rng: value,
        best_known=0.0,
        kinks=True,
        steps=rounding > 0,
    )


def coupled_chain_1000() -> Problem:
    """A chain of 1,000 coupled settings: squares of each plus absolute differences of neighbours. 1,000 variables."""
    return _chain(1000, 50_000, rounding=0.0)


def coupled_chain_300() -> Problem:
    """A chain of 300 coupled settings, values reported in steps of 1. 300 variables."""
    return _chain(300, 20_000, rounding=1.0)


PROBLEMS = (
    rastrigin_plateaus_10,
    griewank_cliffs_20,
    kinked_valley_40,
    forbidden_bands_15,
    ellipsoid_noisy_20,
    schaffer_noisy_10,
    coupled_chain_1000,
    coupled_chain_300,
)
