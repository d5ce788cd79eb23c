"""Charges on a sphere, as far from each other as they can be (Thomson 1904)."""

from __future__ import annotations

import numpy as np

from ..base import Array, Objective, Problem


def _thomson(charges: int, budget: int, best: float) -> Problem:
    i, j = np.triu_indices(charges, 1)

    def energy(x: Array) -> float:
        polar, azimuth = x[:charges], x[charges:]
        s = np.sin(polar)
        p = np.stack([s * np.cos(azimuth), s * np.sin(azimuth), np.cos(polar)])
        d = p[:, i] - p[:, j]
        return float((1.0 / np.sqrt(np.maximum((d * d).sum(axis=0), 1e-12))).sum())

    def build(rng: np.random.Generator | None) -> Objective:
        return energy

    start = np.random.default_rng(charges).random((2, charges))
    return Problem(
        lower=np.zeros(2 * charges),
        upper=np.repeat([np.pi, 2 * np.pi], charges),
        x0=np.concatenate([np.arccos(1 - 2 * start[0]), 2 * np.pi * start[1]]),
        budget=budget,
        build=build,
        best_known=best,
    )


def thomson_24() -> Problem:
    """24 electrons on a sphere, two angles each; best values: Wales and Ulker, Phys. Rev. B 74 (2006) 212101."""
    return _thomson(24, 10_000, 223.347074)


def thomson_50() -> Problem:
    """50 electrons on a sphere, two angles each; best values: Wales and Ulker, Phys. Rev. B 74 (2006) 212101."""
    return _thomson(50, 20_000, 1055.182314)


PROBLEMS = (thomson_24, thomson_50)
