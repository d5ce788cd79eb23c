from __future__ import annotations

import inspect
import itertools
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn import serialize
from eglearn.evaluation.base import Outcome
from eglearn.store import History, Store, StoreError, StoreMismatch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a store needs POSIX file locks")

IDENTITY = {"algorithm": "EGL", "seed": 0, "budget": 100, "bounds": [[-5.0, 5.0]] * 3}
N, M = 20, 8  # dimension and batch size of the runs below


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.egl"


def point(batch: int, row: int, n: int = N) -> np.ndarray:
    return np.random.default_rng([batch, row]).standard_normal(n)


def outcome(batch: int, row: int) -> Outcome:
    if row % 7 == 3:
        return Outcome(math.nan, f"failed {batch} {row}", 2, 0.5, "w1")
    return Outcome(math.sin(batch * 100 + row), None, 1, batch + row / 8, "w0")


def state(batch: int) -> dict[str, Any]:
    return {"k": batch, "z": np.random.default_rng(batch).standard_normal(600)}


def same(a: Outcome, b: Outcome) -> bool:
    """Equality to the last bit."""
    return struct.pack("<dd", a.y, a.seconds) == struct.pack("<dd", b.y, b.seconds) and (
        (a.error, a.attempts, a.worker) == (b.error, b.attempts, b.worker)
    )


def write_run(path: Path, batches: int, start: int = 0) -> None:
    with Store(path, IDENTITY) as store:
        write_batches(store, batches, start)


def write_batches(store: Store, batches: int, start: int = 0) -> None:
    for batch in range(start, batches):
        for row in range(M):
            store.record(batch, row, point(batch, row), outcome(batch, row))
        checkpoint = serialize.dumps(state(batch)) if batch % 3 == 2 else None
        store.end_batch(batch, checkpoint, {"best": -batch, "eps": 0.5})


def alone(path: Path) -> bool:
    return sorted(p.name for p in path.parent.iterdir()) == [path.name]


# ---------------------------------------------------------------- round trips


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
    batch = len(list(open_store.evaluations()))  # a number not used before
    for row, value in enumerate(outcomes):
        open_store.record(batch, row, np.array([value.y, row]), value)
    found = open_store.values(batch)
    assert sorted(found) == list(range(len(outcomes)))
    seen = list(History(open_store.path).evaluations())[batch:]
    for row, value in enumerate(outcomes):
        assert same(found[row], value)
        assert same(seen[row].outcome, value)
        assert seen[row].x.tobytes() == np.array([value.y, row]).tobytes()


@pytest.mark.parametrize("y", [0.0, -0.0, math.nan, 1e300, -1e300, 5e-324, -5e-324, 3.0, 2.0**53, 1 / 3])
def test_special_values(path: Path, y: float) -> None:
    with Store(path, IDENTITY) as store:
        store.record(0, 0, np.array([y]), Outcome(y, seconds=y))
        assert same(store.values(0)[0], Outcome(y, seconds=y))
    (evaluation,) = History(path).evaluations()
    assert same(evaluation.outcome, Outcome(y, seconds=y))
    assert evaluation.x.tobytes() == np.array([y]).tobytes()


def test_text_that_is_not_unicode(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        store.record(0, 0, np.zeros(1), Outcome(math.nan, "exit \udcff\0 end"))
        assert store.values(0)[0].error == "exit \\udcff\0 end"


def test_numpy_scalars_are_accepted(path: Path) -> None:
    with Store(path, {"seed": np.int64(3), "low": np.zeros(2)}) as store:
        store.record(np.int64(1), np.int64(0), np.zeros(2, np.float32), Outcome(np.float64(2.5), None, np.int64(2)))
        store.end_batch(np.int64(1), b"", {"best": np.float32(0.5), "eps": math.nan, "g": np.arange(2)})
        assert store.values(np.int64(1))[0] == Outcome(2.5, None, 2)
        (row,) = store.progress()
    assert math.isnan(row.pop("eps"))
    assert row == {"batch": 1, "best": 0.5, "g": [0, 1]}


def test_history_holds_everything_in_order_of_arrival(path: Path) -> None:
    order = random.Random(0).sample(range(1200), 1200)  # more than one read of the file
    with Store(path, IDENTITY, {"numpy": "2.1"}) as store:
        for row in order:
            store.record(0, row, point(0, row), outcome(0, row))
        store.end_batch(0, None, {"best": 1.0})
        assert store.result() is None
        store.finish({"x": np.array([0.1, 0.2]), "fun": 0.1 + 0.2})
    history = History(path)
    seen = list(history.evaluations())
    assert [e.row for e in seen] == order
    assert all(same(e.outcome, outcome(0, e.row)) and np.array_equal(e.x, point(0, e.row)) for e in seen)
    assert all(a.at <= b.at for a, b in itertools.pairwise(seen))
    assert all(e.x is None for e in history.evaluations(with_x=False))
    assert history.identity == IDENTITY
    assert history.environment == {"numpy": "2.1"}
    assert history.progress() == [{"batch": 0, "best": 1.0}]
    assert history.result() == {"x": [0.1, 0.2], "fun": 0.1 + 0.2}


@pytest.mark.parametrize(("keep", "kept"), [("all", [0, 1, 2, 3, 4, 5]), ("improvements", [1, 2, 5]), ("none", [])])
def test_keep_x(path: Path, keep: Any, kept: list[int]) -> None:
    y = [math.nan, 5.0, 4.0, 4.0, 4.5, 3.0]
    for rows in ([0, 1, 2, 3], [4, 5]):  # the lowest value so far survives a restart
        with Store(path, IDENTITY, keep_x=keep) as store:
            for row in rows:
                store.record(0, row, point(0, row), Outcome(y[row]))
    seen = list(History(path).evaluations())
    assert [e.row for e in seen if e.x is not None] == kept
    assert [e.outcome.y for e in seen][1:] == y[1:]


def test_keep_x_is_checked(path: Path) -> None:
    with pytest.raises(ValueError, match="improvements"):
        Store(path, IDENTITY, keep_x="some")  # type: ignore[arg-type]


# ---------------------------------------------------------------- continuing a run


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


# ---------------------------------------------------------------- files


def test_a_clean_close_leaves_one_file(path: Path) -> None:
    store = Store(path, IDENTITY)
    write_batches(store, 3)
    assert not alone(path)
    store.close()
    store.close()
    assert alone(path)
    list(History(path).evaluations())
    assert alone(path)
    with pytest.raises(StoreError, match="closed"):
        store.record(0, 0, np.zeros(1), Outcome(0.0))


def test_close_beside_a_busy_reader_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eglearn.store.layout._PATIENCE_SECONDS", 0.1)
    store = Store(path, IDENTITY)
    write_batches(store, 3)
    reader = sqlite3.connect(path)
    cursor = reader.execute("SELECT id FROM evaluations")
    cursor.fetchone()
    store.close()
    assert len(list(History(path).evaluations())) == 3 * M
    cursor.close()
    reader.close()
    write_run(path, 4, start=3)
    assert alone(path)
    assert len(list(History(path).evaluations())) == 4 * M


def test_an_empty_file_is_a_new_run(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreError, match="holds no run yet"):
        History(path)
    with Store(path, IDENTITY) as store:
        assert "was empty" in store.notes[0]
        assert store.latest_checkpoint() is None


def test_leftovers_of_a_deleted_run_are_not_taken_over(path: Path, interrupted: dict[str, bytes]) -> None:
    for touch in (False, True):
        path.unlink(missing_ok=True)
        path.with_name(path.name + "-wal").write_bytes(interrupted["-wal"])
        if touch:
            path.touch()
        with Store(path, IDENTITY) as store:
            assert list(store.evaluations()) == []
            assert store.latest_checkpoint() is None
        assert alone(path)


@pytest.mark.parametrize("content", [b"x", b"y,x1\n" * 3, b"notes\n" * 5000, b"SQLite format 3", b"\0" * 9999])
def test_other_files_are_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for refuse in (lambda: Store(path, IDENTITY), lambda: History(path)):
        with pytest.raises(StoreError, match=re.escape(str(path))):
            refuse()
    assert path.read_bytes() == content
    assert alone(path)


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_other_databases_are_refused_and_left_alone(path: Path, mode: str) -> None:
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode = {mode}")
    db.execute("CREATE TABLE mine (a)")
    db.close()
    before = path.read_bytes()
    for refuse in (lambda: Store(path, IDENTITY), lambda: History(path)):
        with pytest.raises(StoreError, match="another program"):
            refuse()
    assert path.read_bytes() == before
    assert alone(path)


def test_an_unknown_format_is_refused_by_number(path: Path) -> None:
    write_run(path, 1)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 7")
    db.close()
    for refuse in (lambda: Store(path, IDENTITY), lambda: History(path)):
        with pytest.raises(StoreError, match="has format 7, this eglearn reads format 1"):
            refuse()


def test_a_missing_file_has_no_history(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no file"):
        History(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["missing/run.egl", "a_file/run.egl", "a_folder", "/dev/null", "/proc/run.egl"])
def test_places_that_cannot_hold_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "a_file").touch()
    (tmp_path / "a_folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match=name):
        Store(tmp_path / name, IDENTITY)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["a b?mode=ro#x%41.egl", ":memory:", "ü\udcff.egl"])
def test_unusual_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_run(path, 1)
    assert alone(path)
    assert len(list(History(path).evaluations())) == M


def test_a_deleted_file_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eglearn.store.writer._SYNC_SECONDS", -1.0)
    with Store(path, IDENTITY) as store:
        path.rename(path.with_name("elsewhere"))
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.record(0, 0, np.zeros(1), Outcome(0.0))
        path.touch()
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.record(0, 0, np.zeros(1), Outcome(0.0))


# ---------------------------------------------------------------- damage


def assert_only_true_things(path: Path) -> str:
    """Open a damaged run: it is refused in one sentence, or all it hands out is right and it can go on."""
    try:
        with Store(path, IDENTITY) as store:
            found = store.latest_checkpoint()
            assert found is None or np.array_equal(found[1]["z"], state(found[0])["z"])
            for batch in range(10):
                x = np.array([point(batch, row) for row in range(M)])
                assert all(same(value, outcome(batch, row)) for row, value in store.values(batch, x).items())
            for e in store.evaluations():
                assert same(e.outcome, outcome(e.batch, e.row)) or "damaged" in e.outcome.error
                assert e.x is None or np.array_equal(e.x, point(e.batch, e.row))
            store.progress()
            write_batches(store, 12, start=9)
            assert store.latest_checkpoint()[0] == 11
            return "none" if found is None else f"batch {found[0]}"
    except StoreError as error:
        return "refused" if path.name in str(error) else str(error)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("finished") / "run.egl"
    write_run(path, 10)
    return path.read_bytes()


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run as a kill leaves them: part of it in the file itself, part beside it."""
    path = tmp_path_factory.mktemp("interrupted") / "run.egl"
    write_run(path, 6)
    with Store(path, IDENTITY) as store:
        write_batches(store, 10, start=6)
        return {ending: path.with_name(path.name + ending).read_bytes() for ending in ("", "-wal")}


def overwritten(data: bytes, rng: random.Random) -> bytes:
    """Some random bytes at some random places; sometimes whole pages."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 3, 20])):
        length = rng.choice([1, 8, 100, 4096])
        at = rng.randrange(len(data)) if length < 4096 else rng.randrange(len(data) // 4096) * 4096
        changed[at : at + length] = rng.choice([rng.randbytes(length), bytes(length)])
    return bytes(changed[: len(data)])


ENDS = {"refused", "none", "batch 5", "batch 8"}


def test_random_damage(path: Path, finished: bytes) -> None:
    ends = set()
    for seed in range(30):
        path.write_bytes(overwritten(finished, random.Random(seed)))
        ends.add(assert_only_true_things(path))
    assert {"refused", "batch 8"} <= ends <= ENDS


def test_random_damage_after_a_kill(path: Path, interrupted: dict[str, bytes]) -> None:
    ends = set()
    for seed in range(25):
        rng = random.Random(seed)
        spoilt = rng.choice(["", "-wal"])
        path.with_name(path.name + "-shm").unlink(missing_ok=True)
        for ending, data in interrupted.items():
            data = overwritten(data, rng) if ending == spoilt else data
            path.with_name(path.name + ending).write_bytes(data)
        ends.add(assert_only_true_things(path))
    assert {"batch 5", "batch 8"} <= ends <= ENDS


def test_cut_short(path: Path, finished: bytes) -> None:
    ends = {}
    for length in [1, 15, 16, 50, 99, 100, 511, 512, 4095, 4096, 4097, *range(8192, len(finished), 9500)]:
        path.write_bytes(finished[:length])
        ends[length] = assert_only_true_things(path)
    assert {"refused", "batch 5"} <= set(ends.values()) <= ENDS


def test_reading_damaged_files(path: Path, finished: bytes) -> None:
    texts = []
    for seed in range(60):
        path.write_bytes(overwritten(finished, random.Random(seed)))
        try:
            history = History(path)
            history.progress()
            history.result()
            for e in history.evaluations():
                assert same(e.outcome, outcome(e.batch, e.row)) or "damaged" in e.outcome.error
        except StoreError as error:
            texts.append(str(error))
    assert texts
    assert all(path.name in text for text in texts)


def test_what_can_be_read_moves_to_a_new_file(path: Path, finished: bytes) -> None:
    lost = finished.index(point(4, 4).tobytes()) // 4096 * 4096  # a page in the middle of the evaluations
    spoilt = finished[:lost] + bytes(4096) + finished[lost + 4096 :]
    path.write_bytes(spoilt)
    with Store(path, IDENTITY) as store:
        (note,) = store.notes
        assert store.latest_checkpoint()[0] == 8
        assert [len(store.values(batch)) for batch in (0, 1, 8, 9)] == [M] * 4
        count = len(list(store.evaluations()))
        assert 10 * M - 40 < count < 10 * M
        assert len(store.progress()) == 10
    kept = path.with_name("run.egl.damaged1")
    assert kept.read_bytes() == spoilt
    assert str(path) in note
    assert str(kept) in note
    assert f"{count} evaluations and 2 checkpoints" in note
    assert sorted(p.name for p in path.parent.iterdir()) == ["run.egl", "run.egl.damaged1"]
    with Store(path, IDENTITY) as store:
        assert store.notes == []


# ---------------------------------------------------------------- other processes

# What the children run first: the helpers above, without the import of the test tools.
CHILD = "\n".join(
    [
        """
from __future__ import annotations
import math, os, random, signal, sys, time
from pathlib import Path
import numpy as np
from eglearn import serialize
from eglearn.evaluation.base import Outcome
from eglearn.store import History, Store, StoreError
""",
        f"IDENTITY, N, M = {IDENTITY}, {N}, {M}",
        *(inspect.getsource(helper) for helper in (point, outcome, state, write_batches)),
        """
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
path = Path(sys.argv[1])
""",
    ]
)


def child(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CHILD + code, path], stdout=subprocess.PIPE, text=True)


def lines(process: subprocess.Popen[str]) -> Iterator[list[str]]:
    assert process.stdout is not None
    with process.stdout:
        yield from (line.split() for line in process.stdout if line.endswith("\n"))


def finish(process: subprocess.Popen[str]) -> list[list[str]]:
    said = list(lines(process))
    assert process.wait(30) == 0
    return said


def test_what_was_recorded_survives_a_kill(path: Path) -> None:
    # Each child goes on where the last one was killed, and says what it has written.
    code = """
rng = random.Random()
with Store(path, IDENTITY) as store:
    say("open", *store.notes)
    found = store.latest_checkpoint()
    first = 0 if found is None else found[0] + 1
    for batch in range(first, 10**6):
        for row in set(range(M)) - set(store.values(batch)):
            store.record(batch, row, point(batch, row), outcome(batch, row))
            say("value", batch, row)
            time.sleep(rng.choice([0, 0, 0.003]))
        keep = serialize.dumps(state(batch)) if batch % 3 == 2 else None
        store.end_batch(batch, keep, {"best": 0})
        if keep:
            say("checkpoint", batch)
"""
    rng = random.Random(0)
    written: set[tuple[int, int]] = set()
    checkpoint = -1
    for trial in range(15):
        process = child(code, path)
        assert process.stdout is not None
        if trial % 3 == 0:  # from the very beginning
            time.sleep(rng.uniform(0.05, 0.4))
        else:
            note = process.stdout.readline()
            assert note == "open\n" or ("was empty" in note and not written)  # killed while creating the file
            time.sleep(rng.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        for kind, *words in lines(process):
            if kind == "value":
                assert (int(words[0]), int(words[1])) not in written  # nothing is evaluated twice
                written.add((int(words[0]), int(words[1])))
            elif kind == "checkpoint":
                checkpoint = int(words[0])
        assert process.wait(10) == -signal.SIGKILL
        if written:
            seen = {(e.batch, e.row): e for e in History(path).evaluations()}
            assert written <= set(seen)
            assert len(seen) <= len(written) + 15  # at most one a kill was written but not yet said
            assert all(same(e.outcome, outcome(*key)) for key, e in seen.items())
            assert all(np.array_equal(e.x, point(*key)) for key, e in seen.items())
    assert len(written) > 50
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint()[0] >= checkpoint
        assert store.notes == []
    assert alone(path)


def test_a_kill_while_opening_or_closing(path: Path) -> None:
    code = """
for i in range(10**6):
    with Store(path, IDENTITY) as store:
        row = len(store.values(0))
        store.record(0, row, point(0, row), outcome(0, row))
        say(row)
"""
    rng = random.Random(1)
    count = 0
    for _ in range(6):
        process = child(code, path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        said = [int(words[0]) for words in lines(process)]
        process.wait(10)
        seen = [e.row for e in History(path).evaluations()]
        assert seen == list(range(len(seen)))
        assert len(seen) > max(said, default=count)
        count = len(seen)


HOLD = """
store = Store(path, IDENTITY)
write_batches(store, 3)
{more}
say("ready")
time.sleep(60)
"""


@pytest.mark.parametrize("fork", [False, True])
def test_a_second_process_is_refused_until_the_first_dies(path: Path, fork: bool) -> None:
    # A forked worker may outlive its killed parent and holds all its descriptors: it must not hold the lock.
    more = "worker = os.fork()\nif worker == 0:\n    time.sleep(60)\n    os._exit(0)\nsay(worker)" if fork else "say(0)"
    process = child(HOLD.format(more=more), path)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.stdout.readline()
    try:
        with pytest.raises(StoreError, match=rf"in use by process {process.pid} on .*: wait"):
            Store(path, IDENTITY)
        assert len(list(History(path).evaluations())) == 3 * M
        process.kill()
        process.wait(10)
        with Store(path, IDENTITY) as store:
            assert store.latest_checkpoint()[0] == 2
            assert len(store.values(2)) == M
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
        if worker:
            os.kill(worker, signal.SIGKILL)
    assert alone(path)


def test_a_second_opening_in_one_process_is_refused(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        with pytest.raises(StoreError, match=f"already open in this process .{os.getpid()}."):
            Store(path, IDENTITY)
        write_batches(store, 1)
    with Store(path, IDENTITY) as store:
        assert len(store.values(0)) == M


TRY = """
try:
    Store(path, IDENTITY).close()
    say("opened")
except StoreError as error:
    say("refused", error)
"""


def test_the_lock_survives_reading_and_copying(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eglearn.store.writer._SYNC_SECONDS", -1.0)
    with Store(path, IDENTITY) as store:
        write_batches(store, 1)
        assert len(list(History(path).evaluations())) == M
        assert finish(child(TRY, path))[0][0] == "refused"
        shutil.copy(path, path.with_name("copy"))  # ends all POSIX locks of this process on the file
        write_batches(store, 2, start=1)
        assert finish(child(TRY, path))[0][0] == "refused"
    assert finish(child(TRY, path)) == [["opened"]]


def test_reading_while_another_process_writes(path: Path) -> None:
    code = """
with Store(path, IDENTITY) as store:
    say("ready")
    batch = 0
    while not path.with_name("stop").exists():
        write_batches(store, batch + 1, start=batch)
        batch += 1
say(batch)
"""
    process = child(code, path)
    said = lines(process)
    next(said)
    history = History(path)
    counts = [0]
    while len(set(counts)) < 6 or process.poll() is None:
        seen = list(history.evaluations())
        assert all(same(e.outcome, outcome(e.batch, e.row)) for e in seen[counts[-1] :])
        assert [(e.batch, e.row) for e in seen] == [divmod(i, M) for i in range(len(seen))]
        assert len(history.progress()) >= len(seen) // M - 1
        counts.append(len(seen))
        if len(set(counts)) >= 6:
            path.with_name("stop").touch()
    ((batches,),) = list(said)
    assert process.wait(10) == 0
    assert len(list(history.evaluations())) == int(batches) * M
    path.with_name("stop").unlink()
    assert alone(path)


def test_a_full_disk_is_reported_and_nothing_written_is_lost(path: Path) -> None:
    # Python ignores SIGXFSZ, so a write beyond the limit fails like one on a full disk.
    code = """
import resource
with Store(path, IDENTITY) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    done = 0
    try:
        for batch in range(1000):
            for row in range(M):
                store.record(batch, row, point(batch, row), outcome(batch, row))
                done += 1
    except StoreError as error:
        say("error", error)
    try:
        store.end_batch(batch, serialize.dumps(state(0)), {})
    except StoreError as error:
        say("error", error)
    say("done", done)
"""
    *errors, (_, done) = finish(child(code, path))
    assert len(errors) == 2
    assert all(str(path) in words and "free space" in " ".join(words) for words in errors)
    assert int(done) > 10
    with Store(path, IDENTITY) as store:
        assert len(list(store.evaluations())) == int(done)
        batch, row = divmod(int(done), M)
        assert len(store.values(batch)) == row
        store.record(batch, row, point(batch, row), outcome(batch, row))
    assert alone(path)


@pytest.mark.parametrize("limit", [0, 3000, 20_000])
def test_a_disk_that_is_full_at_the_beginning(path: Path, limit: int) -> None:
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n" + TRY
    ((kind, *text),) = finish(child(code, path))
    assert kind == "refused"
    assert str(path) in text
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_cannot_be_written() -> None:
    # Folder permissions do not stop root, so the child becomes somebody else.
    become_nobody = "if os.getuid() == 0:\n    os.setgroups([])\n    os.setgid(65534)\n    os.setuid(65534)\n"
    read = "say(len(list(History(path).evaluations())))\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.egl"
        write_run(path, 1)
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        try:
            old = finish(child(become_nobody + read + TRY, path))
            new = finish(child(become_nobody + TRY, path.with_name("new.egl")))
        finally:
            os.chmod(folder, 0o755)
        assert alone(path)
    assert old[0] == [str(M)]
    assert old[1][0] == new[0][0] == "refused"
    assert "Permission denied" in " ".join(old[1])
    assert "Permission denied" in " ".join(new[0])
