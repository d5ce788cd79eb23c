"""What a Python worker process runs: read a point, call the objective, write the answer."""

from __future__ import annotations

import io
import json
import os
import pickle
import queue
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

from .base import checked
from .mistake import mistake_in
from .once import FailedError, LostError
from .words import describe, named


def main(reads: int, writes: int) -> None:
    """Serve points until the parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then stops us
    os.set_inheritable(reads, False)  # what the objective starts must not keep our pipes open
    os.set_inheritable(writes, False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # whole lines at once, not lost if this process is killed
    inbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_receive, args=(reads, inbox, busy), daemon=True).start()
    packed = inbox.get()
    if packed is None:
        return
    fun, trouble = _load(packed)  # trouble: the answer to all questions, if there is no objective
    busy.clear()
    _send(writes, b"ready\n")
    while (line := inbox.get()) is not None:
        _send(writes, b"begun\n")  # from here on a death counts against this point
        number, _, digits = line.partition(b" ")
        point = np.frombuffer(bytes.fromhex(digits.decode()), dtype="<f8").astype(np.float64)
        started = time.perf_counter()
        answer = trouble if trouble is not None else _call(fun, point)
        answer |= {"id": int(number), "seconds": time.perf_counter() - started}
        busy.clear()  # before the answer, which may bring the next point at once
        _send(writes, json.dumps(answer).encode() + b"\n")


def _receive(reads: int, inbox: queue.SimpleQueue[bytes | None], busy: threading.Event) -> None:
    """Pass lines on to the main thread; a thread, so that a worker at work sees its parent die."""
    with open(reads, "rb") as stream:
        size = stream.readline()
        packed = stream.read(int(size)) if size else b""
        if size and len(packed) == int(size):
            busy.set()
            inbox.put(packed)
            for line in stream:
                busy.set()
                inbox.put(line)
    if busy.is_set():
        _end()
    inbox.put(None)


def _end() -> None:
    """End at once, with whatever the objective has started: nobody waits for it any more."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _load(packed: bytes) -> tuple[Any, dict[str, Any] | None]:
    try:
        return pickle.loads(packed), None
    except BaseException as error:  # loading imports the user's modules: anything may happen
        return None, _failure(f"the worker could not load the objective ({named(error)})", error)


def _call(fun: Any, point: Any) -> dict[str, Any]:
    try:
        y, error = checked(fun(point))
    except LostError as error:
        return _failure(str(error), lost=True)
    except FailedError as error:
        return _failure(str(error))
    except BaseException as error:  # sys.exit in an objective is a failure of that point, no more
        return _failure(describe(error), error)
    return {"y": y, "error": None, "lost": False, "mistake": None} if error is None else _failure(error)


def _failure(reason: str, error: BaseException | None = None, lost: bool = False) -> dict[str, Any]:
    mistake = mistake_in(error) if error is not None else None
    return {"y": None, "error": reason, "lost": lost, "mistake": mistake.told() if mistake is not None else None}


def _send(writes: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(writes, data) :]
    except BrokenPipeError:
        _end()
