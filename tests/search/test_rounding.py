import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eglearn.search.rounding import LEAST, MOST, SPACINGS, diagonal, rounding


def measured(fun, x, spacing=SPACINGS[0], seed=0):
    y = fun(np.vstack([x, diagonal(np.random.default_rng(seed), x, spacing)]))
    return rounding(float(y[0]), y[1:], len(x))


@given(st.integers(0, 1000), st.sampled_from(SPACINGS))
def test_points_lie_on_a_diagonal_in_the_cube(seed, spacing):
    rng = np.random.default_rng(seed)
    x = np.clip(rng.uniform(-1.2, 1.2, 30), -1, 1)
    u = diagonal(rng, x, spacing)
    assert np.abs(u).max() <= 1
    steps = np.abs(u - x)
    np.testing.assert_allclose(steps, np.tile(steps[:, :1], 30), atol=1e-15)
    assert (np.diff(steps[:, 0]) > 0).all()


@pytest.mark.parametrize("size", [2.0**-900, 1.0, 2.0**900])
@pytest.mark.parametrize("error", [1e-12, 1e-9, 1e-6])
def test_errors_are_found_whatever_the_unit(error, size):
    """Of a parabola with the curvature 6 along each coordinate."""
    noise = np.random.default_rng(1)

    def fun(u):
        return size * (3 * np.sum(u**2, axis=1) + error * noise.standard_normal(len(u)))

    found = [measured(fun, np.full(80, 0.3), SPACINGS[0], seed) for seed in range(40)]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(error / 6, rel=0.25)


def test_doubles_and_singles():
    def fun(u):
        return np.sum(u**2, axis=1)

    def single(u):
        return fun(u.astype(np.float32)).astype(float)

    x = np.full(80, 0.3)
    assert measured(fun, x) < 1e-14
    assert 1e-8 < measured(single, x, SPACINGS[2]) < 1e-6


def test_values_that_are_equal_or_on_a_line_tell_nothing():
    x = np.linspace(0.1, 0.5, 80)
    assert measured(lambda u: np.full(len(u), 2.0), x) == 0
    assert measured(lambda u: np.arange(len(u)), x) == 0
    assert measured(lambda u: np.round(np.sum(u**2, axis=1), 6), x, SPACINGS[0]) == 0
    assert measured(lambda u: np.round(np.sum(u**2, axis=1), 6), x, SPACINGS[3]) > 1e-8


def test_limits_and_failures():
    x = np.full(80, 0.3)
    assert measured(lambda u: u @ np.ones(80) + 1e-3 * np.random.default_rng(0).standard_normal(len(u)), x) == MOST
    assert measured(lambda u: 1e9 * np.sum(u**2, axis=1), x) >= LEAST
    for bad in (np.nan, np.inf, -np.inf):
        y = np.sum(diagonal(np.random.default_rng(0), x, SPACINGS[0]) ** 2, axis=1)
        y[3] = bad
        assert np.isnan(rounding(7.2, y, 80))
    assert LEAST <= rounding(-1e308, 1e308 * np.linspace(-1, 1, 10) ** 3, 80) <= MOST
