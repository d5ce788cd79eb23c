"""The output map: quantiles to -1 and 1, the squash beyond, the moving average, ranks, and values of any size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn import serialize
from eglearn.learning.output import OUTPUT_MAPS, OutputMap
from eglearn.learning.recombination import normal_scores
from eglearn.learning.values import ENTERS

exact = settings(derandomize=True, deadline=None, max_examples=100)
EPS = np.finfo(float).eps
LARGEST = np.finfo(float).max * ENTERS  # as it enters a search

values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40).map(np.array)


def fitted(y, kind="log", **options):
    output = OutputMap(kind, **options)
    output.update(np.asarray(y, dtype=float))
    return output


def ends(y, quantile=0.1):
    """The two numbers that go to -1 and 1."""
    low, high = np.quantile(y, [quantile, 1 - quantile])
    return (low, high) if low < high else (np.min(y), np.max(y))


# --- the map -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["log", "linear"])
@pytest.mark.parametrize("quantile", [0.1, 0.25, 0.01])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_quantiles_go_to_minus_one_and_one(kind, quantile, offset):
    y = np.random.default_rng(0).normal(size=201) * 3 + offset
    low, high = np.quantile(y, [quantile, 1 - quantile])
    mapped = fitted(y, kind, quantile=quantile)(np.array([low, (low + high) / 2, high]))
    np.testing.assert_allclose(mapped, [-1, 0, 1], rtol=0, atol=8 * EPS * (1 + offset))


def test_by_hand():
    output = fitted(np.arange(11.0))  # quantiles 1 and 9
    mapped = output(np.array([1.0, 3.0, 9.0, 5 + 4 * np.e, 5 - 4 * np.e**2]))
    np.testing.assert_allclose(mapped, [-1, -0.5, 1, 2, -3], rtol=1e-15)
    linear = fitted(np.arange(11.0), "linear")
    assert linear(np.array([1.0, 3.0, 9.0, 25.0, -15.0])).tolist() == [-1, -0.5, 1, 5, -5]


def test_none_gives_the_users_own_values_back():
    own = np.array([3.0, -1e308, 4e-320])
    y = ENTERS * own
    output = fitted(y, "none")
    assert output(y).tolist() == own.tolist()


@pytest.mark.parametrize("kind", OUTPUT_MAPS)
@exact
@given(values, values)
def test_order_is_kept(kind, batch, y):
    """Never reversed; and strict where the relative gap is above the rounding of the map and of the logarithm."""
    output = fitted(batch, kind)
    y = np.sort(y)
    v = output(y)
    assert np.isfinite(v).all()
    assert (v[1:] >= v[:-1]).all()
    low, high = ends(batch)
    middle, half = (low + high) / 2, (high - low) / 2
    distance = np.maximum(np.abs(y - middle), half)
    with np.errstate(over="ignore"):  # quantiles may be as close as the smallest floats: then nothing is clear
        blur = 16 * EPS * (np.abs(middle) + np.abs(y) + distance * np.maximum(1, np.abs(v)))
    clear = np.diff(y) > blur[1:] + blur[:-1]
    assert (v[1:] > v[:-1])[clear].all()


def test_log_part_joins_the_linear_part_smoothly():
    output = fitted(np.arange(11.0))
    for end in (1.0, 9.0):
        h = 1e-6
        before, at, after = output(np.array([end - h, end, end + h]))
        assert after - at == pytest.approx(at - before, rel=1e-5)
        assert (after - before) / (2 * h) == pytest.approx(0.25, rel=1e-5)


# --- units do not matter -------------------------------------------------------------------------------------------

Y = np.random.default_rng(2).normal(size=64) * 3 + 1


@pytest.mark.parametrize("kind", ["log", "linear", "ranks"])
@pytest.mark.parametrize("y", [Y, np.exp(3 * Y), np.round(Y), np.where(Y > 4, Y, 2.0), np.full(5, 3.0)])
def test_a_power_of_two_changes_no_bit(kind, y):
    points = np.concatenate([y, [0.0, 100.0, -1e5]])
    for k in range(-900, 901, 25):
        plain, scaled = OutputMap(kind, rate=0.3), OutputMap(kind, rate=0.3)
        for part in (y, y[: len(y) // 2], y[3:] / 4):
            plain.update(part)
            scaled.update(np.ldexp(part, k))
        assert scaled(np.ldexp(points, k)).tobytes() == plain(points).tobytes(), k


@pytest.mark.parametrize("kind", ["log", "linear"])
@pytest.mark.parametrize("shift", [1.0, -1e3, 1e6, -1e9, 1e12])
def test_a_constant_added_agrees_as_far_as_float64_knows(kind, shift):
    """y + c is rounded to spacing(c), in units of the half-spread; quantiles, middle and value each lose as much."""
    spread = np.subtract(*np.quantile(Y, [0.9, 0.1]))
    c = shift * spread
    plain, shifted = fitted(Y, kind)(Y), fitted(Y + c, kind)(Y + c)
    assert np.abs(shifted - plain).max() <= 16 * np.spacing(np.abs(c) + 10) / (spread / 2) * max(1, np.abs(plain).max())


# --- values that could do harm -------------------------------------------------------------------------------------

HARD = {
    "constant": np.full(20, 3.7),
    "constant zero": np.zeros(20),
    "constant huge": np.full(20, -LARGEST),
    "constant tiny": np.full(20, 5e-324),
    "one value": np.array([2.0]),
    "two values": np.array([2.0, 3.0]),
    "90 % ties": np.array([1.0] * 18 + [5.0, -2.0]),
    "99 % ties": np.array([1.0] * 99 + [2.0]),
    "huge": np.linspace(-1e300, 1e300, 20),
    "tiny": np.linspace(-1e-300, 1e-300, 20),
    "subnormal": np.linspace(-1e-320, 1e-320, 20),
    "both ends of the range": np.array([-LARGEST, LARGEST] * 10),
    "largest and zero": np.array([-LARGEST, LARGEST, 0.0] * 5),
    "huge and tiny": np.array([1e-300] * 15 + [1e300, -1e300]),
    "one huge": np.array([1.0, 2.0, 3.0, 4.0] * 5 + [LARGEST]),
    "neighbouring floats": np.array([1.0, np.nextafter(1, 2)] * 10),
}


@pytest.mark.parametrize("kind", ["log", "linear", "ranks"])
@pytest.mark.parametrize("y", HARD.values(), ids=HARD.keys())
def test_hard_values_give_finite_numbers_in_order(kind, y):
    """Numpy's warnings are errors here."""
    output = fitted(y, kind)
    everything = np.unique(np.concatenate([y, *HARD.values()]))
    v = output(everything)
    assert np.isfinite(v).all()
    assert (np.diff(v) >= 0).all()
    assert (np.sign(np.diff(output(np.unique(y)))) > 0).all()  # what differs in the batch differs in v
    for part in HARD.values():
        output.update(part)
        assert np.isfinite(output(everything)).all()


@pytest.mark.parametrize("y", [HARD["90 % ties"], HARD["99 % ties"]], ids=["90 %", "99 %"])
def test_with_many_ties_the_range_sets_the_scale(y):
    output = fitted(y)
    assert output(np.array([y.min(), y.max()])).tolist() == [-1, 1]


@pytest.mark.parametrize("constant", [3.7, 0.0, -1e300, 1e-300, 1.0])
def test_constant_values_map_to_zero(constant):
    output = fitted(np.full(7, constant))
    assert output(np.full(3, constant)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", ["log", "linear"])
@pytest.mark.parametrize("constant", [3.0, -1e10, 1e-200])
def test_constant_values_have_a_slope(kind, constant):
    """A flat first batch is an ordinary thing: the map is finite beside it, and keeps the order."""
    v = fitted(np.full(7, constant), kind)(constant * np.array([0.5, 1.0, 1.5]))
    assert np.isfinite(v).all()
    assert (np.diff(np.sign(constant) * v) > 0).all()


# --- ranks ---------------------------------------------------------------------------------------------------------


def test_ranks_by_hand():
    """The lowest value has the lowest score; ties have the mean of theirs."""
    low, middle, high = -normal_scores(3)
    ranks = OutputMap("ranks")
    assert ranks(np.array([7.0, -1e300, 0.0])).tolist() == [high, low, middle]
    np.testing.assert_allclose(ranks(np.array([5.0, 5.0, 1.0])), [(middle + high) / 2] * 2 + [low], rtol=1e-15)
    assert ranks(np.array([2.0])).tolist() == [0]


@exact
@given(values)
def test_ranks_see_nothing_but_the_order(y):
    """Any increasing function of the values gives the same; ties are equal to the last bit; the mean is 0."""
    ranks = OutputMap("ranks")
    v = ranks(y)
    places = np.unique(y, return_inverse=True)[1]
    assert ranks(1e3 * places.astype(float) ** 3 - 5).tobytes() == v.tobytes()
    assert ((y[:, None] < y) == (v[:, None] < v)).all()
    assert abs(v.mean()) <= 1e-14  # Blom's scores are symmetric; rounding of their sum is left
    assert np.abs(v).max() <= np.abs(normal_scores(len(y))).max()


def test_ranks_follow_the_rows():
    order = np.random.default_rng(3).permutation(len(Y))
    ranks = OutputMap("ranks")
    assert ranks(Y[order]).tobytes() == ranks(Y)[order].tobytes()


def test_updates_do_not_touch_ranks():
    ranks = OutputMap("ranks")
    before = ranks(Y)
    ranks.update(1e9 * Y)
    assert ranks(Y).tobytes() == before.tobytes()


# --- moving average ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_moving_average_by_hand(rate):
    output = OutputMap("linear", rate=rate)
    batches = [np.arange(11.0), 100 + 2 * np.arange(11.0), -5 * np.arange(11.0)]
    low = high = None
    for y in batches:
        output.update(y)
        new_low, new_high = np.quantile(y, [0.1, 0.9])
        low = new_low if low is None else (1 - rate) * low + rate * new_low
        high = new_high if high is None else (1 - rate) * high + rate * new_high
        np.testing.assert_allclose(output(np.array([low, high])), [-1, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("flat", [0.0, 5.0, 1e300])
def test_one_flat_batch_changes_nothing(flat):
    output = fitted(Y)
    before = output(Y)
    output.update(np.full(64, flat))
    assert output(Y).tobytes() == before.tobytes()


@pytest.mark.parametrize("flat", [0.0, 1e6])
def test_a_flat_first_batch_leaves_no_trace(flat):
    """It says nothing about scale, so the first batch with a spread sets the scale alone."""
    output = fitted(np.full(64, flat), rate=0.1)
    output.update(Y)
    np.testing.assert_allclose(output(np.quantile(Y, [0.1, 0.9])), [-1, 1], rtol=1e-12)


def test_reset_forgets():
    output = fitted(Y * 1e6, rate=0.1)
    output.reset()
    output.update(Y)
    assert output(Y).tobytes() == fitted(Y)(Y).tobytes()


def test_arguments_are_left_alone():
    y = Y.copy()
    output = fitted(y)
    output(y), output.update(y), OutputMap("ranks")(y)
    assert y.tobytes() == Y.tobytes()


def test_order_of_the_batch_does_not_matter():
    assert fitted(Y[::-1])(Y).tobytes() == fitted(Y)(Y).tobytes()


@pytest.mark.parametrize("batches", [0, 1, 3])
def test_state_goes_on_to_the_last_bit(batches):
    output = OutputMap(rate=0.3)
    for i in range(batches):
        output.update(Y * (i + 1))
    again = OutputMap.from_state(serialize.loads(serialize.dumps(output.state())))
    for target in (output, again):
        target.update(Y - 1)
    assert again(Y).tobytes() == output(Y).tobytes()
