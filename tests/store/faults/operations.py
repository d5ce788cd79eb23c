"""Runs under the shim: each file operation fails, or is the last of the process. Called as a program.

Arguments: the folder to work in, where to begin and how far to go to the next operation (1: all of them).
Prints one JSON object: how many faults there were by workload, and those that were not survived.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import traceback
from pathlib import Path

from tests.store.faults.work import WORK, before, check, prepare

from eglearn.store import StoreError

KINDS = {
    1: "no space",
    2: "I/O error",
    3: "killed before",
    4: "killed after",
    5: "torn and killed",
    6: "torn, no space",
}


def under_fault(folder: Path, name: str, k: int, kind: int, log: int = -1) -> tuple[int, str, set[int]]:
    """Do the work in a forked process with a fault at operation k: operations, an error if it is not ours, values."""
    shim = ctypes.CDLL(None)  # it was loaded with the program
    shim.fault_arm.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int)
    shim.fault_count.restype = ctypes.c_long
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        error = ""
        shim.fault_arm(os.fsencode(folder), k, kind, log)

        def ack(index: int) -> None:
            os.write(writes, f"{index}\n".encode())
            if log >= 0:
                os.write(log, f"ack\t{index}\t\t0\t0\n".encode())

        try:
            WORK[name](folder / "run.egl", ack)
        except StoreError:
            pass
        except BaseException:
            error = traceback.format_exc()
        shim.fault_disarm()
        os.write(writes, f"end {shim.fault_count()} {json.dumps(error)}\n".encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        lines = [line for line in pipe if line.endswith("\n")]
    os.waitpid(child, 0)
    count, error = 0, ""
    if lines and lines[-1].startswith("end "):
        _, number, text = lines.pop().split(" ", 2)
        count, error = int(number), json.loads(text)
    return count, error, set(map(int, lines))


def main(folder: Path, first: int, step: int) -> None:
    prepare(folder / "start")
    survived: dict[str, int] = {}
    lost: list[str] = []
    for name in WORK:
        needed = before(folder / "start", name)
        here = folder / "here"
        for kind in KINDS:
            for k in range(first, 10**6, step):
                shutil.rmtree(here, ignore_errors=True)
                shutil.copytree(folder / "start" / name, here)
                count, error, written = under_fault(here, name, k, kind)
                if count and count < k:
                    break
                try:
                    assert not error, error
                    check(here / "run.egl", needed | written, name)
                    survived[name] = survived.get(name, 0) + 1
                except Exception:
                    lost.append(f"{name}, operation {k} {KINDS[kind]}: {traceback.format_exc(limit=-2)}")
    sys.stdout.write(json.dumps({"survived": survived, "lost": lost}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
