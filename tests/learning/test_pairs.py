"""The pair losses against a plain double loop, and their symmetries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import huber

from eglearn.learning.pairs import LOSSES, ORDERS, penalty, penalty_slope, pull, residuals

exact = settings(derandomize=True, deadline=None, max_examples=60)
EACH_ORDER = pytest.mark.parametrize("order", ORDERS)


def batch(m, n, seed=0, lead=()):
    """Gradients, points and values."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*lead, m, n)), rng.normal(size=(*lead, m, n)), rng.normal(size=(*lead, m))


def double_loop(g, z, v, order):
    m = len(v)
    out = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            step = z[j] - z[i]
            slope = g[i] if order == "first" else (g[i] + g[j]) / 2
            out[i, j] = slope @ step - (v[j] - v[i])
    return out


@EACH_ORDER
@exact
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**32))
def test_residuals_equal_a_double_loop(order, m, n, seed):
    g, z, v = batch(m, n, seed)
    np.testing.assert_allclose(residuals(g, z, v, order), double_loop(g, z, v, order), rtol=0, atol=1e-12)


@EACH_ORDER
@pytest.mark.parametrize("lead", [(1,), (3,), (2, 3)])
def test_leading_axes_are_separate_batches(order, lead):
    g, z, v = batch(5, 3, lead=lead)
    together = residuals(g, z, v, order)
    assert together.shape == (*lead, 5, 5)
    for index in np.ndindex(lead):
        np.testing.assert_allclose(together[index], double_loop(g[index], z[index], v[index], order), atol=1e-13)


@EACH_ORDER
@pytest.mark.parametrize("loss", LOSSES)
def test_pull_of_the_slopes_is_the_derivative_of_the_loss(order, loss):
    """Against central differences along random directions; exact for squares, else up to the kinks of Huber's."""
    g, z, v = batch(6, 4, seed=1, lead=(2,))
    weights = np.random.default_rng(2).random((2, 6, 6))

    def total(gradients):
        return np.sum(weights * penalty(residuals(gradients, z, v, order), loss))

    slopes = pull(weights * penalty_slope(residuals(g, z, v, order), loss), z, order)
    for change in np.random.default_rng(3).normal(size=(5, *g.shape)):
        by_differences = (total(g + 1e-5 * change) - total(g - 1e-5 * change)) / 2e-5
        np.testing.assert_allclose(np.sum(slopes * change), by_differences, rtol=1e-6)


@exact
@given(st.integers(2, 10), st.integers(1, 6), st.integers(0, 2**32))
def test_trapezoid_is_exact_for_quadratics(m, n, seed):
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(n, n))
    h, b, c = h + h.T, rng.normal(size=n), rng.normal()
    z = rng.normal(size=(m, n))
    v = c + z @ b + ((z @ h) * z).sum(axis=1) / 2
    np.testing.assert_allclose(residuals(b + z @ h, z, v, "trapezoid"), 0, atol=1e-11)


def test_first_order_is_exact_for_linear_functions_only():
    _, z, _ = batch(7, 3)
    b = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(residuals(np.tile(b, (7, 1)), z, z @ b, "first"), 0, atol=1e-13)
    v = (z**2).sum(axis=1)
    # v_j - v_i = 2 z_i (z_j - z_i) + |z_j - z_i|^2: what first order misses
    missed = ((z[None] - z[:, None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(residuals(2 * z, z, v, "first"), -missed, atol=1e-13)


@exact
@given(st.integers(2, 10), st.integers(1, 6), st.integers(0, 2**32))
def test_orders_agree_for_constant_gradients(m, n, seed):
    g, z, v = batch(m, n, seed)
    g[:] = g[0]
    np.testing.assert_allclose(residuals(g, z, v, "first"), residuals(g, z, v, "trapezoid"), rtol=0, atol=1e-12)


@EACH_ORDER
def test_origins_do_not_matter(order):
    """Neither that of the points nor that of the values; rounding grows with the shift."""
    g, z, v = batch(8, 4)
    plain = residuals(g, z, v, order)
    np.testing.assert_allclose(residuals(g, z + np.array([3.0, -50, 7, 1]), v, order), plain, atol=1e-12)
    np.testing.assert_allclose(residuals(g, z, v + 100, order), plain, atol=1e-12)


def test_trapezoid_is_antisymmetric_first_order_is_not():
    g, z, v = batch(8, 4)
    t, r = residuals(g, z, v, "trapezoid"), residuals(g, z, v, "first")
    np.testing.assert_allclose(t, -t.T, atol=1e-14)
    assert np.abs(r + r.T).max() > 0.1
    np.testing.assert_allclose(t, (r - r.T) / 2, atol=1e-13)


@EACH_ORDER
def test_a_point_with_itself_has_no_residual(order):
    g, z, v = batch(8, 4)
    np.testing.assert_allclose(np.diagonal(residuals(g, z, v, order)), 0, atol=1e-14)


# --- penalties -----------------------------------------------------------------------------------------------------

R = np.concatenate([np.linspace(-5, 5, 1001), [0.0, -0.0, 1.0, -1.0, np.nextafter(1, 2), 1e100, -1e100, 1e-200]])


def test_squared():
    assert (penalty(R, "squared") == R**2).all()


def test_huber_is_scipys_twice():
    np.testing.assert_allclose(penalty(R, "huber"), 2 * huber(1, R), rtol=1e-15)


def test_huber_equals_squared_inside_and_is_linear_outside():
    inside = np.abs(R) <= 1
    np.testing.assert_allclose(penalty(R[inside], "huber"), R[inside] ** 2, rtol=1e-15)
    assert penalty(np.array([2.0, -3.0]), "huber").tolist() == [3, 5]
    assert penalty(np.array([[2.0], [-3.0]]), "huber").shape == (2, 1)


@pytest.mark.parametrize("corner", [1.0, -1.0])
def test_huber_has_no_kink(corner):
    h = 1e-6
    before, at, after = penalty(np.array([corner - h, corner, corner + h]), "huber")
    assert (at - before) / h == pytest.approx(2 * corner, rel=1e-5)
    assert (after - at) / h == pytest.approx(2 * corner, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_by_torch(loss):
    """2 r inside; outside, 2 r or +-2. Finite everywhere, which training needs."""
    torch = pytest.importorskip("torch")
    r = torch.tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0], dtype=torch.float64, requires_grad=True)
    penalty(r, loss).sum().backward()
    expected = [-6, -2, -1, 0, 1, 2, 6] if loss == "squared" else [-2, -2, -1, 0, 1, 2, 2]
    np.testing.assert_allclose(r.grad.numpy(), expected, rtol=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
@exact
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_penalties_are_even_and_grow(loss, r):
    r = np.sort(np.abs(r))
    p = penalty(r, loss)
    assert (p >= 0).all()
    assert (penalty(-r, loss) == p).all()
    assert (np.diff(p) >= 0).all()
