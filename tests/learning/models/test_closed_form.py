import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn.learning.memory import Samples
from eglearn.learning.models.base import pair_loss
from eglearn.learning.models.closed_form import Affine, Constant
from eglearn.learning.models.settings import FieldSettings

EXACT_CONSTANT = FieldSettings(model="constant", ridge=0.0)
EXACT = FieldSettings(ridge=0.0)


def samples_of(f, n, sizes, seed=0, scale=1.0, origin=None):
    rng = np.random.default_rng(seed)
    z = scale * rng.standard_normal((sum(sizes), n))
    return Samples(z, f(z), tuple(sizes), np.zeros(n) if origin is None else origin)


def quadratic(n, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n))
    h, b = a + a.T, rng.standard_normal(n)
    return (lambda z: z @ b + np.einsum("ki,ij,kj->k", z, h, z) / 2 + 7), b, h


def dense_pairs(samples, power):
    """The pair rows of theorem 1 written out: X~ and delta."""
    rows, delta = [], []
    for z, v in zip(samples.batches(samples.z), samples.batches(samples.v), strict=True):
        for i, j in itertools.product(range(len(v)), repeat=2):
            rows.append(power(z[j]) - power(z[i]))
            delta.append(v[j] - v[i])
    return np.array(rows), np.array(delta)


@pytest.mark.parametrize(("n", "sizes"), [(1, [3]), (3, [10]), (4, [7, 9, 5]), (6, [4, 4])])
def test_constant_equals_the_dense_solution_over_all_pairs(n, sizes):
    samples = samples_of(lambda z: np.sin(z).sum(axis=1) + z[:, 0] ** 2, n, sizes)
    x, delta = dense_pairs(samples, lambda z: z)
    dense = np.linalg.lstsq(x, delta, rcond=None)[0]
    fit = Constant(EXACT_CONSTANT).fit(samples)
    np.testing.assert_allclose(fit.b, dense, atol=1e-12)
    loss = np.sum((x @ dense - delta) ** 2) / sum(m * (m - 1) for m in sizes)
    assert fit.loss == pytest.approx(loss, rel=1e-9, abs=1e-25)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_constant_with_n_plus_one_points_has_no_loss(n):
    samples = samples_of(lambda z: np.cos(3 * z).sum(axis=1), n, [n + 1])
    fit = Constant(EXACT_CONSTANT).fit(samples)
    assert fit.loss < 1e-20
    assert pair_loss(fit.gradient(samples.z), samples, "first", "squared") < 1e-20


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_affine_recovers_gradient_and_hessian_of_a_quadratic(n):
    f, b, h = quadratic(n)
    count = (n + 1) * (n + 2)
    origin = np.full(n, 0.3)
    samples = samples_of(f, n, [count, 5], scale=0.7, origin=origin)
    fit = Affine(EXACT).fit(samples)
    np.testing.assert_allclose(fit.gradient(samples.z), b + samples.z @ h, atol=1e-8)
    np.testing.assert_allclose(fit.hessian, h, atol=1e-8)
    np.testing.assert_allclose(fit.hessian_product(b), h @ b, atol=1e-8)
    assert fit.loss < 1e-18


def test_batches_with_different_offsets_do_not_disturb_each_other():
    f, _b, h = quadratic(3)
    clean = samples_of(f, 3, [20, 20])
    shifted = Samples(clean.z, clean.v + np.repeat([0.0, 100.0], 20), clean.sizes, clean.origin)
    np.testing.assert_allclose(Affine(EXACT).fit(shifted).hessian, h, atol=1e-8)


@pytest.mark.parametrize("model", [Constant, Affine])
@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_fewer_points_than_unknowns(model, ridge):
    """The smallest gradient that explains the values best; never an exception."""
    n = 20
    direction = np.arange(1.0, n + 1)
    for count in (2, 3, n, n + 1):
        samples = samples_of(lambda z: z @ direction, n, [count])
        fit = model(FieldSettings(model="affine" if model is Affine else "constant", ridge=ridge)).fit(samples)
        assert np.isfinite(fit.gradient(samples.z)).all()
        assert np.linalg.norm(fit.b) <= 1.001 * np.linalg.norm(direction)
        if ridge == 0:
            assert fit.loss < 1e-15
    x, delta = dense_pairs(samples_of(lambda z: z @ direction, n, [5]), lambda z: z)
    fit = Constant(EXACT_CONSTANT).fit(samples_of(lambda z: z @ direction, n, [5]))
    np.testing.assert_allclose(fit.b, np.linalg.pinv(x) @ delta, atol=1e-10)


def test_primal_and_dual_agree(monkeypatch):
    """With as many samples as features the two ways must give one answer."""
    n = 6
    f, _, _ = quadratic(n)
    features = n * (n + 3) // 2
    settings = FieldSettings(ridge=1e-4)
    samples = samples_of(lambda z: f(z) + np.sin(5 * z).sum(axis=1), n, [features])
    primal = Affine(settings).fit(samples)
    monkeypatch.setattr(Affine, "count", lambda self, n: 10**9)
    dual = Affine(settings).fit(samples)
    np.testing.assert_allclose(dual.hessian, primal.hessian, atol=1e-7)
    np.testing.assert_allclose(dual.b, primal.b, atol=1e-8)
    assert dual.loss == pytest.approx(primal.loss, rel=1e-5)


@pytest.mark.parametrize("order", ["first", "trapezoid"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("radius", [0.0, 0.01])
def test_affine_is_a_minimum_of_its_pair_loss(order, loss, radius):
    """No small change of b or H may lower the loss (radius 0), and a dither changes the fit only a little."""
    n = 3
    samples = samples_of(lambda z: np.exp(z).sum(axis=1) + 3 * np.sin(4 * z[:, 0]), n, [12, 15])
    model = Affine(FieldSettings(order=order, loss=loss, ridge=0.0))
    fit = model.fit(samples, radius, np.random.default_rng(0))
    if radius > 0:
        still = model.fit(samples, 0.0, np.random.default_rng(0))
        change = np.linalg.norm(fit.b - still.b) / np.linalg.norm(still.b)
        assert 0 < change < 0.2
        return
    base = pair_loss(fit.gradient(samples.z), samples, order, loss)
    assert fit.loss == pytest.approx(base, rel=1e-6)
    rng = np.random.default_rng(1)
    for _ in range(40):
        db, dh = rng.standard_normal(n), rng.standard_normal((n, n))
        moved = fit.gradient(samples.z) + 0.02 * (db + samples.z @ (dh + dh.T))
        assert pair_loss(moved, samples, order, loss) > base * (1 - 1e-6)


def test_huber_ignores_a_wild_value_that_squares_follow():
    b = np.array([1.0, -2.0])
    samples = samples_of(lambda z: z @ b, 2, [30])
    samples.v[3] += 300
    robust = Constant(FieldSettings(model="constant", loss="huber", ridge=0.0)).fit(samples)
    plain = Constant(EXACT_CONSTANT).fit(samples)
    assert np.linalg.norm(robust.b - b) < 0.5 < np.linalg.norm(plain.b - b)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 8),
    count=st.integers(2, 40),
    spread=st.sampled_from([1e-8, 1.0, 10.0]),
    loss=st.sampled_from(["squared", "huber"]),
    model=st.sampled_from(["constant", "affine"]),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_degenerate_data_never_raise(seed, n, count, spread, loss, model):
    """Repeated points, points on a line, constant values."""
    rng = np.random.default_rng(seed)
    z = spread * rng.standard_normal((count, 1)) * rng.standard_normal(n) * rng.integers(0, 2, (count, 1))
    v = rng.integers(0, 2, count).astype(float)
    samples = Samples(z, v, (count,), z[0])
    fit = (Constant if model == "constant" else Affine)(FieldSettings(model=model, loss=loss)).fit(samples)
    assert np.isfinite(fit.gradient(z)).all()
    assert np.isfinite(fit.loss)


def test_scale_of_the_points_does_not_matter():
    f, _, _ = quadratic(4)
    one = samples_of(f, 4, [40])
    tiny = Samples(one.z * 1e-9, one.v, one.sizes, one.origin)
    np.testing.assert_allclose(
        Affine(FieldSettings()).fit(tiny).b * 1e-9, Affine(FieldSettings()).fit(one).b, rtol=1e-9
    )


@pytest.mark.parametrize("model", [Constant, Affine])
def test_permuting_coordinates_permutes_the_fit(model):
    f, _, _ = quadratic(5)
    one = samples_of(f, 5, [60])
    order = np.array([3, 1, 4, 0, 2])
    other = Samples(one.z[:, order], one.v, one.sizes, one.origin)
    s = FieldSettings(model="affine" if model is Affine else "constant")
    np.testing.assert_allclose(model(s).fit(other).b, model(s).fit(one).b[order], rtol=1e-9)


def test_large_dimension_needs_no_memory_beyond_the_samples():
    """At n = 2000 the quadratic has two million coefficients; the dual never writes them down."""
    n = 2000
    rng = np.random.default_rng(0)
    z = rng.standard_normal((300, n)) / np.sqrt(n)
    b = rng.standard_normal(n)
    fit = Affine(FieldSettings()).fit(Samples(z, z @ b, (300,), np.zeros(n)))
    assert fit.left.size + fit.right.size <= 2 * z.size
    # 300 of 2000 directions are seen: the best possible cosine is about sqrt(300 / 2000) = 0.39.
    assert fit.b @ b / np.linalg.norm(fit.b) / np.linalg.norm(b) > 0.3
