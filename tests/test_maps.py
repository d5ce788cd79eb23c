"""Both maps together: the gradient of f from the gradient learned on mapped points and values (paper app. D)."""

import numpy as np
import pytest

from eglearn.learning.memory import Replay
from eglearn.learning.models.closed_form import Affine, Constant
from eglearn.learning.models.settings import FieldSettings
from eglearn.learning.output import OutputMap
from eglearn.learning.regions import LinearRegion

N = 4


def quadratic(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((N, N))
    h, b = a @ a.T, rng.standard_normal(N)
    return (lambda u: 1e6 + 3e3 * (u @ b + np.einsum("ki,ij,kj->k", u, h, u) / 2)), (lambda u: 3e3 * (b + h @ u)), b


def slope(output):
    """dr/dy of a linear map."""
    return np.diff(output(np.array([output.low, output.high])))[0] / (output.high - output.low)


@pytest.mark.parametrize("seed", range(5))
def test_true_gradient_is_recovered_through_linear_maps(seed):
    """g = (dr/dy)^-1 (dh/du) g~: sigma a g~ for r = (y - mu) / sigma; the printed a / sigma fails here."""
    f, gradient, _ = quadratic(seed)
    centre = np.random.default_rng(seed + 100).uniform(-0.5, 0.5, N)
    region = LinearRegion(centre, np.array([0.5, 0.1, 0.02, 0.3]))
    u = region.to_u(0.4 * np.random.default_rng(seed + 200).standard_normal((60, N)))
    output = OutputMap("linear")
    output.update(f(u))
    replay = Replay(1)
    replay.add(u, f(u), region)
    z = region.to_z(centre)
    fit = Affine(FieldSettings(ridge=0.0)).fit(replay.samples(output(f(u)), z))
    learned = fit.gradient(z[None])[0]
    recovered = region.pull_back(learned, z) / slope(output)
    np.testing.assert_allclose(recovered, gradient(centre), rtol=1e-8)
    as_printed = learned / region.sigma * slope(output)
    assert np.abs(as_printed / gradient(centre)).max() < 1e-3


def test_constant_model_recovers_a_linear_function():
    b = np.array([1.0, -2.0, 0.5, 3.0])
    region = LinearRegion(np.full(N, 0.2), np.full(N, 0.05))
    u = region.to_u(np.random.default_rng(0).uniform(-1, 1, (20, N)))
    output = OutputMap("linear")
    output.update(u @ b)
    replay = Replay(1)
    replay.add(u, u @ b, region)
    fit = Constant(FieldSettings(model="constant", ridge=0.0)).fit(replay.samples(output(u @ b), np.zeros(N)))
    recovered = region.pull_back(fit.b, np.zeros(N)) / slope(output)
    np.testing.assert_allclose(recovered, b, rtol=1e-10)
