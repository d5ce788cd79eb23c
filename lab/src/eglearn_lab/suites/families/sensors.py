"""Where to put sensors in the unit square."""

from __future__ import annotations

import numpy as np

from ..base import Array, Problem, uniform_box


def _grid(side: int) -> Array:
    axis = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def _kernel(a: Array, b: Array) -> Array:
    d2 = ((a[:, None] - b) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-d2 / (2 * 0.2**2)))


def field_sensors() -> Problem:
    """Ten thermometers that leave the least uncertainty of a field, where it matters. 20 coordinates.

    The mean posterior variance of a Gaussian process (length 0.2, error 0.1) over a grid, weighted by three centres of
    interest: Krause, Singh and Guestrin, J. Mach. Learn. Res. 9 (2008) 235.
    """
    grid = _grid(16)
    weight = 0.2 + _kernel(grid, np.array([(0.2, 0.3), (0.7, 0.8), (0.9, 0.2)])).sum(axis=1)
    weight /= weight.sum()

    def uncertainty(x: Array) -> float:
        places = x.reshape(-1, 2)
        cross = _kernel(places, grid)
        known = (cross * np.linalg.solve(_kernel(places, places) + 0.01 * np.eye(10), cross)).sum(axis=0)
        return float(weight @ (1.0 - known))

    return Problem(
        *uniform_box(20, 0, 1),
        x0=np.random.default_rng(21).uniform(0.3, 0.7, 20),
        budget=3_000,
        build=lambda rng: uncertainty,
    )


def camera_coverage() -> Problem:
    """Fifteen cameras of range 0.15 that leave the fewest of 900 places unseen, doors counting tenfold. 30 coordinates.

    Maximal covering (Church and ReVelle 1974) in the plane: the value is the share unseen, a step function.
    """
    grid = _grid(30)
    weight = np.ones(len(grid))
    weight[np.random.default_rng(22).choice(len(grid), 40, replace=False)] = 10.0
    weight /= weight.sum()

    def unseen(x: Array) -> float:
        d2 = ((grid[:, None] - x.reshape(-1, 2)) ** 2).sum(axis=-1)
        return float(weight @ (d2.min(axis=1) > 0.15**2))

    return Problem(
        *uniform_box(30, 0, 1),
        x0=np.random.default_rng(23).uniform(0.3, 0.7, 30),
        budget=5_000,
        build=lambda rng: unseen,
        steps=True,
    )


PROBLEMS = (field_sensors, camera_coverage)
