"""The field b + h z: exact on its own kind, equivariant, and calm where samples are few or equal."""

import numpy as np
import pytest

from eglearn.learning.models import diagonal_affine
from eglearn.learning.models.diagonal_affine import DiagonalAffine

N = 6
B, H = np.linspace(-1, 2, N), np.linspace(0.5, 3, N)


def samples(count, seed=0):
    z = np.random.default_rng(seed).standard_normal((count, N))
    return z, 7 + z @ B + z**2 @ H / 2


@pytest.mark.parametrize("direct", [0, 400])
def test_exact_on_a_diagonal_quadratic(direct, monkeypatch):
    monkeypatch.setattr(diagonal_affine, "_DIRECT", direct)
    monkeypatch.setattr(diagonal_affine, "_CG_ROUNDS", 50)
    monkeypatch.setattr(diagonal_affine, "_ACCURACY", 1e-12)
    z, v = samples(60)
    field = DiagonalAffine.fit(z, v, damping=0.0)
    np.testing.assert_allclose(field.b, B, atol=1e-7)
    np.testing.assert_allclose(field.h, H, atol=1e-7)
    np.testing.assert_allclose(field.predict(z), v - 7, atol=1e-6)


def test_a_permutation_permutes_the_field():
    z, v = samples(30)
    order = np.array([3, 0, 5, 1, 4, 2])
    field, other = DiagonalAffine.fit(z, v, 6.0), DiagonalAffine.fit(z[:, order], v, 6.0)
    np.testing.assert_allclose(other.b, field.b[order], rtol=1e-9)
    np.testing.assert_allclose(other.h, field.h[order], rtol=1e-9)


def test_damping_pulls_to_zero():
    z, v = samples(20)
    sizes = [np.linalg.norm(DiagonalAffine.fit(z, v, damping).b) for damping in (0.0, 10.0, 1e9)]
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[2] < 1e-6


@pytest.mark.parametrize("direct", [0, 400])
@pytest.mark.parametrize("points", [np.zeros((5, N)), np.ones((1, N)), np.eye(N)[:2]])
def test_few_and_equal_points_are_no_error(points, direct, monkeypatch):
    monkeypatch.setattr(diagonal_affine, "_DIRECT", direct)
    field = DiagonalAffine.fit(points, np.arange(len(points), dtype=float), damping=6.0)
    assert np.isfinite(field.b).all()
    assert np.isfinite(field.h).all()
