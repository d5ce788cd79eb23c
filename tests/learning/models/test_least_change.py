"""Least change: a quadratic from enough samples, and from fewer the one nearest to what was known before."""

import numpy as np
import pytest

from eglearn.learning.memory import Samples
from eglearn.learning.models.least_change import LeastChange, LeastChangeField, LeastChangeSettings
from eglearn.serialize import dumps, loads


def symmetric(n, seed):
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a + a.T


def quadratic(u, g, H):
    return 3.0 + u @ g + 0.5 * np.einsum("ij,jk,ik->i", u, H, u)


def fitted(model, u, y, centre, value):
    n = len(centre)
    return model.learn(u, y, centre, value, np.eye(n), np.eye(n))


def test_a_quadratic_is_recovered_from_enough_samples():
    n = 5
    g, H = np.arange(1.0, n + 1), symmetric(n, 0)
    u = np.random.default_rng(1).uniform(-1, 1, (n * (n + 3) // 2 + 5, n))
    centre = np.full(n, 0.2)
    value = quadratic(centre[None], g, H)[0]
    model = LeastChange(np.zeros((n, n)))
    for _ in range(3):  # the ridge leaves a millionth to the next fit
        found_g, found_H = fitted(model, u, quadratic(u, g, H), centre, value)
    unit = 2.0**model.exponent
    np.testing.assert_allclose(found_g * unit, g + H @ centre, atol=1e-4)
    np.testing.assert_allclose(found_H * unit, H, atol=1e-3)
    np.testing.assert_allclose(model.H * unit, H, atol=1e-3)


def test_other_coordinates_give_the_same_model():
    n = 4
    g, H = np.ones(n), symmetric(n, 3)
    A = np.linalg.qr(symmetric(n, 4))[0] * np.array([0.5, 1.0, 2.0, 1.5])
    z = np.random.default_rng(1).uniform(-1, 1, (40, n))
    u = z @ A.T
    model = LeastChange(np.zeros((n, n)))
    for _ in range(3):
        found_g, found_H = model.learn(u, quadratic(u, g, H), np.zeros(n), 3.0, A, np.linalg.inv(A))
    unit = 2.0**model.exponent
    np.testing.assert_allclose(found_g * unit, A.T @ g, atol=1e-3)
    np.testing.assert_allclose(found_H * unit, A.T @ H @ A, atol=1e-2)
    np.testing.assert_allclose(model.H * unit, H, atol=1e-2)


def test_curvature_stays_where_samples_say_nothing():
    """Samples in the first two coordinates must leave the rest of H alone, and change H only if it is wrong."""
    n = 5
    g, H = np.ones(n), symmetric(n, 0)
    u = np.zeros((20, n))
    u[:, :2] = np.random.default_rng(1).uniform(-1, 1, (20, 2))
    believed = H.copy()
    believed[:2, :2] += symmetric(2, 5)
    y = quadratic(u, g, H)
    model = LeastChange(believed)
    for _ in range(3):
        fitted(model, u, y, np.zeros(n), 3.0)
    found = model.H * 2.0**model.exponent
    np.testing.assert_allclose(found[:2, :2], H[:2, :2], atol=1e-3)
    np.testing.assert_array_equal(found[2:], H[2:])
    model = LeastChange(H)
    fitted(model, u, y, np.zeros(n), 3.0)
    np.testing.assert_allclose(model.H * 2.0**model.exponent, H, atol=1e-9)


@pytest.mark.parametrize("power", [-600, 600])
def test_the_unit_follows_the_values(power):
    n = 3
    u = np.random.default_rng(1).uniform(-1, 1, (12, n))
    y = quadratic(u, np.ones(n), symmetric(n, 2))
    models = LeastChange(np.zeros((n, n))), LeastChange(np.zeros((n, n)))
    for model, factor in zip(models, (1.0, 2.0**power), strict=True):
        fitted(model, u, y, np.zeros(n), 3.0)  # at first in other units
        g, H = fitted(model, u, y * factor, np.zeros(n), 3.0 * factor)
    plain_g, plain_H = fitted(models[0], u, y, np.zeros(n), 3.0)
    assert models[1].exponent - models[0].exponent == power
    assert np.isfinite(g).all()
    assert np.isfinite(H).all()
    assert np.isfinite(plain_g).all()
    assert np.isfinite(plain_H).all()


def test_a_value_beyond_all_others_is_left_out():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((20, 3))
    y = z @ [1.0, -2.0, 0.5] + np.sum(z**2, axis=1)
    found = []
    for odd in ([], [1e9], [1e300]):
        model = LeastChange(np.zeros((3, 3)))
        values = np.append(y, odd)
        points = np.vstack([z, *([[0.3, 0.1, 0.2]] * len(odd))])
        g, H = model.learn(points, values, np.zeros(3), 0.0, np.eye(3), np.eye(3))
        found.append(np.ldexp(np.append(g, H), model.exponent))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


# --- as a model of EGL ---------------------------------------------------------------------------------------------


def samples_of(f, sizes, centre, seed=0, radius=0.5):
    z = centre + radius * np.random.default_rng(seed).uniform(-1, 1, (sum(sizes), len(centre)))
    return Samples(z, f(z), tuple(sizes), centre)


def test_a_field_of_a_quadratic_is_its_gradient():
    n = 4
    g, H = np.arange(1.0, n + 1), symmetric(n, 7)
    samples = samples_of(lambda z: quadratic(z, g, H), (15, 14), np.full(n, 0.3))
    model = LeastChangeField(n)
    for _ in range(3):  # the ridge leaves a millionth to the next fit
        fit = model.fit(samples, 0.0, np.random.default_rng(0))
    np.testing.assert_allclose(fit.gradient(samples.z), g + samples.z @ H, atol=1e-4)
    d = np.arange(n) - 1.5
    np.testing.assert_allclose(fit.hessian_product(d), H @ d, atol=1e-3)
    assert fit.loss < 1e-8 * samples.v.var()


def test_fewer_samples_than_unknowns_are_interpolated_and_curvature_collects():
    """Sixteen samples leave 12 of the 28 unknowns open; batch after batch H comes nearer."""
    n = 6
    g, H = np.ones(n), symmetric(n, 1)
    model, errors = LeastChangeField(n), []
    for seed in range(40):
        samples = samples_of(lambda z: quadratic(z, g, H), (16,), np.zeros(n), seed)
        fit = model.fit(samples, 0.0, np.random.default_rng(0))
        assert fit.loss < 1e-6 * samples.v.var()
        errors.append(np.linalg.norm(fit.hessian - H))
    assert errors[-1] < 0.05 * errors[0]


@pytest.mark.parametrize("power", [-900, -3, 500, 1000])
def test_a_fields_values_times_a_power_of_two(power):
    """The gradient follows the unit, to the last bit, as far as floats reach."""
    n = 3
    plain = samples_of(lambda z: quadratic(z, np.ones(n), symmetric(n, 2)), (12,), np.zeros(n))
    scaled = Samples(plain.z, np.ldexp(plain.v, power), plain.sizes, plain.origin)
    with np.errstate(over="ignore"):  # the loss, which is a square
        fits = [LeastChangeField(n).fit(s, 0.0, np.random.default_rng(0)) for s in (plain, scaled)]
    assert fits[1].gradient(plain.z).tobytes() == np.ldexp(fits[0].gradient(plain.z), power).tobytes()


def test_reset_forgets_and_a_state_goes_on_to_the_last_bit():
    n = 3
    f = lambda z: quadratic(z, np.ones(n), symmetric(n, 2))  # noqa: E731
    rng = np.random.default_rng(0)
    first, other = (samples_of(f, (5,), np.zeros(n), seed) for seed in (1, 2))
    used, fresh = LeastChangeField(n), LeastChangeField(n)
    used.fit(first, 0.0, rng)
    copy = LeastChangeField(n)
    copy.load_state(loads(dumps(used.state())))
    expected = fresh.fit(other, 0.0, rng).gradient(other.z)
    continued = used.fit(other, 0.0, rng).gradient(other.z)
    assert copy.fit(other, 0.0, rng).gradient(other.z).tobytes() == continued.tobytes()
    assert continued.tobytes() != expected.tobytes()
    used.reset()
    assert used.fit(other, 0.0, rng).gradient(other.z).tobytes() == expected.tobytes()


def test_equal_points_and_equal_values_do_no_harm():
    n = 2
    model = LeastChangeField(n)
    for z, v in ((np.zeros((4, n)), np.arange(4.0)), (np.ones((4, n)), np.zeros(4)), (np.eye(n), np.full(2, 1e300))):
        fit = model.fit(Samples(z, v, (len(z),), np.zeros(n)), 0.0, np.random.default_rng(0))
        assert np.isfinite(fit.gradient(z)).all()


def test_how_many_samples_a_fit_takes():
    """The nearest, and within the radius the newest: samples beyond the count change nothing."""
    n = 2
    count = LeastChangeSettings().count(n)
    rng = np.random.default_rng(0)
    z = rng.uniform(-0.5, 0.5, (count, n))
    y = z @ [1.0, 2.0]
    found = []
    for old in (0, 1, 50):
        points = np.vstack([rng.uniform(-0.5, 0.5, (old, n)), z])
        model = LeastChange(np.zeros((n, n)))
        g, _ = fitted(model, points, np.append(np.full(old, 99.0), y), np.zeros(n), 0.0)
        found.append(np.ldexp(g, model.exponent))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
