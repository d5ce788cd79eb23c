"""The shape of a region: long where the function is flat, short where it is steep.

A gradient step makes little progress where curvatures differ much: that is what a second-order method is for. Here the
input map does it. At each new region an affine field is fitted to all remembered samples; the derivative H of the
field is the Hessian of the mean-gradient, and a stretch of z makes its curvatures more equal. The models then learn in
coordinates in which one step size suits all directions.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array
from .memory import Samples
from .models.closed_form import Affine
from .models.settings import FieldSettings

_AFFINE = Affine(FieldSettings(model="affine"))


def stretch(samples: Samples, limit: float) -> Array:
    """The symmetric matrix (n, n) that, applied to z, makes the curvatures of the samples more equal.

    Ratios of curvatures are divided out at most to ``limit``. Directions come from one half of the batches, curvatures
    along them from the other half, and the other way round: else chance alone would make large and small ones (Lam
    2016, for covariances). A curvature below what the halves differ by is taken as that. Too few samples have no shape.

    >>> z = np.random.default_rng(0).standard_normal((40, 2))
    >>> samples = Samples(z, z[:, 0] ** 2 + 4 * z[:, 1] ** 2, (10,) * 4, np.zeros(2))
    >>> s = stretch(samples, 100.0)
    >>> round(float(s[0, 0] / s[1, 1]), 2)
    2.0
    """
    n = len(samples.origin)
    if 2 * len(samples.v) < _AFFINE.count(n) or len(samples.sizes) < 4:
        return np.eye(n)
    first, second = (_hessian(samples, k) for k in (0, 1))
    curvature, V = np.linalg.eigh((_along(first, second) + _along(second, first)) / 2)
    noise = float(np.sqrt(np.mean((first - second) ** 2))) / 2
    steep = np.hypot(curvature, noise)
    if not steep.max() > 0:
        return np.eye(n)
    ratio = np.maximum(steep / steep.max(), 1 / limit)
    return np.asarray((V / np.sqrt(ratio)) @ V.T)


def _hessian(samples: Samples, half: int) -> Array:
    """H of the affine field of every other batch."""
    z, v = (samples.batches(part)[half::2] for part in (samples.z, samples.v))
    sizes = tuple(map(len, v))
    return _AFFINE.fit(Samples(np.concatenate(z), np.concatenate(v), sizes, samples.origin)).hessian


def _along(directions: Array, curvatures: Array) -> Array:
    """A Hessian with the eigenvectors of one and the curvatures of the other along them."""
    V = np.linalg.eigh(directions)[1]
    return np.asarray((V * np.einsum("ji,jk,ki->i", V, curvatures, V)) @ V.T)
