"""The memory of batches: what is kept, what is dropped, and in which coordinates it is handed out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn import serialize
from eglearn.learning.memory import Replay, Samples
from eglearn.learning.regions import LinearRegion, TanhRegion

exact = settings(derandomize=True, deadline=None, max_examples=60)
BOTH = pytest.mark.parametrize("kind", [TanhRegion, LinearRegion], ids=("tanh", "linear"))


def filled(sizes, n=2, capacity=100, region=None, seed=0):
    """A replay with batches of the given sizes, and these batches."""
    region = region or LinearRegion.whole(n)
    rng = np.random.default_rng(seed)
    batches = [(rng.uniform(-1, 1, (k, n)), rng.normal(size=k)) for k in sizes]
    replay = Replay(capacity)
    for u, y in batches:
        replay.add(u, y, region)
    return replay, batches


def samples_of(replay, n=2):
    return replay.samples(2 * replay.y, np.zeros(n))


def test_a_new_replay_is_empty():
    replay = Replay(3)
    assert len(replay) == 0
    assert replay.y.shape == (0,)


@pytest.mark.parametrize("capacity", [1, 3, 10])
def test_capacity_counts_batches_and_the_oldest_go(capacity):
    replay, batches = filled([2, 5, 3, 4, 2], capacity=capacity)
    kept = batches[-capacity:]
    assert len(replay) == len(kept)
    assert replay.y.tolist() == np.concatenate([y for _, y in kept]).tolist()
    samples = samples_of(replay)
    assert samples.sizes == tuple(len(y) for _, y in kept)
    assert samples.z.tolist() == np.concatenate([u for u, _ in kept]).tolist()


@pytest.mark.parametrize("size", [0, 1])
def test_batches_without_a_pair_vanish(size):
    replay, _ = filled([3, size, 2], capacity=2)
    assert len(replay) == 2  # and take no room
    assert samples_of(replay).sizes == (3, 2)


@BOTH
def test_points_outside_are_dropped_when_added(kind):
    region = kind(np.array([0.5]), np.array([0.25]))
    replay = Replay(5)
    replay.add(np.array([[0.5], [0.1], [0.7], [0.9]]), np.array([1.0, 2.0, 3.0, 4.0]), region)
    assert replay.y.tolist() == [1, 3]
    replay.add(np.array([[0.5], [0.1], [0.9]]), np.array([5.0, 6.0, 7.0]), region)  # one alone makes no pair
    assert replay.y.tolist() == [1, 3]


@BOTH
@exact
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=5),
    st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.5, 1)), min_size=1, max_size=4),
    st.integers(0, 2**32),
)
def test_moving_drops_what_is_outside_and_moves_nothing(kind, sizes, moves, seed):
    """After any number of moves: the points that were inside each of the regions, where they always were."""
    region = kind.whole(2)
    replay, batches = filled(sizes, region=region, seed=seed)
    batches = [b for b in batches if len(b[1]) >= 2]
    for x, y, factor in moves:
        region = region.shrunk(np.array([x, y]), factor)
        replay.move_to(region)
        inside = [region.contains(u) for u, _ in batches]
        batches = [(u[i], v[i]) for (u, v), i in zip(batches, inside, strict=True) if i.sum() >= 2]
    assert len(replay) == len(batches)
    assert replay.y.tolist() == [float(v) for _, y in batches for v in y]
    assert [u.tolist() for u in replay.state()["u"]] == [u.tolist() for u, _ in batches]
    if batches:
        samples = samples_of(replay)
        assert samples.sizes == tuple(len(y) for _, y in batches)
        assert samples.z.tobytes() == np.concatenate([region.to_z(u) for u, _ in batches]).tobytes()


def test_moving_there_and_back_does_not_bring_points_back():
    replay = Replay(4)
    whole = TanhRegion.whole(1)
    replay.add(np.array([[0.0], [0.05], [0.9]]), np.array([1.0, 2.0, 3.0]), whole)
    replay.move_to(whole.shrunk(np.array([0.0]), 0.1))
    replay.move_to(whole)
    assert replay.y.tolist() == [1, 2]
    assert samples_of(replay, 1).z.tolist() == whole.to_z(np.array([[0.0], [0.05]])).tolist()


def test_what_was_handed_in_may_be_changed_afterwards():
    u, y = np.array([[0.0], [0.5]]), np.array([1.0, 2.0])
    replay = Replay(2)
    replay.add(u, y, LinearRegion.whole(1))
    u[:], y[:] = 9, 9
    assert replay.y.tolist() == [1, 2]
    assert samples_of(replay, 1).z.tolist() == [[0], [0.5]]


# --- samples -------------------------------------------------------------------------------------------------------


def test_samples_carry_values_and_origin():
    replay, _ = filled([3, 2])
    v, origin = np.arange(5.0), np.array([0.1, 0.2])
    samples = replay.samples(v, origin)
    assert samples.v.tolist() == v.tolist()
    assert samples.origin.tolist() == origin.tolist()
    assert samples.z.shape == (5, 2)


@pytest.mark.parametrize("sizes", [(2,), (3, 2), (2, 5, 4)])
def test_batches_split_rows(sizes):
    total = sum(sizes)
    samples = Samples(np.arange(2.0 * total).reshape(total, 2), np.arange(float(total)), sizes, np.zeros(2))
    for rows in (samples.v, samples.z, np.zeros((total, 3, 2))):
        parts = samples.batches(rows)
        assert [len(p) for p in parts] == list(sizes)
        assert np.concatenate(parts).tolist() == rows.tolist()


@exact
@given(st.lists(st.integers(2, 6), min_size=1, max_size=5), st.integers(1, 4), st.integers(0, 2**32))
def test_padded(sizes, n, seed):
    """Shapes, weights 1 and 0, each batch around its own mean, and zeros where there is nothing."""
    rng = np.random.default_rng(seed)
    total = sum(sizes)
    samples = Samples(rng.normal(size=(total, n)) + 10, rng.normal(size=total), tuple(sizes), np.zeros(n))
    z, v, weight = samples.padded()
    most = max(sizes)
    assert z.shape == (len(sizes), most, n)
    assert v.shape == weight.shape == (len(sizes), most)
    for i, (points, values) in enumerate(zip(samples.batches(samples.z), samples.batches(samples.v), strict=True)):
        k = sizes[i]
        assert weight[i].tolist() == [1] * k + [0] * (most - k)
        assert v[i].tolist() == values.tolist() + [0] * (most - k)
        np.testing.assert_allclose(z[i, :k], points - points.mean(axis=0), atol=1e-13)
        assert (z[i, k:] == 0).all()


# --- state ---------------------------------------------------------------------------------------------------------


@BOTH
def test_state_gives_identical_samples(kind):
    region = kind.whole(3)
    replay, _ = filled([4, 2, 6, 3], n=3, capacity=3, region=region)
    region = region.shrunk(np.array([0.2, -0.1, 1.0]), 0.9)
    replay.move_to(region)
    again = Replay.from_state(serialize.loads(serialize.dumps(replay.state())))
    again.look(region)
    more = np.random.default_rng(9).uniform(-0.05, 0.05, (5, 3)) + region.mu
    for _ in range(2):
        a, b = samples_of(replay, 3), samples_of(again, 3)
        assert len(a.sizes) > 0
        assert a.sizes == b.sizes
        assert a.z.tobytes() == b.z.tobytes()
        assert a.v.tobytes() == b.v.tobytes()
        for target in (replay, again):
            target.add(more, more[:, 0], region)
    assert len(again) == len(replay) <= 3


def test_empty_state():
    again = Replay.from_state(serialize.loads(serialize.dumps(Replay(3).state())))
    again.look(LinearRegion.whole(2))
    assert len(again) == 0
