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
        assert all(same(value, outcome(0, row)) for row, (value, _) in store.answers(0, x).items())
        assert {row: place.tobytes() for row, (_, place) in store.answers(0, x).items()} == {
            row: x[row].tobytes() for row in (2, 5)
        }
        asked = x.copy()
        asked[2, 0] = np.nextafter(x[2, 0], 9)
        (_, second), (_, fifth) = store.answers(0, asked)[2], store.answers(0, asked[:3])[5]
        if keep == "all":
            assert np.array_equal(second, x[2])
            assert np.array_equal(fifth, x[5])
        else:
            assert second is fifth is None


def test_evaluations_are_set_aside_and_lost_by_nothing(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        write_batches(store, 4)
        before = {(e.batch, e.row): e for e in store.evaluations()}
        store.set_aside(2, keep=(1, 4))
        store.record(2, 0, point(9, 0), outcome(9, 0))
        assert [row["batch"] for row in store.progress()] == [0, 1]
        assert set(store.values(2)) == {0, 1, 4}
        assert store.count_from(3) == 0
        assert store.count_from(2) == 3
        # A second time, earlier: what was set aside goes along.
        store.set_aside(1, keep=())
        assert store.count_from(1) == 0
    seen = {(e.batch, e.row): e for e in History(path).evaluations()}
    assert len(seen) == len(before) + 1
    aside = [e for e in seen.values() if e.batch < 0]
    assert [(e.batch, e.row) for e in aside] == [(-2, row) for row in range(len(aside))]
    kept = {e.x.tobytes(): e.outcome for e in aside}
    assert kept[point(9, 0).tobytes()].y == outcome(9, 0).y
    for (batch, row), e in before.items():
        if batch >= 1:
            assert same(kept[e.x.tobytes()], outcome(batch, row))
        else:
            assert same(seen[batch, row].outcome, e.outcome)


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
    assert note == f"numpy was '2.1' when {path} was begun and is '2.2' now: the last digits may differ"


def test_all_that_changed_is_told_in_one_sentence(path: Path) -> None:
    with Store(path, IDENTITY, {"numpy": "2.1", "threads": "2"}):
        pass
    with Store(path, IDENTITY, {"numpy": "2.2", "threads": "1", "kernel": "Haswell"}) as store:
        (note,) = store.notes
    assert note.endswith("is '2.2' now, threads was '2' and is '1': the last digits may differ")
