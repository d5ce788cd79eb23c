"""The parts of the networks: splines, normalised weights, attention, and where randomness comes from."""

import dataclasses

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from eglearn.learning.models.settings import FieldSettings

torch = pytest.importorskip("torch")
layers = pytest.importorskip("eglearn.learning.models.layers")

KINDS = ("linear", "cubic-c0", "cubic-c2")
SMALL = FieldSettings(model="spline", splines=5, knots=6, width=8, blocks=2, hidden=(7, 9))


def rng(seed=0):
    return np.random.default_rng(seed)


def to_numpy(tensor):
    return tensor.detach().numpy().astype(np.float64)


def splines(kind, n=2, knots=7, count=3):
    return layers.Splines(n, knots, count, kind, rng())


def values(module, s):
    """Values (N, n, e) at the same N abscissae in each coordinate."""
    n = module.coefficients.shape[0]
    points = torch.tensor(np.repeat(np.asarray(s)[:, None], n, axis=1), dtype=module.coefficients.dtype)
    return to_numpy(module(points))


def rows(x):
    return torch.tensor(np.asarray(x), dtype=torch.float32)


# --- splines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("knots", [2, 3, 7, 21])
def test_value_at_a_knot_is_its_coefficient(kind, knots):
    """To float32: the hats of the neighbours are 1e-7 times the number of knots there."""
    module = splines(kind, knots=knots)
    coefficients = to_numpy(module.coefficients)[:, :knots].transpose(1, 0, 2)
    np.testing.assert_allclose(values(module, np.linspace(-1, 1, knots)), coefficients, atol=3e-6 * knots)


@pytest.mark.parametrize("kind", KINDS)
def test_number_of_coefficients(kind):
    """Continuous piecewise cubics on 6 segments have 7 + 2 * 6 degrees of freedom; the other kinds one a knot."""
    assert splines(kind).coefficients.shape == (2, 19 if kind == "cubic-c0" else 7, 3)


@pytest.mark.parametrize("knots", [2, 3, 21])
def test_linear_kind_is_linear_interpolation(knots):
    module = splines("linear", knots=knots)
    s = rng(1).uniform(-1, 1, 200)
    out, coefficients = values(module, s), to_numpy(module.coefficients)
    for i in range(2):
        for e in range(3):
            expected = np.interp(s, np.linspace(-1, 1, knots), coefficients[i, :, e])
            np.testing.assert_allclose(out[:, i, e], expected, atol=1e-5)


@pytest.mark.parametrize("knots", [3, 4, 7, 21])
def test_c2_kind_is_scipys_natural_spline(knots):
    module = splines("cubic-c2", knots=knots)
    s = np.concatenate([rng(1).uniform(-1, 1, 200), [-1, 1]])
    out, coefficients = values(module, s), to_numpy(module.coefficients)
    for i in range(2):
        expected = CubicSpline(np.linspace(-1, 1, knots), coefficients[i], bc_type="natural")(s)
        np.testing.assert_allclose(out[:, i], expected, atol=2e-5)


def test_c2_kind_with_two_knots_is_a_line():
    module = splines("cubic-c2", knots=2)
    np.testing.assert_allclose(values(module, [0.0])[0], to_numpy(module.coefficients).mean(axis=1), atol=1e-6)


def in_float64(module):
    """The same splines without the rounding of their knots to float32."""
    module = module.double()
    module.knots = torch.linspace(-1, 1, len(module.knots), dtype=torch.float64)
    return module


def sided_derivatives(kind, order):
    """Derivatives just before and just after each inner knot, in float64 by finite differences inside the segments."""
    module = in_float64(splines(kind))
    knots = np.linspace(-1, 1, 7)[1:-1]
    h = 1e-2
    steps = [0.0] if order == 0 else [0.0, h, 2 * h, 3 * h]
    nudge = 1e-12
    # Exact for cubics: weights of f(0), f(h), f(2h), f(3h) for the derivatives at 0.
    weights = {
        0: np.array([1.0]),
        1: np.array([-11, 18, -9, 2]) / (6 * h),
        2: np.array([2, -5, 4, -1]) / h**2,
    }[order]
    after = sum(w * values(module, knots + nudge + t) for w, t in zip(weights, steps, strict=True))
    before = sum(w * values(module, knots - nudge - t) for w, t in zip(weights, steps, strict=True))
    return before * (-1) ** order, after


@pytest.mark.parametrize(("kind", "smooth"), [("linear", 0), ("cubic-c0", 0), ("cubic-c2", 2)])
def test_continuity(kind, smooth):
    """Each kind has as many continuous derivatives as its name says, and no more."""
    for order in range(smooth + 1):
        before, after = sided_derivatives(kind, order)
        np.testing.assert_allclose(before, after, atol=[1e-9, 1e-5, 1e-4][order])
    if smooth == 0:
        before, after = sided_derivatives(kind, 1)
        assert np.abs(before - after).max() > 0.5


def test_c0_kind_holds_every_continuous_piecewise_cubic():
    """A least-squares fit to one that was drawn at random leaves nothing."""
    module = in_float64(splines("cubic-c0", n=1, knots=4))
    s = np.linspace(-1, 1, 400)
    knots = np.linspace(-1, 1, 4)
    segment = np.clip(np.searchsorted(knots, s, side="right") - 1, 0, 2)
    t = (s - knots[segment]) * 1.5
    at_knots, bends = rng(2).normal(size=4), rng(3).normal(size=(3, 2))
    target = at_knots[segment] * (1 - t) + at_knots[segment + 1] * t
    target += t * (1 - t) * (bends[segment, 0] + bends[segment, 1] * t)
    basis = to_numpy(module.basis(torch.from_numpy(s)))
    assert basis.shape == (400, 10)
    found, *_ = np.linalg.lstsq(basis, target, rcond=None)
    assert np.linalg.matrix_rank(basis) == 10
    np.testing.assert_allclose(basis @ found, target, atol=1e-12)


def test_coordinates_have_splines_of_their_own():
    module = splines("linear")
    s = rows(rng(1).uniform(-1, 1, (5, 2)))
    before = to_numpy(module(s))
    with torch.no_grad():
        module.coefficients[1] += 1
    after = to_numpy(module(s))
    np.testing.assert_allclose(after[:, 0], before[:, 0])
    np.testing.assert_allclose(after[:, 1], before[:, 1] + 1, atol=1e-5)


# --- linear layers -------------------------------------------------------------------------------------------------


def effective_weight(layer):
    """What the layer multiplies with, biases taken off."""
    inputs = layer.weight.shape[1]
    with torch.no_grad():
        return to_numpy(layer(torch.eye(inputs)) - layer(torch.zeros(1, inputs))).T


@pytest.mark.parametrize("init", ["uniform", "orthogonal", "zero"])
def test_linear_layer_is_linear(init):
    layer = layers.Linear(4, 3, rng(), init)
    x = rng(1).normal(size=(6, 4))
    expected = x @ to_numpy(layer.weight).T + to_numpy(layer.bias)
    np.testing.assert_allclose(to_numpy(layer(rows(x))), expected, atol=1e-6)


def test_uniform_weights_are_as_torchs():
    layer = layers.Linear(100, 50, rng())
    for part in (to_numpy(layer.weight), to_numpy(layer.bias)):
        assert np.abs(part).max() <= 0.1 + 1e-8
        assert np.abs(part).max() > 0.09
        assert part.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.2)


@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (8, 3), (3, 8), (1, 5), (5, 1), (1, 1)])
def test_orthogonal_weights_are_orthogonal(inputs, outputs):
    w = to_numpy(layers.Linear(inputs, outputs, rng(), "orthogonal").weight)
    assert w.shape == (outputs, inputs)
    small = w @ w.T if outputs <= inputs else w.T @ w
    np.testing.assert_allclose(small, np.eye(min(inputs, outputs)), atol=1e-6)


def test_orthogonal_weights_have_no_preferred_sign():
    generator = rng()
    corners = np.array([to_numpy(layers.Linear(3, 3, generator, "orthogonal").weight) for _ in range(300)])
    share = (corners > 0).mean(axis=0)
    assert np.abs(share - 0.5).max() < 4 * 0.5 / np.sqrt(300)


@pytest.mark.parametrize("init", ["uniform", "orthogonal"])
@pytest.mark.parametrize(("inputs", "outputs"), [(12, 20), (20, 12), (1, 6), (6, 1)])
def test_spectral_norm_makes_the_largest_singular_value_one(init, inputs, outputs):
    layer = layers.Linear(inputs, outputs, rng(), init, spectral=True)
    with torch.no_grad():
        layer.weight *= 37.5
        for _ in range(300):
            layer(torch.zeros(1, inputs))
    w = effective_weight(layer)
    assert np.linalg.norm(w, 2) == pytest.approx(1, abs=1e-3)
    raw = to_numpy(layer.weight)
    np.testing.assert_allclose(w, raw / np.linalg.norm(raw, 2), atol=2e-3)


def test_spectral_norm_moves_on_in_training_only():
    layer = layers.Linear(6, 4, rng(), spectral=True)
    x = rows(rng(1).normal(size=(3, 6)))
    layer.eval()
    left = layer.left.clone()
    assert torch.equal(layer(x), layer(x))
    assert torch.equal(layer.left, left)
    layer.train()
    layer(x)
    assert not torch.equal(layer.left, left)


def test_spectral_norm_of_zero_weights_is_harmless():
    layer = layers.Linear(4, 3, rng(), "zero", spectral=True)
    out = layer(torch.ones(2, 4))
    out.sum().backward()
    assert not out.any()
    assert torch.isfinite(layer.weight.grad).all()
    assert torch.isfinite(layer.left).all()


def test_spectral_norm_is_part_of_the_derivative():
    """The normalised weight does not change when the weight is scaled: the derivative along the weight is zero."""
    layer = layers.Linear(6, 4, rng(), spectral=True)
    x = rows(rng(1).normal(size=(3, 6)))
    with torch.no_grad():
        for _ in range(300):
            layer(x)
    layer(x).square().sum().backward()
    gradient, weight = to_numpy(layer.weight.grad), to_numpy(layer.weight)
    assert abs((gradient * weight).sum()) < 1e-5 * np.linalg.norm(gradient) * np.linalg.norm(weight)


# --- attention -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spectral", [False, True])
def test_non_local_block_follows_a_permutation_of_coordinates(spectral):
    block = layers.NonLocal(5, rng(), spectral).eval()
    s = rows(rng(1).normal(size=(4, 6, 5)))
    order = rng(2).permutation(6)
    with torch.no_grad():
        np.testing.assert_allclose(to_numpy(block(s[:, order])), to_numpy(block(s)[:, order]), atol=1e-5)


def test_non_local_block_by_hand():
    block = layers.NonLocal(3, rng(), False)
    s = rng(1).normal(size=(2, 4, 3))

    def linear(layer, x):
        return x @ to_numpy(layer.weight).T + to_numpy(layer.bias)

    for k in range(2):
        active = np.maximum(s[k], 0)
        scores = linear(block.query, active) @ linear(block.key, active).T / np.sqrt(3)
        weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        expected = s[k] + linear(block.out, np.maximum(weights @ linear(block.value, active), 0))
        np.testing.assert_allclose(to_numpy(block(rows(s)))[k], expected, atol=1e-5)


# --- whole networks ------------------------------------------------------------------------------------------------


def residual_by_hand(block, x):
    inner = np.maximum(x, 0) @ to_numpy(block.first.weight).T + to_numpy(block.first.bias)
    return x + np.maximum(inner, 0) @ to_numpy(block.second.weight).T + to_numpy(block.second.bias)


@pytest.mark.parametrize("aggregation", ["average", "attention"])
def test_spline_net_by_hand(aggregation):
    settings = dataclasses.replace(SMALL, aggregation=aggregation)
    net = layers.SplineNet(settings, 3, 2, rng(), zero_output=False)
    s = rng(1).uniform(-1, 1, (5, 3))
    embedded = net.splines(rows(s))
    if aggregation == "attention":
        embedded = net.mix(embedded)
    x = np.hstack([s, to_numpy(embedded).mean(axis=1)])
    head = list(net.head)
    assert len(head) == 1 + 2 + 1 + 1
    x = x @ to_numpy(head[0].weight).T + to_numpy(head[0].bias)
    for block in head[1:3]:
        x = residual_by_hand(block, x)
    expected = np.maximum(x, 0) @ to_numpy(head[4].weight).T + to_numpy(head[4].bias)
    np.testing.assert_allclose(to_numpy(net(rows(s))), expected, atol=1e-4)


@pytest.mark.parametrize("aggregation", ["average", "attention"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("spectral_norm", [False, True])
def test_spline_net_works(aggregation, kind, n, spectral_norm):
    settings = dataclasses.replace(SMALL, aggregation=aggregation, spline_kind=kind, spectral_norm=spectral_norm)
    net = layers.SplineNet(settings, n, n, rng(), zero_output=False)
    s = np.vstack([rng(1).uniform(-1, 1, (4, n)), np.ones((1, n)), -np.ones((1, n))])
    out = net(rows(s))
    assert out.shape == (6, n)
    assert out.dtype == torch.float32
    out.square().sum().backward()
    for name, p in net.named_parameters():
        assert torch.isfinite(p.grad).all(), name
    used = [name for name, p in net.named_parameters() if p.grad.abs().max() > 0]
    assert "splines.coefficients" in used
    assert ("mix.query.weight" in used) == (aggregation == "attention" and n > 1)


@pytest.mark.parametrize("spectral_norm", [False, True])
def test_zero_output_layer_gives_zero_output_and_learns(spectral_norm):
    settings = dataclasses.replace(SMALL, spectral_norm=spectral_norm)
    made = layers.SplineNet(settings, 3, 3, rng(), zero_output=True)
    x = rows(rng(1).uniform(-1, 1, (5, 3)))
    out = made(x)
    assert not out.any()
    (out - 1).square().sum().backward()
    last = list(made.modules())[-1]
    assert last.weight.grad.abs().max() > 0
    assert layers.SplineNet(settings, 3, 3, rng(), zero_output=False)(x).abs().max() > 0


def test_only_the_generator_decides():
    """Same generator, same weights; torch's and NumPy's global random states are left alone."""
    settings = dataclasses.replace(SMALL, spectral_norm=True)
    torch.manual_seed(1)
    torch_before = torch.get_rng_state()
    numpy_before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = layers.SplineNet(settings, 3, 3, rng(5), zero_output=False)
    torch.manual_seed(2)
    second_state = torch.get_rng_state()
    second = layers.SplineNet(settings, 3, 3, rng(5), zero_output=False)
    x = rows(rng(1).uniform(-1, 1, (5, 3)))
    assert torch.equal(first(x), second(x))
    first(x).sum().backward()
    assert torch.equal(torch.get_rng_state(), second_state)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert np.random.get_state()[1].tolist() == numpy_before  # noqa: NPY002
    other = layers.SplineNet(settings, 3, 3, rng(6), zero_output=False)
    assert not torch.equal(first(x), other(x))


def test_parameters_are_float32_and_generators_move_on():
    generator = rng(5)
    first, second = (layers.SplineNet(SMALL, 3, 3, generator, zero_output=False) for _ in range(2))
    assert {p.dtype for p in first.parameters()} == {torch.float32}
    assert not torch.equal(next(first.parameters()), next(second.parameters()))
