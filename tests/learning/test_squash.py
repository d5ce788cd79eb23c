"""Squashed values: monotone, plain near the best, chosen only where they are predicted better."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eglearn.learning.squash import Squash, left_out_errors, squashed

N = 10


def kernel(z):
    """That of a quadratic with free gradient, as in the least-change model."""
    gram = z @ z.T
    return 1e4 + 1e4 * gram + 0.5 * gram**2


def samples(seed, count=50):
    """Points of length about 1 around the origin."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((count, N))
    return z / np.linalg.norm(z, axis=1, keepdims=True), rng.standard_normal(N)


def quadratic(z, g):
    return z @ g + 0.5 * z**2 @ np.linspace(0.1, 3, N)


def clash(z, g):
    """An atom close to others on all sides, repelled by the twelfth power: energies of many orders of magnitude."""
    return np.sum((1.05 + z) ** -12, axis=1)


def wall(z, g):
    return quadratic(z, g) + 1e9 * (z @ g > 0.3)


def chosen(values, seeds=range(20)):
    """How often values are squashed."""
    squash = []
    for seed in seeds:
        z, g = samples(seed)
        y = values(z, g)
        one = Squash()
        one.choose(y - y.min(), kernel(z))
        squash.append(one.limit < math.inf)
    return sum(squash)


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.floats(1e-300, 1e300))
def test_the_order_stays(a, b, limit):
    low, high = sorted((a, b))
    v = squashed(np.array([low, high]), limit)
    assert np.isfinite(v).all()
    assert v[0] <= v[1] or math.isclose(v[0], v[1], rel_tol=1e-12)


def test_up_to_the_limit_nothing_changes_and_the_slope_is_continuous():
    d = np.linspace(-2, 2, 401)
    np.testing.assert_array_equal(squashed(d, 2.0), d)
    slope = np.diff(squashed(np.array([2.0, 2.0 + 1e-6]), 2.0)) / 1e-6
    assert slope == pytest.approx(1, abs=1e-5)


def test_a_penalty_is_a_few_limits():
    assert 4 < squashed(np.array([1e9]), 1.0)[0] < 5


def test_smooth_values_stay_as_they_are():
    assert chosen(quadratic) == 0
    assert chosen(lambda z, g: z @ g) == 0


def test_noise_is_no_reason_to_squash():
    assert chosen(lambda z, g: np.random.default_rng(int(1e6 * abs(g[0]))).standard_normal(len(z))) <= 1


@pytest.mark.parametrize("values", [clash, wall])
def test_clashes_and_walls_are_squashed(values):
    assert chosen(values) >= 15


def test_the_gradient_before_a_wall_is_found():
    """Regression along the kernel's own field: with a wall of 1e9 the raw gradient points away from the wall only."""
    right = {"raw": [], "squashed": []}
    for seed in range(10):
        z, g = samples(seed)
        side = np.zeros(N)
        side[np.argmin(np.abs(g))] = 1.0
        d = z @ g + 1e9 * (z @ side > 0.3)
        squash = Squash()
        squash.choose(d, kernel(z))
        for name, v in (("raw", d), ("squashed", squash(d))):
            b = np.linalg.lstsq(np.column_stack([np.ones(len(z)), z]), v, rcond=None)[0][1:]
            right[name].append(b @ g / np.linalg.norm(b) / np.linalg.norm(g))
    assert np.median(right["squashed"]) > 0.5 > np.median(right["raw"])


@pytest.mark.parametrize("exponent", [-900, -3, 900])
def test_powers_of_two_change_nothing(exponent):
    for seed in range(5):
        z, g = samples(seed)
        d = clash(z, g) - clash(z, g).min()
        d = np.minimum(d, 1e9)
        one, other = Squash(), Squash()
        one.choose(d, kernel(z))
        other.choose(np.ldexp(d, exponent), kernel(z))
        assert other.limit == math.ldexp(one.limit, exponent)
        np.testing.assert_allclose(np.ldexp(other(np.ldexp(d, exponent)), -exponent), one(d), rtol=1e-12)


def test_ties_and_few_samples_leave_the_map():
    z, _ = samples(0)
    squash = Squash()
    squash.choose(np.zeros(50), kernel(z))
    squash.choose(np.array([1.0, 1e9, 1e9]), kernel(z[:3]))
    squash.choose(np.where(np.arange(50) < 5, 1e9, 0.0), kernel(z))
    assert squash.limit == math.inf


def test_it_returns_to_plain_values():
    z, g = samples(1)
    squash = Squash()
    squash.choose(clash(z, g) - clash(z, g).min(), kernel(z))
    assert squash.limit < math.inf
    squash.choose(quadratic(z, g), kernel(z))
    assert squash.limit == math.inf


def test_left_out_errors_are_those_of_refits():
    z, g = samples(2, count=12)
    v = quadratic(z, g)
    K = kernel(z)
    K = K + 0.05 * np.trace(K) / len(K) * np.eye(len(K))
    centred, wrong = v - v.mean(), []
    for i in range(len(z)):
        rest = np.arange(len(z)) != i
        wrong.append(centred[i] - K[i, rest] @ np.linalg.solve(K[np.ix_(rest, rest)], centred[rest]))
    expected = np.sum(np.square(wrong)) / np.sum(centred**2)
    assert left_out_errors(kernel(z), v[:, None])[0] == pytest.approx(expected)
