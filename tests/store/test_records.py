from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.driver import IDENTITY, outcome, point, same

from eglearn.evaluation.base import Outcome
from eglearn.store import History, Store


@pytest.fixture(scope="module")
def open_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("open") / "run.egl", IDENTITY) as store:
        yield store


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.builds(
            Outcome,
            st.floats(allow_infinity=False, allow_nan=False) | st.just(math.nan) | st.integers(-9, 9).map(float),
            st.none() | st.text(max_size=20),
            st.integers(0, 1000),
            st.floats(0, 1e6),
            st.text(max_size=9),
        ),
        max_size=12,
    )
)
def test_values_come_back_bit_for_bit(open_store: Store, outcomes: list[Outcome]) -> None:
    first = open_store.last_index() + 1
    points = {index: np.array([value.y, index]) for index, value in enumerate(outcomes, start=first)}
    orders = [open_store.record(first + k, points[first + k], value) for k, value in enumerate(outcomes)]
    found = open_store.answers(points)
    assert sorted(found) == list(points)
    seen = list(History(open_store.path).evaluations())[first:]
    for k, value in enumerate(outcomes):
        assert (found[first + k][0], seen[k].order, seen[k].index) == (orders[k], orders[k], first + k)
        assert same(found[first + k][1], value)
        assert same(seen[k].outcome, value)
        assert seen[k].x.tobytes() == points[first + k].tobytes()


@pytest.mark.parametrize("y", [0.0, -0.0, math.nan, 1e300, -1e300, 5e-324, -5e-324, 3.0, 2.0**53, 1 / 3])
def test_special_values(path: Path, y: float) -> None:
    with Store(path, IDENTITY) as store:
        store.record(0, np.array([y]), Outcome(y, seconds=y))
        assert same(store.answers({0: np.array([y])})[0][1], Outcome(y, seconds=y))
    (evaluation,) = History(path).evaluations()
    assert same(evaluation.outcome, Outcome(y, seconds=y))
    assert evaluation.x.tobytes() == np.array([y]).tobytes()


def test_text_that_is_not_unicode(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        store.record(0, np.zeros(1), Outcome(math.nan, "exit \udcff\0 end"))
        assert store.answers({0: np.zeros(1)})[0][1].error == "exit \\udcff\0 end"


def test_numpy_scalars_are_accepted(path: Path) -> None:
    with Store(path, {"seed": np.int64(3), "low": np.zeros(2)}) as store:
        store.record(np.int64(1), np.zeros(2, np.float32), Outcome(np.float64(2.5), None, np.int64(2)))
        store.save(np.int64(1), {"best": np.float32(0.5), "eps": math.nan, "g": np.arange(2)}, b"")
        assert store.answers({np.int64(1): np.zeros(2)})[1][1] == Outcome(2.5, None, 2)
        (row,) = store.progress()
    assert math.isnan(row.pop("eps"))
    assert row == {"nfev": 1, "best": 0.5, "g": [0, 1]}


def test_history_holds_everything_in_order_of_arrival(path: Path) -> None:
    order = random.Random(0).sample(range(1200), 1200)  # more than one read of the file
    with Store(path, IDENTITY, {"numpy": "2.1"}) as store:
        for index in order:
            store.record(index, point(index), outcome(index))
        store.save(1200, {"best": 1.0}, None)
        assert store.result() is None
        store.finish({"x": np.array([0.1, 0.2]), "fun": 0.1 + 0.2})
    history = History(path)
    seen = list(history.evaluations())
    assert [e.index for e in seen] == order
    assert all(same(e.outcome, outcome(e.index)) and np.array_equal(e.x, point(e.index)) for e in seen)
    assert all(a.at <= b.at for a, b in itertools.pairwise(seen))
    assert all(e.x is None for e in history.evaluations(with_x=False))
    assert history.identity == IDENTITY
    assert history.environment == {"numpy": "2.1"}
    assert history.progress() == [{"nfev": 1200, "best": 1.0}]
    assert history.result() == {"x": [0.1, 0.2], "fun": 0.1 + 0.2}


@pytest.mark.parametrize(("keep", "kept"), [("all", [0, 1, 2, 3, 4, 5]), ("improvements", [1, 2, 5]), ("none", [])])
def test_keep_x(path: Path, keep: Any, kept: list[int]) -> None:
    y = [math.nan, 5.0, 4.0, 4.0, 4.5, 3.0]
    for indices in ([0, 1, 2, 3], [4, 5]):  # the lowest value so far survives a restart
        with Store(path, IDENTITY, keep_x=keep) as store:
            for index in indices:
                store.record(index, point(index), Outcome(y[index]))
    seen = list(History(path).evaluations())
    assert [e.index for e in seen if e.x is not None] == kept
    assert [e.outcome.y for e in seen][1:] == y[1:]


def test_keep_x_is_checked(path: Path) -> None:
    with pytest.raises(ValueError, match="improvements"):
        Store(path, IDENTITY, keep_x="some")  # type: ignore[arg-type]
