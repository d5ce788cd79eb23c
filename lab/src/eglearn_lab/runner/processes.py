"""Runs in local processes, one each, forked from a server that has imported what they need."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, MutableSequence
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from typing import Any

from .work import CannotBegin, J, Row, Work

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Runs go side by side, and small matrices gain nothing from more threads."""

_NOT_BEGUN = -1.0  # in place of the first number that a run writes down, before its process has begun with it
_TRIES = 2  # for a run whose process is killed


def on_processes(work: Work[J], todo: list[J], workers: int) -> Generator[tuple[J, Row]]:
    """Jobs with their rows, as they finish, ``workers`` at a time; closing it ends the processes."""
    context = multiprocessing.get_context("forkserver")
    queue = [(job, 1) for job in reversed(todo)]
    active: dict[Connection, tuple[Any, J, int, Any]] = {}
    saved = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # the fork server reads it once, when it starts
    try:
        _start_server([__name__, *work.preload(todo)])
        while queue or active:
            while queue and len(active) < workers:
                job, tries = queue.pop()
                ours, theirs = context.Pipe()
                so_far = context.RawArray("d", [_NOT_BEGUN] * work.SO_FAR)
                process = context.Process(target=_child, args=(theirs, work, job, so_far), daemon=True)
                process.start()
                theirs.close()
                active[ours] = (process, job, tries, so_far)
            for pipe in wait(list(active)):
                assert isinstance(pipe, Connection)
                process, job, tries, so_far = active.pop(pipe)
                row: Row | None
                try:
                    row = pipe.recv()
                except (EOFError, OSError):
                    row = None
                pipe.close()
                process.join()
                if row is not None:
                    yield job, row
                elif tries < _TRIES:
                    queue.append((job, tries + 1))
                elif so_far[0] == _NOT_BEGUN:  # no fault of the run's: every other would fare alike
                    raise CannotBegin(
                        f"a process for a run ended with code {process.exitcode} before it began, {tries} times: see "
                        "what it printed; when that is mended, the same command goes on"
                    )
                else:
                    why = f"its process ended with code {process.exitcode}, {tries} times"
                    yield job, work.lost(job, "killed", why, so_far)
    finally:
        for pipe, (process, *_) in active.items():
            process.kill()
            process.join()
            pipe.close()
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_server(modules: list[str]) -> None:
    """Start the server that workers are forked from, with these modules imported there once.

    It and its workers are deaf to Ctrl-C: a terminal sends that to every process, and only this one is to answer.
    """
    forkserver.set_forkserver_preload(modules)
    if threading.current_thread() is not threading.main_thread():
        forkserver.ensure_running()  # Python sets signal handlers in the main thread only
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


def _child(pipe: Connection, work: Work[Any], job: Any, so_far: MutableSequence[float]) -> None:
    """Body of a worker process: do the run, send the row; end when the runner's process is gone."""

    def watch() -> None:
        try:
            pipe.recv()
        except (EOFError, OSError):
            os._exit(1)

    so_far[0] = 0
    threading.Thread(target=watch, daemon=True).start()
    for name in ONE_THREAD:
        os.environ[name] = "1"
    pipe.send(work.attempt(job, so_far))
