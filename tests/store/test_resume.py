from __future__ import annotations

import math
import sqlite3
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.driver import IDENTITY, M, alone, known, outcome, point, same, state, write_batches, write_run

from eglearn import serialize
from eglearn.store import History, Store, StoreError, StoreMismatch


def test_two_checkpoints_are_kept_and_the_newest_is_used(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint() is None
        write_batches(store, 10)
        told, found = store.latest_checkpoint()
        assert told == found["k"] == 9 * M
        assert np.array_equal(found["z"], state(9 * M)["z"])
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT told FROM checkpoints ORDER BY told").fetchall() == [(6 * M,), (9 * M,)]
    db.close()


def spoil_checkpoint(path: Path, told: int) -> None:
    """Change one byte of a checkpoint where it lies in the file."""
    data = path.read_bytes()
    at = data.index(state(told)["z"][300:310].tobytes())
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_a_damaged_checkpoint_is_passed_over(path: Path) -> None:
    write_run(path, 9)
    spoil_checkpoint(path, 9 * M)
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint()[0] == 6 * M
        assert f"after {9 * M} answers" in store.notes[0]
        assert str(path) in store.notes[0]
        # The run goes on from there and saves more often: the damaged checkpoint must not come back.
        store.save(7 * M, None, serialize.dumps(state(7 * M)))
        assert store.latest_checkpoint()[0] == 7 * M
        assert len(store.notes) == 1
    spoil_checkpoint(path, 7 * M)
    spoil_checkpoint(path, 6 * M)
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint() is None
        assert len(store.notes) == 2
        assert len(known(store, 8)) == M


def test_a_checkpoint_with_foreign_content_is_passed_over(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        store.save(1, {}, serialize.dumps(state(1)))
        store.save(2, {}, b"no state at all")
        assert store.latest_checkpoint()[0] == 1
        assert "not an eglearn state" in store.notes[0]


@pytest.mark.parametrize("keep", ["all", "none"])
def test_points_are_compared_with_those_evaluated(path: Path, keep: Any) -> None:
    x = {index: point(index) for index in range(M)}
    with Store(path, IDENTITY, keep_x=keep) as store:
        orders = {index: store.record(index, x[index], outcome(index)) for index in (5, 2)}
        found = store.answers(x)
        assert {index: order for index, (order, _, _) in found.items()} == orders == {5: 1, 2: 2}
        assert all(same(value, outcome(index)) for index, (_, value, _) in found.items())
        assert all(np.array_equal(place, x[index]) for index, (_, _, place) in found.items())
        assert set(store.answers({index: x[index] for index in (1, 2, 7)})) == {2}
        asked = x | {2: x[2] + np.eye(len(x[2]))[0] * 1e-9}
        second, fifth = store.answers(asked)[2][2], store.answers(asked)[5][2]
        assert np.array_equal(fifth, x[5])
        if keep == "all":
            assert np.array_equal(second, x[2])
        else:
            assert second is None


def test_evaluations_are_set_aside_and_lost_by_nothing(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        write_batches(store, 4)
        before = {e.index: e for e in store.evaluations()}
        # The search has 3 M points out, and the last M are others than before, but for two.
        store.set_aside(2 * M, 2 * M, set(range(2 * M, 3 * M)) - {2 * M + 1, 2 * M + 4}, 3 * M)
        store.record(2 * M, point(900), outcome(900))
        assert [row["nfev"] for row in store.progress()] == [M, 2 * M]
        assert store.latest_checkpoint() is None
        assert set(known(store, 2)) == {2 * M, 2 * M + 1, 2 * M + 4}
        assert (store.unseen(3 * M), store.unseen(2 * M), store.last_index()) == (0, 2 * M + 1, 2 * M + 4)
        assert [value.y for value, _ in store.aside(2 * M, 3 * M)][:1] == [outcome(2 * M).y]
        # A second time, earlier: what was set aside goes along.
        store.set_aside(M, M, (), M)
        assert store.unseen(2 * M) == 0
        assert len(store.aside(M, M)) == store.unseen(M) == 3 * M + 1
    seen = list(History(path).evaluations())
    assert len(seen) == len(before) + 1
    assert [e.order for e in seen] == sorted(e.order for e in seen)
    aside = [e for e in seen if e.index < 0]
    assert {e.index for e in aside} == {-1 - M}
    kept = {e.x.tobytes(): e.outcome for e in aside}
    assert kept[point(900).tobytes()].y == outcome(900).y
    for index, e in before.items():
        if index >= M:
            assert same(kept[e.x.tobytes()], outcome(index))
        else:
            assert same(next(s for s in seen if s.index == index).outcome, e.outcome)


def test_a_changed_value_is_left_out_and_can_be_recorded_again(path: Path) -> None:
    write_run(path, 1)
    data = path.read_bytes()
    at = data.index(struct.pack(">d", outcome(2).y))
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    damaged = [e for e in History(path).evaluations() if e.outcome.error and "damaged" in e.outcome.error]
    assert [(e.index, math.isnan(e.outcome.y), e.x) for e in damaged] == [(2, True, None)]
    with Store(path, IDENTITY) as store:
        assert set(known(store, 0)) == set(range(M)) - {2}
        assert "the evaluation of point 2" in store.notes[0]
        store.record(2, point(2), outcome(2))
        assert same(known(store, 0)[2], outcome(2))
    assert len(list(History(path).evaluations())) == M


def test_changed_texts_are_not_believed(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        store.save(1, {"best": 1.25}, None)
        store.save(2, {"best": 1.75}, None)
        store.finish({"fun": 2.5})
    data = path.read_bytes()
    for old, new in [(b'"best": 1.25', b'"best": 1.26'), (b'"fun": 2.5', b'"fun": 1.5')]:
        assert data.count(old) == 1
        data = data.replace(old, new)
    path.write_bytes(data)
    history = History(path)
    assert history.progress() == [{"nfev": 2, "best": 1.75}]
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
            db.execute(f'UPDATE evaluations SET {column} = {value} WHERE "index" = 2')
            db.commit()
            db.close()
            seen = {e.index: e for e in History(path).evaluations()}
            assert len(seen) == M
            assert "damaged" in (seen[2].outcome.error or "")
        with Store(path, IDENTITY, keep_x="improvements") as store:
            assert set(known(store, 0)) >= set(range(M)) - {2}
            store.record(2, point(2), outcome(2))


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
