import numpy as np
import pytest

from eglearn.learning.models.least_change import LeastChange, ball_step, box_step, differences


def symmetric(n, seed):
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a + a.T


def quadratic(u, g, H):
    return 3.0 + u @ g + 0.5 * np.einsum("ij,jk,ik->i", u, H, u)


def fitted(model, u, y, centre, value):
    n = len(centre)
    return model.fit(u, y, centre, value, np.eye(n), np.eye(n))


def test_a_quadratic_is_recovered_from_enough_samples():
    n = 5
    g, H = np.arange(1.0, n + 1), symmetric(n, 0)
    u = np.random.default_rng(1).uniform(-1, 1, (n * (n + 3) // 2 + 5, n))
    centre = np.full(n, 0.2)
    value = quadratic(centre[None], g, H)[0]
    model = LeastChange(np.zeros((n, n)))
    for _ in range(3):  # the ridge leaves a millionth to the next fit
        found_g, found_H = fitted(model, u, quadratic(u, g, H), centre, value)
    unit = 2.0**model.exponent * 4
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
        found_g, found_H = model.fit(u, quadratic(u, g, H), np.zeros(n), 3.0, A, np.linalg.inv(A))
    unit = 2.0**model.exponent * 4
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
    model = LeastChange(believed / 4)
    for _ in range(3):
        fitted(model, u, y, np.zeros(n), 3.0)
    found = model.H * 2.0**model.exponent * 4
    np.testing.assert_allclose(found[:2, :2], H[:2, :2], atol=1e-3)
    np.testing.assert_array_equal(found[2:], H[2:])
    model = LeastChange(H / 4)
    fitted(model, u, y, np.zeros(n), 3.0)
    np.testing.assert_allclose(model.H * 2.0**model.exponent * 4, H, atol=1e-9)


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
        g, H = model.fit(points, values, np.zeros(3), 0.0, np.eye(3), np.eye(3))
        found.append(np.ldexp(np.append(g, H), model.exponent))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


def test_differences_of_huge_values_are_finite():
    d = differences(np.array([1.7e308, -1.7e308]), -1.7e308, 1024)
    assert d.tolist() == [pytest.approx(1.7e308 / 2.0**1023 / 4, rel=1e-12), 0.0]


def gain(g, H, p):
    return -(g @ p + 0.5 * p @ H @ p)


@pytest.mark.parametrize("seed", range(20))
def test_ball_step_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    g, H = rng.standard_normal(n), symmetric(n, seed) + rng.choice([0.0, 6.0]) * np.eye(n)
    radius = float(rng.choice([0.1, 1.0, 10.0]))
    p = ball_step(g, H, radius)
    assert np.linalg.norm(p) <= radius * (1 + 1e-12)
    others = rng.standard_normal((20_000, n))
    others *= radius * rng.random((20_000, 1)) ** (1 / n) / np.linalg.norm(others, axis=1, keepdims=True)
    assert gain(g, H, p) >= max(gain(g, H, q) for q in others)


def test_ball_step_in_the_hard_case_and_without_slope():
    H = np.diag([-2.0, 1.0])
    p = ball_step(np.array([0.0, 1.0]), H, 2.0)
    assert np.linalg.norm(p) == pytest.approx(2)
    assert p[1] == pytest.approx(-1 / 3)
    assert np.linalg.norm(ball_step(np.zeros(2), H, 2.0)) == pytest.approx(2)
    np.testing.assert_array_equal(ball_step(np.zeros(3), np.zeros((3, 3)), 1.0), np.zeros(3))
    np.testing.assert_allclose(ball_step(np.array([3.0, 4.0]), np.zeros((2, 2)), 1.0), [-0.6, -0.8])
    np.testing.assert_allclose(ball_step(np.array([1e300]), np.array([[1e-300]]), 1.0), [-1.0])


@pytest.mark.parametrize("seed", range(20))
def test_box_step_is_inside_and_better_than_a_projected_gradient(seed):
    rng = np.random.default_rng(seed)
    n = 6
    g, H = rng.standard_normal(n), symmetric(n, seed) + 8.0 * (seed % 2) * np.eye(n)
    centre = rng.choice([-1.0, 1.0, 0.3, 0.9], n)
    p = box_step(g, H, centre, 0.7)
    assert np.linalg.norm(p) <= 0.7 * (1 + 1e-12)
    assert (np.abs(centre + p) <= 1).all()
    lengths = np.linspace(0, 0.7, 200) / np.linalg.norm(g)
    projected = [np.clip(centre - t * g, -1, 1) - centre for t in lengths]
    assert gain(g, H, p) >= max(gain(g, H, q) for q in projected) - 1e-12
