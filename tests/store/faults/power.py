"""What a disk holds after a power cut, from the log of all operations on files.

A write is on the disk once its file has been synced; a name (made, moved, deleted) once its folder has been.
Of the others any part may be there: writes in any order, cut at sectors; names in the order in which they changed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_SECTOR = 512


class Operation(NamedTuple):
    """One line of the log."""

    what: str
    path: str
    other: str
    offset: int
    data: bytes


def read_log(path: Path) -> Iterator[Operation]:
    """The operations in order, with "ack" for each value that its caller was told to be written."""
    with path.open("rb") as file:
        while line := file.readline():
            what, name, other, offset, length = line.decode().rstrip("\n").split("\t")
            data = file.read(int(length)) if what == "write" else b""
            yield Operation(what, name.removeprefix("/"), other.removeprefix("/"), int(offset), data)


@dataclass
class File:
    """What is on the disk, and what has been written since."""

    durable: bytearray = field(default_factory=bytearray)
    waiting: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        """All of it is on the disk."""
        for operation in self.waiting:
            apply(self.durable, operation.what, operation.offset, operation.data)
        self.waiting.clear()

    def after_a_cut(self, rng: random.Random) -> bytes:
        """Some of what has been written since is there."""
        content = bytearray(self.durable)
        share = rng.choice([0.0, 0.5, 0.9, 1.0])
        for operation in self.waiting:
            if operation.what == "cut" and rng.random() < share:
                apply(content, "cut", operation.offset, b"")
            for at in range(0, len(operation.data), _SECTOR):
                if rng.random() < share:
                    apply(content, "write", operation.offset + at, operation.data[at : at + _SECTOR])
        return bytes(content)


def apply(content: bytearray, what: str, offset: int, data: bytes) -> None:
    """Write or cut a file; what lies between its end and a later write is zero."""
    end = offset + len(data)
    content.extend(bytes(max(0, end - len(content))))
    if what == "cut":
        del content[offset:]
    else:
        content[offset:end] = data


class Disk:
    """A folder without folders in it, before, during and after."""

    def __init__(self, start: Path) -> None:
        self.now = {p.name: File(bytearray(p.read_bytes())) for p in start.iterdir()}
        self.durable = dict(self.now)
        self.changes: list[dict[str, File]] = []
        """All names after each change that may not be on the disk yet."""
        self.acked: set[int] = set()
        self.safe: set[int] = set()
        """Values that a later sync of the file or its log has made durable."""

    def do(self, operation: Operation) -> None:
        """Do what the log says."""
        what, path, other, *_ = operation
        match what:
            case "ack":
                self.acked.add(int(path))
            case "write" | "cut":
                self.now[path].waiting.append(operation)
            case "sync" if path == "":
                self.durable = dict(self.now)
                self.changes.clear()
            case "sync":
                self.now[path].sync()
                if path in ("run.egl", "run.egl-wal"):
                    self.safe = set(self.acked)
            case _:
                self._rename(what, path, other)

    def _rename(self, what: str, path: str, other: str) -> None:
        names = dict(self.now)
        if what == "create":
            names[path] = File()
        elif what == "link":
            names[other] = names[path]
        elif what == "rename":
            names[other] = names.pop(path)
        else:
            del names[path]
        self.now = names
        self.changes.append(names)

    def cut_power(self, folder: Path, rng: random.Random) -> None:
        """Write to ``folder`` what may be found when the power is back."""
        folder.mkdir()
        names = rng.choice([self.durable, *self.changes, *(self.changes[-1:] * 3)])
        for name, file in names.items():
            if not name.endswith("-shm"):  # memory, which is not used again after a restart
                (folder / name).write_bytes(file.after_a_cut(rng))
