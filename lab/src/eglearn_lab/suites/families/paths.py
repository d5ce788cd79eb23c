"""Ways through a field of obstacles or currents, as a chain of waypoints from (0, 0) to (10, 10)."""

from __future__ import annotations

import numpy as np

from ..base import Array, Objective, Problem, uniform_box

SAMPLES = 12
"""Points on each leg at which the field is read: mid-points of equal parts."""


def _legs(x: Array) -> tuple[Array, Array]:
    """Return the legs (legs, 2) and the points on them (legs, SAMPLES, 2)."""
    way = np.concatenate([[[0.0, 0.0]], x.reshape(-1, 2), [[10.0, 10.0]]])
    legs = np.diff(way, axis=0)
    parts = (np.arange(SAMPLES) + 0.5) / SAMPLES
    return legs, way[:-1, None] + parts[:, None] * legs[:, None]


def _hills(count: int, seed: int) -> tuple[Array, Array]:
    """Return centres (count, 2) and radii; none near the ends."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0.0, 10.0, (4 * count, 2))
    away = (np.linalg.norm(centres, axis=1) > 2) & (np.linalg.norm(centres - 10.0, axis=1) > 2)
    return centres[away][:count], rng.uniform(0.5, 1.2, count)


def _straight(waypoints: int) -> Array:
    return np.repeat(10.0 * np.arange(1, waypoints + 1) / (waypoints + 1), 2)


def _over_hills(waypoints: int, hills: int, budget: int, seed: int) -> Problem:
    centres, radii = _hills(hills, seed)

    def cost(x: Array) -> float:
        legs, points = _legs(x)
        d2 = ((points[:, :, None] - centres) ** 2).sum(axis=-1)
        climb = 6.0 * np.exp(-d2 / radii**2).sum(axis=-1).mean(axis=1)
        return float((np.sqrt((legs * legs).sum(axis=1)) * (1.0 + climb)).sum())

    return Problem(*uniform_box(2 * waypoints, -1, 11), x0=_straight(waypoints), budget=budget, build=lambda rng: cost)


def hill_path_20() -> Problem:
    """Cheapest road across 25 hills, 10 waypoints: the integral of 1 + 6 times the density of hills. 20 variables."""
    return _over_hills(10, 25, 5_000, seed=11)


def hill_path_80() -> Problem:
    """Cheapest road across 40 hills, 40 waypoints: the integral of 1 + 6 times the density of hills. 80 variables."""
    return _over_hills(40, 40, 20_000, seed=12)


def robot_path() -> Problem:
    """Shortest way of a robot between 24 round tables; each of the points read inside one costs 5. 16 variables."""
    centres, radii = _hills(24, seed=13)
    centres[:4] = np.array([2.6, 4.4, 6.1, 7.7])[:, None]  # the straight way is blocked

    def cost(x: Array) -> float:
        legs, points = _legs(x)
        inside = (((points[:, :, None] - centres) ** 2).sum(axis=-1) < radii**2).any(axis=-1)
        return float(np.sqrt((legs * legs).sum(axis=1)).sum() + 5.0 * inside.sum())

    return Problem(*uniform_box(16, 0, 10), x0=_straight(8), budget=3_000, build=lambda rng: cost, steps=True)


def ferry_route() -> Problem:
    """Fastest route of a boat across eddies (Zermelo 1931); NaN where it cannot hold its course. 24 variables.

    To move along the unit vector e in a current c, a boat of speed 1 makes c.e + sqrt(1 - (c x e)^2) over ground.
    """
    rng = np.random.default_rng(14)
    centres = rng.uniform(1.0, 9.0, (8, 2))
    turn = rng.choice([-1.0, 1.0], 8) * rng.uniform(0.3, 0.9, 8)

    def duration(x: Array) -> float:
        legs, points = _legs(x)
        length = np.sqrt((legs * legs).sum(axis=1)) + 1e-12
        e = (legs / length[:, None])[:, None]
        away = points[:, :, None] - centres
        swirl = turn * np.exp(-(away**2).sum(axis=-1) / 2.0)
        cx, cy = -(swirl * away[..., 1]).sum(axis=-1), (swirl * away[..., 0]).sum(axis=-1)
        across = cx * e[..., 1] - cy * e[..., 0]
        along = cx * e[..., 0] + cy * e[..., 1]
        speed = along + np.sqrt(np.maximum(1.0 - across**2, 0.0))
        if np.abs(across).max() > 1.0 or speed.min() < 0.05:
            return float("nan")
        return float((length * (1.0 / speed).mean(axis=1)).sum())

    def build(rng: np.random.Generator | None) -> Objective:
        return duration

    return Problem(*uniform_box(24, -1, 11), x0=_straight(12), budget=5_000, build=build, fails=True)


PROBLEMS = (hill_path_20, hill_path_80, robot_path, ferry_route)
