"""A gradient field that is affine with a diagonal slope: b + h z, from all pairs of samples in closed form.

It has 2 n unknowns, so memories of some thousand samples determine it well, and it costs little in many dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..._typing import Array
from ...state import Stateful

# Up to so many unknowns the normal equations are written down; beyond, conjugate gradients never build them.
_DIRECT, _CG_ROUNDS, _ACCURACY = 400, 12, 1e-2


@dataclass
class DiagonalAffine(Stateful):
    """The field g(z) = b + h z (by coordinate); it is the gradient of b . z + sum h_i z_i^2 / 2.

    >>> z = np.random.default_rng(0).standard_normal((40, 2))
    >>> field = DiagonalAffine.fit(z, 3 * z[:, 0] + z[:, 1] ** 2, damping=0.0)
    >>> (field.b.round(9) + 0.0).tolist(), (field.h.round(9) + 0.0).tolist()
    ([3.0, 0.0], [0.0, 2.0])
    """

    b: Array
    h: Array

    @classmethod
    def fit(cls, z: Array, v: Array, damping: float) -> DiagonalAffine:
        """Least squares over all pairs of samples (k, n) and their values (k,).

        Over pairs, the squared loss is that of points around their mean (``closed_form``). ``damping`` is a number of
        samples: for each unknown there are so many that say it is 0.
        """
        rows = np.concatenate([z, z * z], axis=1)
        middle = rows.mean(axis=0)
        rows -= middle
        unit = np.sqrt(np.mean(rows * rows, axis=0))
        rows = np.divide(rows, unit, out=np.zeros_like(rows), where=unit > 0)
        right = rows.T @ (v - v.mean())
        if rows.shape[1] <= _DIRECT:
            gram = rows.T @ rows
            gram.flat[:: len(gram) + 1] += damping + 1e-10 * len(rows)
            w = linalg.solve(gram, right, assume_a="pos")
        else:
            w = _conjugate_gradients(rows, right, damping + 1e-10 * len(rows))
        w = np.divide(w, unit, out=np.zeros_like(w), where=unit > 0)
        n = z.shape[1]
        return cls(w[:n], 2 * w[n:])

    def predict(self, z: Array) -> Array:
        """Values (k,) at points (k, n), but for a constant."""
        return z @ self.b + (z * z) @ (0.5 * self.h)


def _conjugate_gradients(rows: Array, right: Array, damping: float) -> Array:
    w, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), float(right @ right)
    first = square
    for _ in range(_CG_ROUNDS):
        if not square > _ACCURACY**2 * first:
            break
        image = rows.T @ (rows @ direction) + damping * direction
        step = square / float(direction @ image)
        w += step * direction
        residual -= step * image
        before, square = square, float(residual @ residual)
        direction = residual + (square / before) * direction
    return w
