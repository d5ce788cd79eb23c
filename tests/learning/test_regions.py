"""The input maps: both ways, inside the region, shrinking, gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn.learning.regions import LinearRegion, ShapedRegion, TanhRegion

exact = settings(derandomize=True, deadline=None, max_examples=100)
EPS = np.finfo(float).eps
BOTH = pytest.mark.parametrize("kind", [TanhRegion, LinearRegion], ids=("tanh", "linear"))

coordinate = st.floats(-1, 1)


@st.composite
def regions(draw, smallest=1e-8):
    """A region of either kind with its own size in each coordinate, anywhere in the cube."""
    n = draw(st.integers(1, 4))
    kind = draw(st.sampled_from([TanhRegion, LinearRegion]))
    sigma = np.exp(draw(st.lists(st.floats(np.log(smallest), 0), min_size=n, max_size=n)))
    centre = np.array(draw(st.lists(coordinate, min_size=n, max_size=n)))
    return kind(np.zeros(n), sigma).shrunk(centre, 1.0)


def faces(region):
    """The lower and upper corner as float64 has them."""
    return np.maximum(region.mu - region.sigma, -1), np.minimum(region.mu + region.sigma, 1)


@exact
@given(regions(), st.data())
def test_u_to_z_to_u_everywhere(region, data):
    """To 1e-12 of the region's size, plus the spacing of floats near 1: the cut of arctanh at 2^-42 is below that."""
    n = len(region.mu)
    low, high = faces(region)
    share = np.array(data.draw(st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=1, max_size=10)))
    u = np.vstack([low + share * (high - low), low, high, region.mu]).clip(low, high)
    back = region.to_u(region.to_z(u))
    assert np.isfinite(region.to_z(u)).all()
    assert (np.abs(back - u) <= 1e-12 * region.sigma + 2 * EPS).all()
    assert np.abs(back - u).max() <= 1e-12 + 2 * EPS


@BOTH
def test_u_to_z_to_u_on_a_fine_grid_of_the_cube(kind):
    u = np.concatenate([np.linspace(-1, 1, 20001), 1 - np.logspace(-16, 0, 2000), np.logspace(-16, 0, 2000) - 1])
    region = kind.whole(1)
    assert np.abs(region.to_u(region.to_z(u[:, None]))[:, 0] - u).max() <= 1e-12


def test_z_to_u_to_z_for_the_whole_cube():
    """dz/du = cosh(5)^2 = 5.5e3 at |z| = 5, times a spacing of 1.1e-16: 6e-13, and relative to |z| a tenth of that."""
    z = np.linspace(-5, 5, 100001)[:, None]
    region = TanhRegion.whole(1)
    assert (np.abs(region.to_z(region.to_u(z)) - z) / np.maximum(1, np.abs(z))).max() <= 1e-12
    inside = np.linspace(-1, 1, 100001)[:, None]
    linear = LinearRegion.whole(1)
    assert np.abs(linear.to_z(linear.to_u(inside)) - inside).max() <= 1e-12


@exact
@given(regions(smallest=1e-6), st.data())
def test_z_to_u_to_z_in_small_regions(region, data):
    """u is rounded to spacing(u); in units of the region that is spacing / sigma, and dz/ds times as much in z."""
    n = len(region.mu)
    largest = 5.0 if isinstance(region, TanhRegion) else 1.0
    z = np.array(data.draw(st.lists(st.floats(-largest, largest), min_size=n, max_size=n)))
    slope = np.cosh(z) ** 2 if isinstance(region, TanhRegion) else 1.0
    rounding = 2 * np.spacing(np.abs(region.mu) + region.sigma) / region.sigma * slope
    tolerance = 1e-12 * np.maximum(1, np.abs(z)) + rounding
    assert (np.abs(region.to_z(region.to_u(z)) - z) <= tolerance).all()


@exact
@given(regions(), st.data())
def test_to_u_is_always_inside(region, data):
    n = len(region.mu)
    wild = st.floats(-1e308, 1e308) | st.floats(-20, 20)
    z = np.array(data.draw(st.lists(st.lists(wild, min_size=n, max_size=n), min_size=1, max_size=10)))
    z = np.vstack([z, np.full(n, 1e308), np.full(n, -1e308), np.full(n, np.inf), np.full(n, -np.inf)])
    u = region.to_u(z)
    low, high = faces(region)
    assert (np.abs(u) <= 1).all()
    assert ((u >= low) & (u <= high)).all()
    assert region.contains(u).all()
    assert region.to_u(np.full(n, np.inf)).tolist() == high.tolist()
    assert region.to_u(np.full(n, -np.inf)).tolist() == low.tolist()


@exact
@given(regions(smallest=1e-3), st.data())
def test_contains_agrees_with_the_map(region, data):
    """Inside, the map there and back changes nothing; outside, it brings the point into the region."""
    n = len(region.mu)
    u = np.array(data.draw(st.lists(st.lists(coordinate, min_size=n, max_size=n), min_size=1, max_size=20)))
    moved = np.abs(region.to_u(region.to_z(u)) - u).max(axis=1)
    inside = region.contains(u)
    assert (moved[inside] <= 1e-12 + 4 * EPS).all()
    assert (moved[~inside] > 0).all()
    distance = (np.abs(u - region.mu) - region.sigma).max(axis=1)
    assert inside[distance < 0].all()
    assert not inside[distance > 1e-14].any()


@BOTH
def test_contains_needs_every_coordinate(kind):
    region = kind(np.array([0.0, 0.5]), np.array([0.25, 0.125]))
    u = np.array([[0, 0.5], [0.25, 0.625], [-0.25, 0.375], [0.26, 0.5], [0, 0.63], [0, 0.37], [-1, -1]])
    assert region.contains(u).tolist() == [True, True, True, False, False, False, False]


@BOTH
def test_points_outside_map_to_the_nearest_point(kind):
    region = kind(np.array([0.5, 0.0]), np.array([0.25, 0.5]))
    outside, nearest = np.array([[1.0, 0.25], [-1.0, -0.9]]), np.array([[0.75, 0.25], [0.25, -0.5]])
    assert region.to_z(outside).tolist() == region.to_z(nearest).tolist()
    np.testing.assert_allclose(region.to_u(region.to_z(outside)), nearest, rtol=0, atol=1e-12)


def test_faces_have_moderate_z():
    """Even a face, which tanh never reaches, is where float64 still sees a slope of tanh."""
    z = TanhRegion.whole(2).to_z(np.array([1.0, -1.0]))
    assert z[0] == -z[1]
    assert 14 < z[0] < 15
    assert np.tanh(z[0] + 1e-3) > np.tanh(z[0])


def test_linear_region_reaches_faces_and_corners_exactly():
    whole = LinearRegion.whole(3)
    assert whole.to_u(np.array([2.0, -1.0, 1.0])).tolist() == [1, -1, 1]
    region = whole
    for factor in (0.9, 0.7, 0.33, 0.9):
        region = region.shrunk(np.array([1.0, -1.0, 0.2]), factor)
        u = region.to_u(region.to_z(np.array([1.0, -1.0, 0.2])))
        assert u[:2].tolist() == [1, -1]
        assert region.to_u(np.array([5.0, -5.0, 0.0]))[:2].tolist() == [1, -1]


def test_tanh_region_is_the_papers_map():
    region = TanhRegion(np.array([0.1, -0.2]), np.array([0.5, 0.25]))
    z = np.array([[0.3, -1.2], [0.0, 2.0]])
    np.testing.assert_allclose(region.to_u(z), [0.1, -0.2] + np.array([0.5, 0.25]) * np.tanh(z), rtol=1e-15)


def test_linear_region_is_linear():
    region = LinearRegion(np.array([0.1, -0.2]), np.array([0.5, 0.25]))
    z = np.array([[0.3, -0.9], [0.0, 1.0]])
    np.testing.assert_allclose(region.to_u(z), [0.1, -0.2] + np.array([0.5, 0.25]) * z, rtol=1e-15)


# --- shrinking -----------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("factor", [0.9, 0.8, 0.97])
@pytest.mark.parametrize("corner", [(1.0, 1.0, -1.0), (0.999, -0.3, 1.0), (0.0, 0.0, 0.0), None])
def test_two_hundred_shrinkings(kind, factor, corner):
    """The region keeps its size, stays in the cube and holds its new centre, whichever way it wanders."""
    rng = np.random.default_rng(3)
    region = kind.whole(3)
    for j in range(1, 201):
        centre = rng.uniform(-1, 1, 3) if corner is None else np.array(corner)
        if corner is None and j % 3 == 0:
            centre = np.sign(centre)
        previous, region = region, region.shrunk(centre, factor)
        assert type(region) is kind
        assert (region.sigma == previous.sigma * factor).all()
        assert (region.mu - region.sigma >= -1 - EPS).all()
        assert (region.mu + region.sigma <= 1 + EPS).all()
        assert region.contains(centre[None]).all()
        fits = np.abs(centre) <= 1 - region.sigma
        assert (region.mu[fits] == centre[fits]).all()
        u = region.to_u(rng.normal(0, 3, (20, 3)))
        assert (np.abs(u) <= 1).all()
        assert region.contains(u).all()
        assert np.isfinite(region.to_z(u)).all()
        back = region.to_u(region.to_z(centre[None]))
        assert np.abs(back - centre).max() <= 1e-12 * region.sigma.max() + 2 * EPS
    np.testing.assert_allclose(region.sigma, factor**200, rtol=1e-13)


@exact
@given(regions(), st.data())
def test_shrunk_region_is_shifted_no_further_than_needed(region, data):
    n = len(region.mu)
    centre = np.array(data.draw(st.lists(coordinate, min_size=n, max_size=n)))
    factor = data.draw(st.floats(0.1, 1))
    shrunk = region.shrunk(centre, factor)
    assert (shrunk.sigma == region.sigma * factor).all()
    expected = np.where(
        centre > 1 - shrunk.sigma, 1 - shrunk.sigma, np.where(centre < shrunk.sigma - 1, shrunk.sigma - 1, centre)
    )
    assert (shrunk.mu == expected).all()


@BOTH
def test_shrinking_leaves_the_old_region_alone(kind):
    region = kind.whole(2)
    centre = np.array([0.9, 0.0])
    region.shrunk(centre, 0.5)
    assert region.mu.tolist() == [0, 0]
    assert region.sigma.tolist() == [1, 1]
    assert centre.tolist() == [0.9, 0]
    with pytest.raises(AttributeError):
        region.mu = np.ones(2)


# --- gradients -----------------------------------------------------------------------------------------------------


@BOTH
def test_pull_back_is_the_chain_rule(kind):
    """Central differences of f(to_u(z)) in z, pulled back, are the gradient of f in u."""
    rng = np.random.default_rng(4)
    region = kind(np.array([0.2, -0.4, 0.05]), np.array([0.7, 0.3, 0.01]))
    linear, matrix = rng.normal(size=3), rng.normal(size=(3, 3))

    def f(u):
        return u @ linear + ((u @ matrix) * u).sum(axis=-1) + np.sin(3 * u).sum(axis=-1)

    def true_gradient(u):
        return linear + (matrix + matrix.T) @ u + 3 * np.cos(3 * u)

    for z in rng.uniform(-0.95, 0.95, (10, 3)):
        h = 1e-5
        shifts = h * np.eye(3)
        by_differences = (f(region.to_u(z + shifts)) - f(region.to_u(z - shifts))) / (2 * h)
        # Differences are good to h^2 and to rounding / h, in z; the division by sigma = 0.01 magnifies that.
        np.testing.assert_allclose(region.pull_back(by_differences, z), true_gradient(region.to_u(z)), atol=1e-6)


@BOTH
def test_pull_back_takes_many_points(kind):
    region = kind(np.array([0.2, -0.4]), np.array([0.7, 0.3]))
    rng = np.random.default_rng(5)
    gradients, z = rng.normal(size=(6, 2)), rng.uniform(-1, 1, (6, 2))
    one_by_one = np.array([region.pull_back(g, p) for g, p in zip(gradients, z, strict=True)])
    assert region.pull_back(gradients, z).tolist() == one_by_one.tolist()


def shaped(seed=0, n=4, sigma=0.2, centre=0.0):
    stretch = np.diag(10.0 ** np.linspace(0, -2, n))
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    return ShapedRegion.whole(n).shrunk(np.full(n, centre), sigma).shaped(turn @ stretch @ turn.T)


def test_a_shaped_region_maps_back_and_forth():
    region = shaped()
    z = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 4))
    np.testing.assert_allclose(region.to_z(region.to_u(z)), z, atol=1e-12)
    np.testing.assert_allclose(region.to_z(region.to_u(z[0])), z[0], atol=1e-12)


def test_the_shape_keeps_the_volume_unless_it_is_longer_than_the_cube():
    assert np.linalg.det(shaped(sigma=0.01).axes) == pytest.approx(1)
    wide = shaped(sigma=0.5)
    assert wide.sigma[0] * np.linalg.norm(wide.axes, 2) == pytest.approx(0.5)


def test_samples_that_would_leave_the_cube_stay_on_their_rays():
    region = shaped(centre=0.9)
    offsets = 3 * np.random.default_rng(1).standard_normal((50, 4))
    u = region.around(np.zeros(4), offsets)
    assert (np.abs(u) <= 1).all()
    free = u - 0.9
    rays = region.sigma * (offsets @ region.axes.T)
    cosine = np.sum(free * rays, axis=1) / np.linalg.norm(free, axis=1) / np.linalg.norm(rays, axis=1)
    np.testing.assert_allclose(cosine[np.max(np.abs(u), axis=1) < 1], 1)
    assert (cosine > 1 - 1e-9).sum() >= 25  # of those at a face, all whose rays are not cut too short
    on_face = region.around(region.to_z(np.array([1.0, 0.9, 0.9, 0.9])), offsets)
    assert np.ptp(on_face, axis=0).min() > 0


def test_gradients_pull_back_through_the_shape():
    region, g = shaped(), np.array([1.0, -2.0, 0.5, 3.0])
    slope = region.pull_back(g, np.zeros(4))
    for k in range(4):
        step = np.eye(4)[k] * 1e-3
        assert region.to_z(step) @ g - region.to_z(np.zeros(4)) @ g == pytest.approx(1e-3 * slope[k])


def test_a_step_at_a_face_of_the_cube_leads_downhill():
    """Where the shape couples coordinates, to clip the step alone may lead uphill: it does for some of these."""
    region = shaped(centre=1.0, sigma=0.05)
    clipped_uphill = 0
    for seed in range(50):
        slope = np.random.default_rng(seed).standard_normal(4)
        step = -1e-2 * (region.sigma * slope) @ region.axes
        u = region.to_u(region.moved(np.zeros(4), step))
        assert slope @ (u - 1.0) <= 1e-15
        assert (np.abs(u) <= 1).all()
        clipped_uphill += slope @ (region.to_u(step) - 1.0) > 1e-9
    assert clipped_uphill > 0
