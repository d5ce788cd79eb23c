"""Controllable accuracy: how the error of the learned gradient falls with eps."""

import numpy as np
import pytest

from eglearn.learning.memory import Samples
from eglearn.learning.models import gradient_model
from eglearn.learning.models.settings import FieldSettings

N = 3
CENTRE = np.array([0.3, -0.2, 0.5])


def f(z):
    """Smooth, with all derivatives present."""
    return np.exp(z @ [0.5, -0.3, 0.2]) + np.sin(z @ [0.2, 0.7, -0.4]) + z[:, 0] * z[:, 1] ** 2


def gradient(z):
    """The derivative of f."""
    a, b = np.array([0.5, -0.3, 0.2]), np.array([0.2, 0.7, -0.4])
    g = np.exp(z @ a)[:, None] * a + np.cos(z @ b)[:, None] * b
    return g + np.stack([z[:, 1] ** 2, 2 * z[:, 0] * z[:, 1], np.zeros(len(z))], axis=1)


def design(eps, points=24):
    """One fixed unmirrored set of points in the unit ball, scaled by eps."""
    unit = np.random.default_rng(5).uniform(-1, 1, (points, N)) / np.sqrt(N)
    return CENTRE + eps * unit


def largest_error(settings, eps):
    z = design(eps)
    # Values in units of their spread: networks are trained on mapped values, of order one.
    spread = np.ptp(f(z)) / 2
    samples = Samples(z, (f(z) - f(z).mean()) / spread, (len(z),), CENTRE)
    rng = np.random.default_rng(0)
    model = gradient_model(settings, N, rng)
    fit = model.fit(samples, 0.0, rng)
    return np.linalg.norm(fit.gradient(z) * spread - gradient(z), axis=1).max()


def slope(settings, radii):
    errors = [largest_error(settings, eps) for eps in radii]
    return np.polyfit(np.log(radii), np.log(errors), 1)[0]


RADII = 0.2 * 0.5 ** np.arange(6)


@pytest.mark.parametrize("model", ["constant", "affine"])
def test_first_order_loss_has_slope_one(model):
    settings = FieldSettings(model=model, order="first", ridge=0.0)
    assert slope(settings, RADII) == pytest.approx(1, abs=0.15)


def test_trapezoid_loss_has_slope_two():
    assert slope(FieldSettings(ridge=0.0), RADII) == pytest.approx(2, abs=0.15)


def test_trapezoid_is_the_better_one_already_at_moderate_eps():
    first = largest_error(FieldSettings(order="first", ridge=0.0), 0.2)
    assert largest_error(FieldSettings(ridge=0.0), 0.2) < 0.5 * first


@pytest.mark.parametrize("model", ["fc", "spline"])
def test_anchored_networks_have_slope_two(model):
    settings = FieldSettings(model=model, anchor="affine", ridge=0.0, training_steps=3, width=32, splines=4)
    assert slope(settings, RADII) == pytest.approx(2, abs=0.3)


def test_plain_network_ends_on_a_training_floor():
    """Its relative error stays where training leaves it, instead of falling with eps."""
    settings = FieldSettings(model="fc", training_steps=200)
    errors = [largest_error(settings, eps) for eps in (0.02, 0.005)]
    exact = [largest_error(FieldSettings(ridge=0.0), eps) for eps in (0.02, 0.005)]
    assert errors[1] > 100 * exact[1]
    assert errors[1] > 0.3 * errors[0]
