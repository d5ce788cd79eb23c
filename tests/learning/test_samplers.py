"""The samplers: their laws, and that generators decide everything."""

import math

import numpy as np
import pytest
from scipy.special import betainc

from eglearn.learning.samplers import (
    EXPLORATIONS,
    ball,
    ball_radius,
    cone,
    directions,
    gaussian,
    sampler,
)

PI = math.pi


def rng(seed=0):
    return np.random.default_rng(seed)


def lengths(x):
    return np.linalg.norm(x, axis=1)


def looks_uniform(values, bound=1.95):
    """Kolmogorov and Smirnov: sqrt(N) times the largest gap to the uniform law passes 1.95 once in a thousand."""
    ordered = np.sort(values)
    k = len(ordered)
    gap = max(np.max(np.arange(1, k + 1) / k - ordered), np.max(ordered - np.arange(k) / k))
    return gap * math.sqrt(k) < bound


def angles_to(axis, x):
    """Angles between the rows of x and an axis, exact for small ones too."""
    axis = axis / np.linalg.norm(axis)
    along = x @ axis
    return np.arctan2(lengths(x - np.outer(along, axis)), along)


def test_the_uniformity_check_can_fail():
    assert looks_uniform(rng().random(4000))
    assert not looks_uniform(rng().random(4000) ** 1.1)


# --- balls ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100])
def test_ball_is_uniform_in_volume(n):
    r = lengths(ball(rng(), 4000, n))
    assert r.max() <= 1 + 1e-15
    assert looks_uniform(r**n)


@pytest.mark.parametrize("n", [1, 2, 10, 100])
def test_ball_radius_is_uniform_in_radius(n):
    r = lengths(ball_radius(rng(), 4000, n))
    assert r.max() <= 1
    assert looks_uniform(r)


@pytest.mark.parametrize("n", [1, 2, 10, 100, 784])
def test_gaussian_has_mean_square_length_one(n):
    x = gaussian(rng(), 4000, n)
    # n |x|^2 is chi-squared with n degrees: its mean over 4000 draws is off by sqrt(2 n / 4000).
    assert np.mean(lengths(x) ** 2) == pytest.approx(1, abs=4 * math.sqrt(2 / n / 4000))
    assert np.mean(x[:, 0] ** 4) == pytest.approx(3 / n**2, rel=0.3)  # the tail of a normal law


@pytest.mark.parametrize("draw", [directions, ball, ball_radius, gaussian])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_no_direction_is_preferred(draw, n):
    """Mean zero, covariance a multiple of the identity, and the share of a random half-space is a half."""
    k = 20000
    unit = draw(rng(1), k, n)
    unit = unit / lengths(unit)[:, None]
    assert np.abs(unit.mean(axis=0)).max() < 4 / math.sqrt(n * k)
    np.testing.assert_allclose(n * unit.T @ unit / k, np.eye(n), atol=4 * math.sqrt(2 / k) * n / math.sqrt(n + 2))
    for normal in rng(2).standard_normal((5, n)):
        assert np.mean(unit @ normal > 0) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(k))


@pytest.mark.parametrize("n", [1, 2, 2000])
def test_directions_have_length_one(n):
    np.testing.assert_allclose(lengths(directions(rng(), 50, n)), 1, rtol=1e-14)


# --- cones ---------------------------------------------------------------------------------------------------------

APERTURES = [0.01, 0.1, 0.5, PI / 3, PI / 2, 2 * PI / 3, 3.0, PI]


@pytest.mark.parametrize("aperture", APERTURES)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 784, 2000])
def test_cone_samples_lie_in_cone_and_ball(n, aperture):
    """Exactly, up to rounding: a sideways direction in the plane loses some digits when it is nearly the axis."""
    axis = rng(3).standard_normal(n)
    x = cone(rng(4), 200, n, axis, aperture)
    assert x.shape == (200, n)
    assert np.isfinite(x).all()
    assert lengths(x).max() <= 1 + 1e-9
    assert angles_to(axis, x).max() <= aperture / 2 + 1e-9


@pytest.mark.parametrize("aperture", APERTURES)
@pytest.mark.parametrize("n", [2, 3, 4, 10, 50, 784])
def test_cone_is_uniform_in_volume(n, aperture):
    """The radius has law r^n; the share of the ball within an angle has the law of the exact ratio.

    Where that ratio is below the smallest float, sin^(n-1) stands for it: the other factor, cos^-1, is constant over
    the thin shell that holds all the volume then.
    """
    axis = rng(5).standard_normal(n)
    x = cone(rng(6), 2000, n, axis, aperture)
    assert looks_uniform(lengths(x) ** n)
    theta = np.minimum(angles_to(axis, x), aperture / 2)
    whole = betainc((n - 1) / 2, 0.5, math.sin(aperture / 2) ** 2)
    if whole > 1e-280:
        share = betainc((n - 1) / 2, 0.5, np.sin(theta) ** 2) / whole
    else:
        share = (np.sin(theta) / math.sin(aperture / 2)) ** (n - 1)
    assert looks_uniform(share)
    correlation = np.corrcoef(lengths(x) ** n, share)[0, 1]
    assert abs(correlation) < 4 / math.sqrt(2000)


@pytest.mark.parametrize("aperture", [0.05, 1.0, 2.5, PI])
def test_angle_law_in_two_and_three_dimensions(aperture):
    theta = angles_to(np.array([0.0, -3.0]), cone(rng(7), 4000, 2, np.array([0.0, -3.0]), aperture))
    assert looks_uniform(theta / (aperture / 2))
    axis = np.array([1.0, 2.0, -1.0])
    theta = angles_to(axis, cone(rng(8), 4000, 3, axis, aperture))
    # 1 - cos = 2 sin^2(theta / 2), without cancellation
    assert looks_uniform(np.sin(theta / 2) ** 2 / math.sin(aperture / 4) ** 2)


@pytest.mark.parametrize("aperture", [0.3, 2.0])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_cone_is_round(n, aperture):
    """Around the axis every direction is as likely as any other."""
    k = 8000
    axis = np.eye(n)[0]
    sideways = cone(rng(9), k, n, axis, aperture)[:, 1:]
    sideways /= lengths(sideways)[:, None]
    assert np.abs(sideways.mean(axis=0)).max() < 4 / math.sqrt((n - 1) * k)
    covariance = (n - 1) * sideways.T @ sideways / k
    np.testing.assert_allclose(covariance, np.eye(n - 1), atol=4 * math.sqrt(2 / k) * math.sqrt(n))


@pytest.mark.parametrize("kind", ["cone", "cone-ball"])
@pytest.mark.parametrize("direction", [np.zeros(3), np.full(3, np.nan)])
def test_without_a_direction_a_cone_is_a_ball(kind, direction):
    x = sampler(kind, 0.5)(rng(12), 4000, 3, direction)
    assert looks_uniform(lengths(x) ** 3)
    unit = x / lengths(x)[:, None]
    assert looks_uniform((unit[:, 0] + 1) / 2)  # Archimedes: a coordinate of the sphere is uniform


@pytest.mark.parametrize("length", [1e-300, 1e-100, 1e-5, 1e5, 1e100, 1e300])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_length_of_the_direction_does_not_matter(n, length):
    axis = np.array([3.0, -4.0, 1.0, 2.0, -1.0])[:n]
    x = cone(rng(13), 50, n, axis, 0.4)
    np.testing.assert_allclose(cone(rng(13), 50, n, length * axis, 0.4), x, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("k", "in_cone"), [(0, 0), (1, 0), (2, 1), (7, 3), (64, 32), (63, 31)])
def test_half_cone_half_ball(k, in_cone):
    """The first half, rounded down, is the cone's; the rest is what a ball gives from there on."""
    axis, aperture, n = np.array([1.0, 1.0, 0.0, 0.0]), 0.3, 4
    generator = rng(14)
    x = sampler("cone-ball", aperture)(generator, k, n, axis)
    assert x.shape == (k, n)
    assert (angles_to(axis, x)[:in_cone] <= aperture / 2 + 1e-9).all()
    again = rng(14)
    expected = np.vstack([cone(again, in_cone, n, axis, aperture), ball(again, k - in_cone, n)])
    assert x.tobytes() == expected.tobytes()
    if k > 20:
        assert (angles_to(axis, x)[in_cone:] > aperture / 2).sum() > 0.9 * (k - in_cone)


def test_the_cone_opens_towards_the_direction():
    x = cone(rng(15), 100, 2, np.array([0.0, -2.0]), PI / 2)
    assert (x[:, 1] < 0).all()
    assert (cone(rng(15), 100, 1, np.array([-3.0]), PI)[:, 0] < 0).all()


# --- by name, and generators ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "draw"),
    [
        ("ball", lambda g, k, n, d: ball(g, k, n)),
        ("ball-radius", lambda g, k, n, d: ball_radius(g, k, n)),
        ("cone", lambda g, k, n, d: cone(g, k, n, d, 0.7)),
        ("gaussian", lambda g, k, n, d: gaussian(g, k, n)),
    ],
)
def test_samplers_by_name(kind, draw):
    direction = np.array([1.0, -2.0, 0.5])
    assert sampler(kind, 0.7)(rng(16), 9, 3, direction).tobytes() == draw(rng(16), 9, 3, direction).tobytes()


@pytest.mark.parametrize("kind", EXPLORATIONS)
@pytest.mark.parametrize("n", [1, 2, 17])
def test_same_generator_state_same_samples(kind, n):
    direction = np.arange(1.0, n + 1)
    draw = sampler(kind, 1.0)
    first, second = rng(17), rng(17)
    global_state = np.random.get_state()[1].tolist()  # noqa: NPY002
    for k in (5, 0, 8):
        a, b = draw(first, k, n, direction), draw(second, k, n, direction)
        assert a.shape == (k, n)
        assert a.tobytes() == b.tobytes()
    assert first.bit_generator.state == second.bit_generator.state
    assert draw(first, 5, n, direction).tobytes() != draw(rng(17), 5, n, direction).tobytes()
    assert np.random.get_state()[1].tolist() == global_state  # noqa: NPY002
    assert direction.tolist() == np.arange(1.0, n + 1).tolist()
