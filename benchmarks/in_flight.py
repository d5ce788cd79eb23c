"""Workers in flight, for real: how busy they are, and what a task costs the driver.

1. 32 local processes and a sleeping objective: the share of time that workers are busy. Bar: 0.9.
2. The same on a Dask ``LocalCluster`` on this machine with 2 processes of 16 threads. Bar: 0.9.
3. A thousand Dask tasks in flight whose objective does nothing: CPU time of the driver per task, for submitting it and
   taking its outcome, with the scheduler in another process and with a ``LocalCluster`` in this one. Bar: 2 ms.

Durations are log-normal with sigma 1. The share is the time spent on evaluations over 32 times the time that passes,
from when the first 32 are under way until the last one is sent off: how processes start, and how the last evaluations
run out when the budget is used, is left out. A search that must wait for all of a batch leaves workers idle:
``--search`` names the one that runs.

    python benchmarks/in_flight.py [--search auto] [--mean 0.5] [--budget 1000] [--width 32] [processes dask tasks]
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from eglearn import minimize
from eglearn.evaluation import Evaluator, make_evaluator
from eglearn.store import History

WIDTH, DIM, TASKS = 32, 20, 1000


def sleeper(mean: float) -> Any:
    """A bowl whose evaluation takes a log-normal time that depends on the point alone."""

    def bowl(x: Any) -> float:
        rng = np.random.default_rng(np.frombuffer(x.tobytes(), dtype=np.uint32))
        time.sleep(mean * rng.lognormal(-0.5, 1.0))
        return float(np.sum((x - 1) ** 2))

    return bowl


@contextmanager
def cluster(processes: int, threads: int) -> Iterator[Any]:
    """A Dask cluster on this machine."""
    import dask
    import distributed

    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set({"temporary-directory": folder}),
        distributed.LocalCluster(
            n_workers=processes, threads_per_worker=threads, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as local,
        distributed.Client(local) as client,
    ):  # fmt: skip
        client.wait_for_workers(processes)
        yield client


def busy(workers: Any, search: str, mean: float, budget: int, width: int) -> tuple[float, float]:
    """The share of time that workers are busy, and the seconds the run took once they had started."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.egl")
        options = {"budget": budget, "workers": workers, "width": width, "algorithm": search, "store": path}
        minimize(sleeper(mean), [(-5, 5)] * DIM, **options)
        done = list(History(path).evaluations(with_x=False))
    at, seconds = np.array([e.at for e in done]), np.array([e.outcome.seconds for e in done])
    begun, ended = np.sort(at - seconds)[WIDTH], np.sort(at)[-WIDTH]
    worked = (np.minimum(at, ended) - np.maximum(at - seconds, begun)).clip(0).sum()
    return float(worked / (WIDTH * (ended - begun))), float(ended - begun)


@contextmanager
def scheduler_elsewhere(processes: int, threads: int) -> Iterator[Any]:
    """A Dask cluster whose scheduler is a process of its own, so that its work is not counted as the driver's."""
    import distributed

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")

        def start(what: str, *words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *words]
            return subprocess.Popen([*command, "--scheduler-file", file], stderr=subprocess.DEVNULL)

        started = [start("scheduler", "--port", "0", "--host", "127.0.0.1")]
        while not file.exists():
            time.sleep(0.1)
        words = ("--nthreads", str(threads), "--no-nanny", "--local-directory", folder)
        started += [start("worker", *words) for _ in range(processes)]
        try:
            with distributed.Client(json.loads(file.read_text())["address"]) as client:
                client.wait_for_workers(processes)
                yield client
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def run_all(evaluator: Evaluator, x: np.ndarray) -> None:
    for i, point in enumerate(x):
        evaluator.submit(i, point)
    left = len(x)
    while left:
        left -= len(evaluator.wait())


def cost_of_a_task(client: Any) -> float:
    """Seconds of the driver's CPU per task, a thousand of them in flight at a time."""
    evaluator = make_evaluator(lambda x: 0.0, workers=client)
    x = np.zeros((TASKS, DIM))
    run_all(evaluator, x)  # warm
    begun = time.process_time()
    for _ in range(3):
        run_all(evaluator, x)
    evaluator.close()
    return (time.process_time() - begun) / (3 * TASKS)


def main() -> int:
    """Print a table; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["processes", "dask", "tasks"])
    parser.add_argument("--search", default="auto")
    parser.add_argument("--mean", type=float, default=0.5)
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--width", type=int, default=WIDTH, help="evaluations in flight; more than 32 wait for workers")
    given = parser.parse_args()
    missed = False
    for what in given.what:
        if what == "tasks":
            for where, kind in (("elsewhere", scheduler_elsewhere), ("in the driver", cluster)):
                with kind(2, 16) as client:
                    cost = 1000 * cost_of_a_task(client)
                missed |= cost > 2.0
                what = f"dask, {TASKS} tasks in flight, scheduler {where}"
                sys.stdout.write(f"{what}: {cost:.2f} ms of the driver per task (bar: 2)\n")
            continue
        if what == "dask":
            with cluster(2, 16) as client:
                share, span = busy(client, given.search, given.mean, given.budget, given.width)
        else:
            share, span = busy(WIDTH, given.search, given.mean, given.budget, given.width)
        missed |= share < 0.9
        sys.stdout.write(f"{what}, {given.search}: {WIDTH} workers busy {share:.1%} of {span:.1f} s (bar: 90 %)\n")
        sys.stdout.flush()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
