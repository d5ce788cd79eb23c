"""Mean-gradients in closed form: constant, and affine g(z) = b + H (z - origin) with H symmetric.

A pair loss over a model that is the gradient of a potential q depends on the point-wise errors e = v - q only
through their differences, and for one batch of m points

    sum over i, j of (e_j - e_i)^2  =  2 m sum over i of (e_i - mean e)^2,

so all pairs cost no more than the points. The constant model (either loss) and the affine one with the
trapezoid loss are of this kind: ordinary least squares on linear or quadratic features, centred batch by batch.
The affine model with the paper's first-order loss is not; it is solved iteratively, without ever writing down
the m^2 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy import linalg

from ..._typing import Array
from ..memory import Samples
from ..pairs import penalty, pull, residuals
from ..samplers import ball
from .base import Model, pair_loss
from .settings import FieldSettings

# Huber fits are reweighted least squares. The loss falls in every round; rounds end when one gains less than a
# millionth, far below what sampling noise does to the gradient.
_ROUNDS, _GAIN = 30, 1e-6

Parts = tuple[Array, Array, Array]  # b and the two factors of H


@dataclass(frozen=True)
class ClosedForm:
    """A fitted g(z) = b + H (z - origin), with H = left @ right."""

    origin: Array
    b: Array
    left: Array  # (n, r); r = 0 for the constant model
    right: Array  # (r, n)
    loss: float

    def gradient(self, z: Array) -> Array:
        """Gradients (k, n) at points (k, n)."""
        return self.b + ((z - self.origin) @ self.right.T) @ self.left.T

    def hessian_product(self, d: Array) -> Array:
        """H d."""
        return self.left @ (self.right @ d)

    @property
    def hessian(self) -> Array:
        """H (n, n)."""
        return self.left @ self.right


class Constant(Model):
    """One gradient for all points, that of the potential b . z: least squares over all pairs (theorem 1).

    >>> z = np.random.default_rng(0).standard_normal((8, 3))
    >>> samples = Samples(z, z @ [1.0, 2.0, 3.0], (8,), np.zeros(3))
    >>> Constant(FieldSettings(model="constant", ridge=0.0)).fit(samples).b.round(9).tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, settings: FieldSettings) -> None:
        self.settings = settings

    def fit(self, samples: Samples, radius: float = 0.0, rng: Generator | None = None) -> ClosedForm:
        """Least squares; a dither of the argument does not change a constant."""
        return _fit_potential(samples, self, self.settings)

    def count(self, n: int) -> int:
        """Number of the potential's features."""
        return n

    def features(self, z: Array) -> Array:
        """Features of the points."""
        return z

    def kernel(self, inner: Array) -> Array:
        """Inner products of features, from those of points."""
        return inner

    def from_features(self, w: Array, n: int) -> Parts:
        """The field with these coefficients of the features."""
        return w, np.empty((n, 0)), np.empty((0, n))

    def from_samples(self, w: Array, z: Array) -> Parts:
        """The field whose coefficients are the sum of w_k times the features of z_k."""
        return self.from_features(w @ z, z.shape[1])


class Affine(Constant):
    """Gradient and curvature together, of b . z + z H z / 2, scaled so that the coefficients' norm is that of (b, H).

    >>> z = np.random.default_rng(0).standard_normal((40, 2))
    >>> samples = Samples(z, z[:, 0] ** 2 + z[:, 0] * z[:, 1], (20, 20), np.zeros(2))
    >>> (Affine(FieldSettings(ridge=0.0)).fit(samples).hessian.round(9) + 0.0).tolist()
    [[2.0, 1.0], [1.0, 0.0]]
    """

    def fit(self, samples: Samples, radius: float = 0.0, rng: Generator | None = None) -> ClosedForm:
        """Least squares on a quadratic where that is the loss; iterations otherwise."""
        if self.settings.pair_order == "trapezoid" and not radius > 0:
            return _fit_potential(samples, self, self.settings)
        return _fit_iteratively(samples, radius, rng or np.random.default_rng(0), self.settings)

    def count(self, n: int) -> int:
        """Those of b, and those of H on and above its diagonal."""
        return n * (n + 3) // 2

    def features(self, z: Array) -> Array:
        """Coordinates and their products."""
        i, j = np.triu_indices(z.shape[1])
        return np.concatenate([z, z[:, i] * z[:, j] * np.where(i == j, 0.5, np.sqrt(0.5))], axis=1)

    def kernel(self, inner: Array) -> Array:
        """Inner products of features, from those of points."""
        return inner + inner**2 / 4

    def from_features(self, w: Array, n: int) -> Parts:
        """The field with these coefficients of the features."""
        i, j = np.triu_indices(n)
        h = np.zeros((n, n))
        h[i, j] = w[n:] * np.where(i == j, 1.0, np.sqrt(0.5))
        h[j, i] = h[i, j]
        return w[:n], h, np.eye(n)

    def from_samples(self, w: Array, z: Array) -> Parts:
        """The field whose coefficients are the sum of w_k times the features of z_k."""
        return w @ z, z.T * (w / 2), z


CLOSED_FORMS = {"constant": Constant, "affine": Affine}


def _standardised(samples: Samples) -> tuple[Array, float]:
    """Points around the origin in units of their typical distance, and that unit."""
    points = samples.z - samples.origin
    size = float(np.sqrt(np.mean(np.sum(points**2, axis=1))))
    return (points / size, size) if size > 0 else (points, 1.0)


def _loss_of_errors(samples: Samples, e: Array, loss: str) -> float:
    """Mean penalty over the pairs i != j of the differences of point-wise errors."""
    pairs = sum(m * (m - 1) for m in samples.sizes)
    if loss == "squared":
        return sum(2 * len(p) * float(np.sum((p - p.mean()) ** 2)) for p in samples.batches(e)) / pairs
    return sum(float(penalty(p[:, None] - p, loss).sum()) for p in samples.batches(e)) / pairs


def _huber_weight(residual: Array) -> Array:
    """The weight that makes a square of Huber's penalty at ``residual``."""
    return 1 / np.maximum(np.abs(residual), 1.0)


def _fit_potential(samples: Samples, form: Constant, s: FieldSettings) -> ClosedForm:
    """Ridge least squares over all pairs; for Huber's penalty, reweighted until it stops falling."""
    points, size = _standardised(samples)
    differences = _centring(samples)
    best = np.inf
    for _ in range(_ROUNDS if s.loss == "huber" else 1):
        (b, left, right), e = _solve(points, samples.v, form, s.ridge, differences)
        loss = _loss_of_errors(samples, e, s.loss)
        if s.loss == "squared" or not loss < best * (1 - _GAIN):
            break
        best = loss
        differences = _weighted_differences(samples, e)
    return ClosedForm(samples.origin, b / size, left / size, right / size, loss)


def _solve(
    points: Array, v: Array, form: Constant, ridge: float, differences: Callable[[Array], Array]
) -> tuple[Parts, Array]:
    """The field, and the errors v - q at the samples.

    With fewer samples than features the dual problem (one unknown per sample) is the smaller one and has the same
    solution, so the cost never exceeds samples^3 and nothing of size n^4 is ever built.
    """
    count, n = points.shape
    # Relative to a sample's features, so that the ridge means the same in every unit and dimension.
    damping, target = ridge * float(np.mean(form.kernel(np.sum(points**2, axis=1)))), differences(v)
    if form.count(n) <= count:
        features = form.features(points)
        rows = differences(features)
        w = _damped_solve(rows.T @ rows, rows.T @ target, damping)
        if w is None:
            w = linalg.lstsq(rows, target)[0]
        return form.from_features(w, n), v - features @ w
    kernel = form.kernel(points @ points.T)
    matrix = differences(differences(kernel).T)
    multipliers = _damped_solve(matrix, target, damping)
    w = differences(linalg.lstsq(matrix, target)[0] if multipliers is None else multipliers)
    return form.from_samples(w, points), v - kernel @ w


def _damped_solve(matrix: Array, target: Array, damping: float) -> Array | None:
    """With a ridge, by Cholesky; without one, or where it fails, None: the minimum-norm solution takes its place."""
    if not damping > 0:
        return None
    damped = matrix.copy()
    damped.flat[:: len(damped) + 1] += damping
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(damped, lower=True), target))
    except linalg.LinAlgError:
        return None


def _centring(samples: Samples) -> Callable[[Array], Array]:
    """The linear map D with |D e|^2 proportional to the sum over pairs of (e_j - e_i)^2; D is symmetric."""
    sizes = np.array(samples.sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    factor = np.repeat(np.sqrt(sizes / sizes.mean()), sizes)

    def centre(a: Array) -> Array:
        wide = a if a.ndim == 2 else a[:, None]
        means = np.add.reduceat(wide, starts, axis=0) / sizes[:, None]
        centred: Array = (wide - np.repeat(means, sizes, axis=0)) * factor[:, None]
        return centred.reshape(a.shape)

    return centre


def _weighted_differences(samples: Samples, e: Array) -> Callable[[Array], Array]:
    """The same with a weight for each pair: the square root of the weights' Laplacian, batch by batch."""
    roots = []
    for part in samples.batches(e):
        weight = _huber_weight(part[:, None] - part)
        eigenvalues, vectors = np.linalg.eigh(np.diag(weight.sum(axis=1)) - weight)
        roots.append((vectors * np.sqrt(np.maximum(eigenvalues, 0) / np.mean(samples.sizes))) @ vectors.T)
    return lambda a: np.concatenate([r @ part for r, part in zip(roots, samples.batches(a), strict=True)])


def _fit_iteratively(samples: Samples, radius: float, rng: Generator, s: FieldSettings) -> ClosedForm:
    """Least squares over all pairs by LSMR: each product costs N n (n + m), no matrix of pairs is built."""
    from scipy.sparse.linalg import LinearOperator, lsmr

    points, size = _standardised(samples)
    count, n = points.shape
    arguments = points + radius / size * ball(rng, count, n) if radius > 0 else points
    parts = zip(*map(samples.batches, (points, arguments, samples.v)), strict=True)
    batches = [(z - z.mean(axis=0), a, v - v[:, None]) for z, a, v in parts]  # with the changes of all pairs
    scales = [np.ones_like(changes) for _, _, changes in batches]  # square roots of Huber's weights

    def unpack(theta: Array) -> tuple[Array, Array]:
        h = theta[n:].reshape(n, n)
        return theta[:n], (h + h.T) / 2

    def predicted(theta: Array) -> list[Array]:
        b, h = unpack(theta)
        return [residuals(b + a @ h, z, np.zeros(len(z)), s.pair_order) for z, a, _ in batches]

    def forward(theta: Array) -> Array:
        return np.concatenate([(k * p).ravel() for k, p in zip(scales, predicted(theta), strict=True)])

    def adjoint(r: Array) -> Array:
        b, h = np.zeros(n), np.zeros((n, n))
        for (z, a, _), k, part in zip(batches, scales, np.split(r, ends), strict=True):
            slopes = pull(k * part.reshape(k.shape), z, s.pair_order)
            b += slopes.sum(axis=0)
            h += a.T @ slopes
        return np.concatenate([b, ((h + h.T) / 2).ravel()])

    *ends, rows = np.cumsum([k.size for k in scales])
    operator = LinearOperator((rows, n + n * n), matvec=forward, rmatvec=adjoint, dtype=np.float64)
    best = np.inf
    for _ in range(_ROUNDS if s.loss == "huber" else 1):
        target = np.concatenate([(k * changes).ravel() for k, (_, _, changes) in zip(scales, batches, strict=True)])
        # As in _solve: relative to a sample's features, here times the pairs of a sample (2 m of the m^2).
        damping = s.ridge * 2 * np.mean(samples.sizes) * float(np.mean(np.sum(points**2, axis=1)))
        # Relative accuracy near that of float64, so that the order of accuracy shows down to small eps.
        theta = lsmr(operator, target, damp=np.sqrt(damping), atol=1e-14, btol=1e-14, maxiter=20 * (n + n * n))[0]
        b, h = unpack(theta)
        loss = pair_loss(b + arguments @ h, replace(samples, z=points), s.pair_order, s.loss)
        if not loss < best * (1 - _GAIN):
            break
        best = loss
        errors = (p - changes for p, (_, _, changes) in zip(predicted(theta), batches, strict=True))
        scales = [np.sqrt(_huber_weight(e)) for e in errors]
    return ClosedForm(samples.origin, b / size, h / size**2, np.eye(n), loss)
