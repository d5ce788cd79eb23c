import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn.learning.memory import Samples
from eglearn.learning.models import gradient_model, value_model
from eglearn.learning.models.base import pair_loss
from eglearn.learning.models.closed_form import CLOSED_FORMS
from eglearn.learning.models.networks import GradientNetwork, ValueNetwork
from eglearn.learning.models.settings import FieldSettings

SMALL = {"hidden": (16,), "width": 16, "splines": 4, "blocks": 1, "training_steps": 5}


def samples_of(n=3, sizes=(20, 20, 12), seed=0):
    rng = np.random.default_rng(seed)
    z = 0.3 * rng.standard_normal((sum(sizes), n))
    v = np.sin(2 * z).sum(axis=1) + z[:, 0]
    return Samples(z, v, tuple(sizes), np.zeros(n))


@pytest.mark.parametrize("model", ["fc", "spline"])
@pytest.mark.parametrize("pairing", ["all", "single"])
@pytest.mark.parametrize("order", ["first", "trapezoid"])
def test_training_finds_the_gradient_of_a_smooth_function(model, pairing, order):
    s = FieldSettings(model=model, pairing=pairing, order=order, training_steps=150, learning_rate=3e-3, width=32)
    rng = np.random.default_rng(0)
    samples = samples_of()
    fit = GradientNetwork(s, 3, rng).fit(samples, 0.0, rng)
    true = 2 * np.cos(2 * samples.z) + np.array([1.0, 0, 0])
    learned = fit.gradient(samples.z)
    assert np.sum(learned * true) / np.linalg.norm(learned) / np.linalg.norm(true) > 0.9


@pytest.mark.parametrize("model", ["fc", "spline"])
def test_value_network_differentiates_what_it_learned(model):
    """Through the tanh of the region too; piecewise linear, so a central difference inside a piece is exact."""
    s = FieldSettings(model=model, training_steps=300, learning_rate=3e-3, width=32)
    rng = np.random.default_rng(0)
    samples = samples_of()
    network = ValueNetwork(s, 3, rng, squash=True)
    fit = network.fit(samples, 0.0, rng)
    assert fit.loss < 0.05 * samples.v.var()

    def value(z):
        return network._evaluate(z)[:, 0]

    learned = fit.gradient(samples.z)
    # Values have seven digits, so a step of 1e-3 gives three; kinks between are few.
    h = 1e-3 * np.eye(3)
    differences = np.stack([(value(samples.z + d) - value(samples.z - d)) / 2e-3 for d in h], axis=1)
    assert np.median(np.abs(learned - differences)) < 1e-3 * np.abs(differences).max()


@given(
    seed=st.integers(0, 1000),
    anchor=st.sampled_from(["constant", "affine"]),
    order=st.sampled_from(["first", "trapezoid"]),
    loss=st.sampled_from(["squared", "huber"]),
    rate=st.sampled_from([1e-3, 0.3]),  # the second makes training diverge, so that the network must be dropped
)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_an_anchored_network_is_never_worse_than_its_anchor(seed, anchor, order, loss, rate):
    s = FieldSettings(model="fc", anchor=anchor, order=order, loss=loss, learning_rate=rate, **SMALL)
    samples = samples_of(seed=seed)
    rng = np.random.default_rng(seed)
    fit = GradientNetwork(s, 3, rng).fit(samples, 0.0, rng)
    closed = CLOSED_FORMS[anchor](s).fit(samples)
    kept = pair_loss(fit.gradient(samples.z), samples, order, loss)
    # The anchor's own loss by the same formula; 1e-12 for the order of summation.
    assert kept <= pair_loss(closed.gradient(samples.z), samples, order, loss) * (1 + 1e-12)
    assert fit.loss == pytest.approx(kept, rel=1e-12)


def test_an_anchored_network_starts_at_its_anchor_and_improves_on_it():
    s = FieldSettings(model="fc", anchor="constant", order="first", training_steps=200)
    samples = samples_of()
    rng = np.random.default_rng(0)
    model = GradientNetwork(s, 3, rng)
    np.testing.assert_array_equal(model._evaluate(samples.z), 0)
    closed = CLOSED_FORMS["constant"](s).fit(samples)
    assert model.fit(samples, 0.0, rng).loss < 0.8 * closed.loss


@pytest.mark.parametrize("model", ["fc", "spline"])
@pytest.mark.parametrize("make", [gradient_model, value_model])
@pytest.mark.parametrize("reset", [False, True])
def test_state_continues_to_the_last_bit(model, make, reset):
    s = FieldSettings(model=model, reset_network=reset, spectral_norm=True, **SMALL)
    samples, other = samples_of(), samples_of(seed=1)
    first = make(s, 3, np.random.default_rng(0))
    first.fit(samples, 0.0, np.random.default_rng(1))
    second = make(s, 3, np.random.default_rng(99))
    second.load_state(first.state())
    for model_ in (first, second):
        model_.reset()
    fits = [m.fit(other, 0.0, np.random.default_rng(2)) for m in (first, second)]
    np.testing.assert_array_equal(fits[0].gradient(other.z), fits[1].gradient(other.z))


def test_reset_goes_back_to_the_initial_weights_only_if_asked():
    samples = samples_of()
    for reset in (False, True):
        s = FieldSettings(model="fc", reset_network=reset, **SMALL)
        model = GradientNetwork(s, 3, np.random.default_rng(0))
        before = model._evaluate(samples.z)
        model.fit(samples, 0.0, np.random.default_rng(1))
        model.reset()
        assert np.array_equal(model._evaluate(samples.z), before) == reset


def test_padding_does_not_change_what_is_learned():
    """Batches of different sizes are padded; the pairs of padding must not count."""
    s = FieldSettings(model="fc", training_steps=1, minibatch=10**6, order="first", **{"hidden": (8,)})
    samples = samples_of(sizes=(30, 4))
    model = GradientNetwork(s, 3, np.random.default_rng(0))
    _, slope_of = model._all_pairs(samples, np.zeros_like(samples.z), 0.0, Shuffled())()
    rng = np.random.default_rng(1)
    g, change = rng.standard_normal((2, 34, 3))
    inside = np.arange(60).reshape(2, 30) < [[30], [34]]  # the second batch has 4 points and 26 of padding

    def padded(values):
        out = rng.standard_normal((2, 30, 3))  # what the network says of padding
        out[inside] = values
        return out.reshape(60, 3).astype(np.float32)

    slopes = slope_of(padded(g)).reshape(2, 30, 3)
    assert not slopes[~inside].any()
    # pair_loss leaves out the void pairs i = i, the training loss counts them with zero.
    pairs, voids = 30 * 29 + 4 * 3, 34
    up, down = (pair_loss(g + h * change, samples, "first", "squared") for h in (1e-4, -1e-4))
    expected = (up - down) / 2e-4 * pairs / (pairs + voids)
    assert np.sum(slopes[inside] * change) == pytest.approx(expected, rel=1e-4)


class Shuffled:
    """A generator whose permutations leave everything in place."""

    def permutation(self, count):
        return np.arange(count)


def test_perturbation_moves_the_argument_within_its_radius():
    s = FieldSettings(model="fc", pairing="all", **SMALL)
    samples = samples_of(sizes=(20,))
    model = GradientNetwork(s, 3, np.random.default_rng(0))
    seen = []
    original = model.net.train
    model.net.train = lambda s, slope_of: seen.append(s) or original(s, slope_of)
    model.fit(samples, 0.1, np.random.default_rng(0))
    offsets = np.linalg.norm(np.array(seen) - samples.z, axis=-1)
    assert offsets.max() <= 0.1 + 1e-6
    assert offsets.max() > 0.08
    assert not np.allclose(seen[0], seen[1])


def test_torch_random_state_is_untouched():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    rng = np.random.default_rng(0)
    for name in ("fc", "spline"):
        for pairing in ("all", "single"):
            GradientNetwork(FieldSettings(model=name, pairing=pairing, **SMALL), 3, rng).fit(samples_of(), 0.05, rng)
        ValueNetwork(FieldSettings(model=name, **SMALL), 3, rng).fit(samples_of(), 0.0, rng)
    assert torch.equal(before, torch.random.get_rng_state())


def test_unknown_device_is_one_sentence():
    with pytest.raises(ValueError, match=r"device = 'toaster'"):
        GradientNetwork(FieldSettings(model="spline", device="toaster"), 2, np.random.default_rng(0))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_cuda():
    s = FieldSettings(model="spline", device="cuda", **SMALL)
    rng = np.random.default_rng(0)
    assert np.isfinite(GradientNetwork(s, 3, rng).fit(samples_of(), 0.0, rng).loss)


@pytest.mark.parametrize("make", [gradient_model, value_model])
def test_a_network_that_diverged_starts_again(make):
    s = FieldSettings(model="fc", **SMALL)
    samples = samples_of()
    wild = Samples(samples.z, samples.v * 1e300, samples.sizes, samples.origin)
    model = make(s, 3, np.random.default_rng(0))
    with np.errstate(over="ignore"):
        fit = model.fit(wild, 0.0, np.random.default_rng(1))
    np.testing.assert_array_equal(fit.gradient(samples.z), 0)
    assert np.isfinite(model.fit(samples, 0.0, np.random.default_rng(1)).gradient(samples.z)).all()
