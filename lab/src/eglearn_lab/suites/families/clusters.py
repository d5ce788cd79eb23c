"""Atoms that attract each other: which arrangement has the lowest energy? Overlaps give huge values.

Lowest energies: Wales and Doye, *Cambridge Cluster Database*; for Lennard-Jones J. Phys. Chem. A 101 (1997) 5111, for
Morse J. Chem. Soc. Faraday Trans. 93 (1997) 4233.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base import Array, Build, Objective, Problem, uniform_box, with_noise

PairEnergy = Callable[[Array], Array]


def _lennard_jones(r2: Array) -> Array:
    s = 1.0 / np.maximum(r2, 1e-6) ** 3  # overlapping atoms: 4e36, not a division by zero
    return 4.0 * s * (s - 1.0)


def _morse(r2: Array, rho: float = 6.0) -> Array:
    bond = np.exp(rho * (1.0 - np.sqrt(r2)))
    return np.asarray(bond * (bond - 2.0))


def _build(atoms: int, pair_energy: PairEnergy, deviation: float) -> Build:
    i, j = np.triu_indices(atoms, 1)

    def energy(x: Array) -> float:
        points = x.reshape(atoms, 3)
        d = points[i] - points[j]
        return float(pair_energy((d * d).sum(axis=1)).sum())

    def build(rng: np.random.Generator | None) -> Objective:
        return with_noise(energy, rng, deviation)

    return build


def _cluster(
    atoms: int, half_width: float, budget: int, pair_energy: PairEnergy, best: float | None, deviation: float = 0.0
) -> Problem:
    """Start on a cubic grid of spacing 1.2, a little disordered."""
    side = int(np.ceil(np.cbrt(atoms)))
    grid = np.stack(np.meshgrid(*[np.arange(side) - (side - 1) / 2] * 3), axis=-1).reshape(-1, 3)
    nearest = np.argsort((grid**2).sum(axis=1), kind="stable")[:atoms]
    x0 = (1.2 * grid[nearest] + np.random.default_rng(atoms).uniform(-0.1, 0.1, (atoms, 3))).ravel()
    return Problem(
        *uniform_box(3 * atoms, -half_width, half_width),
        x0=x0,
        budget=budget,
        build=_build(atoms, pair_energy, deviation),
        best_known=best,
        noisy=deviation > 0,
        penalty=True,
    )


def lennard_jones_13() -> Problem:
    """Argon cluster of 13 atoms: the icosahedron. 39 coordinates, 12-6 potential of Lennard-Jones (1924)."""
    return _cluster(13, 2.0, 20_000, _lennard_jones, -44.326802)


def lennard_jones_38() -> Problem:
    """Argon cluster of 38 atoms, whose best form, an octahedron, is hidden among icosahedra. 114 coordinates."""
    return _cluster(38, 2.8, 50_000, _lennard_jones, -173.928428)


def morse_10() -> Problem:
    """Cluster of 10 atoms bound by the Morse potential (1929) of range rho = 6. 30 coordinates."""
    return _cluster(10, 2.0, 10_000, _morse, -27.4733)


def morse_30() -> Problem:
    """Cluster of 30 atoms bound by the Morse potential of range rho = 10: bonds are short, so the surface is rough."""
    return _cluster(30, 2.6, 30_000, lambda r2: _morse(r2, 10.0), None)


def lennard_jones_7_noisy() -> Problem:
    """Argon cluster of 7 atoms, energies from a simulation with statistical error 0.1. 21 coordinates."""
    return _cluster(7, 1.8, 3_000, _lennard_jones, -16.505385, deviation=0.1)


def morse_8_noisy() -> Problem:
    """Cluster of 8 atoms bound by the Morse potential, rho = 6, energies with statistical error 0.1. 24 coordinates."""
    return _cluster(8, 1.8, 3_000, _morse, -19.3274, deviation=0.1)


PROBLEMS = (lennard_jones_13, lennard_jones_38, morse_10, morse_30, lennard_jones_7_noisy, morse_8_noisy)
