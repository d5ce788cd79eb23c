"""Descent along a gradient that is learned piece by piece, with curvature in the few directions that matter."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array
from ..learning.models.least_change import LeastChange, ball_step, differences, exponent_of, memory
from ..learning.steps import length
from .base import Search
from .trust_region import default_batch

# The pass has converged when its samples are this close to the candidate.
_SMALLEST = 1e-9
# Directions with a curvature of their own, at most.
_ACTIVE = 20
# The share of a batch that is sampled in them.
_INSIDE = 1 / 3
# Batches between two changes of the directions.
_EVERY = 3
# Curvatures above that of the rest are divided out at most to this ratio.
_CONDITION = 1e8
# How fast the trust region shrinks: slowly, since a batch renews only a small part of the gradient.
_SHRINK = 0.75
# Samples farther than so many radii outside the active directions say little about them.
_FAR = 10.0


class SubspaceTrustRegion(Search):
    """From a point downhill, with fewer evaluations than a gradient takes.

    The model is g . p + p_V . H p_V / 2 + c |p_W|^2 / 2, where p_V are the components of p in k active directions, the
    columns of V, and p_W is the rest. Each batch is a candidate, the model's minimum within the trust region; samples
    in the active directions, from which H and the gradient there are learned by least change (``LeastChange``); and
    samples on other orthonormal directions, each of which corrects the gradient along itself only. What was learned of
    the gradient before is carried along by the model. Where the rest of the gradient points, a new active direction
    begins, in place of the one with the least curvature.

    Parameters
    ----------
    rng, start
        See ``Search``.
    delta : float
        The first radius.
    m : int or None
        Points in a batch; None: by the dimension.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Search.fields,
        *("delta", "m", "batches", "exponent", "V", "H", "g", "c", "u", "y", "signs", "order"),
        *("inside", "middle", "at_candidate", "ratio", "predicted", "reach"),
    )

    def __init__(self, rng: np.random.Generator, start: Array, delta: float = 0.2, m: int | None = None) -> None:
        super().__init__(rng, start)
        n = self.n
        self.delta = delta
        self.m = m if m is not None else default_batch(n)
        self.batches = 0
        self.exponent = 0
        """Unit of all values, see ``differences``."""
        self.V, self.H = np.empty((n, 0)), np.empty((0, 0))
        self.g, self.c = np.zeros(n), 0.0
        """The gradient at the best point."""
        self.u, self.y = np.empty((0, n)), np.empty(0)
        """Candidates and samples in the active directions, oldest first."""
        self.signs, self.order = np.ones(n), np.empty(0, dtype=np.int64)
        """Of the basis of directions: signs, and numbers of those not used yet."""
        self.inside = 0
        """Samples of the batch in the active directions."""
        self.middle, self.at_candidate = start.copy(), True
        """The point around which the batch is sampled."""
        self.ratio = self.predicted = self.reach = 0.0
        """Actual over predicted gain of the last candidate; the latter; length of the step over the radius."""

    @property
    def radius(self) -> float:
        """The trust region's."""
        return self.delta

    # --- proposing ----------------------------------------------------------------------------------------------

    def propose(self) -> Array:
        """The candidate and samples around it, or, after a bad prediction, around the best point."""
        candidate = self.best_u
        if self.batches:
            candidate = self._candidate()
        self.inside = min(int(_INSIDE * self.m), self.V.shape[1])
        self.at_candidate = self.batches == 0 or self.ratio > 0.25
        self.middle = candidate if self.at_candidate else self.best_u
        count = self.m - 1 - self.inside if self.batches else 2 * self.m
        offsets = np.vstack([self._inner(self.inside), self._outer(count)])
        offsets *= self.rng.choice([-self.delta, self.delta], (len(offsets), 1))
        u = self.middle + offsets
        return np.vstack([candidate, np.clip(np.where(np.abs(u) > 1, self.middle - offsets, u), -1, 1)])

    def _candidate(self) -> Array:
        """The model's minimum in the metric that shortens steep active directions, clipped to the cube."""
        k = self.V.shape[1]
        A, _ = self._metric()
        inner = self.V.T @ self.g
        outer = self.g - self.V @ inner
        slope = length(outer)
        H = np.zeros((k + 1, k + 1))
        H[:k, :k], H[k, k] = A @ self.H @ A, self.c
        z = ball_step(np.append(A @ inner, slope), H, self.delta)
        p = self.V @ (A @ z[:k])
        if slope > 0:
            p += outer * (z[k] / slope)
        candidate: Array = np.clip(self.best_u + p, -1, 1)
        p = candidate - self.best_u
        self.predicted = -float(self.g @ p + 0.5 * p @ self._product(p))
        self.reach = length(z) / self.delta
        return candidate

    def _product(self, p: Array) -> Array:
        """The model's Hessian times p."""
        inner = self.V.T @ p
        product: Array = self.c * p + self.V @ (self.H @ inner - self.c * inner)
        return product

    def _metric(self) -> tuple[Array, Array]:
        """A and its inverse: active directions steeper than the rest are as much shorter as makes them equal."""
        curvature, E = np.linalg.eigh(self.H)
        flat = self.c if self.c > 0 or not len(E) else float(np.median(np.abs(curvature)))
        if flat <= 0:
            return np.eye(len(E)), np.eye(len(E))
        factor = np.sqrt(np.clip(np.abs(curvature) / flat, 1.0, _CONDITION))
        return (E / factor) @ E.T, (E * factor) @ E.T

    def _inner(self, count: int) -> Array:
        """Random orthonormal active directions, in the metric."""
        if count == 0:
            return np.empty((0, self.n))
        q, _ = np.linalg.qr(self.rng.standard_normal((self.V.shape[1], count)))
        A, _ = self._metric()
        directions: Array = (self.V @ (A @ q)).T
        return directions

    def _outer(self, count: int) -> Array:
        """The next directions of a basis, without their active parts.

        The basis is that of the cosine transform with random signs: orthonormal, but without n^3 operations.
        """
        n = self.n
        if len(self.order) < count:
            self.signs, self.order = self.rng.choice([-1.0, 1.0], n), self.rng.permutation(n)
        chosen, self.order = self.order[:count], self.order[count:]
        q = np.cos(np.pi / n * np.outer(chosen, np.arange(n) + 0.5)) * (self.signs * math.sqrt(2 / n))
        q -= (q @ self.V) @ self.V.T
        size = np.sqrt(np.einsum("ij,ij->i", q, q))[:, None]
        directions: Array = np.divide(q, size, out=np.zeros_like(q), where=size > 0)
        return directions

    # --- learning -----------------------------------------------------------------------------------------------

    def _learn(self, u: Array, y: Array) -> None:
        first = self.batches == 0
        if first and math.isnan(y[0]):
            self.done = "failed"
            return
        value = float(y[0]) if first else self.best_y
        self._change_unit(y * 0.25 - value * 0.25)
        v = differences(y, value, self.exponent)
        if not first:
            self._judge(float(v[0]))
        at_middle = float(v[0]) if self.at_candidate else 0.0
        if not math.isnan(at_middle):
            self._correct(u[1 + self.inside :] - self.middle, v[1 + self.inside :] - at_middle)
        before = self.best_u
        self._note_best(u, y)
        self.g = self.g + self._product(self.best_u - before)
        self.batches += 1
        kept = np.flatnonzero(np.isfinite(y[: 1 + self.inside]))
        size = 3 * memory(_ACTIVE)
        self.u, self.y = np.vstack([self.u, u[kept]])[-size:], np.append(self.y, y[kept])[-size:]
        if first or self.batches % _EVERY == 0:
            self._change_directions()
        self._fit()
        if self.delta <= _SMALLEST:
            self.done = "converged"

    def _change_unit(self, quarters: Array) -> None:
        """Choose the unit such that the largest of the finite values is about 1."""
        quarters = quarters[np.isfinite(quarters)]
        if not quarters.any():
            return
        shift = self.exponent - exponent_of(quarters)
        self.exponent -= shift
        with np.errstate(over="ignore"):
            self.g, self.H = np.ldexp(self.g, shift), np.ldexp(self.H, shift)
            self.predicted, self.c = (float(v) for v in np.ldexp([self.predicted, self.c], shift))
        if not (math.isfinite(self.c) and np.isfinite(self.g).all() and np.isfinite(self.H).all()):
            # What was learned from values beyond comparison with these is of no use for them.
            self.g, self.H = np.zeros_like(self.g), np.zeros_like(self.H)
            self.predicted = self.c = 0.0

    def _judge(self, change: float) -> None:
        """Change the radius by how good the prediction was; a failed candidate is a bad one."""
        self.ratio = -change / self.predicted if self.predicted > 0 and not math.isnan(change) else -1.0
        if self.ratio > 0.7 and self.reach > 0.9:
            self.delta = min(2 * self.delta, 1.0)
        elif self.ratio < 0.1:
            self.delta *= _SHRINK
        elif self.reach < 0.3:
            self.delta *= max(_SHRINK, 2 * self.reach)

    def _correct(self, z: Array, v: Array) -> None:
        """Correct c and the gradient by samples outside the active directions."""
        squares = np.einsum("ij,ij->i", z, z)
        good = np.isfinite(v) & (squares > 0)
        if not good.any():
            return
        z, v, squares = z[good], v[good], squares[good]
        g = self.g + self._product(self.middle - self.best_u)
        inner = z @ self.V
        residual = v - z @ g - 0.5 * np.einsum("ij,ij->i", inner @ self.H - self.c * inner, inner)
        # Directions have random signs: on average the slopes cancel, and what is left is the curvature.
        curvature = 2 * float(np.sum(residual * squares) / np.sum(squares**2))
        weight = min(1.0, 3 * len(v) / self.n) if self.batches else 1.0
        self.c = max(0.0, self.c + weight * (curvature - self.c))
        self.g = self.g + z.T @ (residual / squares - 0.5 * self.c)

    def _change_directions(self) -> None:
        """A new active direction along the rest of the gradient."""
        outer = self.g - self.V @ (self.V.T @ self.g)
        if not length(outer) > 0:
            return
        if self.V.shape[1] == min(_ACTIVE, self.n):
            curvature, E = np.linalg.eigh(self.H)
            kept = np.sort(np.argsort(np.abs(curvature), kind="stable")[1:])
            self.V, self.H = self.V @ E[:, kept], np.diag(curvature[kept])
            outer = self.g - self.V @ (self.V.T @ self.g)
        outer /= length(outer)
        outer -= self.V @ (self.V.T @ outer)
        k = self.V.shape[1]
        H = np.zeros((k + 1, k + 1))
        H[:k, :k], H[k, k] = self.H, self.c
        self.V, self.H = np.column_stack([self.V, outer / length(outer)]), H

    def _fit(self) -> None:
        """Learn H and the gradient in the active directions."""
        z = self.u - self.best_u
        inner = z @ self.V
        outer = z - inner @ self.V.T
        distances = np.einsum("ij,ij->i", outer, outer)
        near = distances < (_FAR * self.delta) ** 2
        slope = self.V.T @ self.g
        rest = outer @ self.g + 0.5 * self.c * distances
        v = differences(self.y, self.best_y, self.exponent) - rest
        # The best point itself is the origin.
        samples, values = np.vstack([inner[near], np.zeros(len(slope))]), np.append(v[near], 0.0)
        A, inverse = self._metric()
        # The model takes quarters of what it is given.
        model = LeastChange(0.25 * self.H)
        g, _ = model.fit(samples, values, np.zeros(len(slope)), 0.0, self.delta * A, inverse / self.delta)
        self.H = np.ldexp(model.H, model.exponent + 2)
        self.g = self.g + self.V @ (np.ldexp(inverse.T @ g / self.delta, model.exponent + 2) - slope)
