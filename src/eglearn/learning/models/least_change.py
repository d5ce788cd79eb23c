"""The model that the passes share: a gradient affine in the point, and where its potential is lowest.

A gradient field g + H p with symmetric H is that of the quadratic g . p + p . H p / 2. With fewer samples than
unknowns many fit; taken is the one whose H differs least, in the Frobenius norm, from the H known before (Powell
2004: least Frobenius norm updating). Curvature is thus collected over many batches, each with a few samples.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from ..._typing import Array
from ..steps import length

# Against a unit change of H: how much value and gradient may vary, squared; nearly free.
_FREE = 1e4
# Weight of exact interpolation against least change; also what keeps the equations solvable.
_RIDGE = 1e-8
# Within this distance, the newest samples are taken; beyond, the nearest.
_NEAR = 1.2
# Values so many times further off than the median are left out: the penalty of an infeasible point, say, which would
# drown all others.
_OUTLIER = 1e6


def memory(n: int) -> int:
    """S, the number of samples in a fit."""
    return 3 * n + 20


def median(values: Array | list[float]) -> float:
    """The median of those that are no NaN, also where the sum of two overflows."""
    return 2 * float(np.nanmedian(np.asarray(values) / 2))


def differences(y: Array, origin: float, exponent: int) -> Array:
    """(y - origin) / 4 in units of 2^exponent; quartered first, since a difference of huge values overflows."""
    with np.errstate(over="ignore"):
        scaled: Array = np.ldexp(y * 0.25 - origin * 0.25, -exponent)
    return scaled


def exponent_of(values: Array) -> int:
    """The power of two above all of ``values``; a unit by which division is exact."""
    return int(math.frexp(float(np.max(np.abs(values), initial=0.0)))[1])


class LeastChange:
    """The least-change model.

    Parameters
    ----------
    H : (n, n)
        The Hessian in the cube's coordinates, for values as ``differences`` gives them.
    exponent : int
        Their unit.
    """

    def __init__(self, H: Array, exponent: int = 0) -> None:
        self.H, self.exponent = H, exponent

    def fit(self, u: Array, y: Array, centre: Array, value: float, A: Array, inverse: Array) -> tuple[Array, Array]:
        """Learn from samples; returns gradient and Hessian at the centre in the coordinates z, u = centre + A z.

        Parameters
        ----------
        u : (k, n)
        y : (k,)
            Finite values, oldest first.
        centre : (n,)
        value : float
            About the value at the centre; what the fit takes differences from.
        A, inverse : (n, n)
            Coordinates in which the samples that matter have length 1.
        """
        z = (u - centre) @ inverse.T
        distance = np.sqrt(np.einsum("ij,ij->i", z, z))
        chosen = np.lexsort((-np.arange(len(y)), np.maximum(distance, _NEAR)))[: memory(len(centre))]
        quarters = y[chosen] * 0.25 - value * 0.25
        middle = float(np.median(np.abs(quarters)))
        if middle > 0:
            usual = np.abs(quarters) * (1 / _OUTLIER) <= middle
            chosen, quarters = chosen[usual], quarters[usual]
        z, distance = z[chosen], distance[chosen]
        self._change_unit(quarters)
        H = A.T @ self.H @ A
        residual = np.ldexp(quarters, -self.exponent) - 0.5 * np.einsum("ij,ij->i", z @ H, z)
        # The minimiser is value = F sum a, g = F sum a z, dH = sum a z z^T, where K a = residual (Lagrange).
        gram = z @ z.T
        K = _FREE + _FREE * gram + 0.5 * gram * gram
        # The error of a quadratic grows with the cube of the distance.
        K.flat[:: len(K) + 1] += _RIDGE * np.trace(K) / len(K) * np.maximum(distance, 1.0) ** 6
        _, a, trouble = lapack.dposv(K.T, residual, overwrite_a=1)
        if trouble != 0 or not np.isfinite(a).all():
            return np.zeros_like(centre), H
        change = (z.T * a) @ z
        back = inverse.T @ change @ inverse
        new = self.H + 0.5 * (back + back.T)
        if not np.isfinite(new).all():
            return np.zeros_like(centre), H
        self.H = new
        return _FREE * (z.T @ a), H + 0.5 * (change + change.T)

    def _change_unit(self, quarters: Array) -> None:
        """Choose the unit such that the largest of the values is about 1."""
        if not quarters.any():
            return
        exponent = exponent_of(quarters)
        with np.errstate(over="ignore"):
            self.H = np.ldexp(self.H, self.exponent - exponent)
        if not np.isfinite(self.H).all():
            self.H = np.zeros_like(self.H)
        self.exponent = exponent


def ball_step(g: Array, H: Array, radius: float) -> Array:
    """The minimum of g . p + p . H p / 2 over |p| <= radius (Moré and Sorensen 1983, by eigenvectors)."""
    if not (np.isfinite(g).all() and np.isfinite(H).all()):
        return np.zeros_like(g)  # beyond the range of floats: no step rather than a wild one
    curvature, V = np.linalg.eigh(H)
    slope = V.T @ g
    if curvature[0] > 0 and (np.abs(slope) <= radius * curvature).all():  # no component is too long, none overflows
        p = -slope / curvature
        if length(p) <= radius:
            inside: Array = V @ p
            return inside
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
