"""make_box: forms of bounds, and what is refused."""

import re

import numpy as np
import pytest
from scipy.optimize import Bounds

from eglearn.box import Box, make_box

INF = np.inf


# --- forms of bounds -----------------------------------------------------------------------------------------------

INF = np.inf


@pytest.mark.parametrize(
    ("bounds", "x0", "low", "high"),
    [
        ([(-5, 5), (0, 1)], None, [-5, 0], [5, 1]),
        (((-5, 5), (0, 1), (2, 3)), None, [-5, 0, 2], [5, 1, 3]),
        (np.array([[-5, 5], [0, 1], [2, 3]]), None, [-5, 0, 2], [5, 1, 3]),
        (np.array([[-5, 5]]), None, [-5], [5]),
        ([[-5, 5]], None, [-5], [5]),
        (np.array([[-5.0, 0], [0, 1]]), None, [-5, 0], [0, 1]),  # n = 2: rows are (low, high) pairs
        ((np.array([0, 0]), np.array([1, 1])), None, [0, 0], [1, 1]),  # n = 2: a tuple of arrays is (low, high)
        ([np.array([0, 1]), np.array([0, 1])], None, [0, 0], [1, 1]),  # a list is two pairs
        (([-5, 0, 2], [5, 1, 3]), None, [-5, 0, 2], [5, 1, 3]),
        ((np.zeros(4), np.ones(4)), None, [0] * 4, [1] * 4),
        (np.array([[0, 0, 0], [1, 1, 1]]), None, [0] * 3, [1] * 3),
        ((np.zeros(1), np.ones(1)), None, [0], [1]),
        (Bounds([-5, 0], [5, 1]), None, [-5, 0], [5, 1]),
        (Bounds([0, 0], [1, 1]), None, [0, 0], [1, 1]),  # n = 2 without ambiguity
        (Bounds(-5, [1, 2, 3]), None, [-5] * 3, [1, 2, 3]),
        (Bounds(-5, 5), [0, 1, 2], [-5] * 3, [5] * 3),
        (Bounds(), [0, 1], [-INF] * 2, [INF] * 2),
        ((-5, 5), [0, 1, 2], [-5] * 3, [5] * 3),
        (np.array([-5.0, 5.0]), [0, 1], [-5] * 2, [5] * 2),
        ((-5, 5), 3.0, [-5], [5]),
        ((None, 5), [0, 1], [-INF] * 2, [5] * 2),
        ((0, None), [0, 1], [0] * 2, [INF] * 2),
        (None, [0, 1], [-INF] * 2, [INF] * 2),
        ([(None, 5), (0, None), (None, None)], [0, 1, 2], [-INF, 0, -INF], [5, INF, INF]),
        (([None, 0, 1], [5, None, 2]), [0, 1, 2], [-INF, 0, 1], [5, INF, 2]),
        ([(-np.inf, 5), (0, np.inf)], [0, 1], [-INF, 0], [5, INF]),
        (zip([0, 1, 2], [3, 4, 5], strict=True), None, [0, 1, 2], [3, 4, 5]),
    ],
)
def test_forms_of_bounds(bounds, x0, low, high):
    box = make_box(bounds, x0, 1.0)
    assert box.low.tolist() == low
    assert box.high.tolist() == high
    assert box.low.dtype == box.high.dtype == box.x0.dtype == np.float64


def test_scale_may_be_one_number_or_one_each():
    one = make_box([(None, None)] * 2, [0, 0], 3)
    each = make_box([(None, None)] * 2, [0, 0], [3, 6])
    u = np.array([[0.5, 0.5]])
    assert one.to_x(u).tolist() == [[3, 3]]
    assert each.to_x(u).tolist() == [[3, 6]]


def test_scale_counts_for_finite_bounds_that_are_far_too_wide():
    u = np.linspace(-1, 1, 11)[:, None]
    for scale in (100, 0.04):
        assert (make_box([(-1, 3)], scale=scale).to_x(u) == make_box([(-1, 3)]).to_x(u)).all()
    wide = make_box([(-1e10, 3)] * 2, [1, 0], [2, 1e9])
    assert wide.to_x(np.array([[-1.0, -1.0], [1.0, 1.0]])).tolist() == [[-3, -1e10], [3, 3]]
    again = Box.from_state(wide.state())
    assert (again.to_x(u.repeat(2, 1)) == wide.to_x(u.repeat(2, 1))).all()
    old = {name: value for name, value in wide.state().items() if name != "wide"}
    assert Box.from_state(old).to_x(np.array([[-1.0, -1.0]])).tolist() == [[-1e10, -1e10]]


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "x0", "scale", "said"),
    [
        ([(0, 1), (0, 1)], [0.5, 2.5], None, ["x0[1] = 2.5", "(0, 1)"]),
        ([(0, 1), (0, 1)], [-0.25, 0.5], None, ["x0[0] = -0.25", "(0, 1)"]),
        ([(0, None)], [-3], 1, ["x0[0] = -3", "(0, inf)"]),
        ([(2, 2)], [3], None, ["x0[0] = 3", "(2, 2)"]),
        ([(0, 1), (3, 2)], None, None, ["coordinate 1", "(3, 2)", "low must not exceed high"]),
        ([(0, 1), (np.nan, 1)], None, None, ["coordinate 1", "(nan, 1)"]),
        ([(0, np.nan)], None, None, ["coordinate 0", "(0, nan)"]),
        ([(np.inf, np.inf)], [0], 1, ["coordinate 0", "(inf, inf)"]),
        ([(-np.inf, -np.inf)], [0], 1, ["coordinate 0", "(-inf, -inf)"]),
        ([(0, 1)] * 2, [0.5] * 3, None, ["x0 has 3 coordinates", "bounds have 2"]),
        ([(0, 1)] * 2, [0.5], None, ["x0 has 1 coordinates", "bounds have 2"]),
        ([(0, 1)] * 2, "abc", None, ["x0 = 'abc'", "numbers"]),
        ([("a", 1)] * 2, None, None, ["bounds hold 'a'", "numbers"]),
        ({"a": (0, 1), "b": (0, 1)}, None, None, ["bounds are a dict", "one (low, high) pair"]),
        (([0, 0, 0], [1, 1]), None, None, ["bounds", "equal length"]),
        ([1, 2, 3], None, None, ["bounds of length 3"]),
        ([(0, 1), (0, 1, 2), (0, 1)], None, None, ["bounds of length 3"]),
        ([(0, 1), 5], None, None, ["bounds of length 2"]),
        ([(0, 1), (0, None)], None, None, ["coordinate 1", "(0, inf)", "needs x0 and scale"]),
        ([(None, 4)], [0], None, ["coordinate 0", "(-inf, 4)", "needs scale"]),
        ([(None, 4)], None, 1, ["coordinate 0", "(-inf, 4)", "needs x0 as well"]),
        (None, None, 1, ["bounds are missing", "x0 and scale"]),
        (None, [0, 0], None, ["coordinate 0", "(-inf, inf)", "needs scale"]),
        ((-5, 5), None, None, ["needs x0"]),
        (None, [0, 0], [1, 0], ["scale of coordinate 1 is 0", "positive"]),
        (None, [0, 0], -2.5, ["scale of coordinate 0 is -2.5", "positive"]),
        (None, [0, 0], [np.nan, 1], ["scale of coordinate 0 is nan"]),
        (None, [0, 0], [1, np.inf], ["scale of coordinate 1 is inf"]),
        ([], None, None, ["bounds are empty"]),
        (np.empty((0, 2)), None, None, ["bounds are empty"]),
        (None, [], 1, ["bounds are empty"]),
        ([(0, 1)] * 4, [[0, 0], [0, 0]], None, ["x0 has shape (2, 2)"]),
        ([(0, 1)] * 2, [0.5, np.nan], None, ["x0[1]", "finite"]),
        ([(0, None)], [np.inf], 1, ["x0[0]", "finite"]),
    ],
)
def test_errors_name_the_value(bounds, x0, scale, said):
    with pytest.raises(ValueError, match=re.escape(said[0])) as caught:
        make_box(bounds, x0, scale)
    for part in said[1:]:
        assert part in str(caught.value)


@pytest.mark.parametrize("scale", [[1, 2, 3], [[1, 2]]])
def test_error_on_scale_of_the_wrong_shape_names_scale(scale):
    with pytest.raises(ValueError, match="scale"):
        make_box(None, [0, 0], scale)


@pytest.mark.parametrize(
    ("bounds", "x0", "shown"),
    [([(1e12, 1e12 + 1)], [1e12 + 2], "1000000000002"), ([(1e12 + 1, 1e12)], None, "1000000000001")],
)
def test_errors_show_enough_digits_to_see_the_fault(bounds, x0, shown):
    """A message such as "1e+12 is outside (1e+12, 1e+12)" would tell nothing."""
    with pytest.raises(ValueError, match=shown):
        make_box(bounds, x0)
