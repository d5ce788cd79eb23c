"""Runs as a benchmark would have stored them, with ends that a test chooses."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path

from eglearn_lab.bench.metrics import TARGETS

START = datetime.datetime(2026, 1, 2, 3, 4)


def row(algorithm, function=1, instance=1, gap=0.0, *, n=5, suite="bbob", budget=1000, **other):
    """A run that starts at gap 200 and falls to ``gap`` at its end, halfway (in logs) before."""
    end = max(gap, 1e-9) if math.isfinite(gap) else 200.0
    hits = [budget if end <= t < 200 else -1 for t in TARGETS]
    run = {
        "suite": suite, "function": function, "dimension": n, "instance": instance, "algorithm": algorithm, "seed": 0,
        "budget": budget, "evaluations": budget, "projected": 0, "f_opt": 10.0, "y0": 210.0, "best_gap": gap,
        "recommended_gap": gap, "status": "budget", "error": "", "cpu_optimiser": 2.0, "cpu_function": 1.0,
        "trace_evaluations": [1, budget // 2, budget], "trace_gap": [200.0, math.sqrt(200 * end), end],
        "target_evaluations": hits, "versions": json.dumps({"eglearn": "0.1.0"}), "started": START,
    }  # fmt: skip
    return run | other


def rows(gaps, functions=range(1, 7), instances=(1, 2), **other):
    """Runs of several algorithms: ``gaps[name]`` is a gap, or a function of (function, instance)."""
    return [
        row(a, f, i, g(f, i) if callable(g) else g, **other)
        for a, g in gaps.items()
        for f in functions
        for i in instances
    ]


def parquet(path: Path, runs) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(runs), path)
    return path
