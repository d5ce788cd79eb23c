"""A cone's exact share of the ball."""

import math

import numpy as np
import pytest

from eglearn_lab.experiments.cones import cone_fraction
from eglearn_lab.ours import ball

PI = math.pi
APERTURES = [0.01, 0.1, 0.5, PI / 3, PI / 2, 2 * PI / 3, 3.0, PI]


@pytest.mark.parametrize(("n", "aperture"), [(1, 1.0), (2, 0.5), (2, PI), (3, 1.0), (5, 2.0), (10, 2.5), (40, 3.0)])
def test_share_of_a_ball_inside_a_cone(n, aperture):
    k = 40000
    x = ball(np.random.default_rng(11), k, n)
    inside = np.count_nonzero(np.arctan2(np.linalg.norm(x[:, 1:], axis=1), x[:, 0]) <= aperture / 2)
    p = cone_fraction(n, aperture)
    assert inside > 100  # otherwise this would show nothing
    assert abs(inside - k * p) < 4 * math.sqrt(k * p * (1 - p))


@pytest.mark.parametrize("aperture", APERTURES)
def test_cone_fraction_by_hand(aperture):
    half = aperture / 2
    assert cone_fraction(1, aperture) == 0.5
    assert cone_fraction(2, aperture) == pytest.approx(aperture / (2 * PI), rel=1e-12)
    assert cone_fraction(3, aperture) == pytest.approx(math.sin(half / 2) ** 2, rel=1e-12)  # (1 - cos half) / 2
    if aperture > 0.1:  # below, the difference cancels
        assert cone_fraction(4, aperture) == pytest.approx((half - math.sin(half) * math.cos(half)) / PI, rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 784, 2000])
def test_half_space_is_half_the_ball(n):
    assert cone_fraction(n, PI) == pytest.approx(0.5, rel=1e-12)
