"""Runs that are written to a store, the same each time; no test tools, since child processes import it too."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from eglearn import serialize
from eglearn.evaluation.base import Outcome
from eglearn.store import Store

IDENTITY = {"algorithm": "EGL", "seed": 0, "budget": 100, "bounds": [[-5.0, 5.0]] * 3}
N, M = 20, 8  # dimension and batch size of the runs below


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
