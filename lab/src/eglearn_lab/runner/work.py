"""What the runner has to know of a kind of runs: how one is done, and which columns its row has."""

from __future__ import annotations

import datetime
import functools
import hashlib
import importlib.metadata
import json
import platform
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, MutableSequence, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import eglearn

Row = dict[str, Any]
"""What is kept of a run, by column."""


class FolderInUse(RuntimeError):
    """Another process writes to the folder."""


class FolderRefused(ValueError):
    """What is finished in the folder does not go with what is asked for."""


class CannotBegin(RuntimeError):
    """Processes end before they begin with their run."""


class Job(Protocol):
    """One run to be done, as plain data that can be pickled."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same run: its values in the columns `Work.KEY`."""


J = TypeVar("J", bound=Job)


class Work(ABC, Generic[J]):
    """A kind of runs. Instances are pickled to the process of each run."""

    KEY: ClassVar[tuple[str, ...]]
    """The columns that say which run a row is."""

    SO_FAR: ClassVar[int] = 1
    """How many numbers a run writes down as it goes, for the case that its process is killed."""

    @abstractmethod
    def schema(self) -> Any:
        """Columns and types of the rows, a ``pyarrow.Schema``: `KEY`, ``status`` and ``error`` among them.

        The status of a run that ended by itself is up to the kind; else it is "failed" (it raised an error) or
        "killed" (its process ended), and a killed run is done again by the next call.
        """

    @abstractmethod
    def execute(self, job: J, so_far: MutableSequence[float] | None = None) -> Row:
        """Do a run in this process; times are ISO text. ``so_far`` is memory for `SO_FAR` numbers."""

    def lost(self, job: J, status: str, error: str, so_far: Sequence[float] = ()) -> Row:
        """The row of a run that left nothing behind but, perhaps, ``so_far``: the other columns are empty."""
        empty = dict.fromkeys(self.schema().names)
        return empty | dict(zip(self.KEY, job.key, strict=True)) | {"status": status, "error": error}

    def attempt(self, job: J, so_far: MutableSequence[float] | None = None) -> Row:
        """Do a run; an error is a row with status "failed"."""
        try:
            return self.execute(job, so_far)
        except (Exception, SystemExit) as error:
            return self.lost(job, "failed", describe(error))

    def seconds(self, job: J) -> float:
        """How long a run takes, roughly; only ratios count."""
        return 1.0

    def preload(self, jobs: Iterable[J]) -> list[str]:
        """Modules to import once, in the process that all others are forked from."""
        return []

    def objection(self, finished: Sequence[J]) -> str | None:
        """Why a folder in which these jobs are finished already cannot be used; None if it can."""
        return None

    def key_of(self, row: Row) -> tuple[Any, ...]:
        """The key of the job that made the row."""
        return tuple(row[name] for name in self.KEY)


def now() -> str:
    """The time as ISO text."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def describe(error: BaseException) -> str:
    """Kind, message and place of an error in a line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"[:500]


def versions(*packages: str) -> str:
    """What made the numbers, as short JSON: eglearn, Python, NumPy, SciPy, and these packages if they are there."""
    found = {"eglearn": eglearn.__version__, "source": _source(), "python": platform.python_version()}
    for package in ("numpy", "scipy", *packages):
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
