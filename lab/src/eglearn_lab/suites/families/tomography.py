"""An image from travel times of rays: how slow is each cell of the ground?

Straight rays between random points of two sides of the unit square; the misfit of travel times (mean square, in units
of a 1 % error) plus total variation (Rudin, Osher and Fatemi 1992), which has kinks where neighbours are equal.
"""

from __future__ import annotations

import numpy as np

from ..base import Array, Problem, uniform_box

READINGS = 400


def _rays(side: int, count: int, rng: np.random.Generator) -> Array:
    """Return the length of each ray in each cell, (count, side^2), from ``READINGS`` points on it."""
    left = np.stack([np.zeros(count), rng.random(count)], axis=1)
    right = np.stack([np.ones(count), rng.random(count)], axis=1)
    upright = rng.random(count) < 0.5
    left[upright], right[upright] = left[upright][:, ::-1], right[upright][:, ::-1]
    t = (np.arange(READINGS) + 0.5) / READINGS
    points = left[:, None] + t[:, None] * (right - left)[:, None]
    cell = np.minimum((side * points).astype(int), side - 1) @ np.array([side, 1])
    row = np.repeat(np.arange(count), READINGS)
    hits = np.bincount(row * side**2 + cell.ravel(), minlength=count * side**2).reshape(count, -1)
    return np.asarray(hits * np.linalg.norm(right - left, axis=1)[:, None] / READINGS)


def _tomography(side: int, rays: int, budget: int) -> Problem:
    rng = np.random.default_rng(side)
    axis = (np.arange(side) + 0.5) / side
    east, north = np.meshgrid(axis, axis)
    truth = 0.3 + 0.5 * (np.hypot(east - 0.35, north - 0.6) < 0.22) - 0.2 * (north < 0.25) * (east > 0.4)
    lengths = _rays(side, rays, rng)
    times = lengths @ truth.ravel()
    times *= 1.0 + 0.01 * rng.standard_normal(rays)
    unit = 0.01 * times.mean()

    def misfit(x: Array) -> float:
        image = x.reshape(side, side)
        variation = np.abs(np.diff(image, axis=0)).sum() + np.abs(np.diff(image, axis=1)).sum()
        return float((((lengths @ x - times) / unit) ** 2).mean() + 0.2 * variation)

    return Problem(
        *uniform_box(side * side, 0, 1),
        x0=np.full(side * side, 0.5),
        budget=budget,
        build=lambda rng: misfit,
        kinks=True,
    )


def tomography_100() -> Problem:
    """Ground of 10 x 10 cells from 80 rays. 100 variables."""
    return _tomography(10, 80, 20_000)


def tomography_400() -> Problem:
    """Ground of 20 x 20 cells from 250 rays. 400 variables."""
    return _tomography(20, 250, 50_000)


PROBLEMS = (tomography_100, tomography_400)
