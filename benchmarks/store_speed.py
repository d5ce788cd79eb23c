"""What recording an evaluation costs, next to a bare ``executemany`` into the same tables.

The store commits every evaluation by itself, with checksums; the bare writer does one transaction a batch with
rows prepared beforehand: the least that SQLite can do. Both take turns, since the speed of a disk drifts.

Run ``python benchmarks/store_speed.py``; ``--help`` lists the options.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from eglearn import serialize
from eglearn.evaluation.base import Outcome
from eglearn.store import Store, connection, layout

LIMIT_MS = 0.2


def store_seconds(path: Path, x: np.ndarray, batches: int, every: int) -> float:
    """Time to record ``batches`` batches at the points x (m, n), with a checkpoint of 1 MB now and then."""
    state = serialize.dumps({"replay": np.zeros(2**17)})
    begin = time.perf_counter()
    with Store(path, {"seed": 0}) as store:
        for batch in range(batches):
            for row in range(len(x)):
                store.record(batch * len(x) + row, x[row], Outcome(1.5 + row, seconds=0.001, worker="serial"))
            checkpoint = state if every and batch % every == every - 1 else None
            store.save((batch + 1) * len(x), {"best": 1.5, "eps": 0.1}, checkpoint)
    return time.perf_counter() - begin


def bare_seconds(path: Path, x: np.ndarray, batches: int) -> float:
    """The same rows, one ``executemany`` and one transaction a batch."""
    rows = [
        (*layout.to_columns(0, row, Outcome(1.5 + row, seconds=0.001, worker="serial"), time.time(), 0), raw)
        for row, raw in enumerate(map(layout.point_bytes, x))
    ]
    begin = time.perf_counter()
    db = connection.connect(path, "rwc")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    layout.create_tables(db, {})
    for batch in range(batches):
        with db:
            db.execute("BEGIN")
            db.executemany(layout.INSERT_EVALUATION, [(batch, *row[1:]) for row in rows])
    db.close()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=784, help="dimension of a point")
    parser.add_argument("--evaluations", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=64, help="points in a batch")
    parser.add_argument("--checkpoint-every", type=int, default=0, help="batches between checkpoints; 0: none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where to write; default: a temporary folder")
    options = parser.parse_args()

    x = np.random.default_rng(0).standard_normal((options.batch, options.n))
    batches = -(-options.evaluations // options.batch)
    ours, bare, processor = [], [], []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for i in range(options.rounds):
            path = Path(folder) / f"store{i}.egl"
            begin = time.process_time()
            ours.append(store_seconds(path, x, batches, options.checkpoint_every) * 1e3 / (batches * len(x)))
            processor.append((time.process_time() - begin) * 1e3 / (batches * len(x)))
            path.unlink()
            path = Path(folder) / f"bare{i}.egl"
            bare.append(bare_seconds(path, x, batches) * 1e3 / (batches * len(x)))
            path.unlink()
            print(f"round {i + 1}: store {ours[-1]:.4f}, bare executemany {bare[-1]:.4f} ms/evaluation")
    cost, floor = statistics.median(ours), statistics.median(bare)
    print(
        f"n = {options.n}, {batches * len(x)} evaluations in batches of {len(x)}: store {cost:.4f} ms/evaluation "
        f"({statistics.median(processor):.4f} of it processor time; limit {LIMIT_MS}), "
        f"bare executemany {floor:.4f}, ratio {cost / floor:.2f}"
    )


if __name__ == "__main__":
    main()
