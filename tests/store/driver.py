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


def point(index: int, n: int = N) -> np.ndarray:
    return np.random.default_rng(index).standard_normal(n)


def outcome(index: int) -> Outcome:
    if index % 7 == 3:
        return Outcome(math.nan, f"failed {index}", 2, 0.5, "w1")
    return Outcome(math.sin(index), None, 1, index / 8, "w0")


def state(told: int) -> dict[str, Any]:
    return {"k": told, "z": np.random.default_rng(told).standard_normal(600)}


def same(a: Outcome, b: Outcome) -> bool:
    """Equality to the last bit."""
    return struct.pack("<dd", a.y, a.seconds) == struct.pack("<dd", b.y, b.seconds) and (
        (a.error, a.attempts, a.worker) == (b.error, b.attempts, b.worker)
    )


def write_run(path: Path, batches: int, start: int = 0) -> None:
    with Store(path, IDENTITY) as store:
        write_batches(store, batches, start)


def write_batches(store: Store, batches: int, start: int = 0) -> None:
    """Batches of M evaluations, with progress after each and a checkpoint after every third."""
    for batch in range(start, batches):
        for index in range(M * batch, M * (batch + 1)):
            store.record(index, point(index), outcome(index))
        told = M * (batch + 1)
        store.save(told, {"best": -batch, "eps": 0.5}, serialize.dumps(state(told)) if batch % 3 == 2 else None)


def known(store: Store, batch: int) -> dict[int, Outcome]:
    """What the store knows of a batch, by index."""
    points = {index: point(index) for index in range(M * batch, M * (batch + 1))}
    return {index: outcome for index, (_, outcome, _) in store.answers(points).items()}


def alone(path: Path) -> bool:
    return sorted(p.name for p in path.parent.iterdir()) == [path.name]
