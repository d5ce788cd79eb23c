"""One run in one process: what happens inside it, and how it is started."""

from __future__ import annotations

import datetime
import functools
import hashlib
import importlib
import importlib.metadata
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import MutableSequence, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import eglearn

from .algorithms import Run, get_algorithm
from .problems import TARGETS, Problem, _RunOver
from .rows import Job, Row

SO_FAR = ("evaluations", "f_opt", "y0", "best_gap")
"""What a run writes down as it goes, for the case that its process is killed."""

NOT_BEGUN = -1.0
"""In place of the evaluations, before the process has begun with its run."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def execute(job: Job, observe: str | None = None, so_far: MutableSequence[float] | None = None) -> Row:
    """Do a run in this process; an algorithm that raises is a row with status "failed", at its best so far.

    Parameters
    ----------
    job : Job
    observe : path or None
        Where to write COCO's official data, one folder a run below one folder an algorithm.
    so_far : sequence of float or None
        Memory for `SO_FAR`.
    """
    entry = get_algorithm(job.algorithm)
    entry.load()
    started = now()
    folder = None if observe is None else Path(observe) / job.name
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier attempt
    objective = job.problem.open(job.budget, seed=job.seed, folder=folder, name=job.algorithm)
    objective.so_far = so_far
    run = Run(objective, job.seed)
    status, error = "finished", ""
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entry.function(run)
    except _RunOver:
        pass
    except (Exception, SystemExit) as problem:
        status, error = "failed", describe(problem)
    used = time.process_time() - begun
    recommended = objective.best_x
    if job.problem.noisy and run.recommended is not None:
        recommended = run.recommended
    if status == "finished" and objective.solved:
        status = "target"
    elif status == "finished" and objective.evaluations == objective.budget:
        status = "budget"
    evaluations, gaps = objective.record.trace()
    row = job.columns() | {
        "evaluations": objective.evaluations,
        "projected": objective.projected,
        "f_opt": objective.f_opt,
        "y0": objective.y0,
        "best_gap": objective.record.best,
        "recommended_gap": objective.gap(recommended) if evaluations else math.inf,
        "status": status,
        "error": error,
        "cpu_optimiser": max(used - objective.cpu_inside, 0.0),
        "cpu_function": objective.cpu_function,
        "trace_evaluations": evaluations,
        "trace_gap": np.array(gaps, dtype=np.float32).tolist(),  # as it is stored
        "target_evaluations": objective.record.target_evaluations,
        "versions": versions(),
        "started": started,
    }
    objective.close(recommended)
    return row


def lost(job: Job, status: str, error: str, so_far: Sequence[float] = ()) -> Row:
    """The row of a run whose process left nothing behind but, perhaps, `SO_FAR`.

    Targets count as reached at the last evaluation that is known.
    """
    known = bool(len(so_far)) and so_far[0] > 0
    evaluations, f_opt, y0, gap = so_far if known else (0, math.nan, math.nan, math.inf)
    return job.columns() | {
        "evaluations": int(evaluations), "projected": 0, "f_opt": f_opt, "y0": y0, "best_gap": gap,
        "recommended_gap": math.inf if job.problem.noisy else gap, "status": status, "error": error,
        "cpu_optimiser": math.nan, "cpu_function": math.nan, "trace_evaluations": [int(evaluations)] * known,
        "trace_gap": [gap] * known, "target_evaluations": [int(evaluations) if gap <= t else -1 for t in TARGETS],
        "versions": versions(), "started": now(),
    }  # fmt: skip


def now() -> str:
    """The time as ISO text."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def describe(error: BaseException) -> str:
    """Kind, message and place of an error in a line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"[:500]


def versions() -> str:
    """What made the numbers, as short JSON."""
    found = {"eglearn": eglearn.__version__, "source": _source(), "python": platform.python_version()}
    for package in ("coco-experiment", "numpy", "scipy", "cma", "torch", "nevergrad"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return json.dumps(found)


@functools.cache
def _source() -> str:
    """Which code made the numbers: a digest of the modules of the library and of this package."""
    digest = hashlib.sha256()
    for package in (Path(eglearn.__file__).parent, Path(__file__).parents[1]):
        for path in sorted(package.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def child(
    pipe: Connection, job: Job, observe: str | None, plugins: tuple[str, ...], so_far: MutableSequence[float]
) -> None:
    """Body of a worker process: do the run, send the row; end when the benchmark's process is gone."""

    def watch() -> None:
        try:
            pipe.recv()
        except (EOFError, OSError):
            os._exit(1)

    so_far[0] = 0
    threading.Thread(target=watch, daemon=True).start()
    for name in ONE_THREAD:
        os.environ[name] = "1"
    pipe.send(attempt(job, observe, plugins, so_far))


def attempt(
    job: Job, observe: str | None, plugins: tuple[str, ...], so_far: MutableSequence[float] | None = None
) -> Row:
    """Do a run; what goes wrong around it is a failed row too."""
    try:
        for name in plugins:
            importlib.import_module(name)
        return execute(job, observe, so_far)
    except Exception as error:
        return lost(job, "failed", describe(error))


def run_apart(job: Job, observe: str | None, plugins: tuple[str, ...]) -> Row:
    """Do a run in a fresh interpreter: for dask workers, whose threads must not share cocoex or random state."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "row.json"
        order = json.dumps({"job": asdict(job), "observe": observe, "plugins": plugins, "file": str(file)})
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1") | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-m", __name__], input=order, text=True, capture_output=True, env=environment, check=False
        )
        if file.exists():
            row: Row = json.loads(file.read_text())
            return row
        return lost(job, "killed", f"the process ended with code {done.returncode}: {done.stderr[-300:]}")


def _main() -> None:
    order = json.loads(sys.stdin.read())
    job = Job(**(order["job"] | {"problem": Problem(**order["job"]["problem"])}))
    row = attempt(job, order["observe"], tuple(order["plugins"]))
    temporary = Path(order["file"] + ".tmp")
    temporary.write_text(json.dumps(row))
    os.replace(temporary, order["file"])


if __name__ == "__main__":
    _main()
