"""The shape that evens out curvatures."""

import numpy as np
import pytest

from eglearn.learning.memory import Samples
from eglearn.learning.shape import stretch


def samples(fun, n=5, batches=16, size=24, seed=0):
    z = np.random.default_rng(seed).standard_normal((batches * size, n))
    return Samples(z, fun(z), (size,) * batches, np.zeros(n))


def turned(n, curvatures, seed=1):
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    return (q * curvatures) @ q.T


def test_curvatures_become_equal():
    H = turned(5, [1.0, 2.0, 3.0, 5.0, 8.0])
    s = stretch(samples(lambda z: np.einsum("ki,ij,kj->k", z, H, z)), 10.0)
    assert np.linalg.cond(s @ H @ s) == pytest.approx(1, abs=0.02)


def test_no_more_than_the_limit_at_once():
    H = turned(5, [1.0, 1.0, 1.0, 1.0, 1e6])
    s = stretch(samples(lambda z: np.einsum("ki,ij,kj->k", z, H, z)), 10.0)
    assert np.linalg.cond(s) == pytest.approx(np.sqrt(10), rel=1e-3)


def test_chance_has_little_shape():
    rng = np.random.default_rng(2)
    for seed in range(5):
        s = stretch(samples(lambda z: rng.standard_normal(len(z)), seed=seed), 100.0)
        assert np.linalg.cond(s) < 3


@pytest.mark.parametrize("fun", [lambda z: np.zeros(len(z)), lambda z: z[:, 0]])
def test_no_curvature_no_shape(fun):
    assert np.linalg.cond(stretch(samples(fun), 100.0)) < 3


def test_too_few_samples_have_no_shape():
    few = samples(lambda z: z[:, 0] ** 2, n=40, batches=8, size=20)
    np.testing.assert_array_equal(stretch(few, 10.0), np.eye(40))


def test_the_unit_of_values_does_not_matter():
    H = turned(5, [1.0, 2.0, 3.0, 5.0, 8.0])
    one, other = (stretch(samples(lambda z, c=c: c * np.einsum("ki,ij,kj->k", z, H, z)), 10.0) for c in (1.0, 2.0**40))
    np.testing.assert_array_equal(one, other)
