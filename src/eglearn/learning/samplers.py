"""Where to sample around the candidate: offsets in the unit ball, to be scaled by eps (paper app. H).

Each sampler takes a generator, the number of offsets, the dimension, and the descent direction (the negative
learned gradient, any length; zeros while nothing is known) which only the cones use.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy.special import betainc

from .._typing import Array

Sampler = Callable[[Generator, int, int, Array], Array]


def directions(rng: Generator, k: int, n: int) -> Array:
    """``k`` unit vectors, uniform on the sphere."""
    gauss = rng.standard_normal((k, n))
    return np.asarray(gauss / np.linalg.norm(gauss, axis=1, keepdims=True))


def ball(rng: Generator, k: int, n: int) -> Array:
    """Uniform in the volume of the unit ball: the paper's text."""
    return directions(rng, k, n) * rng.random((k, 1)) ** (1 / n)


def ball_radius(rng: Generator, k: int, n: int) -> Array:
    """A uniform direction times a uniform radius: the authors' code, denser at the centre."""
    return directions(rng, k, n) * rng.random((k, 1))


def gaussian(rng: Generator, k: int, n: int) -> Array:
    """Normal offsets of root-mean-square length 1, so that eps means the same distance as for a ball."""
    return rng.standard_normal((k, n)) / math.sqrt(n)


def cone(rng: Generator, k: int, n: int, direction: Array, aperture: float) -> Array:
    """Uniform in the volume of the unit ball's intersection with a cone around ``direction``.

    ``aperture`` is the full opening angle in (0, pi]; pi is the half-space.

    >>> axis = np.array([0.0, 0.0, 2.0])
    >>> bool((cone(np.random.default_rng(0), 100, 3, axis, np.pi / 2)[:, 2] > 0).all())
    True
    """
    largest = np.max(np.abs(direction))
    if not largest > 0:
        return ball(rng, k, n)
    # In two steps, since the square of a long or short direction may leave the range of floats.
    axis: Array = direction / largest
    axis /= np.linalg.norm(axis)
    radius = rng.random((k, 1)) ** (1 / n)
    if n == 1:
        return axis * radius
    sideways = rng.standard_normal((k, n))
    sideways -= np.outer(sideways @ axis, axis)
    sideways /= np.linalg.norm(sideways, axis=1, keepdims=True)
    square = _square_sines(rng, k, n, math.sin(aperture / 2) ** 2)[:, None]
    return radius * (np.sqrt(1 - square) * axis + np.sqrt(square) * sideways)


def _square_sines(rng: Generator, k: int, n: int, largest: float) -> Array:
    """sin^2 of the angles to the axis: density s^((n-3)/2) (1-s)^(-1/2) on [0, largest]."""
    a = (n - 1) / 2
    found: list[Array] = [np.empty(0)]
    missing = k
    # A wide cone holds a good part of the half-ball: draw there (a beta law) and cut. A narrow one does not; there
    # the power law s^((n-3)/2) is close to the density, and thinning by the other factor makes it exact.
    wide = betainc(a, 0.5, largest) > 0.1
    while missing > 0:
        if wide:
            s = rng.beta(a, 0.5, 4 * missing)
            s = s[s <= largest]
        else:
            s = largest * rng.random(4 * missing) ** (1 / a)
            s = s[rng.random(len(s)) <= np.sqrt((1 - largest) / (1 - s))]
        found.append(s[:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def folded(u: Array) -> Array:
    """Points mirrored into the cube at its faces, as often as it takes.

    >>> folded(np.array([0.5, 1.25, -4.0])).tolist()
    [0.5, 0.75, 0.0]
    """
    if (np.abs(u) <= 1).all():
        return u
    wave = np.mod(u + 1, 4)
    return np.where(np.abs(u) <= 1, u, np.clip(1 - np.abs(wave - 2), -1, 1))


def unfolded(u: Array, near: Array) -> Array:
    """The points nearest to others whose mirror images are ``u``.

    >>> unfolded(np.array([0.5, 0.75, 0.0]), np.array([0.4, 1.3, -4.1])).tolist()
    [0.5, 1.25, -4.0]
    """
    same = u + 4 * np.round((near - u) / 4)
    if (np.abs(near) <= 1).all():  # most of the time
        return u.copy()
    mirrored = 2 - u + 4 * np.round((near - 2 + u) / 4)
    nearest: Array = np.where(np.abs(same - near) <= np.abs(mirrored - near), same, mirrored)
    return np.where(folded(near) == u, near, nearest)


def mirrored_offsets(middle: Array, offsets: Array) -> Array:
    """Points ``middle + offsets``; coordinates that would leave the cube go the opposite way.

    >>> mirrored_offsets(np.array([0.5, 0.0]), np.array([[0.75, 0.5]])).tolist()
    [[-0.25, 0.5]]
    """
    u = middle + offsets
    return np.clip(np.where(np.abs(u) > 1, middle - offsets, u), -1, 1)


def sampler(kind: str, aperture: float) -> Sampler:
    """The sampler named ``kind`` in Settings.exploration."""

    def sample(rng: Generator, k: int, n: int, direction: Array) -> Array:
        if kind in _ROUND:
            return _ROUND[kind](rng, k, n)
        inside = k if kind == "cone" else k // 2
        return np.concatenate([cone(rng, inside, n, direction, aperture), ball(rng, k - inside, n)])

    return sample


_ROUND = {"ball": ball, "ball-radius": ball_radius, "gaussian": gaussian}
EXPLORATIONS = (*_ROUND, "cone", "cone-ball")
