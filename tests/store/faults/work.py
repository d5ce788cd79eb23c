"""What is done to files while operations fail, processes die and power is cut, and what must hold afterwards."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from eglearn import serialize
from eglearn.evaluation.base import Outcome
from eglearn.store import History, Store, StoreError, backup

IDENTITY = {"algorithm": "EGL", "seed": 0, "budget": 100}
ROWS, N = 3, 150  # three evaluations fill a page
Ack = Callable[[int], None]


def point(index: int) -> np.ndarray:
    return np.random.default_rng(index).standard_normal(N)


def outcome(index: int) -> Outcome:
    return Outcome(float(np.sin(index)), None, 1, 0.5, "w")


def same(a: Outcome, b: Outcome) -> bool:
    return struct.pack("<d", a.y) == struct.pack("<d", b.y) and a[1:] == b[1:]


def write(store: Store, batches: range, ack: Ack) -> None:
    """Go on with a run: what stands in it is not evaluated again."""
    for batch in batches:
        points = {index: point(index) for index in range(ROWS * batch, ROWS * (batch + 1))}
        for index in sorted(points.keys() - store.answers(points).keys(), key=lambda index: index * 7 % 5):
            store.record(index, points[index], outcome(index))  # as they arrive, in any order
            ack(index)
        store.save(batch, {"best": batch}, serialize.dumps({"k": batch}) if batch % 2 else None)


def run(path: Path, ack: Ack) -> None:
    """Begin a run or go on with it, close it, and go on once more."""
    for batches in (range(4), range(4, 6)):
        with Store(path, IDENTITY) as store:
            write(store, batches, ack)
            store.finish({"fun": 1.0})


def copy(path: Path, ack: Ack) -> None:
    backup(path, path.with_name("copy.egl"))


def no_ack(index: int) -> None:
    pass


def prepare(folder: Path) -> None:
    """The files that a workload begins with, one folder each."""
    (folder / "new").mkdir(parents=True)
    (folder / "finished").mkdir()
    with Store(folder / "finished" / "run.egl", IDENTITY) as store:
        write(store, range(3), no_ack)
    (folder / "killed").mkdir()
    path = folder / "killed" / "run.egl"
    shutil.copy(folder / "finished" / "run.egl", path)
    (folder / "damaged").mkdir()
    with Store(path, IDENTITY) as store:
        write(store, range(5), no_ack)
        for name in ("run.egl", "run.egl-wal"):
            shutil.copy(path.with_name(name), folder / "damaged" / name)
    for name in ("run.egl", "run.egl-wal"):
        shutil.copy(folder / "damaged" / name, folder / "killed" / name)
    # Of the damaged one a page is lost that the log does not replace: some rows of the first batches.
    data = bytearray((folder / "damaged" / "run.egl").read_bytes())
    lost = data.index(point(1).tobytes()) // 4096 * 4096
    data[lost : lost + 4096] = bytes(4096)
    (folder / "damaged" / "run.egl").write_bytes(data)
    shutil.copytree(folder / "killed", folder / "copied")


WORK = {"new": run, "finished": run, "killed": run, "damaged": run, "copied": copy}


def content(path: Path) -> dict[int, Outcome]:
    """All evaluations; each must be right."""
    found = {}
    for e in History(path).evaluations():
        assert same(e.outcome, outcome(e.index)), (e.index, e.outcome)
        assert np.array_equal(e.x, point(e.index)), e.index
        found[e.index] = e.outcome
    return found


def check(path: Path, needed: set[int], name: str) -> None:
    """What must hold, whatever happened: the run goes on, and nothing that is needed is evaluated again."""
    if path.exists() and path.stat().st_size:
        said = ""
        try:
            content(path)
        except StoreError as error:
            said = str(error)
        # A reader may be sent away while the file is made or mended.
        assert not said or (name == "damaged" and name in said) or (not needed and "holds no run yet" in said), said
    if name == "copied" and path.with_name("copy.egl").exists():
        assert set(content(path.with_name("copy.egl"))) >= needed
        path.with_name("copy.egl").unlink()
    again: list[int] = []
    with Store(path, IDENTITY) as store:
        write(store, range(6), again.append)
        checkpoint = store.latest_checkpoint()
        assert checkpoint is not None
        assert checkpoint[0] == checkpoint[1]["k"] == 5
    assert not needed & set(again), (needed & set(again), store.notes)
    assert set(content(path)) == set(range(6 * ROWS))
    kept = [p for p in os.listdir(path.parent) if not p.startswith("run.egl.damaged")]
    left = [p for p in kept if name != "copied" or not p.startswith("copy.egl.")]
    assert left == ["run.egl"], left


def before(folder: Path, name: str) -> set[int]:
    """What the files hold that a workload begins with, or what can be saved of them."""
    if name == "new":
        return set()
    shutil.copytree(folder / name, folder / "looked_at")
    with Store(folder / "looked_at" / "run.egl", IDENTITY) as store:
        found = {e.index for e in store.evaluations()}
    shutil.rmtree(folder / "looked_at")
    assert (len(found) < 5 * ROWS) == (name in ("damaged", "finished"))
    return found
