"""Runs on the workers of a dask cluster, each in an interpreter of its own there."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from .processes import ONE_THREAD
from .work import J, Row, Work


def cluster(address: str | None) -> AbstractContextManager[Any]:
    """A client of the dask scheduler; None without an address."""
    if address is None:
        return nullcontext()
    distributed: Any = importlib.import_module("distributed")
    client: AbstractContextManager[Any] = distributed.Client(address)
    return client


def on_dask(work: Work[J], todo: list[J], client: Any) -> Generator[tuple[J, Row]]:
    """Jobs with their rows, as they finish."""
    distributed: Any = importlib.import_module("distributed")
    futures = {client.submit(run_apart, work, job, pure=False, retries=1): job for job in todo}
    for future in distributed.as_completed(futures):
        job = futures[future]
        if future.status == "finished":
            yield job, future.result()
        else:
            yield job, work.lost(job, "killed", f"dask: {future.exception()}"[:500])
        future.release()


def run_apart(work: Work[J], job: J) -> Row:
    """Do a run in a fresh interpreter: the threads of a dask worker must not share cocoex or random state."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "row.json"
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1") | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-m", f"{__package__}.apart", file],
            input=pickle.dumps((work, job)),
            capture_output=True,
            env=environment,
            check=False,
        )
        if file.exists():
            row: Row = json.loads(file.read_text())
            return row
        said = done.stderr.decode(errors="replace")[-300:]
        return work.lost(job, "killed", f"the process ended with code {done.returncode}: {said}")
