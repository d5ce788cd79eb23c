"""The user's box and the canonical cube: the maps, the start, fixed coordinates, the state."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds

from eglearn import serialize
from eglearn.box import Box, make_box

exact = settings(derandomize=True, deadline=None, max_examples=150)
EPS = np.finfo(float).eps
KINDS = ("finite", "low", "high", "open")


def one_coordinate(kind, low, width, where, scale):
    """A box of one coordinate that starts at low + where * width."""
    x0 = low + where * width
    pair = {"finite": (low, low + width), "low": (low, None), "high": (None, low + width), "open": (None, None)}[kind]
    return make_box([pair], [x0], scale)


def size_and_offset(box):
    """The length that u = 1 stands for, and the largest number that is added to it."""
    low, high = box.to_x(np.array([[-1.0], [1.0]]))[:, 0]
    return high / 2 - low / 2, max(abs(low), abs(high))


coordinates = st.builds(
    one_coordinate,
    st.sampled_from(KINDS),
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.floats(0, 1),
    st.floats(1e-3, 1e3),
)
inner_u = st.lists(st.floats(-1, 1), min_size=1, max_size=20)


@exact
@given(coordinates, inner_u)
def test_u_to_x_to_u(box, u):
    """x is rounded to its own spacing, which is EPS * offset / size in units of u; all else is a few EPS."""
    u = np.array(u)[:, None]
    size, offset = size_and_offset(box)
    back = box.to_u(box.to_x(u))
    assert np.abs(back - u).max() <= 8 * EPS * (1 + offset / size)


@exact
@given(coordinates, inner_u)
def test_x_to_u_to_x(box, where):
    size, offset = size_and_offset(box)
    x = np.clip(box.x0 + size * np.array(where)[:, None], *box.to_x(np.array([[-1.0], [1.0]])))
    back = box.to_x(box.to_u(x))
    assert (np.abs(back - x) <= 8 * EPS * (size + offset)).all()


def test_mixed_box_goes_both_ways():
    box = make_box([(-5, 5), (0, None), (None, 3), (7, 7), (None, None)], [1, 2, -1, 7, 10], 2.0)
    assert (box.n, box.n_free) == (5, 4)
    u = np.random.default_rng(0).uniform(-0.99, 0.99, (200, 4))
    x = box.to_x(u)
    assert x.shape == (200, 5)
    assert box.contains(x).all()
    assert (x[:, 3] == 7).all()
    np.testing.assert_allclose(box.to_u(x), u, rtol=0, atol=1e-14)
    np.testing.assert_allclose(box.to_x(box.to_u(x)), x, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("box", "u", "x"),
    [
        (make_box([(-3, 5)]), 0.5, 3.0),
        (make_box([(2, None)], [3], 4), 0.0, 6.5),  # the window is from 2 to 3 + 2 * 4
        (make_box([(2, None)], [3], 4), 1.0, 11.0),
        (make_box([(2, None)], [30], 4), -1.0, 22.0),  # twice the scale to both sides, if the bound is farther off
        (make_box([(None, -2)], [-3], 4), -1.0, -11.0),
        (make_box(None, [10], 3), 0.5, 13.0),
        (make_box(None, [10], 3), -0.5, 7.0),
        (make_box(None, [10], 3), 0.0, 10.0),
    ],
)
def test_formulas_by_hand(box, u, x):
    assert box.to_x(np.array([[u]]))[0, 0] == pytest.approx(x, rel=1e-15)
    assert box.to_u(np.array([[x]]))[0, 0] == pytest.approx(u, rel=1e-15, abs=1e-16)


@exact
@given(coordinates, inner_u)
def test_order_is_kept(box, u):
    u = np.sort(u)[:, None]
    x = box.to_x(u)
    assert (np.diff(x[:, 0]) >= 0).all()
    size, offset = size_and_offset(box)
    told_apart = np.diff(u[:, 0]) > 32 * EPS * (1 + offset / size)
    assert (np.diff(x[:, 0])[told_apart] > 0).all()


EXTREME = [
    [(-1e308, 1e308)],
    [(-np.finfo(float).max, np.finfo(float).max)],
    [(1e12, 1e12 + 1)],
    [(-1e12 - 1, -1e12)],
    [(-1e-300, 1e-300)],
    [(0.0, 1e308)],
    [(1.0, np.nextafter(1.0, 2))],
    [(0.1, 0.3)],
    [(-1e308, 1e308), (1e12, 1e12 + 1), (-1e-300, 1e-300), (3, 3)],
]


@pytest.mark.parametrize("bounds", EXTREME)
def test_extreme_boxes_hold_every_point_and_their_faces(bounds):
    box = make_box(bounds)
    u = np.random.default_rng(1).uniform(-1, 1, (500, box.n_free))
    edge = np.nextafter(1.0, 0)
    special = np.array([-1, -edge, -0.5, -0.0, 0, 1e-300, 0.5, edge, 1])
    u = np.vstack([u, np.repeat(special[:, None], box.n_free, axis=1)])
    x = box.to_x(u)
    assert box.contains(x).all()
    assert (box.to_x(-np.ones((1, box.n_free)))[0] == box.low).all()
    assert (box.to_x(np.ones((1, box.n_free)))[0] == box.high).all()
    back = box.to_u(x)
    assert np.isfinite(back).all()
    assert (np.abs(back) <= 1).all()
    width = (box.high / 2 - box.low / 2)[box.free]
    tolerance = EPS * (4 + np.maximum(np.abs(box.low), np.abs(box.high))[box.free] / width)
    assert (np.abs(back - u) <= tolerance).all()
    assert box.contains(box.x0)


@exact
@given(st.lists(st.tuples(st.floats(-1e308, 1e308), st.floats(-1e308, 1e308)), min_size=1, max_size=5), st.data())
def test_no_point_is_ever_outside(pairs, data):
    box = make_box([(min(p), max(p)) for p in pairs])
    u = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=box.n_free, max_size=box.n_free)))[None]
    assert box.contains(box.to_x(u)).all()
    assert box.contains(box.to_x(3 * u)).all()  # outside the cube: the nearest face
    assert (box.to_x(-np.ones_like(u))[0] == box.low).all()
    assert (box.to_x(np.ones_like(u))[0] == box.high).all()


def test_a_window_that_confines_grows_around_the_point():
    box = make_box([(0, None), (None, None), (-5, 5), (3, 3)], [1, 10, 0, 3], [1, 2, 1, 1])
    assert not box.confines(np.array([0, 10, 5, 3]))  # bounds are none of its edges
    assert not box.confines(np.array([2.9, 6.1, -5, 3]))
    assert box.confines(np.array([3, 10, 0, 3]))
    assert box.confines(np.array([1, -1e9, 0, 3]))  # beyond
    box.widen(np.array([3, 10, 0, 3]))
    assert box.to_x(-np.ones((1, 3))).tolist() == [[0, -6, -5, 3]]
    assert box.to_x(np.ones((1, 3))).tolist() == [[11, 26, 5, 3]]
    assert box.to_x(box.start[None]).tolist() == [[3, 10, 0, 3]]
    assert box.x0.tolist() == [1, 10, 0, 3]
    box.widen(np.array([11, 26, 0, 3]))
    assert box.to_x(-np.ones((1, 3))).tolist() == [[0, -38, -5, 3]]
    again = Box.from_state(box.state())
    again.load_window(box.window())
    u = np.random.default_rng(0).uniform(-1, 1, (5, 3))
    np.testing.assert_array_equal(again.to_x(u), box.to_x(u))


def test_windows_grow_to_the_largest_floats_and_no_further():
    box = make_box(None, [0.0, 1e20], 1.0)
    for _ in range(600):
        edge = box.to_x(np.ones((1, 2)))[0]
        assert np.isfinite(edge).all()
        assert np.isfinite(box.to_u(edge[None])).all()
        if not box.confines(edge):
            break
        box.widen(edge)
    assert (edge == np.finfo(float).max).all()


@pytest.mark.parametrize(
    ("bounds", "x0", "scale"),
    [
        ([(0, None)], [1.0], 1e300),
        ([(None, 0)], [-1.0], 1e300),
        (None, [1.0], 1e300),
        ([(-1e308, None)], [1e308], 1.0),
        ([(None, 1e308)], [-1e308], 1.0),
    ],
)
def test_infinite_sides_with_huge_scale_stay_finite(bounds, x0, scale):
    """Finite numbers in, finite numbers out, and no overflow on the way."""
    box = make_box(bounds, x0, scale)
    u = np.linspace(-1, 1, 21)[:, None]
    x = box.to_x(u)
    assert np.isfinite(x).all()
    assert (np.diff(x[:, 0]) >= 0).all()
    assert np.isfinite(box.start).all()


@pytest.mark.parametrize("kind", ["low", "high", "open"])
@pytest.mark.parametrize("far", [1e3, 1e100, 1e308])
def test_every_finite_x_has_a_place_in_the_cube(kind, far):
    """However far x is, u is a number in [-1, 1], on the right side."""
    box = one_coordinate(kind, 0.0, 1e-9, 0.5, 1e-10)
    x = np.clip(np.array([[-far], [far]]), box.low, box.high)
    u = box.to_u(x)[:, 0]
    assert (np.abs(u) <= 1).all()
    assert u[0] < -0.9
    assert u[1] > 0.9


def test_narrowest_possible_box():
    """Neighbouring floats around zero, whose half-width is less than the smallest float."""
    box = make_box([(0.0, 5e-324)])
    assert box.to_x(np.array([[-1.0], [1.0]]))[:, 0].tolist() == [0.0, 5e-324]
    assert box.to_u(np.array([[0.0], [5e-324]]))[:, 0].tolist() == [-1.0, 1.0]
    assert np.isfinite(box.start).all()


def test_high_only_is_the_mirror_image_of_low_only():
    up, down = make_box([(2, None)], [3], 4), make_box([(None, -2)], [-3], 4)
    u = np.linspace(-1, 1, 101)[:, None]
    assert (up.to_x(u) == -down.to_x(-u)).all()


# --- start and fixed coordinates -----------------------------------------------------------------------------------


def test_start_is_the_centre_or_x0():
    assert make_box([(-1, 3), (0, 10)]).start.tolist() == [0, 0]
    assert make_box([(-1, 3), (0, 10)]).x0.tolist() == [1, 5]
    assert make_box([(-1, 3), (0, 10)], [2, 10]).start.tolist() == [0.5, 1]
    open_box = make_box([(None, None), (0, None)], [4, 0], [1, 2])
    assert open_box.start.tolist() == [0, -1]
    assert make_box([(-1e308, 1e308)]).x0.tolist() == [0]


def test_start_goes_back_to_x0():
    box = make_box([(-5, 5), (0, None), (None, 3), (None, None), (7, 7)], [1, 2, -1, 10, 7], [1, 2, 3, 4, 5])
    np.testing.assert_allclose(box.to_x(box.start[None])[0], [1, 2, -1, 10, 7], rtol=1e-15, atol=1e-15)


def test_fixed_coordinates_are_taken_out_and_put_back():
    box = make_box([(1, 1), (-1, 1), (0.1, 0.1), (0, 4)])
    assert box.free.tolist() == [False, True, False, True]
    assert (box.n, box.n_free) == (4, 2)
    x = box.to_x(np.array([[0.5, -0.5], [1, 1]]))
    assert x.tolist() == [[1, 0.5, 0.1, 1], [1, 1, 0.1, 4]]
    assert box.to_u(x).tolist() == [[0.5, -0.5], [1, 1]]


def test_all_coordinates_fixed():
    box = make_box([(1, 1), (2, 2)])
    assert box.n_free == 0
    assert box.to_x(np.empty((3, 0))).tolist() == [[1, 2]] * 3
    assert box.to_u(np.array([[1.0, 2.0]])).shape == (1, 0)
    assert box.start.shape == (0,)


def test_contains():
    box = make_box([(0, 1), (None, 5), (2, 2)], [0, 0, 2], 1)
    points = np.array([[0, 5, 2], [1, -1e300, 2], [1.0001, 0, 2], [0.5, 5.1, 2], [0.5, 0, 2.1], [-1e-9, 0, 2]])
    assert box.contains(points).tolist() == [True, True, False, False, False, False]
    assert bool(box.contains(points[0])) is True


def test_points_outside_go_to_the_nearest_face():
    box = make_box([(0, 1), (0, None)], [0.5, 1], 1)
    assert box.to_u(np.array([[2.0, -3.0], [-1.0, 0.0]])).tolist() == [[1, -1], [-1, -1]]


def test_the_box_keeps_no_hold_on_what_it_was_made_from():
    lower, upper, x0, scale = np.zeros(3), np.ones(3), np.full(3, 0.5), np.ones(3)
    by_arrays, by_bounds = make_box((lower, upper), x0, scale), make_box(Bounds(lower, upper), x0, scale)
    for array in (lower, upper, x0, scale):
        array[:] = 99
    for box in (by_arrays, by_bounds):
        assert box.low.tolist() == [0] * 3
        assert box.high.tolist() == [1] * 3
        assert box.x0.tolist() == [0.5] * 3


def test_maps_do_not_change_their_arguments():
    box = make_box([(-5, 5), (0, None)], [0, 1], 1)
    u, x = np.array([[2.0, -2.0]]), np.array([[9.0, -9.0]])
    box.to_x(u), box.to_u(x)
    assert u.tolist() == [[2, -2]]
    assert x.tolist() == [[9, -9]]


# --- state ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "box",
    [
        make_box([(-5, 5), (0, None), (None, 3), (7, 7), (None, None)], [1, 2, -1, 7, 10], 2.0),
        make_box([(0.1, 0.7), (-3, 11)]),
        make_box([(1, 1)]),
    ],
)
def test_state_gives_the_same_box_to_the_last_bit(box):
    again = Box.from_state(serialize.loads(serialize.dumps(box.state())))
    u = np.random.default_rng(2).uniform(-1, 1, (50, box.n_free))
    x = box.to_x(u)
    assert again.to_x(u).tobytes() == x.tobytes()
    assert again.to_u(x).tobytes() == box.to_u(x).tobytes()
    assert again.start.tobytes() == box.start.tobytes()


@pytest.mark.parametrize("kinds", list(itertools.permutations(KINDS)))
def test_kinds_do_not_disturb_each_other(kinds):
    """Each coordinate of a mixed box is mapped as if it were alone."""
    alone = {
        "finite": ((-3, 5), 1.0),
        "low": ((2, None), 3.0),
        "high": ((None, -2), -3.0),
        "open": ((None, None), 10.0),
    }
    mixed = make_box([alone[k][0] for k in kinds], [alone[k][1] for k in kinds], 4.0)
    u = np.linspace(-1, 1, 41)
    x = mixed.to_x(np.repeat(u[:, None], 4, axis=1))
    back = mixed.to_u(x)
    for i, kind in enumerate(kinds):
        single = make_box([alone[kind][0]], [alone[kind][1]], 4.0)
        assert x[:, i].tobytes() == single.to_x(u[:, None])[:, 0].tobytes()
        assert back[:, i].tobytes() == single.to_u(x[:, [i]])[:, 0].tobytes()
