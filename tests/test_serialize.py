"""State to bytes and back: every bit, and nothing but ValueError for bytes that are no state."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eglearn.serialize import dumps, loads

exact = settings(derandomize=True, deadline=None, max_examples=100)

# --- round trip ----------------------------------------------------------------------------------------------------


def bits(number):
    return np.float64(number).tobytes()


def same(before, after):
    """Whether plain data came back to the last bit; tuples as lists, NumPy scalars as arrays without axes.

    Outside arrays one NaN is as good as any other; inside, its bits count too.
    """
    if isinstance(before, np.ndarray | np.generic) and not isinstance(before, float):
        native = np.asarray(before).astype(before.dtype.newbyteorder("="))
        return (
            isinstance(after, np.ndarray)
            and after.dtype == native.dtype
            and after.shape == native.shape
            and after.tobytes() == native.tobytes()
        )
    if isinstance(before, list | tuple):
        return isinstance(after, list) and len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, dict):
        return list(before) == list(after) and all(same(before[k], after[k]) for k in before)
    if isinstance(before, float):
        both_nan = math.isnan(before) and isinstance(after, float) and math.isnan(after)
        return both_nan or (type(after) is float and bits(before) == bits(after))
    return type(before) is type(after) and before == after


numbers = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)
arrays = hnp.arrays(numbers, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
keys = st.text(max_size=5).filter(lambda k: not k.startswith("$"))
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**140), 2**140), st.floats(), st.text(max_size=8), arrays
)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
states = st.dictionaries(keys, trees, max_size=5)


@exact
@given(states)
def test_round_trip(state):
    assert same(state, loads(dumps(state)))


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        0.1 + 0.2,
        2**130,
        -(2**130) - 1,
        True,
        None,
        "",
        "\x00\ud800 ü $array",
        [],
        {},
        [[], [{}]],
        np.empty(0),
        np.empty((3, 0, 2), dtype=np.int8),
        np.array(-0.0),
        np.array(7, dtype=np.uint8),
        np.float32(0.1),
        np.bool_(True),
        np.int64(-5),
        np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
        np.array([2**64 - 1], dtype=np.uint64),
        np.array([-(2**63)]),
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0).reshape(3, 4)[::-1, ::2],
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(5, dtype=">f8"),
        np.arange(5, dtype=">i2"),
        np.frombuffer(bytes.fromhex("010000000000f87f0100000000f0f0ff")),  # NaNs with a sign and contents
    ],
    ids=repr,
)
def test_round_trip_by_hand(value):
    for state in ({"x": value}, {"a": [1, {"b": value}], "c": np.arange(3), "d": value}):
        assert same(state, loads(dumps(state)))


@pytest.mark.parametrize("dtype", [t for t in np.typecodes["All"] if np.dtype(t).kind in "biuf"])
def test_every_type_of_number(dtype):
    array = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    assert same({"x": array}, loads(dumps({"x": array})))


def test_float64_scalars_come_back_as_floats():
    assert type(loads(dumps({"x": np.float64(0.1)}))["x"]) is float


def test_arrays_can_be_written_to_and_are_nobody_elses():
    array = np.arange(3.0)
    data = dumps({"x": array, "y": array})
    state = loads(data)
    state["x"][0] = 99
    assert array[0] == 0
    assert state["y"][0] == 0
    assert loads(data)["x"][0] == 0


def test_same_state_same_bytes():
    state = {"b": [1, 2.5], "a": np.arange(4)}
    assert dumps(state) == dumps(loads(dumps(state)))


def test_generator_state_goes_on():
    rng = np.random.default_rng(5)
    rng.random(3)
    other = np.random.default_rng(0)
    other.bit_generator.state = loads(dumps({"rng": rng.bit_generator.state}))["rng"]
    assert other.random(5).tobytes() == rng.random(5).tobytes()


# --- what is not plain data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "where"),
    [
        ({"a": object()}, "state['a'] is a object"),
        ({"a": {"b": [1, 2, {3}]}}, "state['a']['b'][2] is a set"),
        ({"a": (0, 1j)}, "state['a'][1] is a complex"),
        ({"a": np.array([1j])}, "state['a'] is a ndarray"),
        ({"a": np.array([object()])}, "state['a'] is a ndarray"),
        ({"a": np.array(["text"])}, "state['a'] is a ndarray"),
        ({"a": np.array(["2020-01-01"], dtype="M8[D]")}, "state['a'] is a ndarray"),
        ({"a": np.zeros(2, dtype="f8,i4")}, "state['a'] is a ndarray"),
        ({"a": b"bytes"}, "state['a'] is a bytes"),
        ({"a": {1: 2}}, "state['a']"),
        ({"a": {"$array": 2}}, "state['a']"),
        ({"a": {"$": 2}}, "state['a']"),
        ({"a": [len]}, "state['a'][0] is a builtin"),
    ],
)
def test_what_is_not_plain_data_is_named(state, where):
    with pytest.raises(TypeError) as caught:
        dumps(state)
    assert where in str(caught.value)


# --- damaged bytes -------------------------------------------------------------------------------------------------

PLAIN = {
    "format": 1,
    "x": np.linspace(-1, 1, 5),
    "mask": np.array([[True, False], [False, True]]),
    "i": [np.arange(3, dtype=np.int32), None, True, -1.5e-7],
    "none": np.empty((0, 2)),
    "text": "abc \\ é",
}


def plain(value):
    """Whether a value is plain data and nothing else."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    return value is None or isinstance(value, bool | int | float | str)


def survives(data):
    """Plain data or ValueError: any other exception passes through and fails the test."""
    try:
        state = loads(data)
    except ValueError as error:
        return str(error) != ""
    return isinstance(state, dict) and plain(state)


@pytest.fixture
def no_code(monkeypatch):
    """Make the usual ways to run code from data fail loudly."""

    def refuse(*args, **kwargs):
        pytest.fail("code was run")

    for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):  # json imports them when it first meets them
        "".encode(codec)
    for name in ("builtins.eval", "builtins.exec", "pickle.loads", "pickle.load", "pickle.Unpickler"):
        monkeypatch.setattr(name, refuse)


def test_cut_short_anywhere():
    data = dumps(PLAIN)
    for k in range(len(data)):
        with pytest.raises(ValueError, match="eglearn state"):
            loads(data[:k])


def test_too_long():
    for extra in (b"\x00", b" ", b"{}", dumps(PLAIN)):
        with pytest.raises(ValueError, match="damaged"):
            loads(dumps(PLAIN) + extra)


def test_any_one_byte_altered(no_code):
    """All 255 other values in the head and the text (arrays take any bytes). Warnings have a test of their own."""
    data = bytearray(dumps(PLAIN))
    text_end = 16 + int.from_bytes(data[8:16], "little")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at in range(text_end):
            original = data[at]
            for other in range(256):
                data[at] = other
                assert survives(bytes(data))
            data[at] = original
    assert same(PLAIN, loads(bytes(data)))


def test_altered_array_bytes_alter_only_that_array():
    data = bytearray(dumps(PLAIN))
    for at in range(16 + int.from_bytes(data[8:16], "little"), len(data)):
        data[at] ^= 0x01
        state = loads(bytes(data))
        assert not same(PLAIN, state)
        assert list(state) == list(PLAIN)
        assert (state["format"], state["text"]) == (PLAIN["format"], PLAIN["text"])
        data[at] ^= 0x01


@settings(exact, max_examples=300)
@given(st.data())
def test_several_bytes_altered(data):
    """Pieces replaced, dropped, doubled."""
    state = bytearray(dumps(PLAIN))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(state)))
        piece = data.draw(st.binary(max_size=6) | st.sampled_from([b"[", b"{", b'"', b",", b"9", b"-", b"e", b"null"]))
        state[at : at + data.draw(st.integers(0, 6))] = piece
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert survives(bytes(state))


@settings(exact, max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes(data):
    for whole in (data, b"eglearn1" + data, with_text(data)):
        assert survives(whole)


def with_text(text, arrays=b""):
    """A state with this text, as another program might write it."""
    return b"eglearn1" + len(text).to_bytes(8, "little") + text + arrays


@pytest.mark.parametrize("data", [b"", b"eglearn", b"eglearn2" + dumps({})[8:], b"\x80\x04K\x01.", b"{}"])
def test_other_formats_are_refused(data):
    with pytest.raises(ValueError, match="not an eglearn state, or come from an unknown version"):
        loads(data)


@pytest.mark.parametrize("text", [b"[]", b"1", b"null", b'"x"', b'{"$array": ["<f8", [0]]}', b"", b"{", b"{} {}"])
def test_a_state_is_one_dict(text):
    with pytest.raises(ValueError, match="damaged"):
        loads(with_text(text))


WRONG_ARRAYS = {
    "no type": [],
    "one letter": "f",
    "two letters": "f8",
    "no shape": ["<f8"],
    "not a list": 3,
    "a dict": {"a": 1},
    "objects": ["|O", [1]],
    "objects of eight bytes": ["|O8", [1]],
    "text": ["<U1", [2]],
    "an old name of bytes": ["<a8", [1]],
    "fields": ["f8,f8", [1]],
    "an open bracket": ["(2,f8", [1]],
    "a call": ["__import__('os')", [1]],
    "fields by dict": [{"names": ["a"], "formats": ["O"]}, [1]],
    "unknown type": ["<f9", [1]],
    "shape is a number": ["<f8", 1],
    "shape is text": ["<f8", "1"],
    "fraction": ["<f8", [1.0]],
    "infinite": ["<f8", [math.inf]],
    "nan": ["<f8", [math.nan]],
    "negative": ["<f8", [-1]],
    "negative twice": ["<f8", [-1, -1]],
    "negative and zero": ["<f8", [-1, 0]],
    "too long": ["<f8", [2]],
    "beyond 64 bits": ["<f8", [10**30]],
    "product beyond 64 bits": ["<f8", [2**40, 2**40]],
    "product wraps to one": ["<f8", [2**32 + 1, 2**32 + 1, 4294967295, 0]],
    "nested": ["<f8", [[1]]],
    "too many axes": ["<f8", [1] * 100],
}


@pytest.mark.parametrize("array", WRONG_ARRAYS.values(), ids=WRONG_ARRAYS.keys())
def test_wrong_arrays_are_damage(array, no_code):
    """Also without any warning: those are errors here."""
    for text in ({"x": {"$array": array}}, {"a": [1, {"$array": array}], "b": {"$array": ["<f8", [0]]}}):
        with pytest.raises(ValueError, match="damaged"):
            loads(with_text(json.dumps(text).encode(), b"\x00" * 8))


@pytest.mark.parametrize("text", [b'{"x": ' + b"[" * 100000, b'{"x": ' + b"[" * 100000 + b"]" * 100000 + b"}"])
def test_bottomless_text_is_damage(text):
    with pytest.raises(ValueError, match="damaged"):
        loads(with_text(text))


def test_endless_number_is_damage():
    with pytest.raises(ValueError, match="damaged"):
        loads(with_text(b'{"x": ' + b"1" * 10000 + b"}"))
