"""From a learned gradient to the next candidate: steps along it, and minima of a quadratic within a radius."""

from __future__ import annotations

import math

import numpy as np

from .._typing import Array, Mask
from .models.base import CurvedFit


def gradient_step(gradient: Array, alpha: float, longest: float | None) -> Array:
    """The step -alpha g (alg. 2 and 3), optionally no longer than ``longest``.

    >>> gradient_step(np.array([3.0, 4.0]), alpha=1.0, longest=0.5).tolist()
    [-0.3, -0.4]
    """
    step = -alpha * gradient
    if longest is not None and length(step) > longest:
        step = step / np.max(np.abs(step))
        step = step / np.linalg.norm(step) * longest
    return step


def length(d: Array) -> float:
    """The norm of a vector; infinite only if it is itself beyond the largest float, not its square."""
    largest = float(np.max(np.abs(d), initial=0.0))
    return largest * float(np.linalg.norm(d / largest)) if largest > 0 else 0.0


def unit_rows(rows: Array) -> Array:
    """The rows, each of length 1; those of length 0 stay."""
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(np.divide(rows, size, out=np.zeros_like(rows), where=size > 0))


def newton_step(fit: CurvedFit, gradient: Array, radius: float, free: Mask) -> Array:
    """The minimum of the model g . d + d H d / 2 over |d| <= radius, approximately.

    Conjugate gradients from d = 0, cut at the sphere (Steihaug 1983): the model's value falls in every iteration,
    directions of negative curvature are followed to the sphere, and H is only ever multiplied with vectors. Coordinates
    that are not free are held: they sit at a face and would leave the box.
    """
    step = np.zeros_like(gradient)
    # In units of the gradient's size: squares of very large or small values leave the range of floats.
    size = float(np.max(np.abs(gradient), initial=0.0)) or 1.0
    residual = np.where(free, -gradient / size, 0.0)
    direction = residual
    square = first = float(residual @ residual)
    # n iterations are exact without rounding; a millionth of the gradient is beyond what samples can tell.
    for _ in range(len(gradient)):
        if not square > 1e-12 * first:
            break
        curved = np.where(free, fit.hessian_product(direction) / size, 0.0)
        curvature = float(direction @ curved)
        to_sphere = _to_sphere(step, direction, radius)
        to_minimum = square / curvature if curvature > 0 else np.inf
        if not to_minimum < to_sphere:
            return step + to_sphere * direction
        step = step + to_minimum * direction
        residual = residual - to_minimum * curved
        square, last = float(residual @ residual), square
        direction = residual + (square / last) * direction
    return step


def _to_sphere(start: Array, direction: Array, radius: float) -> float:
    """The t >= 0 at which start + t direction, starting inside, reaches the sphere."""
    a, b, c = direction @ direction, start @ direction, start @ start - radius**2
    return float(-c / (b + np.sqrt(b * b - a * c))) if a > 0 else 0.0


def ball_step(g: Array, H: Array, radius: float) -> Array:
    """The minimum of g . p + p . H p / 2 over |p| <= radius (Moré and Sorensen 1983, by eigenvectors)."""
    if not (np.isfinite(g).all() and np.isfinite(H).all()):
        return np.zeros_like(g)  # beyond the range of floats: no step rather than a wild one
    curvature, V = np.linalg.eigh(H)
    slope = V.T @ g
    if curvature[0] > 0 and (np.abs(slope) <= radius * curvature).all():  # no component is too long, none overflows
        p = -slope / curvature
        if length(p) <= radius:
            return np.asarray(V @ p)
    # p = -(H + shift)^-1 g. At the first shift no component is longer than the radius, and one may be just as long:
    # |p| >= radius, from where Newton's method on 1 / |p| rises to the solution without passing it.
    shift = max(0.0, float(np.max(np.abs(slope) / radius - curvature)))
    for _ in range(50):
        below = curvature + shift
        p = np.divide(-slope, below, out=np.zeros_like(slope), where=below > 0)
        size = length(p)
        if not size > radius * (1 + 1e-10):
            break
        unit = p / size
        shift += (size / radius - 1) / float(np.sum(np.divide(unit**2, below, out=np.zeros_like(p), where=below > 0)))
    if size < radius and curvature[0] < 0:  # no slope along the most negative curvature: either way is as good
        p[0] += math.sqrt(max(radius**2 - size**2, 0.0))
    step: Array = V @ p
    return step * min(1.0, radius / length(step)) if step.any() else step


def box_step(g: Array, H: Array, centre: Array, radius: float) -> Array:
    """As ``ball_step``, with centre + p in the cube.

    Coordinates are held at the faces while the slope presses them there, else released (Hintermüller, Ito, Kunisch
    2002); of a few rounds the best is taken. The first clips the step without faces, which may gain nothing.
    """
    best, best_gain = np.zeros_like(g), 0.0
    held = np.zeros(len(g), dtype=bool)
    p = np.zeros_like(g)
    for _ in range(6):
        left = radius**2 - float(p[held] @ p[held])
        if held.all() or left <= 0:
            break
        free = ~held
        p[free] = ball_step(g[free] + H[np.ix_(free, held)] @ p[held], H[np.ix_(free, free)], math.sqrt(left))
        outside = np.abs(centre + p) > 1
        p = np.clip(centre + p, -1, 1) - centre
        slope = g + H @ p
        gain = -0.5 * float(p @ (g + slope))
        if gain > best_gain:
            best, best_gain = p.copy(), gain
        pressed = held & (slope * (centre + p) < 0)
        if (held == (pressed | outside)).all():
            break
        held = pressed | outside
    return best
