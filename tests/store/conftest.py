from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.store.driver import IDENTITY, write_batches, write_run

from eglearn.store import Store

# A store needs POSIX file locks.
collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.egl"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("finished") / "run.egl"
    write_run(path, 10)
    return path.read_bytes()


@pytest.fixture(scope="session")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run as a kill leaves them: part of it in the file itself, part beside it."""
    path = tmp_path_factory.mktemp("interrupted") / "run.egl"
    write_run(path, 6)
    with Store(path, IDENTITY) as store:
        write_batches(store, 10, start=6)
        return {ending: path.with_name(path.name + ending).read_bytes() for ending in ("", "-wal")}
