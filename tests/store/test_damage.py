from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.store.driver import IDENTITY, M, known, outcome, point, same, state, write_batches

from eglearn.store import History, Store, StoreError

SEEDS = 40 if "EGLEARN_SOAK" in os.environ else 1  # times as many
Survived = Callable[[str, int], None]


def assert_only_true_things(path: Path) -> str:
    """Open a damaged run: it is refused in one sentence, or all it hands out is right and it can go on."""
    try:
        with Store(path, IDENTITY) as store:
            found = store.latest_checkpoint()
            assert found is None or np.array_equal(found[1]["z"], state(found[0])["z"])
            points = {index: point(index) for index in range(10 * M)}
            for index, (order, value, place) in store.answers(points).items():
                assert order == index + 1
                assert same(value, outcome(index))
                assert np.array_equal(place, points[index])
            for e in store.evaluations():
                assert same(e.outcome, outcome(e.index)) or "damaged" in e.outcome.error
                assert e.x is None or np.array_equal(e.x, point(e.index))
            store.progress()
            write_batches(store, 12, start=9)
            assert store.latest_checkpoint()[0] == 12 * M
            return "none" if found is None else f"batch {found[0] // M - 1}"
    except StoreError as error:
        return "refused" if path.name in str(error) else str(error)


def overwritten(data: bytes, rng: random.Random) -> bytes:
    """Some random bytes at some random places; sometimes whole pages."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 3, 20])):
        length = rng.choice([1, 8, 100, 4096])
        at = rng.randrange(len(data)) if length < 4096 else rng.randrange(len(data) // 4096) * 4096
        changed[at : at + length] = rng.choice([rng.randbytes(length), bytes(length)])
    return bytes(changed[: len(data)])


ENDS = {"refused", "none", "batch 5", "batch 8"}


def test_random_damage(path: Path, finished: bytes, survived: Survived) -> None:
    ends = set()
    for seed in range(30 * SEEDS):
        path.write_bytes(overwritten(finished, random.Random(seed)))
        ends.add(assert_only_true_things(path))
    assert {"refused", "batch 8"} <= ends <= ENDS
    survived("damaged files", 30 * SEEDS)


def test_random_damage_after_a_kill(path: Path, interrupted: dict[str, bytes], survived: Survived) -> None:
    ends = set()
    for seed in range(25 * SEEDS):
        rng = random.Random(seed)
        spoilt = rng.choice(["", "-wal"])
        path.with_name(path.name + "-shm").unlink(missing_ok=True)
        for ending, data in interrupted.items():
            data = overwritten(data, rng) if ending == spoilt else data
            path.with_name(path.name + ending).write_bytes(data)
        ends.add(assert_only_true_things(path))
    assert {"batch 5", "batch 8"} <= ends <= ENDS
    survived("damaged files", 25 * SEEDS)


def test_cut_short(path: Path, finished: bytes) -> None:
    ends = {}
    for length in [1, 15, 16, 50, 99, 100, 511, 512, 4095, 4096, 4097, *range(8192, len(finished), 9500)]:
        path.write_bytes(finished[:length])
        ends[length] = assert_only_true_things(path)
    assert {"refused", "batch 5"} <= set(ends.values()) <= ENDS


def test_reading_damaged_files(path: Path, finished: bytes, survived: Survived) -> None:
    texts = []
    for seed in range(60 * SEEDS):
        path.write_bytes(overwritten(finished, random.Random(seed)))
        try:
            history = History(path)
            history.progress()
            history.result()
            for e in history.evaluations():
                assert same(e.outcome, outcome(e.index)) or "damaged" in e.outcome.error
        except StoreError as error:
            texts.append(str(error))
    assert texts
    assert all(path.name in text for text in texts)
    survived("damaged files", 60 * SEEDS)


def test_what_can_be_read_moves_to_a_new_file(path: Path, finished: bytes) -> None:
    lost = finished.index(point(4 * M + 4).tobytes()) // 4096 * 4096  # a page in the middle of the evaluations
    spoilt = finished[:lost] + bytes(4096) + finished[lost + 4096 :]
    path.write_bytes(spoilt)
    with Store(path, IDENTITY) as store:
        (note,) = store.notes
        assert store.latest_checkpoint()[0] == 9 * M
        assert [len(known(store, batch)) for batch in (0, 1, 8, 9)] == [M] * 4
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
