"""Runs under the shim whose operations are logged, then a power cut after each of them. Called as a program.

Arguments: the folder to work in, how far to go from one cut to the next (1: after each operation), and how many
different losses to try at each. Prints one JSON object, see ``operations``.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import traceback
from pathlib import Path

from tests.store.faults.operations import under_fault
from tests.store.faults.power import Disk, read_log
from tests.store.faults.work import WORK, before, check, prepare

from eglearn.store import writer


def main(folder: Path, step: int, losses: int) -> None:
    prepare(folder / "start")
    survived: dict[str, int] = {}
    lost: list[str] = []
    for always in (True, False):  # wait for the disk at each value, or as usual
        writer._SYNC_SECONDS = -1.0 if always else 1.0
        for name in WORK:
            needed = before(folder / "start", name)
            here, log = folder / "here", folder / "log"
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(folder / "start" / name, here)
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            _, error, written = under_fault(here, name, 0, 0, descriptor)
            os.close(descriptor)
            assert not error, error
            disk = Disk(folder / "start" / name)
            for k, operation in enumerate(read_log(log)):
                disk.do(operation)
                if k % step:
                    continue
                for seed in range(losses):
                    shutil.rmtree(here, ignore_errors=True)
                    disk.cut_power(here, random.Random(f"{k} {seed}"))
                    try:
                        check(here / "run.egl", needed | (disk.acked if always else disk.safe), name)
                        survived[name] = survived.get(name, 0) + 1
                    except Exception:
                        lost.append(f"{name}, cut {seed} after {k} {operation[:4]}: {traceback.format_exc(limit=-2)}")
            assert always or written or name == "copied"
            assert disk.acked == written
    sys.stdout.write(json.dumps({"survived": survived, "lost": lost}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
