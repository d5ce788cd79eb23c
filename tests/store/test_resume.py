from __future__ import annotations

import math
import sqlite3
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.driver import IDENTITY, M, alone, outcome, point, same, state, write_batches, write_run

from eglearn import serialize
from eglearn.store import History, Store, StoreError, StoreMismatch


def test_two_checkpoints_are_kept_and_the_newest_is_used(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint() is None
        write_batches(store, 10)
        batch, found = store.latest_checkpoint()
        assert batch == found["k"] == 8
        assert np.array_equal(found["z"], state(8)["z"])
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT batch FROM checkpoints ORDER BY batch").fetchall() == [(5,), (8,)]
    db.close()


def spoil_checkpoint(path: Path, batch: int) -> None:
    """Change one byte of a checkpoint where it lies in the file."""
    data = path.read_bytes()
    at = data.index(state(batch)["z"][300:310].tobytes())
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_a_damaged_checkpoint_is_passed_over(path: Path) -> None:
    write_run(path, 9)
    spoil_checkpoint(path, 8)
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint()[0] == 5
        assert "batch 8" in store.notes[0]
        assert str(path) in store.notes[0]
        # The run goes on from batch 5 and saves more often: the damaged checkpoint must not come back.
        store.end_batch(6, serialize.dumps(state(6)), {})
        assert store.latest_checkpoint()[0] == 6
        assert len(store.notes) == 1
    spoil_checkpoint(path, 6)
    spoil_checkpoint(path, 5)
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint() is None
        assert len(store.notes) == 2
        assert len(store.values(8)) == M


def test_a_checkpoint_with_foreign_content_is_passed_over(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        store.end_batch(0, serialize.dumps(state(0)), {})
        store.end_batch(1, b"no state at all", {})
        assert store.latest_checkpoint()[0] == 0
        assert "not an eglearn state" in store.notes[0]


@pytest.mark.parametrize("keep", ["all", "none"])
def test_points_are_compared_with_those_evaluated(path: Path, keep: Any) -> None:
    x = np.array([point(0, row) for row in range(M)])
    with Store(path, IDENTITY, keep_x=keep) as store:
        for row in (5, 2):
            store.record(0, row, x[row], outcome(0, row))
        assert set(store.values(0, x)) == {2, 5}
        x[2, 0] = np.nextafter(x[2, 0], 9)
        with pytest.raises(StoreMismatch, match=r"row 2 of batch 0 .* another point"):
            store.values(0, x)
        with pytest.raises(StoreMismatch, match="another point"):
            store.values(0, x[:2])


def test_a_changed_value_is_left_out_and_can_be_recorded_again(path: Path) -> None:
    write_run(path, 1)
    data = path.read_bytes()
    at = data.index(struct.pack(">d", outcome(0, 2).y))
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    damaged = [e for e in History(path).evaluations() if e.outcome.error and "damaged" in e.outcome.error]
    assert [(e.row, math.isnan(e.outcome.y), e.x) for e in damaged] == [(2, True, None)]
    with Store(path, IDENTITY) as store:
        assert set(store.values(0)) == set(range(M)) - {2}
        assert "row 2 of batch 0" in store.notes[0]
        store.record(0, 2, point(0, 2), outcome(0, 2))
        assert same(store.values(0)[2], outcome(0, 2))
    assert len(list(History(path).evaluations())) == M


def test_changed_texts_are_not_believed(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        store.end_batch(0, None, {"best": 1.25})
        store.end_batch(1, None, {"best": 1.75})
        store.finish({"fun": 2.5})
    data = path.read_bytes()
    for old, new in [(b'"best": 1.25', b'"best": 1.26'), (b'"fun": 2.5', b'"fun": 1.5')]:
        assert data.count(old) == 1
        data = data.replace(old, new)
    path.write_bytes(data)
    history = History(path)
    assert history.progress() == [{"batch": 1, "best": 1.75}]
    with pytest.raises(StoreError, match="its result is unreadable"):
        history.result()
    path.write_bytes(data.replace(b'"seed": 0', b'"seed": 1'))
    with pytest.raises(StoreError, match="its identity is unreadable"):
        Store(path, IDENTITY)


def test_columns_that_changed_their_type(path: Path) -> None:
    write_run(path, 1)
    for column in ("y", "error", "attempts", "seconds", "worker", "at", "x_check", '"check"', "x"):
        for value in ("'text'", "X'00ff'", "7", "0.5", "CAST(X'ff' AS TEXT)"):
            db = sqlite3.connect(path)
            db.execute(f'UPDATE evaluations SET {column} = {value} WHERE "row" = 2')
            db.commit()
            db.close()
            seen = {e.row: e for e in History(path).evaluations()}
            assert len(seen) == M
            assert "damaged" in (seen[2].outcome.error or "")
        with Store(path, IDENTITY, keep_x="improvements") as store:
            assert set(store.values(0)) >= set(range(M)) - {2}
            store.record(0, 2, point(0, 2), outcome(0, 2))


def test_other_settings_are_refused_by_name(path: Path) -> None:
    with Store(path, {"seed": 0, "settings": {"model": "affine", "eps": 0.1}, "bounds": np.zeros((2, 2))}):
        pass
    before = path.read_bytes()
    other = {"seed": 1, "settings": {"model": "fc", "eps": 0.1, "new": 3}, "bounds": ((0, 0), (0, 7))}
    with pytest.raises(StoreMismatch) as caught:
        Store(path, other)
    text = str(caught.value)
    assert str(path) in text
    assert "seed is 0 there and 1 here" in text
    assert "settings.model is 'affine' there and 'fc' here" in text
    assert "settings.new is absent there and 3 here" in text
    assert "bounds[1][1] is 0.0 there and 7 here" in text
    assert "eps" not in text
    assert path.read_bytes() == before
    assert alone(path)


def test_many_or_long_differences_stay_readable(path: Path) -> None:
    with Store(path, {"low": [0.0] * 50, "names": ["a" * 99]}):
        pass
    with pytest.raises(StoreMismatch, match="and 43 more") as caught:
        Store(path, {"low": [1.0] * 50, "names": []})
    assert len(str(caught.value)) < 800 + len(str(path))


def test_equal_identities_in_other_clothes(path: Path) -> None:
    with Store(path, {"bounds": ((-1, 1),), "t": math.nan, "x0": np.zeros(2)}):
        pass
    with Store(path, {"x0": [0, 0], "bounds": np.array([[-1.0, 1.0]]), "t": math.nan}) as store:
        assert store.notes == []


def test_other_versions_are_only_noted(path: Path) -> None:
    with Store(path, IDENTITY, {"numpy": "2.1", "threads": 2}) as store:
        assert store.notes == []
    with Store(path, IDENTITY, {"numpy": "2.2", "threads": 2}) as store:
        (note,) = store.notes
    assert f"numpy was '2.1' when {path} was begun and is '2.2' now" in note
