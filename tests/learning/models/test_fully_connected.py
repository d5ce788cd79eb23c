"""The fully connected network: passes and Adam by hand, against torch's autograd and Adam."""

import dataclasses

import numpy as np
import pytest

from eglearn.learning.models.fully_connected import FullyConnected
from eglearn.learning.models.settings import FieldSettings

SMALL = FieldSettings(model="fc", hidden=(7, 9), learning_rate=1e-2)


def rng(seed=0):
    return np.random.default_rng(seed)


def points(k=5, n=3, seed=1):
    return rng(seed).uniform(-1, 1, (k, n)).astype(np.float32)


def to_target(target):
    """The derivative of half the summed squares of the distance to a target."""
    return lambda out: out - target


def parts(net):
    """Weights and biases, layer by layer."""
    named = net.weights()
    return [(named[f"{2 * k}.weight"], named[f"{2 * k}.bias"]) for k in range(len(named) // 3)]


def test_output_by_hand():
    net = FullyConnected(SMALL, 3, 4, rng(), zero_output=False)
    assert [w.shape for w, _ in parts(net)] == [(7, 3), (9, 7), (4, 9)]
    x = expected = points()
    for k, (weight, bias) in enumerate(parts(net)):
        expected = expected @ weight.T + bias
        if k < 2:
            expected = np.maximum(expected, 0)
    np.testing.assert_allclose(net.output(x), expected, atol=1e-6)
    assert net.output(x).dtype == np.float32


@pytest.mark.parametrize("spectral_norm", [False, True])
def test_slope_against_differences(spectral_norm):
    """Piecewise linear: inside a piece differences are exact but for float32."""
    net = FullyConnected(dataclasses.replace(SMALL, spectral_norm=spectral_norm), 3, 4, rng(), zero_output=False)
    x, h = points(), 1e-3
    up, down = (
        np.stack([net.output(x + d).sum(axis=1) for d in s * h * np.eye(3, dtype=np.float32)], 1) for s in (1, -1)
    )
    np.testing.assert_allclose(net.slope(x), (up - down) / (2 * h), atol=2e-3)


@pytest.mark.parametrize("spectral_norm", [False, True])
def test_training_is_that_of_torch(spectral_norm):
    """Ten steps of torch's Adam on a module of the same weights end at the same weights, up to float32."""
    torch = pytest.importorskip("torch")
    from eglearn.learning.models.layers import Linear

    s = dataclasses.replace(SMALL, spectral_norm=spectral_norm)
    mine, target = FullyConnected(s, 3, 4, rng(), zero_output=False), rng(2).normal(size=(5, 4)).astype(np.float32)
    widths = ((3, 7), (7, 9), (9, 4))
    layers = [part for ends in widths for part in (Linear(*ends, rng(), spectral=spectral_norm), torch.nn.ReLU())]
    theirs = torch.nn.Sequential(*layers[:-1])
    theirs.load_state_dict({name: torch.from_numpy(part) for name, part in mine.weights().items()})
    adam = torch.optim.Adam(theirs.parameters(), lr=s.learning_rate, eps=s.adam_epsilon)
    for _ in range(10):
        mine.train(points(), to_target(target))
        adam.zero_grad()
        (0.5 * (theirs(torch.from_numpy(points())) - torch.from_numpy(target)).square().sum()).backward()
        adam.step()
    for name, part in theirs.state_dict().items():
        np.testing.assert_allclose(mine.weights()[name], part.numpy(), atol=1e-5)


@pytest.mark.parametrize("spectral_norm", [False, True])
def test_zero_output_layer_gives_zero_output_and_learns(spectral_norm):
    net = FullyConnected(dataclasses.replace(SMALL, spectral_norm=spectral_norm), 3, 3, rng(), zero_output=True)
    assert not net.output(points()).any()
    for _ in range(200):
        net.train(points(), to_target(np.float32(0.5)))
    np.testing.assert_allclose(net.output(points()), 0.5, atol=0.1)


def test_spectral_norm_makes_the_largest_singular_value_one():
    """The power iteration moves on in training only."""
    net = FullyConnected(dataclasses.replace(SMALL, spectral_norm=True), 6, 4, rng(), zero_output=False)
    for _ in range(300):
        net.train(points(n=6), np.zeros_like)
    for matrix in net._matrices()[0]:
        assert np.linalg.norm(matrix, 2) == pytest.approx(1, abs=1e-3)
    before = net.weights()
    assert np.array_equal(net.output(points(n=6)), net.output(points(n=6)))
    assert all(np.array_equal(part, before[name]) for name, part in net.weights().items())


def test_moments_of_units_without_slope_end_at_zero():
    """They would stay among the smallest floats for ever, where processors are slow."""
    net = FullyConnected(SMALL, 3, 4, rng(), zero_output=False)
    net.train(points(), np.ones_like)
    for _ in range(2000):
        net.train(points(), np.zeros_like)
    assert not any(part["first"].any() for part in net.moments())


def test_only_the_generator_decides():
    first, second, other = (FullyConnected(SMALL, 3, 3, rng(k), zero_output=False) for k in (5, 5, 6))
    assert np.array_equal(first.output(points()), second.output(points()))
    assert not np.array_equal(first.output(points()), other.output(points()))
