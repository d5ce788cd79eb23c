"""From a learned gradient to the next candidate."""

from __future__ import annotations

import numpy as np

from .._typing import Array, Mask
from .models.base import CurvedFit


def gradient_step(gradient: Array, alpha: float, longest: float | None) -> Array:
    """The step -alpha g (alg. 2 and 3), optionally no longer than ``longest``.

    Examples
    --------
    >>> import numpy as np
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


def newton_step(fit: CurvedFit, gradient: Array, radius: float, free: Mask) -> Array:
    """The minimum of the model g . d + d H d / 2 over |d| <= radius, approximately.

    Conjugate gradients from d = 0, cut at the sphere (Steihaug 1983): the model's value falls in every iteration,
    directions of negative curvature are followed to the sphere, and H is only ever multiplied with vectors.

    Parameters
    ----------
    fit : CurvedFit
    gradient : (n,)
        The gradient at the candidate.
    radius : float
    free : (n,) of bool
        Coordinates that may move; the others are held (they sit at a face and would leave the box).
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
