"""From a gradient to a step: the cap, the Newton step, and minima of a quadratic in a ball and in the cube."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn.learning.steps import ball_step, box_step, gradient_step, newton_step

exact = settings(derandomize=True, deadline=None, max_examples=100)


@dataclass
class Curved:
    """A fit of which only the Hessian is known; it counts its products."""

    h: np.ndarray
    products: int = 0

    def hessian_product(self, d):
        self.products += 1
        return self.h @ d


def problem(n, seed, eigenvalues=None):
    """A gradient and a Hessian with the given eigenvalues (random of both signs without)."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = rng.normal(size=n) if eigenvalues is None else np.asarray(eigenvalues, dtype=float)
    return rng.normal(size=n), (q * values) @ q.T


def value(g, h, d):
    return g @ d + d @ h @ d / 2


def cauchy_value(g, h, radius, free):
    """The lowest value of the model along the (free part of the) negative gradient, within the radius."""
    d = np.where(free, -g, 0)
    slope, curvature = d @ d, d @ h @ d
    if slope == 0:
        return 0.0
    longest = radius / np.sqrt(slope)
    t = longest if curvature <= 0 else min(longest, slope / curvature)
    return value(g, h, t * d)


# --- gradient steps ------------------------------------------------------------------------------------------------


@exact
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6),
    st.floats(0, 10),
    st.none() | st.floats(1e-6, 1e3),
)
def test_gradient_step_is_minus_alpha_g_or_its_direction(gradient, alpha, longest):
    gradient = np.array(gradient)
    plain = -alpha * gradient
    step = gradient_step(gradient, alpha, longest)
    length = np.linalg.norm(plain)
    if longest is None or length <= longest * (1 - 1e-12):
        assert step.tolist() == plain.tolist()
    else:
        np.testing.assert_allclose(step, plain * min(1.0, longest / length), rtol=1e-12)
        assert np.linalg.norm(step) <= longest * (1 + 1e-12)


def test_gradient_step_by_hand():
    gradient = np.array([3.0, -4.0])
    np.testing.assert_allclose(gradient_step(gradient, 0.1, None), [-0.3, 0.4], rtol=1e-15)
    np.testing.assert_allclose(gradient_step(gradient, 0.1, 1.0), [-0.3, 0.4], rtol=1e-15)
    np.testing.assert_allclose(gradient_step(gradient, 1.0, 2.0), [-1.2, 1.6], rtol=1e-15)
    assert gradient.tolist() == [3, -4]


@pytest.mark.parametrize("longest", [None, 0.5])
def test_zero_gradient_zero_step(longest):
    assert not gradient_step(np.zeros(3), 1.0, longest).any()
    assert not gradient_step(np.ones(3), 0.0, longest).any()


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("n", [1, 4, 100])
def test_gradients_of_any_size_are_capped_in_their_direction(n, size):
    step = gradient_step(np.full(n, size), 1.0, 0.5)
    expected = min(0.5, size * np.sqrt(n))
    np.testing.assert_allclose(step, -expected / np.sqrt(n), rtol=1e-3 if size < 1e-300 else 1e-12)


@pytest.mark.parametrize("n", [4, 100])
def test_gradient_whose_length_is_beyond_the_largest_float_is_capped(n):
    step = gradient_step(np.full(n, 1e308), 1.0, 0.5)
    np.testing.assert_allclose(step, -0.5 / np.sqrt(n), rtol=1e-12)


# --- Newton steps --------------------------------------------------------------------------------------------------


@exact
@given(st.integers(1, 8), st.integers(0, 2**32), st.floats(0, 2))
def test_newton_step_is_the_minimum_if_that_is_near(n, seed, decades):
    """The residual H d + g is at most a millionth of the gradient, which is where the iteration stops."""
    g, h = problem(n, seed, np.logspace(0, decades, n))
    minimum = -np.linalg.solve(h, g)
    fit = Curved(h)
    step = newton_step(fit, g, 1.5 * np.linalg.norm(minimum), np.ones(n, dtype=bool))
    assert np.linalg.norm(h @ step + g) <= 1.01e-6 * np.linalg.norm(g)
    np.testing.assert_allclose(step, minimum, rtol=0, atol=2e-6 * np.linalg.norm(g))
    assert fit.products <= n


@exact
@given(st.integers(1, 8), st.integers(0, 2**32), st.floats(0.01, 0.9))
def test_newton_step_ends_on_the_sphere_if_the_minimum_is_far(n, seed, share):
    g, h = problem(n, seed, np.logspace(0, 2, n))
    radius = share * np.linalg.norm(np.linalg.solve(h, g))
    free = np.ones(n, dtype=bool)
    step = newton_step(Curved(h), g, radius, free)
    assert np.linalg.norm(step) == pytest.approx(radius, rel=1e-9)
    lowest = cauchy_value(g, h, radius, free)
    assert value(g, h, step) <= lowest + 1e-12 * abs(lowest)


@exact
@given(st.integers(1, 8), st.integers(0, 2**32), st.floats(1e-3, 1e3))
def test_negative_curvature_leads_to_the_sphere(n, seed, radius):
    eigenvalues = np.linspace(2, -1, n) if n > 1 else [-1.0]
    g, h = problem(n, seed, eigenvalues)
    free = np.ones(n, dtype=bool)
    step = newton_step(Curved(h), g, radius, free)
    assert np.linalg.norm(step) == pytest.approx(radius, rel=1e-9)
    lowest = cauchy_value(g, h, radius, free)
    assert value(g, h, step) <= lowest + 1e-12 * abs(lowest)


@pytest.mark.parametrize("radius", [0.1, 7.0])
def test_without_curvature_the_step_is_the_gradients(radius):
    g = np.array([3.0, 4.0])
    np.testing.assert_allclose(
        newton_step(Curved(np.zeros((2, 2))), g, radius, np.ones(2, dtype=bool)), -radius * g / 5, rtol=1e-12
    )


@exact
@given(
    st.integers(1, 8),
    st.integers(0, 2**32),
    st.floats(-3, 3),
    st.floats(1e-3, 1e3),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_newton_step_keeps_its_promises_for_any_hessian(n, seed, decades, radius, free):
    """Within the radius, held coordinates do not move, and the model is at most its Cauchy value, hence at most 0."""
    free = np.array(free[:n])
    g, h = problem(n, seed)
    h = h * 10**decades
    g_before = g.copy()
    step = newton_step(Curved(h), g, radius, free)
    assert (g == g_before).all()
    assert np.isfinite(step).all()
    assert (step[~free] == 0).all()
    assert np.linalg.norm(step) <= radius * (1 + 1e-9)
    reached, lowest = value(g, h, step), cauchy_value(g, h, radius, free)
    assert reached <= 0
    assert reached <= lowest + 1e-12 * abs(lowest)


@exact
@given(st.integers(2, 8), st.integers(0, 2**32), st.floats(0.1, 10))
def test_held_coordinates_are_as_if_they_were_not_there(n, seed, radius):
    g, h = problem(n, seed)
    free = np.arange(n) % 2 == 0
    step = newton_step(Curved(h), g, radius, free)
    alone = newton_step(Curved(h[np.ix_(free, free)]), g[free], radius, np.ones(free.sum(), dtype=bool))
    assert (step[~free] == 0).all()
    np.testing.assert_allclose(step[free], alone, rtol=0, atol=1e-6 * radius)


def test_nothing_to_do():
    _, h = problem(4, 0)
    assert not newton_step(Curved(h), np.zeros(4), 1.0, np.ones(4, dtype=bool)).any()
    assert not newton_step(Curved(h), np.ones(4), 1.0, np.zeros(4, dtype=bool)).any()


@pytest.mark.parametrize("k", [-1000, -500, -100, 100, 500, 1000])
@pytest.mark.parametrize("radius", [0.1, 100.0])
def test_units_of_the_values_do_not_matter(k, radius):
    """Gradient and Hessian times a power of two: the same step."""
    g, h = problem(4, 1, [1, 2, 3, 4])
    free = np.ones(4, dtype=bool)
    scaled = newton_step(Curved(np.ldexp(h, k)), np.ldexp(g, k), radius, free)
    np.testing.assert_allclose(scaled, newton_step(Curved(h), g, radius, free), rtol=1e-9)


# --- minima of a quadratic in a ball, and in the cube --------------------------------------------------------------


def symmetric(n, seed):
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a + a.T


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
    assert value(g, H, p) <= min(value(g, H, q) for q in others)


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
    assert value(g, H, p) <= min(value(g, H, q) for q in projected) + 1e-12
