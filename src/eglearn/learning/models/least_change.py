"""Least change: a gradient affine in the point, learned a little from every batch.

A gradient field g + H p with symmetric H is that of the quadratic g . p + p . H p / 2. With fewer samples than
unknowns many fit; taken is the one whose H differs least, in the Frobenius norm, from the H known before (Powell
2004: least Frobenius norm updating). Curvature is thus collected over many batches, each with a few samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack

from ..._typing import Array, State
from ...settings import Settings, setting
from ...state import Stateful
from ..memory import Samples
from ..values import exponent_of, in_units
from .base import Model, pair_loss
from .closed_form import ClosedForm


@dataclass(frozen=True, kw_only=True)
class LeastChangeSettings(Settings):
    """Constants of the model."""

    free: float = setting(1e4, "how much value and gradient may vary, squared, against a unit change of H", "ours")
    ridge: float = setting(1e-8, "weight of least change against exact interpolation", "ours: keeps K solvable")
    near: float = setting(1.2, "within this distance the newest samples are taken; beyond, the nearest", "ours")
    outlier: float = setting(
        1e6, "values so many times farther off than the median are left out", "ours: penalties would drown the others"
    )
    per_n: float = setting(3.0, "samples in a fit, by the dimension", "ours")
    more: float = setting(20.0, "samples in a fit on top of that", "ours")

    def count(self, n: int) -> int:
        """S, the number of samples in a fit."""
        return int(self.per_n * n + self.more)


@dataclass
class LeastChange(Stateful):
    """The least-change model."""

    H: Array  # the Hessian (n, n) in the cube's coordinates, for values in units of 2^exponent
    exponent: int = 0
    settings: LeastChangeSettings = field(default_factory=LeastChangeSettings)

    def learn(
        self,
        u: Array,
        y: Array,
        centre: Array,
        value: float,
        A: Array,
        inverse: Array,
        *,
        isotropic: float = 0.0,
        count: int | None = None,
        rounds: int = 0,
    ) -> tuple[Array, Array]:
        """Learn from samples; returns gradient and Hessian at the centre in the coordinates z, u = centre + A z.

        Parameters
        ----------
        u, y : (k, n), (k,)
            The samples, oldest first; values are finite.
        centre, value : (n,), float
            Where, and about the value there: differences are taken from it.
        A, inverse : (n, n)
            The coordinates, in which the samples that matter have length 1.
        isotropic : float
            How much a multiple of the identity in H may vary, squared, against a unit change of H; 0: not more.
        count : int or None
            Samples in the fit; None: as in the settings.
        rounds : int
            How often what the ridge has left over is fitted, too.
        """
        s = self.settings
        z = (u - centre) @ inverse.T
        distance = np.sqrt(np.einsum("ij,ij->i", z, z))
        chosen = np.lexsort((-np.arange(len(y)), np.maximum(distance, s.near)))[: count or s.count(len(centre))]
        v = y[chosen] - value
        middle = float(np.median(np.abs(v)))
        if middle > 0:
            usual = np.abs(v) * (1 / s.outlier) <= middle
            chosen, v = chosen[usual], v[usual]
        z, distance = z[chosen], distance[chosen]
        self._change_unit(v)
        H = A.T @ self.H @ A
        residual = in_units(v, self.exponent) - 0.5 * np.einsum("ij,ij->i", z @ H, z)
        # The minimiser is value = F sum a, g = F sum a z, dH = sum a z z^T, where K a = residual (Lagrange).
        gram = z @ z.T
        K = s.free + s.free * gram + 0.5 * gram * gram
        bowl = 0.5 * distance**2
        if isotropic > 0:  # then dH has a further part, isotropic (sum a |z|^2 / 2) I
            K += isotropic * np.outer(bowl, bowl)
        # The error of a quadratic grows with the cube of the distance.
        ridge = s.ridge * np.trace(K) / len(K) * np.maximum(distance, 1.0) ** 6
        K.flat[:: len(K) + 1] += ridge
        factor, a, trouble = lapack.dposv(K.T, residual, overwrite_a=1)
        before = np.zeros_like(a)
        for _ in range(rounds if trouble == 0 else 0):  # iterated regularisation: the misfit is ridge (a - before)
            before, a = a, a + lapack.dpotrs(factor, ridge * (a - before))[0]
        if trouble != 0 or not np.isfinite(a).all():
            return np.zeros_like(centre), H
        change = (z.T * a) @ z
        if isotropic > 0:
            change.flat[:: len(change) + 1] += isotropic * float(a @ bowl)
        back = inverse.T @ change @ inverse
        new = self.H + 0.5 * (back + back.T)
        if not np.isfinite(new).all():
            return np.zeros_like(centre), H
        self.H = new
        return s.free * (z.T @ a), H + 0.5 * (change + change.T)

    def _change_unit(self, v: Array) -> None:
        """Choose the unit such that the largest of the values is about 1."""
        if not v.any():
            return
        exponent = exponent_of(v)
        self.H = in_units(self.H, exponent - self.exponent)
        if not np.isfinite(self.H).all():
            self.H = np.zeros_like(self.H)
        self.exponent = exponent


class LeastChangeField(Model):
    """The same as a model of ``EGL``: H is carried from fit to fit, in the region's coordinates."""

    def __init__(self, n: int) -> None:
        self.quadratic = LeastChange(np.zeros((n, n)))

    def fit(self, samples: Samples, radius: float, rng: np.random.Generator) -> ClosedForm:
        """Learn from the samples around the origin; a dither of the argument is not supported."""
        offsets = samples.z - samples.origin
        distance = np.sqrt(np.einsum("ij,ij->i", offsets, offsets))
        n, size = offsets.shape[1], float(np.median(distance)) or 1.0
        value = float(samples.v[np.argmin(distance)])
        g, H = self.quadratic.learn(samples.z, samples.v, samples.origin, value, size * np.eye(n), np.eye(n) / size)
        unit = 2.0**self.quadratic.exponent
        fit = ClosedForm(samples.origin, g * (unit / size), H * (unit / size**2), np.eye(n), 0.0)
        return replace(fit, loss=pair_loss(fit.gradient(samples.z), samples, "trapezoid", "squared"))

    def reset(self) -> None:
        """A new region has other coordinates: what is known of H is forgotten."""
        self.quadratic = LeastChange(np.zeros_like(self.quadratic.H))

    def state(self) -> State:
        """H and its unit."""
        return self.quadratic.state()

    def load_state(self, state: State) -> None:
        """Go on from ``state``."""
        self.quadratic = LeastChange.from_state(state)
