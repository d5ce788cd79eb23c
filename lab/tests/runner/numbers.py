"""A kind of runs for tests: squares of numbers, with accidents on demand."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from eglearn_lab.runner import Work, now


@dataclass(frozen=True)
class Number:
    value: int

    @property
    def key(self):
        return (self.value,)


@dataclass(frozen=True)
class Squares(Work[Number]):
    """``accidents`` says by number what happens; a folder with a file ``mended`` ends the kills."""

    accidents: tuple[tuple[int, str], ...] = ()
    folder: str = ""

    KEY: ClassVar[tuple[str, ...]] = ("value",)

    def schema(self):
        return pa.schema(
            [("value", pa.int64()), ("square", pa.int64()), ("status", pa.string()), ("error", pa.string()),
             ("process", pa.int64()), ("started", pa.timestamp("ms", tz="UTC"))]
        )  # fmt: skip

    def execute(self, job, so_far=None):
        accident = dict(self.accidents).get(job.value)
        if accident == "error":
            raise ZeroDivisionError("as it must")
        if accident == "kill" and not Path(self.folder, "mended").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return {
            "value": job.value, "square": job.value**2, "status": "finished", "error": "", "process": os.getpid(),
            "started": now(),
        }  # fmt: skip

    def seconds(self, job):
        return float(job.value + 1)
